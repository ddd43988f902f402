#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh PART: one part of the tests of PHP, from the top after make build-php.
set -euo pipefail

cd "$(dirname "$0")/../../.."
here=$PWD/bindings/php
export LD_LIBRARY_PATH=$PWD/build RL_TABLE=$PWD/bindings/table.json RLCTL=$PWD/build/rlctl RL_STUB=$here/ext/rl.stub.php RL_SRC=$here/src
export RL_EXTENSION=${RL_EXTENSION:-$PWD/build/php/modules/rl.so} RL_CHECK_NS=$PWD/build/bindings/check_ns NO_INTERACTION=1
PHP=${PHP:-php}

# PHP's own runner of its tests, on copies, beside which it writes what it saw.
phpt() {
	local work
	work=$(mktemp -d)
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$work'" EXIT
	cp -r "$here/tests/phpt" "$here/tests/table.php" "$work"
	export TEST_PHP_EXECUTABLE=${PHP_BINARY:-$(command -v "$PHP")} TEST_PHP_ARGS="-n -q"
	"$PHP" -n "$(phpize_dir)/run-tests.php" -n -q --offline --show-diff -d "extension=$RL_EXTENSION" "$work/phpt" >"$work/log" 2>&1 ||
		{ cat "$work/log"; exit 1; }
	grep -E '^Tests (passed|failed|skipped)' "$work/log"
	! grep -qE '^Tests skipped *: *[1-9]' "$work/log"
}

phpize_dir() {
	echo "/usr/lib/php/$(php-config --phpapi)/build"
}

# PHP with its own configuration directory left out, and these extensions.
on() {
	"$PHP" -n -d "extension=$RL_EXTENSION" "$@"
}

case $1 in
phpt)
	phpt
	;;
asan) # memory of PHP's own allocator is not watched, so it is not used
	RL_EXTENSION=$PWD/build/php-asan/modules/rl.so
	LD_PRELOAD=$PWD/build/php-asan/no_deepbind.so:$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
	export LD_PRELOAD RL_EXTENSION USE_ZEND_ALLOC=0 ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0:verify_asan_link_order=0 RL_TEST_ASAN=1
	phpt
	;;
adapters)
	on -d extension=mbstring "$here/tests/adapters.php"
	on -d extension=mbstring "$here/tests/newer_symfony.php" | grep -x 'by its interface'
	;;
servers)
	exec python3 "$here/tests/servers.py"
	;;
readme)
	on -d extension=mbstring -d error_reporting=24575 "$here/tests/readme.php"
	;;
lent)
	exec tests/support/lent.py "$PHP" -n -d "extension=$RL_EXTENSION" -d extension=posix "$here/tests/lent.php"
	;;
source)
	exec "$here/tests/source.sh"
	;;
off)
	exec "$here/tests/off.sh"
	;;
bench)
	exec "$here/tests/bench.sh"
	;;
*)
	echo "run.sh: no part $1" >&2
	exit 2
	;;
esac
