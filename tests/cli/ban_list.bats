# SPDX-License-Identifier: BSD-2-Clause
# ban and allow --from: lists as others publish them.

load common

setup() {
	segment_setup
	fill login 3 2592000000 1 alice=1
	list=$BATS_TEST_TMPDIR/list
}

teardown() {
	segment_teardown
}

standing() {
	"$RLCTL" -s "$segment" bans -o name | sort | paste -sd' '
}

verdict() {
	[ "$("$RLCTL" -s "$segment" peek login "$1" | head -n1 | cut -d, -f1)" = "$2" ] || fail_with "$1 is not $2"
}

@test "ban --from: a text, with remarks; a network once, whatever its form" {
	printf '%s\r\n' '# drop' '192.0.2.0/24 ; SBL1' '' '  198.51.100.7 # x' '192.0.2.9/24' 2001:DB8::/32 'bot:*' >"$list"
	on ban --from "$list" --for 1h --reason drop
	exits 0
	[ "$output" = '4 new, 0 renewed, 0 as they are' ]
	[ "$(standing)" = "192.0.2.0/24 198.51.100.7 2001:db8::/32 \$'bot:*'" ] ||
		[ "$(standing)" = "\$'bot:*' 192.0.2.0/24 198.51.100.7 2001:db8::/32" ] || fail_with "$(standing)"
	verdict 192.0.2.77 'denied by ban'
	verdict bot:7 'denied by ban'
	verdict alice allowed
	on get 192.0.2.77
	says '"drop"'
}

@test "ban --from: CrowdSec's decisions, each with its own end and reason; what is over, simulated or no address is passed over" {
	cat >"$list" <<'END'
[{"id": 1, "decisions": [
	{"duration": "3h59m49.123456789s", "scenario": "crowdsecurity/ssh-bf", "scope": "Ip", "type": "ban", "value": "192.0.2.4"},
	{"duration": "-5m3s", "scenario": "old", "scope": "Ip", "type": "ban", "value": "192.0.2.9"},
	{"duration": "2h", "scenario": "c", "scope": "Country", "type": "ban", "value": "XX"},
	{"duration": "2h", "scenario": "c", "scope": "Ip", "type": "captcha", "value": "192.0.2.10"},
	{"duration": "2h", "scenario": "on trial", "scope": "Ip", "simulated": true, "type": "ban", "value": "192.0.2.11"}]},
 {"id": 2, "decisions": null},
 {"duration": "30m", "scenario": "scan", "scope": "range", "type": "ban", "value": "198.51.100.0/24"}]
END
	on ban --from "$list"
	exits 0
	says '2 new, 0 renewed, 0 as they are; passed over: 4 '
	on bans
	grep -qE '(3h59m|4h00m) +ban .* 192[.]0[.]2[.]4  "crowdsecurity/ssh-bf"' <<<"$output"
	grep -qE '(29m[0-9]*s|30m00s) +ban .* 198[.]51[.]100[.]0/24  "scan"' <<<"$output"
	on ban --from "$list" --for 10m --reason mine
	[ "${output%%;*}" = '0 new, 2 renewed, 0 as they are' ]
	on bans
	grep -qE '(9m[0-9]*s|10m00s) +ban .* 192[.]0[.]2[.]4  "mine"' <<<"$output"
	on allow --from "$list"
	exits 2
	complains 'it is one to ban'
	echo null | "$RLCTL" -s "$segment" ban --from -
	printf '\xef\xbb\xbf192.0.2.12\r\n' >"$list" # a byte order mark
	on ban --from "$list" --dry-run
	[ "${lines[0]}" = '+ 192.0.2.12' ]
}

@test "allow --from: networks of crawlers, and an array of texts" {
	echo '{"creationTime": "x", "prefixes": [{"ipv6Prefix": "2001:db8:10::/64"}, {"ipv4Prefix": "192.0.2.64/27"}]}' >"$list"
	on allow --from "$list" --until never --reason crawler
	exits 0
	verdict 192.0.2.65 'allowed by exemption'
	on allow --from "$list" --until never --reason crawler
	[ "$output" = '0 new, 0 renewed, 2 as they are' ]
	echo '{"prefixes": [{"ipv4Prefix": "192.0.2.96/27"}, {"ipv4Prefix": "96.0.0.0/7"}]}' >"$list"
	on allow --from "$list" --until never --reason crawler
	exits 2
	complains "number 2, '96.0.0.0/7', covers more than a /8"
	verdict 192.0.2.97 allowed
	echo '["192.0.2.200", "user:7"]' | "$RLCTL" -s "$segment" ban --from -
	verdict user:7 'denied by ban'
}

@test "ban --from: all of a list, or none of it" {
	printf '%s\n' 192.0.2.1 224.0.0.0/3 2001::/15 10.0.0.0/33 >"$list"
	on ban --from "$list"
	exits 2
	complains "number 2, '224.0.0.0/3', covers more than a /8"
	complains "number 3, '2001::/15', covers more than a /16 of IPv6"
	complains "number 4, '10.0.0.0/33', is no network"
	complains '3 of 4 refused, and nothing was changed'
	[ -z "$(standing)" ]
	seq -f '10.%g.0.0/16' 0 255 | sed p >"$list"
	seq -f 'k%g' 1 1000 >>"$list"
	on ban --from "$list"
	exits 2
	complains '1256 are new, 0 stand, and the segment is made for 16 bans'
	[ -z "$(standing)" ]
	echo 'foo bar' >"$list"
	on ban --from "$list"
	complains "number 1, 'foo bar', has more than one word"
	echo '{"a": 1}' >"$list"
	on ban --from "$list"
	complains 'JSON of no list that is known here'
	echo '[{"value": "x"}]' >"$list"
	on ban --from "$list"
	complains 'decision without value or duration'
	on ban --from "$list.none"
	exits 2
	complains 'list.none: No such file'
}

@test "ban --from --dry-run: what would change, line by line, and nothing changes" {
	"$RLCTL" -s "$segment" ban 192.0.2.1 192.0.2.2 192.0.2.3 --until 2099-01-01 --reason drop
	printf '%s\n' 192.0.2.1 192.0.2.4 >"$list"
	on ban --from "$list" --until 2099-01-01 --reason drop --sync --dry-run
	exits 0
	[ "$output" = $'+ 192.0.2.4\n- 192.0.2.2\n- 192.0.2.3\nwould be: 1 new, 0 renewed, 1 as they are, 2 lifted' ] || fail_with "$output"
	[ "$(standing)" = '192.0.2.1 192.0.2.2 192.0.2.3' ]
	on ban --from "$list" --until 2099-02-01 -n
	[ "$output" = $'~ 192.0.2.1\n+ 192.0.2.4\nwould be: 1 new, 1 renewed, 0 as they are' ] || fail_with "$output"
}

@test "ban --from --sync: lifts what stands for the same reason alone, and an empty list lifts nothing" {
	"$RLCTL" -s "$segment" ban 192.0.2.1 192.0.2.2 --until 2099-01-01 --reason drop
	"$RLCTL" -s "$segment" ban 192.0.2.3 --until 2099-01-01 --reason other
	"$RLCTL" -s "$segment" ban 192.0.2.5 --until 2099-01-01
	"$RLCTL" -s "$segment" ban 192.0.2.6 --until 2099-01-01 --reason drop --rule login
	echo 192.0.2.1 >"$list"
	on ban --from "$list" --until 2099-01-01 --reason drop --sync --json
	conforms ban_list
	has new=0 renewed=0 unchanged=1 lifted=1 passed_over=0
	[ "$(standing)" = '192.0.2.1 192.0.2.3 192.0.2.5 192.0.2.6' ] || fail_with "$(standing)"
	: >"$list"
	on ban --from "$list" --reason drop --sync
	exits 2
	complains 'the list is empty'
	on ban --from "$list" --sync
	complains 'needs --reason'
	[ "$(standing)" = '192.0.2.1 192.0.2.3 192.0.2.5 192.0.2.6' ]
}

@test "ban --from: options that do not go together are refused" {
	on ban
	exits 2
	complains 'give a KEY, or --from FILE'
	on ban alice --from "$list"
	complains 'not both'
	on ban alice --dry-run
	complains 'go with --from'
	on ban --from "$list" --exact
	complains 'do not go with --from'
}
