#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each call that the library exports has a manual page, and each call in a page is exported, with
# the prototype that the page gives, in the headers that it names: the SYNOPSIS of every page is
# compiled as it is, and so is each example that is a whole program.
set -euo pipefail

cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

synopsis() {
	mandoc -T ascii -O width=1000 "$1" | sed 's/.\x08//g' | sed -n '/^SYNOPSIS/,/^DESCRIPTION/{//!p}' | grep -v '^ *cc '
}

names() {
	awk '/^\.Sh/ { naming = $2 == "NAME" } naming && $1 == ".Nm" { print $2 }' "$1"
}

# programs PAGE: its displays that begin with an #include, each in a file.
programs() {
	awk -v work="$work" -v page="$(basename "$1")" '
		/^\.Ed/ { file = "" }
		begins && /^#include/ { file = work "/program-" page (++count) ".c" }
		file { gsub(/\\e/, "\\"); print >file }
		{ begins = /^\.Bd -literal/ }' "$1"
}

check='gcc -std=c11 -Wall -Wextra -Werror -Iinclude -fsyntax-only'
status=0
sed -n 's/^\t\t\(rl_[a-z_]*\);/\1/p' libshm/api/librl.map | sort >"$work/exported"
for page in man/rl_*.3; do
	names "$page" | sort >"$work/named"
	synopsis "$page" >"$work/synopsis.c"
	grep -o '\brl_[a-z_]*(' "$work/synopsis.c" | tr -d '(' | sort >"$work/declared"
	diff "$work/named" "$work/declared" >&2 || { echo "$page: NAME and SYNOPSIS differ" >&2; status=1; }
	cat "$work/named" >>"$work/all"
	$check "$work/synopsis.c" || { echo "$page: the SYNOPSIS is not what the headers say" >&2; status=1; }
	programs "$page"
done
for program in "$work"/program-*.c; do
	$check "$program" || { echo "an example is no program: $(<"$program")" >&2; status=1; }
done
sort "$work/all" | diff "$work/exported" - >&2 || { echo 'exports and manual pages differ' >&2; status=1; }
# A page refers only to pages of rl that there are.
while read -r reference; do
	[ -e "man/$reference" ] || { echo "man/$reference is referred to, and is not there" >&2; status=1; }
done < <(sed -n 's/^\.Xr \(rl[a-z_.]*\) \([1-8]\).*/\1.\2/p' man/*.[1-8] | sort -u)
exit "$status"
