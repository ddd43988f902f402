#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh PROGRAM...: the unit tests of the library on musl, and whether it is musl that they are linked with.
set -eu

build=build/v/musl
libc=$(readelf -d $build/librl.so.1 | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
[ "$libc" = libc.so ] || {
	echo "FAILED: librl.so.1 needs '$libc', not libc.so alone"
	exit 1
}
! readelf -l $build/tests/unit/api/test_rl | grep -q INTERP || {
	echo 'FAILED: test_rl is not static'
	exit 1
}
for test in "$@"; do
	RL_TEST_SCALE=quick "$test" || {
		echo "FAILED: $test"
		exit 1
	}
done
