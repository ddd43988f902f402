#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh PROGRAM...: run every test program, say how each ended, show the output of those that
# failed. A program that takes longer than RL_TEST_SECONDS (default 240) has failed.
set -u

passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for program in "$@"; do
	start=$(date +%s)
	if timeout "${RL_TEST_SECONDS:-240}" "$program" >"$log" 2>&1 </dev/null; then
		passed=$((passed + 1))
		echo "ok    $program ($(($(date +%s) - start)) s)"
	else
		echo "FAIL  $program (exit $?)"
		failed=$((failed + 1))
		tail -n 60 "$log"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
