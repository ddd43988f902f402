#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh COMMAND...: run every test command, one more at once than there are CPUs, for some wait
# most of their time; say how each ended, and show the output of those that failed. One that takes
# longer than RL_TEST_SECONDS (default 580) has failed; one that exits 77 cannot run here and has
# said why, which is a failure, too, if RL_TEST_ALL is set. Give the long ones first.
set -u

# run_one COMMAND: run it and tell, in one piece, how it ended.
run_one() {
	log=$(mktemp)
	start=$(date +%s)
	status=0
	timeout "${RL_TEST_SECONDS:-580}" sh -c "$1" >"$log" 2>&1 </dev/null || status=$?
	if [ "$status" -eq 0 ]; then
		verdict="ok    $1 ($(($(date +%s) - start)) s)"
	elif [ "$status" -eq 77 ] && [ -z "${RL_TEST_ALL:-}" ]; then
		verdict="skip  $1: $(tail -n 1 "$log")"
	else
		verdict="FAIL  $1 (exit $status)
$(tail -n 60 "$log")"
	fi
	rm -f "$log"
	printf '%s\n' "$verdict"
}

if [ "${1:-}" = --one ]; then
	run_one "$2"
	exit 0
fi

unset MAKEFLAGS # a make that a test calls has nothing to do with the jobs of the one that calls this
results=$(mktemp)
trap 'rm -f "$results"' EXIT
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(($(nproc) + 1))" "$0" --one | tee "$results"
passed=$(grep -c '^ok  ' "$results")
skipped=$(grep -c '^skip  ' "$results")
failed=$(($# - passed - skipped))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
