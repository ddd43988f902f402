#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The manual page is sound, and its example is valid.
set -eu

top=$(dirname "$0")/../..
page=$top/man/rl.json.5
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# References to pages that are not installed are no fault of this one.
mandoc -T lint -W style "$page" | grep -vE 'referenced manual not found|outdated mandoc.db' >"$out" || true
[ ! -s "$out" ] || {
	cat "$out"
	exit 1
}
sed -n '/^{$/,/^}$/p' "$page" >"$out"
"$top/build/rlctl" config check "$out"
