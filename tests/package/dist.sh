#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make dist` makes the same bytes twice, also from what it has made, whoever's the files are and where git refuses to tell; the
# sum is right, nothing of a build is in it, and make finds all parts of every program there. With `whole` all of it is built from it.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAILED: $*"
	exit 1
}

version=$(sed -n 's/^VERSION *:= *//p' "$top/Makefile")
name=rl-$version.tar.gz

# dist TREE NAME: what `make dist` makes there, kept under that name.
dist() {
	make -s -C "$1" dist >"$work/log" 2>&1 || { cat "$work/log"; fail "make dist in $1"; }
	(cd "$1/build/dist" && sha256sum --check --quiet SHA256SUMS) || fail 'SHA256SUMS'
	cp "$1/build/dist/$name" "$work/$2"
}

unpack() {
	mkdir "$work/$1"
	tar -x -C "$work/$1" -f "$work/first.tar.gz"
}

dist "$top" first.tar.gz
unpack one
tree=$work/one/rl-$version
find "$tree" -exec touch -h -d '2001-02-03' {} +
chmod -R g+w,o-r "$tree"
echo 'no repository' >"$tree/.git"
(umask 077 && dist "$tree" second.tar.gz)
cmp "$work/first.tar.gz" "$work/second.tar.gz" || fail 'two of one source differ'
for part in Makefile .ci/run tests/support/need.sh; do
	[ -e "$tree/$part" ] || fail "no $part in it"
done
[ -z "$(tar -t -f "$work/first.tar.gz" | grep -E '/(build|\.git)/|\.o$' || true)" ] || fail 'more is in it'
goal=--dry-run
[ "${1:-}" != whole ] || goal=-j2
make "$goal" -C "$tree" all >"$work/log" 2>&1 || { tail -n 20 "$work/log"; fail 'it does not build'; }
echo "$name: the same twice, and it builds"
