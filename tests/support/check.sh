#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a check stands on: what a goal needs is installed for it; what that installation would have
# started at the next boot is not left so, with all else as it was; and whoever runs the tests tells
# what failed, what could not run, and which of several, and has them not meet.
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

# runs WANTED-STATUS COMMAND...: run.sh does, and ends so; what it said is kept.
runs() {
	local wanted=$1 status=0
	shift
	said=$("$top/tests/support/run.sh" "$@") || status=$?
	[ "$status" -eq "$wanted" ] || fail "exit status $status of a run, not $wanted: $said"
}

says() {
	grep -qxE -- "$1" <<<"$said" || fail "not said: $1 but $said"
}

# needs PACKAGE GOAL...: making the goal installs the package; with -B, where it is made already, too.
needs() {
	local package=$1
	shift
	make -n -C "$top" "$@" | grep -E "need\.sh --install .*\b$package\b" >/dev/null || fail "make $* does not install $package"
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

needs libcmocka-dev -B build/tests/unit/algorithm/test_window
needs clang -B build/v/clang/tests/unit/algorithm/test_window
needs bats check-headers
needs bats -B quick
needs apache2-utils -B demo
! make -Bn -C "$top" all | grep -e --install || fail 'make alone installs packages'

# A package of several names is looked for by each of them, and installed by the one that the release has.
mkdir "$root.bin"
# shellcheck disable=SC2016 # the programs' own
{
	printf '#!/bin/sh\ncase " $* " in *" there "*) printf " there=installed " ;; esac\nexit 1\n' >"$root.bin/dpkg-query"
	printf '#!/bin/sh\necho "  Candidate: $([ "$2" = new ] && echo 1.0 || echo "(none)")"\n' >"$root.bin/apt-cache"
}
chmod +x "$root.bin"/*
PATH=$root.bin:$PATH "$top/tests/support/need.sh" old,there there || fail 'a second name is not looked for'
said=$(PATH=$root.bin:$PATH "$top/tests/support/need.sh" old,new other 2>&1) && fail 'what is missing is there'
says 'rl: install them with: apt-get install new other'

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

bats='echo "ok 1 one"; echo "ok 2 two # skip needs root"'
cmocka='echo "[  SKIPPED ] test_three"; echo "[  SKIPPED ] 1 test(s), listed below:"; echo "[  SKIPPED ] test_three"'
unset RL_TEST_ALL RL_TEST_AGAIN
runs 0 true "$bats" "$cmocka" 'echo why; exit 77'
says 'ok    true \([0-9]+ s, [0-9]+\+[0-9]+ s of a CPU\)'
says 'part  echo .*: without two: needs root'
says 'part  echo .*: without test_three'
says 'skip  echo .*: why'
says '3 passed, 0 failed, 1 skipped, 2 skipped in those that passed'
runs 1 true 'echo no; exit 3'
says 'FAIL  echo no; exit 3 \(exit 3, .*\)'
says '1 passed, 1 failed, 0 skipped, 0 skipped in those that passed'
# A script that was late has a second time; what fails twice has failed, and a program of ours has no second time.
late="! mkdir '$root.late'"
runs 1 "$late"
rmdir "$root.late"
export RL_TEST_AGAIN=1
runs 0 true "$late"
says 'FAIL  ! mkdir .* \(exit 1, .*\)'
says 'again ! mkdir .* \([0-9]+ s, .*\)'
says '2 passed, 0 failed, .*'
says '1 of them at the second time'
runs 1 true 'echo no; exit 3'
says '1 passed, 1 failed, .*'
[ "$(grep -c '^FAIL ' <<<"$said")" -eq 2 ] || fail "what fails was not run again: $said"
for one in build/none 'RL_TEST_SCALE=quick build/none' tests/flood/none 'tests/mutants/none 1 12'; do
	runs 1 true "$one"
	[ "$(grep -c '^FAIL ' <<<"$said")" -eq 1 ] || fail "a program of ours was run again: $said"
done
unset RL_TEST_AGAIN
export RL_TEST_ALL=1
for one in "$bats" "$cmocka" 'echo why; exit 77'; do
	runs 1 true "$one"
	says '1 passed, 1 failed, .*'
done
runs 0 true
# Each has a memory and a network of its own, where these can be made.
if unshare --mount --net true 2>/dev/null; then
	net="$(readlink /proc/self/ns/net) = \$(readlink /proc/self/ns/net)"
	# shellcheck disable=SC2016 # the commands' own
	mine='test ! -e /dev/shm/mine && : >/dev/shm/mine'
	runs 0 "$mine" "$mine; test ! $net" "RL_TEST_NETWORK=shared test $net"
	says 'left  /dev/shm/mine'
fi
RL_TEST_SECONDS=1 runs 1 'sleep 60'
says 'FAIL  sleep 60 \(exit 124, .*\)'
