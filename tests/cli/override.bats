# SPDX-License-Identifier: BSD-2-Clause
# override, overrides: a limit of one key for a time.

load common

month_ms=2592000000

setup() {
	segment_setup
	fill login 3 $month_ms 0 alice=3
	fill api 5,9 "1000,$month_ms" 0,0 bob=1
}

teardown() {
	segment_teardown
}

says_like() {
	grep -qxE -- "$1" <<<"$output" || fail_with "no line like $1"
}

# How many of 20 more requests go.
admitted() {
	local count=0

	for _ in {1..20}; do
		"$RLCTL" -s "$segment" check "$1" "$2" >/dev/null && count=$((count + 1))
	done
	echo "$count"
}

@test "override: another limit for one key, listed and told, until it is lifted" {
	[ "$(admitted login alice)" -eq 0 ]
	on override login alice 8/30d --for 1h --reason 'a trial'
	exits 0
	grep -qE '^8/30d in place of 3/30d, rule login, (1h|59m..s) left, until 20.* UTC$' <<<"$output"
	[ "$(admitted login alice)" -eq 5 ]
	[ "$(admitted login carol)" -eq 3 ]
	on overrides
	says_like ' *(1h|59m..s)  *8/30d  *3/30d  *[0-9.m]*s  root  *login  alice  "a trial"'
	says '1 in force'
	on get login alice
	says 'stands       8/30d for a time in place of 3/30d, rule login,'
	says 'for "a trial"'
	says 'limit        8'
	on get alice
	says 'stands       8/30d for a time in place of 3/30d, rule login,'
	[ "$("$RLCTL" -s "$segment" list -j | jq -c '.keys[] | select(.key == "alice") | [.limit, .used]')" = '[8,8]' ]
	on log --changes
	says_like '.*  override .*  login  *alice 8/30d by root'
	on override login alice none
	exits 0
	[ "$output" = lifted ]
	[ "$(admitted login alice)" -eq 0 ]
	on override login alice none
	exits 1
	complains "this key has none for a time under rule 'login'"
	on log --changes
	says_like '.*  un-override .*  login  *alice by root'
	on overrides
	[ "$output" = '0 in force' ]
}

has_none() {
	[ "$("$RLCTL" -s "$segment" overrides)" = '0 in force' ]
}

@test "override: it ends by itself, with nobody sweeping" {
	for span in 1s 4s 16s; do # where the machine is slow, it has ended before all were asked
		on override login alice 8 --for "$span"
		exits 0
		allowed=$((${allowed:-0} + $(admitted login alice)))
		[ "$allowed" -lt 5 ] || break
	done
	[ "$allowed" -eq 5 ]
	eventually has_none
	[ "$("$RLCTL" -s "$segment" list -j | jq '.keys[] | select(.key == "alice").limit')" = 3 ]
}

@test "override: of a rule of several limits, the one that is meant" {
	on override api bob 20
	in_trouble "rule 'api' has 2 limits; say by --limit which one"
	on override api bob 20/30d
	exits 0
	says 'rule api(2)'
	on override api bob 20 --limit 1
	exits 0
	says '20/s in place of 5/s, rule api(1)'
	[ "$(admitted api bob)" -eq 19 ]
	on override api bob 20/30d --limit 1
	in_trouble "'20/30d': limit 1 of rule 'api' is by another time"
	on override api bob 20/min
	in_trouble "'20/min': no limit of rule 'api' is by that time"
	on override api bob 20 --limit 3
	in_trouble "--limit: '3': rule 'api' has limits 1 to 2"
	on override api bob none --limit 1
	exits 0
	[ "$("$RLCTL" -s "$segment" overrides -o tsv -H | cut -f6)" = 'api(2)' ]
	on override api bob none
	exits 0
	[ -z "$("$RLCTL" -s "$segment" overrides -o name)" ]
}

@test "override: a ban goes before it, and each is lifted alone" {
	on override login alice 8 --for 1h
	on ban alice --rule login --for 1h
	[ "$(admitted login alice)" -eq 0 ]
	[ "$("$RLCTL" -s "$segment" bans -o name)" = alice ]
	on unban alice --rule login
	exits 0
	[ "$(admitted login alice)" -eq 5 ]
}

@test "override: what cannot be is refused, with what can" {
	on override login alice 8 --until never
	in_trouble 'it is for a time; what is to stay is an override of the configuration'
	on override login alice 0
	in_trouble "'0': expected a rate such as 20/min, a capacity of 1 to 268435455, or none"
	on override login alice many
	in_trouble "'many': expected a rate"
	on override nosuch alice 8
	in_trouble "nosuch"
	on override login '' 8
	in_trouble 'KEY'
	on override login alice 8 --for 1h --until 2099-01-01
	in_trouble 'give --for or --until, not both'
	on override login alice 8 --reason "$(printf '%097d' 0)"
	in_trouble '--reason: has 97 bytes; 96 are kept'
	echo '{"rules": {"login": {"limit": "3/30d"}}}' >"$BATS_TEST_TMPDIR/rl.json"
	on override login alice 8 --everywhere --config "$BATS_TEST_TMPDIR/rl.json"
	in_trouble "it has no 'cluster'"
	fill log 4 $month_ms log x=0
	on override log alice 4000
	in_trouble "a log of 4000 needs 'ring' 8000"
}

@test "override: no room is told with the option that gives more" {
	for i in {1..200}; do
		on override login "key$i" 8 --for 1h
		[ "$status" -eq 0 ] || break
	done
	[ "$status" -ne 0 ] || fail_with 'there is room for more'
	in_trouble "the segment was made with 'bans'"
}

@test "override and overrides --json are as the schema says" {
	on override login alice 8 --for 1h --reason why --json
	exits 0
	conforms override
	has capacity=8 limit_number=1
	on overrides --json
	conforms overrides
	are capacity 8
	on get login alice --json
	conforms get
	[ "$(jq -c '.timed[0] | [.capacity, .reason]' <<<"$output")" = '[8,"why"]' ]
	on log --changes --json
	conforms log
	on override login alice none --json
	conforms override
	[ "$(jq .lifted <<<"$output")" = true ]
}

@test "override: a dump has it, and a restore brings it back with its reason" {
	file=$BATS_TEST_TMPDIR/dump
	on override login alice 8 --for 1h --reason why
	on dump "$file"
	says '1 bans, exemptions and overrides'
	output=$(cat "$file")
	conforms dump_line
	before=$("$RLCTL" -s "$segment" overrides -o tsv)
	rm "/dev/shm/rl.$segment"
	fill login 3 $month_ms 0 x=0
	on restore "$file" --json
	has unreadable=0
	[ "$("$RLCTL" -s "$segment" overrides -o tsv)" = "$before" ]
	[ "$(admitted login alice)" -eq 5 ]
}

@test "override: it stands after a resize" {
	on override login alice 8 --for 1h
	on resize --keys 50000
	exits 0
	[ "$(admitted login alice)" -eq 5 ]
	[ "$("$RLCTL" -s "$segment" overrides -o name)" = alice ]
}

@test "override, overrides: no segment, and a full standard output, are told" {
	run -2 "$RLCTL" -s none-such-$$ override login alice 8
	run -2 "$RLCTL" -s none-such-$$ overrides
	rlctl_full -s "$segment" overrides
	[ "$status" -eq 2 ]
	rlctl_full -s "$segment" override login alice 8
	[ "$status" -eq 2 ]
}
