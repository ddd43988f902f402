#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh PROGRAM...: run these tests, built for coverage; say which lines of libshm none of them has
# run, and fail if that is more than one in twenty. The report for browsers is in build/coverage.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$top/build/coverage
cd "$top"
mkdir -p "$out"
find build/v/cov -name '*.gcda' -delete
tests/support/run.sh "$@"
lcov --quiet --capture --directory build/v/cov/o/libshm --base-directory "$top" --output-file "$out/all.info"
lcov --quiet --extract "$out/all.info" "$top/libshm/*" --output-file "$out/libshm.info"
genhtml --quiet --output-directory "$out" "$out/libshm.info" || true
awk -F: '$1 == "SF" { sub(".*/", "", $2); file = $2 }
	$1 == "DA" { split($2, line, ","); lines++; if (line[2] == 0) { missed++; print "not run: " file ":" line[1] } }
	END { printf "%.1f %% of %d lines\n", 100 * (lines - missed) / lines, lines; exit lines == 0 || 20 * missed > lines }' \
	"$out/libshm.info"
