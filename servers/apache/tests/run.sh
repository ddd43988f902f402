#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BUILD: all tests of mod_rl in BUILD against Debian's Apache. A slice of them sees the module with
# sanitizers; with RL_APACHE_ALL=1 all of them do. Exits 77 with the reason where Apache cannot run.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
RL_BUILD=$(dirname "$build")
export RL_BUILD PYTHONDONTWRITEBYTECODE=1

if [ ! -x /usr/sbin/apache2 ]; then
	echo "there is no /usr/sbin/apache2"
	exit 77
fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 1' INT TERM HUP

# one BUILD TEST: its output where it fails.
one() {
	RL_APACHE_BUILD=$1 python3 "$here/$2.py" >"$logs/$2$3" 2>&1 || {
		cat "$logs/$2$3"
		echo "FAIL $2$3"
		touch "$logs/failed"
	}
	tail -n 3 "$logs/$2$3" | grep '^Ran' | sed "s/^/$2$3: /"
}

# Two at a time: most of their time they wait.
first() {
	one "$build" test_in_flight ''
	one "$build/asan" test_directives ' (sanitizers)'
	[ -z "${RL_APACHE_ALL:-}" ] || one "$build/asan" test_in_flight ' (sanitizers)'
}

second() {
	one "$build" test_segment ''
	one "$build" test_directives ''
	one "$build" test_count ''
	one "$build" test_fields ''
	one "$build" test_readme ''
	one "$build" test_wait ''
	[ -z "${RL_APACHE_ALL:-}" ] || for test in test_segment test_count test_fields; do
		one "$build/asan" $test ' (sanitizers)'
	done
}

first &
second
wait
[ ! -e "$logs/failed" ]
