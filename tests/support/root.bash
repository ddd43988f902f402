# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A root of a release of Debian, and what runs in it: with a /proc and a /dev/shm of its own, and this machine's network.
# Who reads this has read container.bash, and has a directory $work.
work=${work:-}
# shellcheck source=tests/support/debian.bash
. "$(dirname "${BASH_SOURCE[0]}")/debian.bash"

# make_root CODENAME [PACKAGE...]: into $root, minimal but for these.
make_root() {
	local codename=$1
	shift
	root=$work/$codename
	make_debian "$root" "$codename" "$(IFS=,; echo "$*")"
	# Of this machine's own release it has what this machine has: packages that are built here may ask for an update.
	[ "$codename" != "$(this_release)" ] || cp -r /etc/apt/sources.list* "$root/etc/apt/"
	[ -z "${NODE_EXTRA_CA_CERTS:-}" ] || cp "$NODE_EXTRA_CA_CERTS" "$root/root/authorities" # whom npm trusts here
}

# in_root COMMAND
in_root() {
	local proxy
	proxy=$(apt-config --format '%v' dump Acquire::http::Proxy)
	# shellcheck disable=SC2016 # the inner shell's
	http_proxy=${http_proxy:-$proxy} unshare --mount --pid --fork sh -c 'mount --make-rprivate / && mount --bind "$1" "$1" &&
		mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --rbind /sys "$1/sys" &&
		mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm" &&
		exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			http_proxy="$http_proxy" ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/root/authorities} bash -euc "$2"' \
		- "$root" "$1"
}

# try COMMAND: the same, quiet unless it fails.
try() {
	in_root "$1" >"$work/log" 2>&1 || { tail -n "${2:-40}" "$work/log"; fail "$1"; }
}
