#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh PART: one part of the tests of Perl, from the top after make build-perl.
set -euo pipefail

cd "$(dirname "$0")/../../.."
here=bindings/perl
build=$PWD/build/perl
export LD_LIBRARY_PATH=$PWD/build RL_TABLE=bindings/table.json RLCTL=$PWD/build/rlctl
on() {
	PERL5LIB=$build/blib/lib:$build/blib/arch "${PERL:-perl}" -w "$here/tests/$1.t"
}

case $1 in
table | native | servers | readme)
	on "$1"
	;;
lent)
	export PERL5LIB=$build/blib/lib:$build/blib/arch
	exec tests/support/lent.py "${PERL:-perl}" -w "$here/tests/lent.t"
	;;
asan) # the interpreter itself leaks, and is not looked at
	build=$PWD/build/perl-asan
	LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
	export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0
	on table
	on native
	;;
*)
	echo "run.sh: no part $1" >&2
	exit 2
	;;
esac
