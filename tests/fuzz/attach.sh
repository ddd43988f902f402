#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# attach.sh [SECONDS]: a slice of fuzzing of damaged segments, 5 seconds or as long as said. What it
# finds goes to build/fuzz.
set -eu

top=$(dirname "$0")/../..
mkdir -p "$top/build/fuzz/segments"
# Three seeds: a whole segment, a signed header with another geometry, a truncated file.
printf '\0\1\0\0' >"$top/build/fuzz/segments/whole"
printf '\1\2\0\0\040\0\1\3\100\30\1\7' >"$top/build/fuzz/segments/signed"
printf '\2\3\0\20' >"$top/build/fuzz/segments/truncated"
exec "$top/build/v/fuzz/fuzz_attach" -max_total_time="${1:-5}" -timeout=20 -max_len=512 \
	-rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 -artifact_prefix="$top/build/fuzz/" \
	"$top/build/fuzz/segments"
