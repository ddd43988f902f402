#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# need.sh [--install] PACKAGE...: see that these Debian packages are there. Names those that
# are not, and installs them (with sudo when not root) or fails. luajit2,luajit is one package that has
# these names in different releases.
set -eu

install=no
if [ "${1:-}" = --install ]; then
	install=yes
	shift
fi
if ! command -v dpkg-query >/dev/null; then
	echo "rl: not a Debian system; it needs the equivalents of: $*" >&2
	exit 0
fi

# Asked once, for each make asks.
# shellcheck disable=SC2046 # one word per name
there=$(dpkg-query -W -f ' ${Package}=${db:Status-Status} ' $(echo "$@" | tr , ' ') 2>/dev/null || true)

# installed NAMES: whether a package of one of these names is.
installed() (
	IFS=,
	for name in $1; do
		case $there in *" $name=installed "*) exit 0 ;; esac
	done
	exit 1
)

# offered NAMES: the one of these names that this release has; without one the first, which apt then names.
offered() {
	for name in $(echo "$1" | tr , ' '); do
		! apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [^(]' || break
		name=${1%%,*}
	done
	echo "$name"
}

missing=
for package in "$@"; do
	installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "rl: missing Debian packages:$missing" >&2
if [ "$install" = no ]; then
	echo "rl: install them with: apt-get install$(for package in $missing; do printf ' %s' "$(offered "$package")"; done)" >&2
	exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
	as_root=sudo
	command -v sudo >/dev/null || {
		echo "rl: not root, and there is no sudo to install them with" >&2
		exit 1
	}
fi
echo "rl: installing them" >&2
# For what is in them: a server among them is not to be started, now or at the next boot. However
# this ends, the machine is left as it was but for the packages.
policy=/usr/sbin/policy-rc.d
made=
enabled=$(dirname "$0")/enabled.sh
before=$("$enabled" list /)
leave() {
	[ -z "$made" ] || $as_root rm -f $policy
	printf '%s\n' "$before" | $as_root "$enabled" take-back /
}
trap leave EXIT
trap 'exit 1' INT TERM HUP
if [ ! -e $policy ]; then
	made=yes
	printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
	$as_root chmod 755 $policy
fi
$as_root apt-get update -qq
missing=$(for package in $missing; do offered "$package"; done)
# shellcheck disable=SC2086 # one word per package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
