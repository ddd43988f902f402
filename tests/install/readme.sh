#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the README shows is so: its C program compiles and limits, its commands run as written and
# in order, its configuration is valid, the files it names are there.
# shellcheck disable=SC2016 # backquotes are the README's
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
readme=$top/README.md
work=$(mktemp -d)
names="web mail"

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

# block LANGUAGE NUMBER: that fenced block. Segments have names of this test's own.
block() {
	awk -v fence="\`\`\`$1" -v number="$2" '
		$0 == "```" { inside = 0 }
		inside { print }
		$0 == fence && ++count == number { inside = 1 }
	' "$readme" | sed -E "s/\"(web|mail)\"/\"\1-$$\"/g; s/--segment (web|mail)\b/--segment \1-$$/g"
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
block sh 1 >one.sh
block sh 2 >two.sh
lines two.sh 5
block sh 3 >three.sh
block json 1 >check.json
lines check.json 300

# shellcheck source=/dev/null
. ./one.sh >one.out
[ "$(grep -cx yes one.out) $(grep -cx no one.out)" = '3 2' ] || fail 'the program of three'
shows one.out 'alice'
[ ! -e "/dev/shm/rl.web-$$" ] || fail 'unlink'
# The last command of the loop is a denial.
# shellcheck source=/dev/null
. ./two.sh >two.out || true
[ "$(cat two.out)" = "$(printf 'mail %d may go\n' 1 2 3 4 5)" ] || fail 'the five mails'
# shellcheck source=/dev/null
. ./three.sh >three.out
shows three.out 'alice'
build/rlctl config check -c check.json || fail 'the configuration'

# Verbs, goals of make and paths, as they are named in the text.
named() {
	grep -oE -- "$1" "$readme" | tr -d '`()]' | sort -u
}
build/rlctl help >verbs
named '`rlctl [a-z]+' | while read -r _ verb; do
	grep -q "^  $verb " verbs || fail "no verb $verb"
done
make -s -C "$top" help >goals
named '`make [a-z]+`' | while read -r _ goal; do
	grep -qE "make $goal( |,|$)" goals || fail "no goal $goal"
done
named '`(tests|examples|include|libshm|docs|config)/[A-Za-z0-9_./]*`|\]\([a-zA-Z/.]*\)' | while read -r path; do
	[ -e "$top/$path" ] || fail "no $path"
done
! grep -nE '^(<<<<<<<|>>>>>>>) ' "$readme" "$top"/docs/*.md || fail 'an unfinished merge'
[ -z "$(grep '^##* ' "$readme" | sort | uniq -d)" ] || fail 'a heading stands twice'
[ "$(wc -l <"$readme")" -lt 300 ] || fail 'the README has grown'
