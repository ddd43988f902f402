#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# origin.sh NAME FILE...: what `make build-NAME` has built finds the library of the build tree by itself, wherever that
# is; and what `make install-NAME` installs looks where the system does, and nowhere else.
set -euo pipefail

cd "$(dirname "$0")/../../.."
name=$1
shift
unset LD_LIBRARY_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAILED: $*"
	exit 1
}

library=$(readlink -f build/librl.so.1)
for file in "$@"; do
	found=$(ldd "$file" | sed -n 's/.*librl.so.1 => \([^ ]*\).*/\1/p')
	[ "$(readlink -f "$found")" = "$library" ] || fail "$file finds librl.so.1 in: $found"
	! readelf -dW "$file" | grep -E '(RPATH|RUNPATH)' | grep -v '\[.ORIGIN/' || fail "$file says where it was built"
done
make -s "install-$name" DESTDIR="$work" PREFIX=/usr >"$work/log" 2>&1 || fail "make install-$name: $(cat "$work/log")"
find "$work" -name '*.so' -o -name '*.node' >"$work/files"
[ -s "$work/files" ] || fail 'nothing is installed'
while read -r file; do
	! readelf -dW "$file" | grep -E 'RPATH|RUNPATH' || fail "$file is installed with a path of its own"
done <"$work/files"
