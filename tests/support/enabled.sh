#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# enabled.sh list ROOT: the links by which something is started when the system below ROOT boots.
# enabled.sh take-back ROOT: those that are not among the lines of standard input, a list from
# before, are taken back: systemd's are removed, and those of init scripts turned from start to
# stop, for a missing one would come back with the next upgrade. What systemd itself has come with
# stays, or a machine that it was installed on would boot to no login.
set -eu

list() (
	cd "$1"
	for dir in etc/systemd/system etc/systemd/user etc/rc[2-5S].d; do
		[ ! -d "$dir" ] || find "$dir" -type l ! -path 'etc/rc*/K*'
	done | sort
)

# Does the link start a unit of the package systemd?
is_systemds() {
	packaged=$1/var/lib/dpkg/info/systemd.list
	[ -e "$packaged" ] && grep -qxF "$(readlink "$1/$2")" "$packaged"
}

take_back() {
	before=$(cat)
	list "$1" | while read -r link; do
		if printf '%s\n' "$before" | grep -qxF "$link" || is_systemds "$1" "$link"; then
			continue
		fi
		name=${link##*/}
		case $link in
		etc/rc*) mv "$1/$link" "$1/${link%/*}/K01${name#S??}" ;;
		*) rm "$1/$link" ;;
		esac
	done
}

case ${1:-} in
list) list "$2" ;;
take-back) take_back "$2" ;;
*)
	echo "enabled.sh: list or take-back, and the root" >&2
	exit 2
	;;
esac
