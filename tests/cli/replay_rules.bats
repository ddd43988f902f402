# SPDX-License-Identifier: BSD-2-Clause
# replay: what counts, whom for, and the rules that are tried, worked out by hand.

load common

setup() {
	log=$BATS_TEST_TMPDIR/log
}

# line SECOND CLIENT USER METHOD PATH STATUS BYTES AGENT
line() {
	printf '%s - %s [22/Nov/2026:10:00:%02d +0000] "%s %s HTTP/1.1" %s %s "-" "%s"\n' \
		"$2" "$3" "$1" "$4" "$5" "$6" "$7" "$8"
}

some_lines() {
	{
		line 0 192.0.2.1 alice POST /login 401 10 curl
		line 1 192.0.2.2 bob GET '/list?page=1' 200 1500 firefox
		line 2 192.0.2.3 - GET '/list?page=2' 200 2500 'a bot'
		line 3 198.51.100.1 alice POST '/login?again' 401 20 curl
		line 4 2001:db8:1::1 - GET / 304 - 'spider x'
		line 5 2001:db8:1::2 alice POST /login 200 30 firefox
	} >"$log"
}

# keys_are LIST OPTION...: the keys, in order, of a rule that denies all but their first request
keys_are() {
	local expected=$1
	shift
	rlctl replay --verdicts -c 100 -w 1h "$@" "$log"
	exits 0
	[ "$(cut -f2 <<<"$output" | paste -sd' ')" = "$expected" ] || fail_with "keys are not $expected"
}

@test "--key: any field, several, a network" {
	some_lines
	keys_are '192.0.2.1 192.0.2.2 192.0.2.3 198.51.100.1 2001:db8:1:: 2001:db8:1::'
	keys_are '192.0.2.1 192.0.2.2 192.0.2.3 198.51.100.1 2001:db8:1::1 2001:db8:1::2' -k '$remote_addr'
	keys_are '192.0.2.1|POST 192.0.2.2|GET 192.0.2.3|GET 198.51.100.1|POST 2001:db8:1::|GET 2001:db8:1::|POST' -k client,method
	keys_are 'alice bob alice alice' --key user
	keys_are '/login /list /list /login / /login' -k path
	keys_are 'POST|/login GET|/list GET|/list POST|/login GET|/ POST|/login' -k method,path
	keys_are '192.0.2.0/24 192.0.2.0/24 192.0.2.0/24 198.51.100.0/24 2001:db8:1::/48 2001:db8:1::/48' \
		-k client/24/48
	keys_are '192.0.2.0/25|POST 192.0.2.0/25|GET 192.0.2.0/25|GET 198.51.100.0/25|POST 2001:db8:1::1/128|GET 2001:db8:1::2/128|POST' \
		-k client/25,method
	keys_are '192.0.0.0/13 192.0.0.0/13 192.0.0.0/13 198.48.0.0/13 2001:db8::/29 2001:db8::/29' -k client/13/29
}

@test "--key: lines without one are counted; a network needs an address" {
	some_lines
	rlctl replay --json -c 1 -w 1h -k user "$log"
	exits 0
	has requests=4 keys=2 without_key=2 unreadable=0 'key_field="user"'
	rlctl replay -c 1 -w 1h -k user/24 "$log"
	in_trouble 'no IP address, of which the network would be the key'
	for pair in 'client/0=1 to 32 bits' 'client/33=1 to 32 bits' 'client/24/129=bits' 'client/24/0=bits' \
		'=without a name' 'client,=without a name' 'a,b,c,d,e=more than 4 fields'; do
		rlctl_in '' replay -c 1 -w 1s --key "${pair%%=*}"
		in_trouble "--key: '${pair%%=*}' has "
		complains "${pair#*=}"
	done
}

@test "--where: each operator, and several of them" {
	some_lines
	keys_are '192.0.2.1 198.51.100.1' --where 'status = 401'
	keys_are '192.0.2.1 198.51.100.1' --where status=401
	keys_are '192.0.2.2 192.0.2.3 2001:db8:1:: 2001:db8:1::' --where 'status != 401'
	keys_are '192.0.2.1 198.51.100.1 2001:db8:1::' --where 'uri ^= /login'
	keys_are '192.0.2.2 192.0.2.3' --where 'uri ~ page=[0-9]$'
	keys_are '192.0.2.1 198.51.100.1 2001:db8:1:: 2001:db8:1::' --where 'uri !~ page=[0-9]$'
	keys_are '192.0.2.3 2001:db8:1::' --where 'agent ~ bot|spider'
	keys_are '192.0.2.3' --where 'bytes > 1500'
	keys_are '192.0.2.2 192.0.2.3' --where 'bytes >= 1500'
	keys_are '192.0.2.1 198.51.100.1' --where 'bytes < 30'
	keys_are '192.0.2.1 198.51.100.1 2001:db8:1::' --where 'bytes <= 30'
	keys_are '192.0.2.1 192.0.2.2 192.0.2.3' --where 'client in 192.0.2.0/24'
	keys_are '2001:db8:1:: 2001:db8:1::' --where 'client in 2001:db8::/32'
	keys_are '192.0.2.1' --where 'status = 401' --where 'client in 192.0.2.0/24' --where 'method=POST'
	rlctl replay --json -c 1 -w 1h --where 'status = 999' "$log"
	exits 0
	has requests=0 filtered=6 unreadable=0
}

@test "--where: what is wrong is said" {
	rlctl_in '' replay -c 1 -w 1s --where 'status 401'
	in_trouble "--where: 'status 401' has none of"
	rlctl_in '' replay -c 1 -w 1s --where '~ x'
	in_trouble 'has no field in front of its sign'
	rlctl_in '' replay -c 1 -w 1s --where 'a ~ ('
	in_trouble 'has no regular expression behind its sign'
	rlctl_in '' replay -c 1 -w 1s --where 'a > x'
	in_trouble 'has no number behind its sign'
	rlctl_in '' replay -c 1 -w 1s --where 'a in b'
	in_trouble "has no network behind 'in'"
	local tests=()
	for i in $(seq 9); do tests+=(--where "status=$i"); done
	rlctl_in '' replay -c 1 -w 1s "${tests[@]}"
	in_trouble 'is one too many'
	tests=()
	for i in $(seq 8); do tests+=(--where "f$i=1"); done
	rlctl_in '' replay -c 1 -w 1s -k a,b,c,d --cost e "${tests[@]}"
	exits 0
	for i in $(seq 60); do tests+=(--as-is); done
	rlctl_in '' replay -c 1 -w 1s "${tests[@]}"
	in_trouble 'more than 64 options'
}

@test "--since, --until: from the one to before the other" {
	some_lines
	keys_are '192.0.2.3 198.51.100.1 2001:db8:1:: 2001:db8:1::' --since 2026-11-22T10:00:02Z
	keys_are '192.0.2.1 192.0.2.2' --until 2026-11-22T10:00:02Z
	keys_are '192.0.2.3' --since @1795341602 --until @1795341603
	rlctl_in '' replay -c 1 -w 1s --since noon
	in_trouble "--since: 'noon' is no time"
	rlctl_in '' replay -c 1 -w 1s --until noon
	in_trouble "--until: 'noon' is no time"
}

@test "--cost: from a field; above the capacity is never" {
	some_lines
	rlctl replay --json -c 2000 -w 1h --cost bytes "$log"
	exits 0
	has requests=5 denied=1 unreadable=1
	complains 'log:5: its cost is no number'
	{
		echo '1 a 1500'
		echo '2 a 600'
		echo '3 a 500'
		echo '4 a 2001'
		echo '5 a 0'
	} >"$log"
	rlctl replay --verdicts -c 2000 -w 1h --cost size --log-format '$msec $remote_addr $size' "$log"
	exits 0
	[ "$(cut -f3 <<<"$output" | paste -sd' ')" = 'allowed denied allowed never allowed' ]
	echo '6 a x' >>"$log"
	rlctl replay --json -c 2000 -w 1h --cost size --log-format '$msec $remote_addr $size' "$log"
	has requests=5 admitted=3 denied=2 unreadable=1
}

@test "--actual: what a request has cost counts from when it ends, and the estimate until then" {
	{
		echo '1 a 80 10 0.5'
		echo '1.2 a 80 10 0.5'
		echo '2 a 80 200 1'
		echo '2.5 a 10 5 0'
		echo '3 a 1 1 0'
		echo '4 b 50 - 1'
		echo '5 b 50 7 1'
		echo '5.5 b 1 1 1.000000001'
		echo '6 b 43 43 1'
		echo '6.1 b 1 1 x'
	} >"$log"
	local format='$msec $remote_addr $estimate $actual $seconds'
	local by=(-c 100 -w 1h --cost estimate --actual actual --log-format "$format" "$log")
	rlctl replay --verdicts --lasts seconds "${by[@]}"
	exits 0
	[ "$(cut -f3 <<<"$output" | paste -sd' ')" = 'allowed denied allowed allowed denied allowed allowed denied allowed' ]
	complains 'log:10: how long it lasts is no number of seconds'
	rlctl replay --json --lasts seconds "${by[@]}"
	has admitted=6 settle_charged=263 settle_given=118 settle_debt=120 settle_late=0
	rlctl replay --lasts seconds "${by[@]}"
	says_line 'settled       265 of 263 charged: 118 given back, 120 of debts, 0 too late'
	rlctl replay --verdicts "${by[@]}"
	[ "$(cut -f3 <<<"$output" | paste -sd' ')" = 'allowed allowed allowed denied denied allowed allowed allowed denied allowed' ]
	rlctl_in '' replay -c 1 -w 1s --lasts x
	in_trouble '--lasts: is of use with --actual alone'
}

@test "--actual: the same for one candidate and for several, whose requests are under way at once" {
	for i in {0..999}; do
		echo "$((i / 10)).$((i % 10)) k$((i % 7)) 50 $((i * 37 % 101)) $((i % 13)).5"
	done >"$log"
	local how=(--cost estimate --actual actual --lasts seconds --log-format '$msec $remote_addr $estimate $actual $seconds' "$log")
	local bucket='{"limit": "200/10s", "algorithm": "token_bucket"}'
	local settled='[.admitted, .denied, .settle_charged, .settle_given, .settle_debt, .settle_late] | @csv'
	local alone=()
	for limit in 300/10s "$bucket"; do
		rlctl replay --json -l "$limit" "${how[@]}"
		alone+=("$(jq -r "$settled" <<<"$output")")
	done
	rlctl replay --json -l 300/10s -l "$bucket" "${how[@]}"
	exits 0
	[ "$(jq -r ".candidates[] | $settled" <<<"$output")" = "$(printf '%s\n' "${alone[@]}")" ]
	[ "${alone[0]}" != "${alone[1]}" ]
}

@test "--limit: as everywhere else" {
	printf '%s a\n' 0 1 2 3 4 5 6 >"$log"
	rlctl replay --limit 5/min "$log"
	exits 0
	says_line 'limit         sliding_window, 5 per 1m, 60 x 1s, hard'
	says_line 'denied        2'
	rlctl replay -l 3/5s -a token_bucket -b 2 "$log"
	says_line 'limit         token_bucket, 3 per 5s, burst 2'
	rlctl replay -l '{"limit": "300/5min", "granularity": "1m"}' "$log"
	says_line 'limit         sliding_window, 300 per 5m, 5 x 1m'
	rlctl replay -l 300/5min -g 1m --hard "$log"
	says_line 'limit         sliding_window, 300 per 5m, 5 x 1m, hard'
	rlctl replay -l five "$log"
	in_trouble '--limit: expected a rate such as "100/min" or "5/10s"'
	rlctl replay -l 100/month "$log"
	in_trouble '--limit: "100/month": a month has no fixed length'
	rlctl replay -l 5/min -a sliding_log -g 1s "$log"
	in_trouble '--limit: is for sliding_window, not for sliding_log'
	rlctl replay -l '{"limit"' "$log"
	in_trouble "--limit: '{\"limit\"' is no JSON object"
	rlctl replay -l '{"window": "1m"}' "$log"
	in_trouble '--limit: has no capacity'
	rlctl replay -l '{"limit": "5/min", "capacty": 3}' "$log"
	in_trouble '--limit: '
}

@test "several candidates, side by side" {
	printf '%s a\n' 0 0 0 0 >"$log"
	printf '%s b\n' 0 20 40 >>"$log"
	rlctl replay -l 2/10s -l 3/min -l 2/min "$log"
	exits 0
	says_line '#1           2   28.571           1           0           0  2/10s'
	says_line '#2           1   14.286           1           0           1  3/min'
	says_line '#3           3   42.857           2           1           0  2/min'
	says_line ' denied #1   denied #2   denied #3    requests  key'
	says_line '         2           1           2           4  a'
	says_line '         0           0           1           3  b'
	rlctl replay --json -l 2/10s -l 3/min "$log"
	exits 0
	are denied_not_by_first '0 0'
	are denied_only_by_first '0 1'
	are candidate '"2/10s" "3/min"'
	local limits=()
	for i in $(seq 9); do limits+=(-l "$i/s"); done
	rlctl replay "${limits[@]}" "$log"
	in_trouble 'at most 8 limits and rules are tried at once'
}

@test "candidates beside each other are what each is alone" {
	seq 0 2999 | awk '{ print int($1 / 2) / 7, "k" ($1 * $1) % 23 }' >"$log"
	limits=('5/10s' '20/min' '{"limit": "9/10s", "algorithm": "token_bucket"}' '100/h')
	rlctl replay --json -l "${limits[0]}" -l "${limits[1]}" -l "${limits[2]}" -l "${limits[3]}" "$log"
	exits 0
	together=$(jq -c '.candidates[] | [.denied, .keys_denied, .admitted, .top]' <<<"$output")
	more=$(jq -c '[.candidates[] | .denied_not_by_first - .denied_only_by_first]' <<<"$output")
	alone=$(for limit in "${limits[@]}"; do
		"$RLCTL" replay --json -l "$limit" "$log" | jq -c '[.denied, .keys_denied, .admitted, .top]'
	done)
	[ "$together" = "$alone" ]
	[ "$more" = "$(jq -sc '[.[] | .[0]] | map(. - '"$(head -1 <<<"$alone" | jq '.[0]')"')' <<<"$alone")" ]
}

@test "--config, --rule: several limits, overrides, bans, shadows" {
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-'JSON'
		{"rules": {
			"api": {"limits": [{"limit": "2/10s"}, {"limit": "3/h", "mode": "enforce"}], "overrides": {
				"vip": {"capacity": [4, null]}, "bad*": {"banned": true}, "ours": {"unlimited": true}}},
			"dry": {"limit": "1/h", "mode": "shadow"}}}
	JSON
	for key in a vip bad1 ours; do printf "%s $key\n" 0 0 0 0 0; done >"$log"
	rlctl replay --json -C "$BATS_TEST_TMPDIR/rl.json" --rule api --verdicts "$log"
	in_trouble '--verdicts and --json do not go together'
	rlctl replay -C "$BATS_TEST_TMPDIR/rl.json" --rule api --verdicts "$log"
	exits 0
	[ "$(grep -c $'^1970-01-01T00:00:00.000000000Z\tbad1\tdenied\tban\t0$' <<<"$output")" -eq 5 ]
	[ "$(grep -c $'\tours\tallowed\t-\t0$' <<<"$output")" -eq 5 ]
	[ "$(grep -c $'\tvip\tdenied\t2\t0$' <<<"$output")" -eq 2 ]
	[ "$(grep -c $'\ta\tdenied\t1\t0$' <<<"$output")" -eq 3 ]
	rlctl replay -C "$BATS_TEST_TMPDIR/rl.json" --rule api "$log"
	says_line 'limit         sliding_window, 2 per 10s, 50 x 200ms, hard: denied 3'
	says_line 'limit         sliding_window, 3 per 1h, 60 x 1m, hard: denied 2'
	says_line 'overrides     3'
	says_line 'banned        5'
	says_line 'exempt        5'
	rlctl replay -C "$BATS_TEST_TMPDIR/rl.json" --rule dry "$log"
	says_line 'denied        0'
	says_line 'shadow_denied  16'
	rlctl replay -C "$BATS_TEST_TMPDIR/rl.json" --rule api --rule dry -l 1/s "$log"
	exits 0
	says '  api'
	says '  dry'
	says '  1/s'
	rlctl replay -C "$BATS_TEST_TMPDIR/rl.json" --rule no "$log"
	in_trouble "--rule: $BATS_TEST_TMPDIR/rl.json has no rule 'no'"
	rlctl replay -C "$BATS_TEST_TMPDIR/rl.json" "$log"
	in_trouble 'has 2 rules: --rule NAME says which'
	echo '{"rules": {"one": {"limit": "5/mond"}}}' >"$BATS_TEST_TMPDIR/bad.json"
	rlctl replay -C "$BATS_TEST_TMPDIR/bad.json" "$log"
	in_trouble 'bad.json:1:29: /rules/one/limit: expected a rate'
	echo '{"rules": {"one": {"limit": "5/min"}}}' >"$BATS_TEST_TMPDIR/one.json"
	rlctl replay -C "$BATS_TEST_TMPDIR/one.json" "$log"
	exits 0
	RL_CONFIG=$BATS_TEST_TMPDIR/one.json rlctl replay -r one "$log"
	exits 0
}

@test "--config: networks, of which all addresses have one counter; what is no address is told" {
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-'JSON'
		{"rules": {"address": {"window": "10m", "algorithm": "fixed_window", "prefixes": [
			{"v4": 32, "v6": 64, "capacity": 2}, {"v4": 24, "v6": 48, "capacity": 3}]}}}
	JSON
	printf '0 192.0.2.%s\n' 1 1 1 2 3 >"$log"
	printf '0 %s\n' 198.51.100.1 alice bob >>"$log"
	rlctl replay -C "$BATS_TEST_TMPDIR/rl.json" --verdicts "$log"
	exits 0
	[ "$(cut -f3,4 <<<"$output" | paste -sd' ')" = $'allowed\t- allowed\t- denied\t1 allowed\t- denied\t2 allowed\t- undecided\t- undecided\t-' ]
	complains "address: no decision about 'alice': "
	[ "$(grep -c '' <<<"$stderr")" -eq 1 ]
	rlctl replay -C "$BATS_TEST_TMPDIR/rl.json" --json "$log"
	has admitted=4 denied=2 undecided=2
}

@test "--config: holds for the rules behind it, so that two are compared" {
	for limit in 4 1; do
		echo "{\"rules\": {\"api\": {\"limit\": \"$limit/h\"}}}" >"$BATS_TEST_TMPDIR/$limit.json"
	done
	printf '%s a\n' 0 0 0 0 0 >"$log"
	cd "$BATS_TEST_TMPDIR"
	rlctl replay --json -C 4.json -r api -C 1.json -r api "$log"
	exits 0
	are capacity '4 1'
	are denied '1 1 1 4 4 4'
	are candidate '"api of 4.json" "api of 1.json"'
	rlctl replay --json -r api -C 1.json "$log"
	are denied '4 4 4'
	rlctl replay -r api -C 4.json -r api -C 1.json -r api "$log"
	in_trouble "--rule: of several --config, none stands before 'api'"
	rlctl replay -C 4.json -C 1.json -r api "$log"
	in_trouble "--config: no --rule stands behind '4.json'"
	rlctl replay -C 4.json -r api -C 1.json "$log"
	in_trouble "--config: no --rule stands behind '1.json'"
}

@test "options that leave each other nothing to do are refused" {
	for pair in 'suggest limit=5/s' 'suggest rule=a' 'suggest capacity=1' 'suggest verdicts' 'suggest as-is' \
		'suggest config=a' 'suggest hard' 'follow as-is' 'verdicts json' 'limit=5/s window=1s' \
		'rule=a window=1s' 'rule=a hard' 'config=a algorithm=sliding_log'; do
		# shellcheck disable=SC2086
		rlctl_in '' replay $(printf -- '--%s ' $pair)
		in_trouble 'do not go together'
	done
	rlctl_in '' replay -l 1/s -C "$BATS_TEST_TMPDIR/no.json"
	in_trouble '--config: --rule NAME says which of its rules is tried'
	rlctl_in '' replay -c 1 -w 1s --late 5s
	in_trouble "--late: '5s' is of use with --follow alone"
	rlctl_in '' replay -c 1 -w 1s --follow --late soon
	in_trouble "--late: 'soon' does not begin with a number"
	rlctl_in '' replay --suggest
	in_trouble '--window is missing'
}

@test "--verdicts: time, key, verdict, which limit, and the wait" {
	printf '0 a\n0.25 a\n0.5 a\n1.000000001 "\\t\033\n' >"$log"
	rlctl replay --verdicts -l 1/s -a leaky_bucket -b 1 "$log"
	exits 0
	[ "$output" = "$(sed 's/  */\t/g' <<-'END'
		1970-01-01T00:00:00.000000000Z a allowed - 0
		1970-01-01T00:00:00.250000000Z a allowed - 0.750000000
		1970-01-01T00:00:00.500000000Z a denied 1 0
		1970-01-01T00:00:01.000000001Z \x22\x5ct\x1b allowed - 0
	END
	)" ]
	rlctl replay --verdicts -l 1/s -l 3/s "$log"
	[ "$(cut -f3- <<<"$output" | sed -n 2p)" = $'denied\t1\t0\tallowed\t-\t0' ]
	[ -z "$stderr" ]
}

@test "delays of buckets, and for how long keys were denied" {
	# One goes, two wait 1 s and 2 s, one is refused; the next goes at once, and the last waits 0.5 s.
	printf '%s a\n' 0 0 0 0 10 10.5 >"$log"
	rlctl replay --json -l 1/s -a leaky_bucket -b 2 "$log"
	has admitted=5 denied=1 delayed=3 delay_ns=3500000000 delay_most_ns=2000000000
	rlctl replay -l 1/s -a leaky_bucket -b 2 "$log"
	says_line 'delayed       3, 1.2s on average, 2s at most'
	# Denied from 1 s on until 10 s, and from 12 s to 13 s.
	printf '%s a\n' 0 1 2 10 12 13 >"$log"
	rlctl replay --json -a fixed_window -c 1 -w 10s "$log"
	has admitted=2 denied=4
	are denied_ns 10000000000
	rlctl replay -a fixed_window -c 1 -w 10s "$log"
	says_line '         4           6         10s  a'
}

@test "--local: times of this machine's zone" {
	echo '1795341600 a' >"$log"
	TZ=Asia/Kolkata rlctl replay -c 1 -w 1s --local "$log"
	says_line 'first         2026-11-22 15:30:00+0530'
	says 'by time, rows of 1ms (local time)'
	TZ=Asia/Kolkata rlctl replay -c 1 -w 1s "$log"
	says_line 'first         2026-11-22 10:00:00 UTC'
	# Rows of a day begin at midnight, there as here.
	printf '%s a\n' 1795341600 1797000000 >"$log"
	TZ=Asia/Kolkata rlctl replay -c 1 -w 1s --local "$log"
	says '2026-11-22 00:00:00+0530           1           0'
	TZ=America/New_York rlctl replay -c 1 -w 1s --local "$log"
	says '2026-11-22 00:00:00-0500           1           0'
	rlctl replay -c 1 -w 1s "$log"
	says '2026-11-22 00:00:00                1           0'
}

@test "--suggest: each key's busiest window, its shares, and what it would deny" {
	# a: 3 within 10 s, b: 2 (0 and 10 do not meet), c: 1
	printf '%s a\n' 0 5 9.999999999 30 >"$log"
	printf '%s b\n' 0 10 19 >>"$log"
	echo '0 c' >>"$log"
	rlctl replay --suggest -w 10s --json "$log"
	exits 0
	has requests=8 keys=3 window_ns=10000000000
	are keys_percent '50.0 90.0 99.0 99.900000000000006 99.989999999999995 100.0'
	are capacity '2 3 3 3 3 3'
	are denied '1 0 0 0 0 0'
	are keys_denied '1 0 0 0 0 0'
	are most '3 2 1'
	are until_ns '9999999999 19000000000 0'
	rlctl replay --suggest -w 10s --top 1 "$log"
	says_line '50                   2           1           1     12.5000'
	says_line '         3           4  1970-01-01 00:00:09       a'
	says_not '  b'
	rlctl replay --suggest -w 10s --cost size --log-format '$msec $remote_addr $size' <<<'0 a 7
1 a 5
20 a 6' 
	exits 0
	says '          12'
	rlctl_in '' replay --suggest -w 10s
	exits 0
	rlctl_in '' replay --suggest -w 10s --json
	has 'suggestions=\[\]' 'heaviest=\[\]'
}

@test "--suggest says what an exact log of that capacity does" {
	seq 0 4999 | awk '{ print int($1 / 3) / 10, "k" int(97 * ($1 * 7919 % 1009 / 1009) ^ 3) }' >"$log"
	rlctl replay --suggest -w 10s --json "$log"
	exits 0
	suggestions=$(jq -c '.suggestions[] | [.capacity, .denied, .keys_denied]' <<<"$output")
	[ "$(wc -l <<<"$suggestions")" -eq 6 ]
	while read -r suggestion; do
		capacity=$(jq '.[0]' <<<"$suggestion")
		[ "$("$RLCTL" replay --json -a sliding_log -c "$capacity" -w 10s "$log" |
			jq -c "[$capacity, .denied, .keys_denied]")" = "$suggestion" ]
	done <<<"$suggestions"
	[ "$(jq -s '.[0][1] > 0 and .[5][1] == 0' <<<"$suggestions")" = true ]
	shuf "$log" | "$RLCTL" replay --suggest -w 10s --json |
		jq -c '.suggestions[] | [.capacity, .denied, .keys_denied]' >"$BATS_TEST_TMPDIR/mixed"
	[ "$(cat "$BATS_TEST_TMPDIR/mixed")" = "$suggestions" ]
}

@test "many keys, in groups: the same as in one table" {
	# 200,000 keys of 60 sub-buckets are more than one group.
	seq 0 219999 | awk '{ print $1 / 1000, "k" $1 % 200000 }' >"$log"
	rlctl replay --json -l 1/h "$log"
	exits 0
	has requests=220000 keys=200000 admitted=200000 denied=20000 keys_denied=20000
	[ "$(values table_bytes)" -le 201326592 ]
	[ "$("$RLCTL" replay -l 1/h --verdicts "$log" | cut -f3 | sort | uniq -c | awk '{ print $1 $2 }' | paste -sd' ')" = '200000allowed 20000denied' ]
}

@test "what is in flight is not replayed" {
	some_lines
	rlctl replay --limit '{"algorithm": "in_flight", "capacity": 3}' "$log"
	in_trouble 'how long a request is in flight is not recorded'
}
