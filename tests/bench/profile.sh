#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# profile.sh [LANE]: instructions of one decision, and the loop around it, for each lane of hot.def; of one
# lane, by function. They do not depend on what else the machine is doing.
set -eu

bench=$(dirname "$0")/../../build/tests/bench/bench
n=1000 # decisions, as `bench --profile` makes
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

count() {
	valgrind --tool=callgrind --callgrind-out-file="$scratch/out" '--toggle-collect=profile_this*' \
		"$bench" --profile "$1" >"$scratch/log" 2>&1 || {
		cat "$scratch/log" >&2
		exit 1
	}
}

if [ $# -gt 0 ]; then
	count "$1"
	# Lines are "20,500,000 (19.05%)  file:function [object]".
	callgrind_annotate --auto=no "$scratch/out" | sed 's/(\([^)]*\))//' |
		awk -v n="$n" '/PROGRAM TOTALS|:/ && $1 ~ /^[0-9,]+$/ {
			gsub(",", "", $1); sub(".*/", "", $2)
			if ($1 >= n) printf "%8.0f  %s\n", $1 / n, $2 == "PROGRAM" ? "in all" : $2 }'
	exit
fi
for lane in $("$bench" --lanes); do
	count "$lane"
	awk -v n="$n" -v lane="$lane" '$1 == "totals:" { printf "%s %.0f\n", lane, $2 / n }' "$scratch/out"
done
