#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh BUILD: one limit of 100 a minute, four pre-forked HTTP workers, no daemon. Exits 0
# if the limit held.
set -euo pipefail

build=${1:?usage: demo.sh BUILD}
segment=demo-$$
limit=100
workers=4
log=$(mktemp)
server=

cleanup() {
	if [[ -n $server ]]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	"$build/rlctl" --segment "$segment" unlink --yes >/dev/null 2>&1 || true
	rm -f "$log"
}
trap cleanup EXIT

say() {
	printf '\n== %s\n' "$*"
}

# lines PATTERN: how many lines of the server's log have it.
lines() {
	grep -c -- "$1" "$log" || true
}

until_lines() {
	local tries=0
	while [[ $(lines "$1") -lt $2 ]]; do
		tries=$((tries + 1))
		[[ $tries -lt 1000 ]] || { echo "demo: the server stands still" >&2; exit 1; }
		sleep 0.01
	done
}

"$build/prefork" "$segment" "$limit" "$workers" >"$log" &
server=$!
until_lines ' pid ' "$workers"
address=$(sed -n 's/^listening on //p' "$log")

say "A server on $address: $workers workers, one limit of $limit requests a minute per client"
grep ' pid ' "$log"

say "60 requests, 4 at a time (ab -n 60 -c 4)"
ab -q -r -n 60 -c 4 "http://$address/" | grep -E '^(Complete|Non-2xx|Requests per)'

say "340 more, and one worker is SIGKILLed in the middle of them"
ab -q -r -n 340 -c 4 "http://$address/" >"$log.ab" &
client=$!
until_lines answers 70
victim=$(sed -n 's/^worker 2 pid //p' "$log")
kill -KILL "$victim"
echo "killed worker 2, pid $victim"
wait "$client" || true
grep -E '^(Complete|Non-2xx|Requests per)' "$log.ab"
rm -f "$log.ab"

say "Admitted per worker"
for ((i = 1; i <= workers; i++)); do
	printf 'worker %d   admitted %3d   refused %3d\n' \
		"$i" "$(lines "^worker $i answers 200")" "$(lines "^worker $i answers 429")"
done
printf 'total      admitted %3d   refused %3d\n' "$(lines 'answers 200')" "$(lines 'answers 429')"

say "What one more request is told"
exec 3<>"/dev/tcp/${address%:*}/${address#*:}"
printf 'GET / HTTP/1.0\r\n\r\n' >&3
head -n 2 <&3
exec 3>&-

say "What rlctl sees (rlctl --segment $segment list)"
"$build/rlctl" --segment "$segment" list

say "Result"
admitted=$(lines 'answers 200')
used=$("$build/rlctl" --segment "$segment" get client 127.0.0.1 --json |
	sed -n 's/.*"used": \([0-9]*\).*/\1/p')
# A worker killed between charge and answer has charged one request that nobody saw admitted.
if [[ $used -ne $limit || $admitted -gt $limit || $admitted -lt $((limit - 1)) ]]; then
	echo "demo: $admitted requests were admitted and $used counted, not $limit" >&2
	exit 1
fi
echo "$admitted of 400 requests were admitted, by a limit of $limit. Had each worker counted for"
echo "itself, all 400 would have been: $workers x $limit."
