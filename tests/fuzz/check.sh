#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check.sh [SECONDS]: a slice of fuzzing, 8 seconds or as long as said. Begins with every file of
# the tests, and with what earlier runs found worth keeping; what it finds goes to build/fuzz.
set -eu

top=$(dirname "$0")/../..
seconds=${1:-8}
mkdir -p "$top/build/fuzz/found"
exec "$top/build/v/fuzz/fuzz_config" -max_total_time="$seconds" -timeout=20 -max_len=4096 \
	-rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
	-dict="$top/tests/fuzz/config.dict" -artifact_prefix="$top/build/fuzz/" \
	"$top/build/fuzz/found" "$top/tests/fuzz/corpus" "$top/tests/config/good" \
	"$top/tests/config/bad" "$top/tests/config/meaning" "$top/tests/config/warning"
