#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh CODENAME...: in a root of each of these releases of Debian, with its own compilers, make demo ends well, and
# make check passes. Exits 77 with the reason when it cannot run here.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/support/container.bash
. "$top/tests/support/container.bash"

needs_container make
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM
proxy=$(apt-config --format '%v' dump Acquire::http::Proxy)
export http_proxy=${http_proxy:-$proxy}
# shellcheck disable=SC2016 # the words are apt's
mirror=$(apt-get indextargets --format '$(COMPONENT) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "main" { print $2; exit }')

# in_root COMMAND: in the release's root, with a /proc and a /dev/shm of its own.
in_root() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare --mount --pid --fork sh -c 'mount --make-rprivate / && mount --bind "$1" "$1" && mount -t proc proc "$1/proc" &&
		mount --rbind /dev "$1/dev" && mount --rbind /sys "$1/sys" &&
		mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm" &&
		exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 http_proxy="$http_proxy" \
			${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/root/authorities} bash -euc "$2"' \
		- "$root" "$1"
}

for codename in "$@"; do
	root=$work/$codename
	begin "$codename: a root"
	debootstrap --variant=minbase --include=make,gcc,libc6-dev "$codename" "$root" "$mirror" >"$work/log" 2>&1 ||
		{ tail -n 5 "$work/log"; skip "no $codename can be had here"; }
	mkdir "$root/rl"
	[ -z "${NODE_EXTRA_CA_CERTS:-}" ] || cp "$NODE_EXTRA_CA_CERTS" "$root/root/authorities" # whom npm trusts here
	(cd "$top" && tar -c --exclude=./build .) | tar -x -C "$root/rl"
	begin "$codename: make demo"
	in_root 'cd /rl && make demo' >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail 'make demo'; }
	begin "$codename: make check"
	in_root 'cd /rl && make check' >"$work/log" 2>&1 || { grep -A 60 '^FAIL' "$work/log" || tail -n 40 "$work/log"; fail 'make check'; }
	tail -n 1 "$work/log"
	rm -rf --one-file-system "$root"
done
