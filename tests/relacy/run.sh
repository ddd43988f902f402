#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [RUNS]: the protocols' cores on simulated weak memory (Relacy). Each must hold in every run,
# and fail in its broken form.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
runs=${1:-20000}
out=$top/build/relacy
failed=0
mkdir -p "$out"

# The library is C: C++ takes it with a few liberties.
build() {
	g++ -std=gnu++20 -O1 -w -fpermissive -I"$top/libshm" -I"$top/include" -o "$out/$1" \
		"$top/tests/relacy/$1.cpp"
}

for core in claim reuse configuration; do
	if [[ ! $out/$core -nt $top/libshm/table.c || ! $out/$core -nt $top/tests/relacy/$core.cpp ]]; then
		build "$core"
	fi
	if ! "$out/$core" "$runs" >"$out/$core.log" 2>&1; then
		echo "$core: fails, see $out/$core.log"
		failed=1
	elif "$out/$core" "$runs" broken >"$out/$core.broken.log" 2>&1; then
		echo "$core: does not fail when broken"
		failed=1
	else
		echo "$core: $runs runs, and fails when broken"
	fi
done
exit $failed
