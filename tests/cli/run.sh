#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh RLCTL [FILE...]: run the tests of the command line on one build of rlctl; those that
# failed are told once more at the end. Each line is told when it is known, and a test that hangs
# fails after some minutes: so it is known which one it was.
set -u

export LC_ALL=C.UTF-8 # what tests compare is no other language's
RLCTL=$(realpath "$1") # tests change their directory
export RLCTL
export BATS_TEST_TIMEOUT="${BATS_TEST_TIMEOUT:-900}"
shift
[ $# -gt 0 ] || set -- "$(dirname "$0")"
log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
{
	bats "$@" 2>&1
	echo $? >"$log.status"
} | tee "$log"
grep -A 12 '^not ok' "$log"
exit "$(cat "$log.status")"
