#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# root.sh DIR PROGRAM...: a minimal Debian of this machine's release in DIR, with systemd and
# the libraries that the programs are linked to. Made once, by debootstrap, from the mirror that
# apt uses here; made again when what it is to hold changes.
set -euo pipefail

dir=$1
shift

codename() {
	# shellcheck source=/dev/null
	. /etc/os-release
	echo "$VERSION_CODENAME"
}

# The first source of the release's own packages, and whatever proxy apt goes through.
mirror() {
	# shellcheck disable=SC2016 # the words are apt's
	apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' \
		'Created-By: Packages' |
		awk -v codename="$1" '$1 == codename && $2 == "main" { print $3; exit }'
}

# The packages of the shared libraries: dpkg knows some of them by their name before /usr was
# merged.
libraries() {
	local path
	ldd "$@" | awk '$3 ~ /^\// { print $3 }' | sort -u | while read -r path; do
		dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "/usr$path" 2>/dev/null ||
			dpkg-query -S "${path#/usr}"
	done | sed 's/[:,].*//' | sort -u
}

make_root() {
	local from
	from=$(mirror "$(codename)")
	[ -n "$from" ] || {
		echo "apt has no source of $(codename) main" >&2
		return 1
	}
	http_proxy=${http_proxy:-$(apt-config --format '%v' dump Acquire::http::Proxy)}
	export http_proxy
	rm -rf "$dir" "$dir.new"
	debootstrap --variant=minbase --include="$1" "$(codename)" "$dir.new" "$from" >"$dir.log" 2>&1 || {
		tail -n 20 "$dir.log" >&2
		return 1
	}
	rm -rf "$dir.new/var/cache/apt/archives" "$dir.new"/var/lib/apt/lists/*
	echo "$1" >"$dir.new/packages"
	mv "$dir.new" "$dir"
}

packages=$(printf '%s\n' systemd-sysv dbus libpam-systemd curl; libraries "$@")
packages=$(paste -sd, <<<"$packages")
[ "$(cat "$dir/packages" 2>/dev/null)" = "$packages" ] || make_root "$packages"
