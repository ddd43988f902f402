# SPDX-License-Identifier: BSD-2-Clause
# ban, allow, unban, bans.

load common

month_ms=2592000000

setup() {
	segment_setup
	fill login 3 $month_ms 1 alice=1
	fill api 9 $month_ms 1 alice=1
}

teardown() {
	segment_teardown
}

verdict() {
	[ "$("$RLCTL" -s "$segment" peek "$1" "$2" | head -n1 | cut -d, -f1)" = "$3" ] ||
		fail_with "$1 $2 is not $3"
}

@test "ban KEY: denied under every rule, until it is lifted" {
	on ban alice --for 10m
	exits 0
	grep -qE '^ban of key alice, any rule, (10m00s|9m[0-9]*s) left, until 20.* UTC$' <<<"$output"
	verdict login alice 'denied by ban'
	verdict api alice 'denied by ban'
	verdict login bob allowed
	on check login alice
	exits 1
	on unban alice
	exits 0
	[ "$output" = lifted ]
	verdict login alice allowed
	on unban alice
	exits 1
	complains 'nothing stands for this pattern'
}

@test "ban --rule: under that rule alone, and lifted under it" {
	on ban alice --rule login --for 1h
	exits 0
	verdict login alice 'denied by ban'
	verdict api alice allowed
	on unban alice
	exits 1
	complains 'ban of key alice, rule login'
	complains '    rlctl unban --rule login alice'
	on unban alice --rule login
	exits 0
	verdict login alice allowed
}

@test "ban: prefixes and networks; --exact takes them as they are" {
	on ban 'user:*' --for 1h
	says 'ban of prefix user:*, '
	verdict login user:7 'denied by ban'
	verdict login user allowed
	on ban 192.0.2.0/24 --for 1h
	says 'ban of network 192.0.2.0/24, '
	verdict login 192.0.2.99 'denied by ban'
	verdict login 192.0.3.1 allowed
	on ban --exact 'admin*' --for 1h
	says 'ban of key admin*, '
	verdict login 'admin*' 'denied by ban'
	verdict login admin allowed
	on unban 'admin*'
	exits 1
	on unban -e 'admin*'
	exits 0
}

@test "allow: beyond every limit, and against a ban of many" {
	on ban 'a*' --until never
	says 'until lifted'
	on allow alice --for 1h
	says 'exemption of key alice'
	for _ in 1 2 3 4 5; do
		on check login alice
		exits 0
		says_line 'allowed by exemption'
	done
	verdict login amy 'denied by ban'
}

@test "ban: --for and --until are checked; without them it is an hour" {
	on ban zoe
	exits 0
	on bans --json
	jq -e --argjson now "$(date +%s)" '.bans[0].until_ns / 1e9 - $now | . > 3500 and . < 3700' <<<"$output"
	on unban zoe
	exits 0
	on ban alice --for 1m --until never
	in_trouble 'ban: give --for or --until, not both'
	for length in 10 0s x 10y 300000d; do
		on ban alice --for "$length"
		in_trouble "--for: '$length'"
	done
	for until in '' tomorrow 2026-13-01 2024-04-31 2030-01-01T25:00Z @ @x; do
		on allow alice "--until=$until"
		in_trouble "--until: '$until' is no time"
	done
	on ban alice --until 2020-01-01
	in_trouble "--until: '2020-01-01' is past"
	on ban alice --until @9300000000
	in_trouble 'is not between 1970 and 2262'
	on bans
	[ "$output" = '0 in force' ]
}

@test "ban --until: each form means that time" {
	for until in '2100-01-02T03:04:05Z' '2100-01-02 03:04:05' @4102542245; do
		on ban alice --until "$until" --json
		exits 0
		conforms ban
		has until_ns=4102542245000000000 'effect="ban"' rule=null 'match="key"'
	done
	on ban alice --until 2100-01-02T03:04Z -j
	has until_ns=4102542240000000000
	on ban alice --until 2100-01-02 -j
	has until_ns=4102531200000000000
}

@test "ban: an unknown rule, a bad key, and no room are told" {
	on ban alice --for 1m --rule logni
	in_trouble "unknown rule 'logni'"
	on ban '' --for 1m
	in_trouble 'KEY has 0 bytes'
	# Where bans meet in the table, there may be room for a few more or less.
	for i in $(seq 100); do
		on ban "key$i" --for 1h
		[ "$status" -eq 0 ] || break
	done
	in_trouble 'is made for 16 bans and exemptions, and no place is left for this one'
}

@test "bans: those that end first come first, --rule those of one rule" {
	on bans
	exits 0
	[ "$output" = '0 in force' ]
	on ban bob --for 2h
	on ban $'c\033' --for 1h --rule login
	on allow 'd*' --until never --rule api
	on bans
	exits 0
	[ "$(awk '/ (ban|exemption) / { print $(NF-1), $NF }' <<<"$output" | paste -sd,)" = \
		'login c\x1b,any bob,api d*' ]
	says_line '3 in force'
	on bans --json
	conforms bans
	are effect '"ban" "ban" "exemption"'
	are match '"key" "key" "prefix"'
	are until_ns "$(values until_ns | cut -d' ' -f1,2) null"
	on bans --rule login --json
	are effect '"ban" "ban"'
	on bans --rule nologin
	in_trouble "unknown rule 'nologin'"
}

@test "a ban ends by itself" {
	on ban alice --for 50ms
	exits 0
	sleep 0.1
	verdict login alice allowed
	on bans
	[ "$output" = '0 in force' ]
}

@test "status counts what is in force" {
	on ban bob --for 2h
	on ban carol --for 2h --rule login
	on status
	says_line 'bans       2, room for at least 16'
	grep -qE '^application .* 0 +1  login$' <<<"$output"
	grep -qE '^application .* 0 +0  api$' <<<"$output"
	on status --json
	conforms status
}

@test "ban, allow, unban, reset: what looks like a pattern or an address and is none is refused" {
	for key in 10.0.0.0/33 10.0.0/24 10.0.0.0/255.255.255.0 2001:db8::/129 '10.0.0.0/24,'; do
		for verb in 'ban --for 5m' 'allow --for 5m' unban reset; do
			# shellcheck disable=SC2086
			on $verb "$key"
			in_trouble "${verb%% *}: '$key' is no network: expected an address and 0 to "
			complains '; with --exact it is the key of this very name'
		done
	done
	for verb in 'ban --for 5m' unban reset; do
		# shellcheck disable=SC2086
		on $verb 192.168.1.300
		in_trouble "'192.168.1.300' is no address: expected four numbers"
		for key in '[::1]' 1.2.3.4:80 ::1%lo; do
			# shellcheck disable=SC2086
			on $verb "$key"
			in_trouble "'$key' is no address: expected one without brackets, port or zone"
		done
		for key in 'user?' '[ab]'; do
			# shellcheck disable=SC2086
			on $verb "$key"
			in_trouble "'$key' is no pattern: of wildcards there is a * alone, at the end"
		done
		for key in 'us*er' '*:5' 'user:*:x'; do
			# shellcheck disable=SC2086
			on $verb "$key"
			in_trouble "'$key' is no pattern: a * stands for the rest of a key, only at its end"
		done
		# shellcheck disable=SC2086
		on $verb '*'
		in_trouble "'*' would be every key, and there is no pattern for that"
	done
	on reset 'user:*'
	in_trouble '--match resets all that match'
	on reset 10.0.0.0/24
	exits 1
	complains '--match resets the addresses in it'
	on bans
	says_line '0 in force'
}

@test "ban, allow: under a rule for addresses, what is none could never match" {
	fill addr 3 $month_ms /24/64 192.0.2.1=1
	for verb in ban allow; do
		for key in alice 00:11:22:33:44:55 'user:*'; do
			on $verb "$key" --rule addr --for 5m
			in_trouble "$verb: rule addr counts IP addresses alone, and KEY is neither"
		done
		for key in 192.0.2.1 2001:db8::1 10.0.0.0/8 '10.0.*'; do
			on $verb "$key" --rule addr --for 5m
			exits 0
		done
		on $verb alice --for 5m
		exits 0
	done
}

@test "ban --exact: the very key, whatever it looks like" {
	on ban --exact 10.0.0.0/33 --for 5m
	exits 0
	verdict login 10.0.0.0/33 'denied by ban'
	on unban --exact 10.0.0.0/33
	exits 0
	fill login 3 $month_ms 1 'us*er=1'
	on reset --exact 'us*er'
	exits 0
	says_line '1 reset'
}

@test "ban: an address and a network have one form" {
	on ban ::ffff:10.0.0.5 --for 5m
	says 'ban of key 10.0.0.5, '
	verdict login 10.0.0.5 'denied by ban'
	on unban ::ffff:10.0.0.5
	exits 0
	verdict login 10.0.0.5 allowed
	on ban 10.0.0.1/24 --for 5m
	says 'ban of network 10.0.0.0/24, '
	verdict login 10.0.0.9 'denied by ban'
	on bans
	grep -qE ' any  10\.0\.0\.0/24$' <<<"$output"
	on unban 10.0.0.77/24
	exits 0
}

@test "ban: what it replaces is said, and what it repeats is not" {
	on ban alice --until 2100-01-01
	says_not replaces
	on ban alice --for 5m
	says_line 'replaces the ban that stood until 2100-01-01 00:00:00 UTC'
	on allow alice --until never
	says 'replaces the ban that stood until 2'
	on allow alice --until never
	says_not replaces
	on ban alice --for 5m --rule login
	says_not replaces
	on ban alice --for 1h --json
	conforms ban
	grep -qF '"replaces": {' <<<"$output"
	are effect '"ban" "exemption"'
	are until_ns "$(values until_ns | cut -d' ' -f1) null"
}

@test "ban: that no live key has the name is said" {
	on ban alice --for 5m
	says_not 'no live key'
	on ban alcie --for 5m
	exits 0
	says_line 'note: no live key has this name'
	on ban 'user:*' --for 5m
	says_not 'no live key'
	on ban bob --for 5m --json
	conforms ban
	has live=false replaces=null
	on ban 'bob*' --for 5m --json
	conforms ban
	has live=null
}

@test "ban --reason: why, by whom, since when and how often, wherever a ban is shown" {
	on ban alice --for 1h --reason 'scraping, ticket 4711'
	exits 0
	says_line 'for "scraping, ticket 4711"'
	on check login alice
	on check api alice
	on peek api alice
	on bans
	grep -qE "^ +(1h00m|59m[0-9]*s|59m)  ban  +[0-9.]+m?s +2  $(id -un) +any  alice  \"scraping, ticket 4711\"\$" <<<"$output"
	[ "$(wc -L <<<"$output")" -le 90 ]
	on bans -o wide
	grep -qE "  20[0-9: -]+  20[0-9: -]+  key +ban " <<<"$output"
	on bans --json
	conforms bans
	are reason '"scraping, ticket 4711"'
	are hits 2
	are author "$(id -u)"
	on bans -o tsv -H
	[ "$(cut -f1-4,7-10 <<<"$output")" = "$(printf 'ban\tany\tkey\talice\t%s\t2\tscraping, ticket 4711\tcall' "$(id -u)")" ]
	on get login alice
	grep -qE "^ +set [0-9.]+m?s ago by $(id -un), 2 hits, for \"scraping, ticket 4711\"\$" <<<"$output"
	on get login alice --json
	conforms get
	are reason '"limit" "scraping, ticket 4711"' || are reason '"ban" "scraping, ticket 4711"'
	on dump "$BATS_TEST_TMPDIR/dump"
	on unban alice
	on restore "$BATS_TEST_TMPDIR/dump"
	on bans --json
	are reason '"scraping, ticket 4711"'
	are hits 2
}

@test "ban --reason: hostile bytes stay harmless, and too many are refused" {
	on ban alice --for 1h --reason $'x\033[2J\t"\xff\n'
	exits 0
	says 'for "x\x1b[2J\x09\x22\xff\x0a"'
	for form in bans 'bans -o wide' 'bans -o tsv' 'get login alice' 'bans -j'; do
		# shellcheck disable=SC2086
		on $form
		! grep -q $'\033' <<<"$output" || fail_with "$form"
	done
	on ban alice --for 1h --reason "$(printf '%097d' 0)"
	in_trouble '--reason: has 97 bytes; 96 are kept'
	on ban alice --for 1h --reason "$(printf '%096d' 0)"
	exits 0
}

@test "ban: one that ends earlier than what it replaces is told" {
	on ban alice --for 2h
	on ban alice --for 1h
	says_line 'note: it ends earlier than that'
	on ban alice --for 3h
	says_not 'ends earlier'
	on allow alice --for 1h
	says_not 'ends earlier'
}

@test "ban: several keys, and what xargs gives" {
	on ban alice 192.0.2.0/24 'u:*' --for 1h --reason r
	exits 0
	[ "$output" = '3 bans' ]
	on bans -o name
	[ "$(sort <<<"$output" | paste -sd,)" = "\$'u:*',192.0.2.0/24,alice" ] ||
		[ "$(sort <<<"$output" | paste -sd,)" = "192.0.2.0/24,alice,u:\\*" ] || fail_with forms
	on ban alice 10.0.0.0/33 bob --for 10m
	exits 2
	[ "$output" = '2 bans, 1 in place of another, 1 of these shorter than it' ]
	complains "ban: number 2, '10.0.0.0/33', is no network"
	complains 'ban: 1 refused'
	on ban alice bob --for 1h --json
	conforms ban_many
	has set=2 replaced=2 shortened=0 refused=0
	fill login 3 $month_ms 1 $'a b\n=9' '*=9' 'x'=1
	"$RLCTL" -s "$segment" list --limited -o name -0 | xargs -0 "$RLCTL" -s "$segment" allow --exact --for 5m --
	verdict login $'a b\n' 'allowed by exemption'
	verdict login '*' 'allowed by exemption'
	verdict login x allowed
}

@test "ban: what list says in one line" {
	fill login 3 $month_ms 1 alice=9 bob=9 carol=1
	"$RLCTL" -s "$segment" list --limited -o name -0 | xargs -0 "$RLCTL" -s "$segment" ban
	verdict login alice 'denied by ban'
	verdict login bob 'denied by ban'
	verdict login carol allowed
}

@test "ban: a client that is named like a pattern has nobody else banned" {
	names=('bo*' 0.0.0.0/0 192.0.2.7/32 ::ffff:192.0.2.9)
	fill login 3 $month_ms 1 alice=9 "${names[@]/%/=9}"
	run --separate-stderr bash -c '"$1" -s "$2" list --limited -o name -0 | xargs -0 "$1" -s "$2" ban' - "$RLCTL" "$segment"
	[ "$output" = '1 ban' ]
	complains 'ban: 4 refused'
	for name in "${names[@]}"; do
		complains "'$name', is the name of a key that is counted, too; say --exact for that key"
	done
	verdict login alice 'denied by ban'
	for key in bob 192.0.2.1 192.0.2.7 192.0.2.9; do
		verdict login $key allowed
	done
}

@test "ban: a key and a pattern of one name" {
	fill login 3 $month_ms 1 'bo*=9'
	for verb in ban allow; do
		on $verb 'bo*' --for 1h
		exits 2
		complains "$verb: 'bo*' is the name of a key that is counted, too"
		on $verb 'bo*' --for 1h --exact --pattern
		in_trouble "$verb: --exact and --pattern exclude each other"
	done
	verdict login bob allowed
	on ban 'bo*' --for 1h --rule api
	exits 0
	on ban 'bo*' --for 1h --exact
	exits 0
	verdict login 'bo*' 'denied by ban'
	verdict login bob allowed
	on ban 'bo*' --for 1h --pattern
	exits 0
	verdict login bob 'denied by ban'
}

@test "ban: a network that a rule counts is that network" {
	fill net 3 $month_ms 1/24/64 192.0.2.5=9 2001:db8::1=9
	"$RLCTL" -s "$segment" list --limited -o name -0 | xargs -0 "$RLCTL" -s "$segment" ban
	verdict login 192.0.2.8 'denied by ban'
	verdict login 2001:db8::9 'denied by ban'
}

@test "ban -: what stands on standard input" {
	rlctl_in '# a list\n\ncarol\n  dora\t\r\n10.0.0.0/33\nerin' -s "$segment" ban - --for 1h
	exits 2
	[ "$output" = '3 bans' ]
	complains "number 5, '10.0.0.0/33'"
	for key in carol dora erin; do
		verdict login $key 'denied by ban'
	done
	rlctl_in '# a\0 b\0' -s "$segment" ban - -0 --exact --for 1h
	exits 0
	verdict login '# a' 'denied by ban'
	verdict login ' b' 'denied by ban'
	rlctl_in '' -s "$segment" ban - --for 1h
	exits 0
	[ "$output" = '0 bans' ]
	on ban alice -0 --for 1h
	in_trouble 'ban: --null goes with -'
}

@test "ban -: a hundred thousand in a few seconds, and refusals that do not flood" {
	FILL_BANS=100000 "$FILL" "$segment-many" login 3 $month_ms 1 alice=1
	seq -f 'k%.0f' 100000 >"$BATS_TEST_TMPDIR/keys"
	run --separate-stderr timeout 120 "$RLCTL" -s "$segment-many" ban - --for 1h <"$BATS_TEST_TMPDIR/keys"
	exits 0
	[ "$output" = '100000 bans' ]
	rlctl -s "$segment-many" bans
	says_line '100000 in force'
	seq -f '10.0.0.%.0f/99' 1000 >"$BATS_TEST_TMPDIR/keys"
	run --separate-stderr "$RLCTL" -s "$segment-many" ban - --for 1h <"$BATS_TEST_TMPDIR/keys"
	exits 2
	[ "$(wc -l <<<"$stderr")" -eq 11 ]
	rm -f "/dev/shm/rl.$segment-many"
}

@test "automatic bans: of a rule that asks for them, seen like others" {
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-END
		{"rules": {"login": {"limit": "3/30d", "granularity": 1,
		  "ban": {"after": 2, "within": "10m", "for": "1h"}}}}
	END
	on config reload --config "$BATS_TEST_TMPDIR/rl.json"
	says 'login: 2 denials in 10m ban for 1h'
	for _ in 1 2 3; do "$RLCTL" -s "$segment" check login eve; done
	verdict login eve denied
	for _ in 1 2; do "$RLCTL" -s "$segment" check login eve || true; done
	verdict login eve 'denied by ban'
	verdict api eve allowed
	on bans
	grep -qE ' login  eve  "automatic: denied 2 times, ban 1"$' <<<"$output"
	on unban eve --rule login
	verdict login eve denied
	on allow eve --for 1h
	for _ in 1 2 3 4; do "$RLCTL" -s "$segment" check login eve; done
	verdict login eve 'allowed by exemption'
	on config reload --config "$BATS_TEST_TMPDIR/rl.json"
	says 'nothing has changed'
}

@test "unban --forget: the next automatic ban is as the first" {
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-END
		{"rules": {"login": {"limit": "1/30d", "granularity": 1,
		  "ban": {"after": 2, "within": "10m", "for": "1h"}}}}
	END
	on config reload --config "$BATS_TEST_TMPDIR/rl.json"
	for _ in 1 2 3; do "$RLCTL" -s "$segment" check login eve || true; done
	on unban eve --rule login --forget
	exits 0
	[ "$output" = $'lifted\nforgotten under 1 rule' ]
	"$RLCTL" -s "$segment" check login eve || true
	on unban eve --forget --json
	exits 0
	conforms unban
	has lifted=false forgotten=1
	on unban eve --forget
	exits 1
	complains 'nothing stands for this pattern'
	for _ in 1 2; do "$RLCTL" -s "$segment" check login eve || true; done
	on bans
	says '"automatic: denied 2 times, ban 1"'
	on unban 'ev*' --forget
	in_trouble '--forget is of a key, not of a pattern'
}

@test "unban: what goes on to stand for the key is said, also what the configuration has" {
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-END
		{"rules": {"login": {"limit": "1/30d", "granularity": 1, "overrides": {"leaked": {"banned": true}},
		  "ban": {"after": 1, "within": "10m", "for": "1h"}}}}
	END
	on config reload --config "$BATS_TEST_TMPDIR/rl.json"
	on unban leaked
	exits 1
	complains 'but for this key:'
	complains 'rule login, by the configuration: override of key leaked'
	for _ in 1 2; do "$RLCTL" -s "$segment" check login eve || true; done
	on ban 'ev*' --for 1h
	on unban 'ev*'
	says_line lifted
	on ban eve --for 1h
	on unban eve
	exits 0
	says 'but this stands for the key:'
	says '  automatic ban of key eve, rule login, '
	says_line '    rlctl unban --rule login eve'
	on unban eve --rule login
	[ "$output" = lifted ]
}

@test "automatic bans: counted, kept in a dump, and behind an exemption of the network" {
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-END
		{"rules": {"login": {"limit": "1/30d", "granularity": 1,
		  "ban": {"after": 2, "within": "10m", "for": "1h"}}}}
	END
	on config reload --config "$BATS_TEST_TMPDIR/rl.json"
	for _ in 1 2 3; do "$RLCTL" -s "$segment" check login 10.1.2.3 || true; done
	verdict login 10.1.2.3 'denied by ban'
	on stats --rule login --json
	[ "$(jq .rules[0].counters.auto_banned <<<"$output")" = 1 ]
	on dump "$BATS_TEST_TMPDIR/dump"
	on unban 10.1.2.3 --rule login
	on restore "$BATS_TEST_TMPDIR/dump"
	exits 0
	on bans --json
	conforms bans
	[ "$(jq -c '.bans[] | [.key, .effect, .automatic]' <<<"$output")" = '["10.1.2.3","ban",true]' ]
	verdict login 10.1.2.3 'denied by ban'
	on allow 10.0.0.0/8 --for 1h --json
	[ "$(jq .automatic <<<"$output")" = false ]
	verdict login 10.1.2.3 'allowed by exemption'
	on unban 10.0.0.0/8
	verdict login 10.1.2.3 'denied by ban'
}

@test "ban: how many live keys a network or a prefix matches is said, and many are asked about" {
	fill login 3 $month_ms 1 192.0.2.1=1 192.0.2.2=1 198.51.100.1=1
	on ban 192.0.2.0/24 --for 1h
	exits 0
	says_line '2 live keys match'
	# A rule with prefixes has a network for a key: it is hit whole, or not counted.
	fill net 9 $month_ms 1/24 203.0.113.5=1
	for hit in '24 1 live key matches' '16 1 live key matches' '25 0 live keys match'; do
		on ban "203.0.113.0/${hit%% *}" --for 1h
		says_line "${hit#* }"
		on unban "203.0.113.0/${hit%% *}"
	done
	on ban 'al*' --for 1h --rule login --json
	conforms ban
	has live_keys=1 live=null
	on ban alice --for 1h --json
	has live_keys=null
	for wide in 0.0.0.0/0 127.0.0.1/7 2001::/31; do
		on ban "$wide" --for 1h
		exits 2
		complains 'needs --yes'
		complains 'is more than a /'
		on ban "$wide" bob --for 1h
		exits 2
		complains "number 1, '$wide', is more than a /8, or a /32 of IPv6; say --yes for that"
	done
	verdict login 203.0.113.1 allowed
	on ban 0.0.0.0/0 --for 1h --yes
	exits 0
	verdict login 203.0.113.1 'denied by ban'
	# shellcheck disable=SC2046
	fill api 9 $month_ms 1 $(seq -f 'user:%g=1' 30)
	on ban 'user:*' --for 1h
	exits 0
	says_line '30 live keys match'
	on ban 'user:7*' --for 1h
	exits 0
	on unban 'user:*'
	# At a terminal it is asked about: a tenth of all keys, if that is ten or more.
	for answer in n y; do
		printf '%s\n' "$answer" | script -qec "'$RLCTL' -s $segment ban 'user:1*' --for 1h" /dev/null >"$BATS_TEST_TMPDIR/out" || true
		grep -qF '11 of 36 live keys? [y/N]' "$BATS_TEST_TMPDIR/out"
		verdict api user:1 "$([ $answer = y ] && echo 'denied by ban' || echo allowed)"
	done
	printf 'n\n' | script -qec "'$RLCTL' -s $segment ban 'user:3*' --for 1h" /dev/null >"$BATS_TEST_TMPDIR/out"
	grep -qF '2 live keys match' "$BATS_TEST_TMPDIR/out"
}
