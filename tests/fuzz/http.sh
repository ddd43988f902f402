#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# http.sh [SECONDS]: a slice of fuzzing of what proxies forward, 4 seconds or as long as said. What
# it finds goes to build/fuzz.
set -eu

top=$(dirname "$0")/../..
seeds=$top/build/fuzz/http
mkdir -p "$seeds"
printf '6.6.6.6, [2001:db8::1%%eth0]:80, unix:, ::ffff:10.0.0.2' >"$seeds/addresses"
printf 'for=_x;by="a\\",", for="[2001:db8::1]:443";proto=https, For=10.0.0.2:_p' >"$seeds/forwarded"
exec "$top/build/v/fuzz/fuzz_http" -max_total_time="${1:-4}" -timeout=20 -max_len=2048 \
	-rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 -dict="$top/tests/fuzz/http.dict" \
	-artifact_prefix="$top/build/fuzz/" "$seeds"
