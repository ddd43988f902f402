#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `make install` installs, with no flags of anybody's, is hardened as far as the compiler
# can; and it is the same to the last byte wherever it was built. Flags that are given are taken.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first=$work/first second=$work/second/which/has/a/longer/name
unset CC CPPFLAGS CFLAGS LDFLAGS MAKEFLAGS MFLAGS MAKEOVERRIDES

fail() {
	echo "FAILED: $*"
	exit 1
}

# The files of the project, without what was built.
copy_to() {
	mkdir -p "$1"
	(cd "$top" && tar -c --exclude=./build --exclude=./.git .) | tar -x -C "$1"
}

install_from() {
	copy_to "$1"
	make -s -C "$1" install DESTDIR="$1.root" PREFIX=/usr >"$1.log" 2>&1 || fail "make install: $(cat "$1.log")"
}

# shows FILE PATTERN READELF-OPTION...
shows() {
	local file=$1 pattern=$2
	shift 2
	readelf -W "$@" "$file" 2>/dev/null | grep -E -- "$pattern" >/dev/null || fail "$file: no $pattern"
}

is_hardened() {
	shows "$1" GNU_RELRO -l
	shows "$1" '\(FLAGS\).*BIND_NOW' -d
	shows "$1" 'GNU_STACK .* RW ' -l
	shows "$1" '__stack_chk_fail' --dyn-syms
	shows "$1" '_chk@' --dyn-syms
	! readelf -dW "$1" | grep TEXTREL || fail "$1: its text is written to"
}

# has_option FLAG: this compiler has it.
has_option() {
	cc -Werror "$1" -x c -S -o - /dev/null >/dev/null 2>&1
}

# The objects say it; what is linked of them only where the C library's say so, too.
has_control_flow_protection() {
	local object
	has_option -fcf-protection || return 0
	for object in "$1"/build/o/libshm/*/*.o; do
		shows "$object" 'IBT, SHSTK' -n
	done
}

# given FLAGS...: a source compiles with these, and no warning, and they are taken.
given() {
	rm -f "$first/build/o/libshm/api/error.o"
	make -s -C "$first" V=1 build/o/libshm/api/error.o "$@" >"$first.log" 2>&1 || fail "with $*: $(cat "$first.log")"
}

install_from "$first"
install_from "$second"
diff -r "$first.root" "$second.root" || fail 'two directories, two results'
for file in librl.a librl.so.0 rlctl rld; do
	cmp "$first/build/$file" "$second/build/$file" || fail "$file depends on where it was built"
	! grep -aF "$work" "$first/build/$file" || fail "$file says where it was built"
done
for file in bin/rlctl sbin/rld lib/librl.so.0; do
	is_hardened "$first.root/usr/$file"
done
for file in bin/rlctl sbin/rld; do
	shows "$first.root/usr/$file" '\(FLAGS_1\).*PIE' -d
done
has_control_flow_protection "$first"

given CFLAGS='-O0 -g'
given CFLAGS='-O2 -D_FORTIFY_SOURCE=1'
given CPPFLAGS='-D_FORTIFY_SOURCE=1' CFLAGS=-O2
given CFLAGS='-O2 -fno-stack-protector -fcf-protection=none'
! readelf -nW "$first/build/o/libshm/api/error.o" | grep IBT || fail 'the flags of whoever builds do not come last'
if command -v dpkg-buildflags >/dev/null; then
	given CPPFLAGS="$(dpkg-buildflags --get CPPFLAGS)" CFLAGS="$(dpkg-buildflags --get CFLAGS)"
fi
