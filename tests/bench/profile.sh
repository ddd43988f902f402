#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Instructions of one decision on a hot key, by function: they do not depend on what else the
# machine is doing.
set -eu

bench=$(dirname "$0")/../../build/tests/bench/bench
n=100000 # as the section `hit` runs in a round
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for lane in admit_now admit_lent deny_hard deny_estimate; do
	valgrind --tool=callgrind --callgrind-out-file="$scratch/out" --toggle-collect=rl_check_at \
		"$bench" --profile "$lane" >"$scratch/log" 2>&1 || {
		cat "$scratch/log" >&2
		exit 1
	}
	printf '\n%s: instructions of a decision\n' "$lane"
	# Lines are "20,500,000 (19.05%)  file:function [object]".
	callgrind_annotate --auto=no "$scratch/out" | sed 's/(\([^)]*\))//' |
		awk -v n="$n" '/PROGRAM TOTALS|:/ && $1 ~ /^[0-9,]+$/ {
			gsub(",", "", $1); sub(".*/", "", $2)
			if ($1 >= n) printf "%8.0f  %s\n", $1 / n, $2 == "PROGRAM" ? "in all" : $2 }'
done
