#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh PART: one part of the tests of Ruby, from the top after make build-ruby.
set -euo pipefail

cd "$(dirname "$0")/../../.."
here=bindings/ruby
export RL_CHECK_NS=$PWD/build/bindings/check_ns
export LD_LIBRARY_PATH=$PWD/build RL_TABLE=bindings/table.json RLCTL=$PWD/build/rlctl RL_RUBY_LIB=$PWD/build/ruby/lib:$PWD/$here/lib
RUBY=${RUBY:-ruby}
on() {
	"$RUBY" -W1 -I "${RL_RUBY_LIB%%:*}" -I "$here/lib" -I "$here/tests" "$@"
}
all=(-e 'ARGV.each { |file| require "./#{file}" }' "$here"/tests/{table,test_*}.rb)

case $1 in
ruby)
	on "${all[@]}"
	;;
asan) # the interpreter itself leaks, and is not looked at
	LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
	export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0:handle_segv=0:use_sigaltstack=0:detect_odr_violation=0 RL_RUBY_LIB=$PWD/build/ruby-asan/lib:$PWD/$here/lib
	RL_TEST_ASAN=1 on "${all[@]}"
	;;
stress)
	on --disable-gems "$here/tests/stress.rb"
	;;
servers)
	on "$here/tests/servers.rb"
	;;
readme)
	on "$here/tests/readme.rb"
	;;
lent)
	exec tests/support/lent.py "$RUBY" -W1 -I "${RL_RUBY_LIB%%:*}" -I "$here/lib" "$here/tests/lent.rb"
	;;
bench)
	on "$here/tests/bench.rb"
	;;
gem)
	exec "$here/tests/gem.sh"
	;;
*)
	echo "run.sh: no part $1" >&2
	exit 2
	;;
esac
