#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh RLCTL [FILE...]: run the tests of the command line on one build of rlctl; those that
# failed are told once more at the end.
set -u

RLCTL=$(realpath "$1") # tests change their directory
export RLCTL
shift
[ $# -gt 0 ] || set -- "$(dirname "$0")"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
bats "$@" >"$log" 2>&1 || status=$?
cat "$log"
grep -A 12 '^not ok' "$log"
exit "$status"
