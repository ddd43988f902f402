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

@test "ban: --for and --until are checked, and one of them is needed" {
	on ban alice
	in_trouble 'ban: give either --for or --until'
	on ban alice --for 1m --until never
	in_trouble 'give either --for or --until'
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
