#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a goal needs is installed for it; and what that installation would have started at the
# next boot is not left so, with all else as it was.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
enabled=$top/tests/support/enabled.sh
root=$(mktemp -d)
trap 'rm -rf "$root" "$root".*' EXIT

fail() {
	echo "FAILED: $*"
	exit 1
}

# needs PACKAGE GOAL: making the goal installs the package.
needs() {
	make -n -C "$top" "$2" | grep -E "need\.sh --install .*\b$1\b" >/dev/null || fail "make $2 does not install $1"
}

# enable UNIT WANTED-BY: as systemctl does it.
enable() {
	mkdir -p "$root/etc/systemd/system/$2.wants"
	ln -s "/lib/systemd/system/$1" "$root/etc/systemd/system/$2.wants/$1"
}

# As update-rc.d does it.
enable_script() {
	mkdir -p "$root/etc/rc2.d" "$root/etc/rc0.d"
	ln -s "../init.d/$1" "$root/etc/rc2.d/S01$1"
	ln -s "../init.d/$1" "$root/etc/rc0.d/K01$1"
}

tree() {
	(cd "$root" && find . -printf '%p %l\n' | sort)
}

needs libcmocka-dev build/tests/unit/test_window
needs clang build/v/clang/tests/unit/test_window
needs bats check
needs apache2-utils demo
! make -n -C "$top" all | grep -e --install || fail 'make alone installs packages'

"$enabled" list "$root" | diff /dev/null - || fail 'of an empty root'
enable cron.service multi-user.target
enable_script cron
mkdir -p "$root/var/lib/dpkg/info"
echo /lib/systemd/system/getty@.service >"$root/var/lib/dpkg/info/systemd.list"
before=$("$enabled" list "$root")
tree >"$root.before"
"$enabled" take-back "$root" <<<"$before"
tree | diff "$root.before" - || fail 'nothing was installed, and something was taken back'

enable redis-server.service multi-user.target
ln -s /lib/systemd/system/redis-server.service "$root/etc/systemd/system/redis.service"
enable apt-daily.timer timers.target
enable_script redis-server
"$enabled" take-back "$root" <<<"$before"
[ "$(readlink "$root/etc/rc2.d/K01redis-server")" = ../init.d/redis-server ] || fail 'an init script is not turned to stop'
rm "$root/etc/rc0.d/K01redis-server" "$root/etc/rc2.d/K01redis-server"
rmdir "$root/etc/systemd/system/timers.target.wants"
tree | diff "$root.before" - || fail 'something is left enabled, or was taken too much'

ln -s /lib/systemd/system/getty@.service "$root/etc/systemd/system/getty@tty1.service"
"$enabled" take-back "$root" <<<"$before"
[ -L "$root/etc/systemd/system/getty@tty1.service" ] || fail "what systemd comes with was taken back"
