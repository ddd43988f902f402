#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [--write]: programs that were linked to the release go on: librl.abi is what that exported, and nothing of it is gone or
# otherwise now. With --write that file is made, for a release. That a removed call is noticed is tried on a library without one.
# Exits 77 where there is no libabigail.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/abi
library=$top/build/librl.so.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v abidiff >/dev/null || {
	echo 'there is no abidiff'
	exit 77
}
if [ "${1:-}" = --write ]; then
	abidw --headers-dir "$top/include" --drop-private-types --no-corpus-path --no-comp-dir-path --short-locs --type-id-style hash \
		--out-file "$here/librl.abi" "$library"
	exit
fi

# differs LIBRARY: what is incompatible in it; new calls are not. The bit 8 of the status says that there is any, 1 an error.
differs() {
	local status=0
	abidiff --headers-dir2 "$top/include" --drop-private-types --no-added-syms "$here/librl.abi" "$1" >"$work/report" 2>&1 || status=$?
	[ "$((status & 9))" -ne 0 ]
}

if differs "$library"; then
	cat "$work/report"
	echo 'FAILED: programs of the release do not go on with this library: docs/VERSIONS.md, the soname'
	exit 1
fi
sed '/rl_peek;/d' "$top/libshm/api/librl.map" >"$work/less.map"
gcc -shared -fno-lto -o "$work/librl.so.1" -Wl,-soname,librl.so.1 -Wl,--version-script="$work/less.map" \
	-Wl,--whole-archive "$top/build/librl-parts.a" -Wl,--no-whole-archive -lpthread
if ! differs "$work/librl.so.1"; then
	echo 'FAILED: that a call is gone is not noticed'
	exit 1
fi
grep -q rl_peek "$work/report" || {
	cat "$work/report"
	echo 'FAILED: the call is not named'
	exit 1
}
echo "$(grep -c "<elf-symbol " "$here/librl.abi") calls, all as they were"
