#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The tests of the extension itself under AddressSanitizer and UBSan, librl built so as well; and with a debug build of
# Python, which counts references and fills memory that is freed.
set -eu

tests=bindings/python/tests
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1
preload="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
for test in test_table test_native test_collector test_processes test_limits test_middleware; do
	RL_PYTHON_BUILD=build/python/asan RL_PRELOAD=$preload "$tests/run.sh" "$tests/$test.py" -k 'not leaks and not subinterpreters'
done
if ! command -v python3-dbg >/dev/null; then
	echo 'without python3-dbg: references are not counted'
	exit 77
fi
export RL_PYTHON_BUILD=build/python/dbg PYTHON=python3-dbg PYTHONMALLOC=debug
"$tests/run.sh" "$tests/test_native.py" -k leaks
"$tests/run.sh" "$tests/test_table.py"
"$tests/run.sh" "$tests/test_collector.py"
