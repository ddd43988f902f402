#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [RUNS]: the protocols' cores on simulated weak memory (Relacy). Each must hold in every run,
# and fail in each of its broken forms, which the head of its source explains.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
runs=${1:-20000}
out=$top/build/relacy
failed=0
mkdir -p "$out"
ulimit -c 0

# The library is C: C++ takes it with a few liberties.
build() {
	g++ -std=gnu++20 -O1 -w -fpermissive -D_Thread_local=thread_local -MMD -I"$top/libshm" -I"$top/include" -o "$out/$1" \
		"$top/tests/relacy/$1.cpp"
}

# is_built CORE: since its sources were changed.
is_built() {
	local sources source
	[[ -e $out/$1.d ]] || return 1
	read -ra sources < <(sed 's/^[^:]*://; s/\\$//' "$out/$1.d" | tr '\n' ' ')
	for source in "${sources[@]}"; do
		[[ $out/$1 -nt $source ]] || return 1
	done
}

# check CORE FORM...: a broken form ends with its first failure, and may take more runs to find it.
check() {
	local core=$1 form
	shift
	is_built "$core" || build "$core"
	if ! "$out/$core" "$runs" >"$out/$core.log" 2>&1; then
		echo "$core: fails, see $out/$core.log"
		failed=1
		return
	fi
	for form; do
		if "$out/$core" $((runs * 5)) "$form" >"$out/$core.$form.log" 2>&1; then
			echo "$core: does not fail when broken: $form"
			failed=1
		fi
	done
	echo "$core: $runs runs, and fails when broken: $*"
}

check claim no-fence
check reuse older relaxed-load16
check configuration too-early relaxed-load
check window no-freeze unstored unseen one-look relaxed-load relaxed-load16 relaxed-cas \
	relaxed-cas16
check share advance-first send-first late-answer no-cas share-unseen
check in_flight unstored unseen no-seq same-seq undead relaxed-load relaxed-load16 relaxed-cas \
	relaxed-cas16
check wish no-cas no-fence
check flood no-stranger-fence no-claimer-fence no-recheck no-folds relaxed-load relaxed-cas
exit $failed
