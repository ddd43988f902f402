#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the README and the pages of docs show is so: the C program compiles and limits, commands run as written,
# configurations are valid, what is named is there, and the lines for each server and language are those of
# its own page, whose test runs them.
# shellcheck disable=SC2016 # backquotes are the README's
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
readme=$top/README.md
work=$(mktemp -d)
names=web

clean_up() {
	local jobs
	jobs=$(jobs -p)
	[ -z "$jobs" ] || kill "$jobs" 2>/dev/null || true
	wait
	rm -rf "$work"
	for name in $names; do
		rm -f "/dev/shm/rl.$name-$$"
	done
}
trap clean_up EXIT

fail() {
	echo "FAILED: $*"
	exit 1
}

# shown LANGUAGE NUMBER [PAGE]: that fenced block.
shown() {
	awk -v fence="\`\`\`$1" -v number="$2" '
		$0 == "```" { inside = 0 }
		inside { print }
		$0 == fence && ++count == number { inside = 1 }
	' "${3:-$readme}"
}

# block LANGUAGE NUMBER [PAGE]: the same, with names of this test's own for segments.
block() {
	shown "$@" | sed -E "s/\"web\"/\"web-$$\"/g; s/--segment web\b/--segment web-$$/g"
}

lines() {
	[ "$(wc -l <"$1")" -gt 2 ] || fail "$1 was not found in the README"
	[ "$(wc -l <"$1")" -le "$2" ] || fail "$1 has more than $2 lines"
}

# shows BLOCK TEXT: the output of a command has it.
shows() {
	grep -qF -- "$2" "$1" || { cat "$1"; fail "$1 does not show: $2"; }
}

cd "$work"
ln -s "$top/build" "$top/include" .
block c 1 >web.c
lines web.c 12
block json 1 "$top/docs/CONFIGURATION.md" >check.json
lines check.json 300
block sh 1 "$top/docs/CONFIGURATION.md" >replay.sh

cc -Iinclude web.c build/librl.a
./a.out >one.out
[ "$(grep -cx yes one.out) $(grep -cx no one.out)" = '3 2' ] || fail 'the program of three'
build/rlctl --segment "web-$$" get login alice >get.out || true
shows get.out 'alice'
# shellcheck source=/dev/null
. ./replay.sh >replay.out
shows replay.out 'alice'
build/rlctl config check -c check.json || fail 'the configuration'

# same LANGUAGE PAGE: the block for it stands in that page.
same() {
	shown "$1" 1 >"short.$1"
	lines "short.$1" 5
	python3 - "short.$1" "$top/$2" <<-'END' || fail "$2 does not have the lines for $1"
		import sys
		short, page = (open(name).read() for name in sys.argv[1:])
		sys.exit(short not in page)
	END
}
same nginx servers/nginx/README.md
same python bindings/python/README.md
same js bindings/node/README.md
for page in "$top"/servers/*/README.md "$top"/bindings/[a-bd-z]*/README.md; do
	grep -qF "](${page#"$top/"})" "$readme" || fail "no link to ${page#"$top/"}"
done

# Verbs, goals of make and paths, as they are named in the text.
named() {
	cat "$readme" "$top"/docs/[A-BD-Z]*.md "$top"/docs/CON*.md | # the changelog tells of what is gone
		grep -oE -- "$1" | tr -d '`()]' | sort -u
}
build/rlctl help >verbs
named '`rlctl [a-z]+' | while read -r _ verb; do
	grep -q "^  $verb " verbs || fail "no verb $verb"
done
make -s -C "$top" help >goals
named '`make [a-z]+`' | while read -r _ goal; do
	grep -qE "make $goal( |,|$)" goals || fail "no goal $goal"
done
grep -oE '`(tests|examples|include|libshm|docs|config)/[A-Za-z0-9_./]*`' "$readme" | tr -d '`' | while read -r path; do
	[ -e "$top/$path" ] || fail "no $path"
done
for page in "$readme" "$top"/docs/*.md; do
	{ grep -oE '\]\([a-zA-Z/._]*\)' "$page" || true; } | tr -d ']()' | while read -r path; do
		[ -e "$(dirname "$page")/$path" ] || fail "$page: no $path"
	done
done
! grep -nE '^(<<<<<<<|>>>>>>>) ' "$readme" "$top"/docs/*.md || fail 'an unfinished merge'
[ -z "$(grep '^##* ' "$readme" | sort | uniq -d)" ] || fail 'a heading stands twice'
[ "$(wc -l <"$readme")" -le 120 ] || fail 'the README has grown'
