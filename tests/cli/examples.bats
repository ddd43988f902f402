# SPDX-License-Identifier: BSD-2-Clause
# Each example with real requests, on loopback ports that the kernel chooses.

load common

build=$top/build

setup() {
	segment=examples-$$-$BATS_TEST_NUMBER
	servers=()
}

teardown() {
	local pid
	for pid in "${servers[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -f "/dev/shm/rl.$segment"
}

# serve LIMIT: the pre-forked server; $port is where.
serve() {
	local log=$BATS_TEST_TMPDIR/prefork
	"$build/prefork" "$segment" "$1" 3 >"$log" 3>&- &
	servers+=($!)
	eventually grep -q ' pid ' "$log"
	port=$(sed -n 's/^listening on .*://p' "$log")
}

# How many of this many requests were answered with which status.
statuses() {
	ab -q -r -n "$1" -c 4 "http://127.0.0.1:$port/" |
		awk '/^Complete/ { all = $3 } /^Non-2xx/ { no = $3 } END { print all - no, no + 0 }'
}

@test "the pre-forked server admits its limit, over all workers" {
	serve 7
	[ "$(statuses 40)" = '7 33' ]
}

@test "threads share one rate: the last of ten turns at 50 a second is 180 ms after the first" {
	serve 100
	run "$build/threads" "$segment" 50 "$port" 10 4
	exits 0
	[[ $output =~ ^10\ of\ 10\ in\ ([0-9]+)\ ms$ ]]
	[ "${BASH_REMATCH[1]}" -ge 180 ]
	RLCTL=$build/rlctl
	rlctl --segment "$segment" stats --json
	[ "$(jq '.rules[] | select(.rule == "fetch").counters.allowed' <<<"$output")" -eq 10 ]
}

@test "a shell script runs its command as often as the limit allows, and then says when" {
	serve 100
	echo "{\"segment\": {\"name\": \"$segment-cli\", \"keys\": 100}, \"rules\": {\"fetch\": {\"limit\": \"3/day\", \"algorithm\": \"token_bucket\"}}}" >"$BATS_TEST_TMPDIR/rl.json"
	"$build/rld" --config "$BATS_TEST_TMPDIR/rl.json" >"$BATS_TEST_TMPDIR/rld" 2>&1 3>&- &
	servers+=($!)
	eventually grep -q 'in force' "$BATS_TEST_TMPDIR/rld"
	for status in 0 0 0 75 75; do
		run --separate-stderr env RLCTL="$build/rlctl" "$top/examples/limited.sh" "$segment-cli" fetch backup \
			curl -s "http://127.0.0.1:$port/"
		exits "$status"
		[ "$status" -eq 0 ] || complains 'fetch: backup: denied, retry after '
		[ "$status" -ne 0 ] || says hello
	done
	rm -f "/dev/shm/rl.$segment-cli"
	eventually has_lines 3 'answers 200' "$BATS_TEST_TMPDIR/prefork"
	! has_lines 4 'answers 200' "$BATS_TEST_TMPDIR/prefork"
	run --separate-stderr env RLCTL="$build/rlctl" "$top/examples/limited.sh" "$segment-none" fetch backup echo done
	exits 0
	says done
	complains 'unlimited: no answer'
}
