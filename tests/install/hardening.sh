#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is built with no flags of anybody's is hardened as far as the compiler can; and the library
# is the same to the last byte wherever it was built; with `whole` all that `make install` installs,
# which says of no place. Flags that are given are taken.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
other=$work/other/which/has/a/longer/name
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

make_in() {
	local directory=$1
	shift
	make -s -C "$directory" "$@" >"$work/log" 2>&1 || fail "make $*: $(cat "$work/log")"
}

# built_alike: where the same was built elsewhere: in this tree, if that is with nobody's flags, too.
built_alike() {
	local first=$top
	if ! cmp -s "$top/build/flags" "$other/build/flags"; then
		first=$work/first
		copy_to "$first"
	fi
	make_in "$first" all
	echo "$first/build"
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
	rm -f "$other/build/o/libshm/api/error.o"
	make_in "$other" V=1 build/o/libshm/api/error.o "$@"
}

copy_to "$other"
alike=(librl.a librl.so.1)
if [[ ${1:-} == whole ]]; then
	alike+=(rlctl rl-replay rld)
	make_in "$other" install DESTDIR="$work/root" PREFIX=/usr
	! grep -raF "$work" "$work/root" || fail 'what is installed says where it was built'
fi
make_in "$other" "${alike[@]/#/build/}"
here=$(built_alike)
for file in "${alike[@]}"; do
	cmp "$here/$file" "$other/build/$file" || fail "$file depends on where it was built"
done
for file in rlctl rl-replay rld librl.so.1; do
	is_hardened "$here/$file"
done
for file in rlctl rl-replay rld; do
	shows "$here/$file" '\(FLAGS_1\).*PIE' -d
done
has_control_flow_protection "$other"

given CFLAGS='-O0 -g'
given CFLAGS='-O2 -D_FORTIFY_SOURCE=1'
given CPPFLAGS='-D_FORTIFY_SOURCE=1' CFLAGS=-O2
given CFLAGS='-O2 -fno-stack-protector -fcf-protection=none'
! readelf -nW "$other/build/o/libshm/api/error.o" | grep IBT || fail 'the flags of whoever builds do not come last'
if command -v dpkg-buildflags >/dev/null; then
	given CPPFLAGS="$(dpkg-buildflags --get CPPFLAGS)" CFLAGS="$(dpkg-buildflags --get CFLAGS)"
fi
