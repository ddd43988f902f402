# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-2-Clause
# A small Debian in a directory, for tests of a package: sourced by package.sh of a binding.
# shellcheck source=tests/support/debian.bash
. "$(dirname "${BASH_SOURCE[0]}")/../../../tests/support/debian.bash"

[ "$(id -u)" -eq 0 ] || { echo 'only root installs packages'; exit 77; }
command -v debootstrap >/dev/null || { echo 'there is no debootstrap'; exit 77; }
work=$(mktemp -d)
root=$work/root

clean_up() {
	local at
	for at in proc dev/shm; do
		! mountpoint -q "$root/$at" || umount "$root/$at"
	done
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

fail() {
	echo "FAILED: $*"
	exit 1
}

in_root() {
	chroot "$root" env -i DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# make_root PACKAGES: with these, divided by commas
make_root() {
	make_debian "$root" "$(this_release)" "$1"
	mount -t proc proc "$root/proc"
	mkdir -p "$root/dev/shm"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
}

# What has a name as our packages' files have: rl.so, librl.so.1, 20-rl.ini, ruby-rl, Rl, RL.pm, rlctl.1.gz. Others come in with
# what a package depends on.
files() {
	(cd "$root" && find etc usr -regextype posix-extended ! -path 'etc/rl*' \
		-regex '.*/_?(lib|[0-9]+-|ruby-|php-|lua-)?([Rr]l|RL)(ctl|d|_ext)?([-._@].*)?' | sort)
}

install_packages() {
	files >"$work/before"
	in_root sh -c 'dpkg -i /root/*.deb || apt-get install -y -qq -f' >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail 'dpkg -i'; }
}

# purge PACKAGE: and what it was installed with
purge() {
	in_root dpkg --purge "$1" rl-tools librl1 >"$work/purge.log" 2>&1 || { cat "$work/purge.log"; fail "purge of $1"; }
	files | diff "$work/before" - || fail 'files are left'
}
