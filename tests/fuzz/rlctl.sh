#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# rlctl.sh [SECONDS]: a slice of fuzzing of rlctl, for 3 seconds each or as long as said: its
# arguments, what it replays and what it restores. What it finds goes to build/fuzz.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-3}
status=0
cd "$top" # the configuration that some inputs name

# Its verbs, those below them and options, as it tells them itself, and all algorithms.
mkdir -p build/fuzz
rlctl=build/v/asan/rlctl
{
	cat tests/fuzz/rlctl.dict
	sed -n 's/^ALGORITHM(.*"\([a-z_]*\)".*/"\1"/p' libshm/algorithm/rl_algorithms.def
	$rlctl help | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' | while read -r verb; do
		echo "\"$verb\""
		$rlctl help "$verb" | sed 1q | grep -oE '[a-z]+(\|[a-z]+)+' | tr '|' '\n' | sed 's/.*/"&"/'
		$rlctl help "$verb" | sed -nE 's/^  (-.), (--[a-z-]+).*/"\1"\n"\2"/p; s/^      (--[a-z-]+).*/"\1"/p'
	done | sort -u
} >build/fuzz/rlctl.dict

for what in arguments replay restore; do
	mkdir -p "build/fuzz/$what"
	build/v/fuzz/fuzz_rlctl -max_total_time="$seconds" -timeout=20 -max_len=4096 \
		-rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
		-dict=build/fuzz/rlctl.dict -artifact_prefix="build/fuzz/$what-" \
		"build/fuzz/$what" "tests/fuzz/$what" || status=1
done
exit $status
