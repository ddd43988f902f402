# SPDX-License-Identifier: BSD-2-Clause
# log, and stats --history.

load common

: "${RLD:=$(dirname "$RLCTL")/rld}"

month_ms=2592000000

setup() {
	segment_setup
}

teardown() {
	segment_teardown
}

@test "log: who is denied, by which limit, and when to come again" {
	fill login 5 $month_ms 1 alice=7 bob=1
	on log
	exits 0
	[ "$(grep -c ' denied ' <<<"$output")" -eq 1 ]
	grep -qE '^[0-9]{2}-[0-9]{2} [0-9:]{8}  denied +[0-9a-z]+  login +alice$' <<<"$output"
	[ "$(awk '{ print length }' <<<"$output" | sort -n | tail -1)" -le 80 ]
	on log --json
	exits 0
	[ "$(grep -c '"event":"denied"' <<<"$output")" -eq 1 ]
	output=$(grep '"event":"denied"' <<<"$output")
	conforms log
	says '"rule":"login","limit_number":1,"key":"alice"'
}

@test "log: of one rule, of some keys, of the last so long" {
	fill login 1 $month_ms 1 alice=2 bob=2
	fill api 1 $month_ms 1 alice=2
	on log --rule api
	exits 0
	[ "$(grep -c ' denied ' <<<"$output")" -eq 1 ]
	on log --match 'b*'
	[ "$(grep -c '' <<<"$output")" -eq 1 ]
	says bob
	on log --since 1h --match '*'
	[ "$(grep -c ' denied ' <<<"$output")" -eq 3 ]
	sleep_ms=1
	on log --since ${sleep_ms}ns
	exits 0
	[ -z "$output" ]
	on log --since soon
	in_trouble "--since: 'soon'"
	on log --rule ipa
	in_trouble "unknown rule 'ipa'"
	on log --match 10.0.0.0/33
	in_trouble -- "--match"
}

@test "log: changes, and who made them" {
	fill login 5 $month_ms 1 alice=1
	on ban 10.0.0.1 --for 1h
	on reset alice --rule login
	on log
	exits 0
	grep -qE "ban set +(1h|59m)[0-9ms]* +- +10\.0\.0\.1 by $(id -un)\$" <<<"$output"
	grep -qE "reset +- +login +alice by $(id -un)\$" <<<"$output"
	grep -qE "defined +- +login +by " <<<"$output"
}

@test "log --changes: they are there in the morning, whatever was denied since" {
	fill login 1 $month_ms 1 alice=1
	for i in $(seq 30); do
		on ban "198.51.$i.0/24" --for 1h
	done
	on ban 'tmp:*' --for 1h
	on unban 'tmp:*'
	# Two who are banned ask as often as they can, and more are denied than the ring holds.
	on ban mallory --for 1h
	for round in 1 2; do
		# shellcheck disable=SC2046
		fill login 1 $month_ms 1 mallory=3000 198.51.7.9=3000 $(seq -f "key-$round-%.0f=2" 2500) || true
	done
	on log --changes
	exits 0
	[ "$(grep -c 'ban set' <<<"$output")" -eq 32 ]
	says_not denied
	grep -qE 'ban set .* tmp:\* by ' <<<"$output"
	grep -qE 'ban lifted .* tmp:\* by ' <<<"$output"
	on log
	[ "$(grep -c ' banned ' <<<"$output")" -le 6 ] || fail_with "$(grep -c ' banned ' <<<"$output") hits told"
	on log -c --json
	output=$(grep -F tmp: <<<"$output" | head -1)
	conforms log
	says '"match":"prefix"'
}

@test "log --changes: as many are kept as the configuration asks for, and status tells it" {
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-END
		{"segment": {"name": "$segment", "keys": 100, "changes": 3}, "rules": {"login": {"limit": "5/min"}}}
	END
	"$RLD" --config "$BATS_TEST_TMPDIR/rl.json" 2>"$BATS_TEST_TMPDIR/log" 3>&- &
	eventually grep -qF 'sweeping segment' "$BATS_TEST_TMPDIR/log"
	kill $!
	for i in 1 2 3 4 5; do
		on ban "10.0.0.$i" --for 1h
	done
	on log --changes
	[ "$(grep -o '10[.]0[.]0[.][0-9]' <<<"$output" | xargs)" = '10.0.0.3 10.0.0.4 10.0.0.5' ]
	on status
	says ' told, the newest 4096 kept, and 3 changes'
	on status --json
	conforms status
	[ "$(jq .segment.changes <<<"$output")" = 3 ]
	RL_CONFIG=$BATS_TEST_TMPDIR/rl.json on config diff
	exits 0
}

@test "log: no key steers a terminal" {
	fill login 1 $month_ms 1 $'a\e[31m\nb=2'
	on log
	exits 0
	! grep -q $'\e' <<<"$output"
	on log --json
	! grep -q $'\e' <<<"$output"
}

@test "log --follow: what comes, until interrupted" {
	fill login 1 $month_ms 1 alice=1
	"$RLCTL" --segment "$segment" log --follow --rule login >"$BATS_TEST_TMPDIR/out" 3>&- &
	follower=$!
	fill login 1 $month_ms 1 alice=1
	eventually grep -q 'denied .*alice' "$BATS_TEST_TMPDIR/out"
	kill "$follower"
	wait "$follower" || true
	grep -q 'denied .*alice' "$BATS_TEST_TMPDIR/out"
}

@test "log: without a segment, and with nowhere to write to" {
	fill login 1 $month_ms 1 alice=2
	rlctl --segment nowhere log
	in_trouble 'no such segment'
	rlctl_full --segment "$segment" log
	exits 2
}

@test "stats --history: the last hour and day" {
	fill login 5 $month_ms 1 alice=7
	on stats --history
	exits 0
	[ "$(grep -cE '^    (allowed +5|denied +2)  \|.*\|$' <<<"$output")" -eq 4 ]
	grep -qE '^  hour from [0-9:]{5} to [0-9:]{5} UTC; denials since [0-9:]{5}$' <<<"$output"
	[ "$(awk '{ print length }' <<<"$output" | sort -n | tail -1)" -le 80 ]
	on stats --history --json
	exits 0
	conforms stats_history
	[ "$(grep -c '"start_ns"' <<<"$output")" -eq 156 ]
	[ "$(grep -c '"denied": 2,$' <<<"$output")" -eq 2 ]
	on stats --history --watch
	in_trouble '--history goes with neither --watch nor --prom'
}

@test "stats --history: limits are told from bans and from a full table" {
	fill login 5 $month_ms 1 alice=7
	on ban mallory --for 1h
	for _ in 1 2 3; do on check login mallory; done
	on stats --history
	[ "$(grep -cE '^    (allowed +5|denied +5|limited +2|banned +3)  \|.*\|$' <<<"$output")" -eq 8 ]
	! grep -q '^    full' <<<"$output"
	on stats --history --json
	conforms stats_history
	[ "$(jq -c '[.rules[].minutes[] | select(.denied > 0) | [.denied, .banned, .full]] | [(map(.[0]) | add), (map(.[1]) | add), (map(.[2]) | add)]' <<<"$output")" = '[5,3,0]' ]
}

@test "stats: which of several limits denies" {
	fill login 5 $month_ms 1 alice=7
	on stats --json
	conforms stats
	[ "$(jq -r '.rules[0].limits[0].denied' <<<"$output")" -eq 2 ]
	on stats --prom
	says_line "rl_limit_denied_total{segment=\"$segment\",rule=\"login\",limit=\"1\"} 2"
}

@test "list: denied is exact while it is small, and can be the order" {
	fill login 1 $month_ms 1 alice=4 bob=65 carol=2
	on list --sort rate --keys
	exits 0
	[ "$(paste -sd' ' <<<"$output")" = 'bob alice carol' ]
	on list --json
	[ "$(jq -c '[.keys[] | [.key, .denied_estimate, .denied_error]] | sort' <<<"$output")" = \
		'[["alice",3,0],["bob",64,0],["carol",1,0]]' ]
}
