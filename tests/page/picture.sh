#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# picture.sh FILE: run rld on a segment of its own, with requests, denials and a ban, and make a picture of its
# status page.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
file=$(realpath "$1")
work=$(mktemp -d)
segment=shop-$$
trap 'kill "$pid" 2>/dev/null || :; wait 2>/dev/null || :; rm -rf "$work" "/dev/shm/rl.$segment" "/dev/shm/rl/rl.$segment"' EXIT
pid=

rlctl() {
	"$top/build/rlctl" -s "$segment" "$@" >/dev/null || [ $? -eq 1 ]
}

ask() {
	for _ in $(seq "$3"); do rlctl check "$1" "$2"; done
}

cat >"$work/rl.json" <<EOF
{
	"segment": {"name": "$segment"},
	"rules": {
		"login": {"limit": "5/10min"},
		"api": {"limits": [{"limit": "20/s"}, {"limit": "60/h"}]},
		"search": {"limit": "3/min", "mode": "shadow"}
	}
}
EOF
"$top/build/rld" -c "$work/rl.json" --metrics-listen 127.0.0.1:0 --status-page 2>"$work/log" &
pid=$!
until grep -q 'sweeping segment' "$work/log"; do sleep 0.1; done
url=$(sed -nE 's|.*metrics at (http://[0-9.:]+)/metrics.*|\1|p' "$work/log")

# Two minutes of it, so that there is a history.
for minute in 1 2; do
	ask api 198.51.100.7 $((20 * minute))
	ask api 203.0.113.9 $((30 * minute))
	ask login alice 3
	ask login '<b>mallory</b>' $((4 * minute))
	ask search 198.51.100.7 5
	[ "$minute" = 2 ] || sleep 62
done
rlctl ban 192.0.2.0/24 --for 1h
sleep 1
"$top/tests/page/browser.py" "$url/" "$file"
