#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh COMMAND...: run every test command, two more at once than there are CPUs, for some wait
# most of their time; say how each ended, how long it took and how much of a CPU, in itself and in
# the kernel, and show the output of those that failed. One that takes longer than RL_TEST_SECONDS
# has failed: that is for one that hangs, and is long, as a machine may have other things to do. What
# cannot run here is told by name: a command that exits 77 and has said why, or tests of cmocka and
# of bats that skip themselves. With RL_TEST_ALL set each of these is a failure. What one that passed
# has left in /dev/shm is told. Give the long ones first.
#
# With RL_TEST_AGAIN set, a script that has failed is run once more when all else has ended, and both are told: servers and
# clients of others may be late on a machine that has other things to do. A program of ours that fails, has failed.
set -u

# skipped_in LOG COMMAND: a line for each test in it that did not run, and why, if it says that.
skipped_in() {
	sed -nE 's/^ok [0-9]+ (.*) # skip ?(.*)/\1: \2/p; s/^\[  SKIPPED \] ([^ ]+)$/\1/p' "$1" | sort -u |
		while read -r what; do
			printf '\npart  %s: without %s' "$2" "$what"
		done
}

# run_one COMMAND FILE: run it and tell, in one piece, how it ended; if it failed, the file has its name.
run_one() {
	local log status=0 TIMEFORMAT='%0R s, %0U+%0S s of a CPU' took skipped verdict
	log=$(mktemp)
	{ time timeout "${RL_TEST_SECONDS:-1800}" "${0%/*}/alone.sh" "$1" >"$log" 2>&1 </dev/null || status=$?; } 2>"$log.time"
	took=$(cat "$log.time")
	skipped=$(skipped_in "$log" "$1")
	if [[ $status -eq 77 && -z ${RL_TEST_ALL:-} ]]; then
		verdict="skip  $1: $(tail -n 1 "$log")"
	elif [[ $status -ne 0 ]]; then
		verdict="FAIL  $1 (exit $status, $took)
$(tail -n 60 "$log")"
	elif [[ -n $skipped && -n ${RL_TEST_ALL:-} ]]; then
		verdict="FAIL  $1: not all of it can run here$skipped"
	else
		verdict="ok    $1 ($took)$skipped$(sed -n 's/^left in /\nleft  /p' "$log")"
	fi
	rm -f "$log" "$log.time"
	printf '%s\n' "$verdict"
	[[ $verdict != FAIL* ]] || printf '%s\0' "$1" >>"$2"
}

# may_be_late COMMAND: whether it starts what is not ours.
may_be_late() {
	local ours='^(RL_TEST_[A-Z]+=[a-z]+ )?(build|tests/(accuracy|flood|fuzz|house|model|musl|mutants|relacy))/'

	[[ -n ${RL_TEST_AGAIN:-} && ! $1 =~ $ours ]]
}

# run_again COMMAND: run it once more, and tell how it ended now.
run_again() {
	local verdict
	verdict=$(run_one "$1" /dev/null)
	printf '%s\n' "${verdict/#ok    /again }"
}

if [ "${1:-}" = --one ]; then
	run_one "$3" "$2"
	exit 0
fi

unset MAKEFLAGS # a make that a test calls has nothing to do with the jobs of the one that calls this
results=$(mktemp)
first=$(mktemp)
trap 'rm -f "$results" "$first"' EXIT
{
	printf '%s\0' "$@" | xargs -0 -n 1 -P "$(($(nproc) + 2))" "$0" --one "$first"
	while IFS= read -r -d '' command; do
		! may_be_late "$command" || run_again "$command"
	done <"$first"
} | tee "$results" | grep --line-buffered -v '^part  '
grep -E '^(skip|part)  ' "$results"
again=$(grep -c '^again ' "$results")
passed=$(($(grep -c '^ok  ' "$results") + again))
skipped=$(grep -c '^skip  ' "$results")
failed=$(($# - passed - skipped))
parts=$(grep -c '^part  ' "$results")
echo "$passed passed, $failed failed, $skipped skipped, $parts skipped in those that passed"
[ "$again" -eq 0 ] || echo "$again of them at the second time"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
