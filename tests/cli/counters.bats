# SPDX-License-Identifier: BSD-2-Clause
# Counters by key, in every verb that shows, keeps or forgets keys.

load common

hour_ms=3600000

setup() {
	segment_setup
	fill failed 0 $hour_ms counter alice=3 bob=5000000000
	fill forever 0 0 counter carol=7
	fill login 5 $hour_ms 1 alice=2
}

teardown() {
	segment_teardown
}

@test "counters: get" {
	on get failed alice
	exits 0
	says_line 'rule         failed'
	says_line 'key          alice'
	says_line 'value        3'
	says 'expires in   '
	on get forever carol
	says_line 'expires in   never'
	on get failed nobody
	exits 1
	complains "rule 'failed' has no counter for this key"
	on get alice --json
	exits 0
	conforms get
	are used '3 2'
}

@test "counters: list, status, top" {
	on list
	grep -qE '^5000000000/- +- +counter +0s +(1h00m|59m[0-9]*s?) +0 +-  failed  bob$' <<<"$output" ||
		fail_with 'no bob'
	grep -qE '^ +3/- .* counter .*  failed  alice$' <<<"$output" || fail_with 'no alice'
	grep -qE '^ +7/- .* forever  carol$' <<<"$output" || fail_with 'no carol'
	[ "$(grep -o '[a-z]*$' <<<"${lines[1]}")" = bob ]
	on list --limit 1
	[ "$(grep -o '[a-z]*$' <<<"${lines[1]}")" = bob ]
	on list --limited
	complains '0 live keys'
	on list --json
	conforms list
	are state '"counter" "counter" "counter" "open"'
	on status
	says '  1  counters by key'
	on status --json
	conforms status
	on doctor
	says 'ok       audit'
}

@test "counters: a check of them is a mistake that is told" {
	on check failed alice
	exits 2
	on peek failed alice
	exits 2
	on get failed alice
	says_line 'value        3'
}

@test "counters: reset, one and many" {
	on reset --rule failed alice
	says_line '1 reset'
	on get failed alice
	exits 1
	on get login alice
	exits 0
	on reset --match '*o*' --yes
	says_line '2 reset'
	on list --keys
	[ "$output" = alice ]
}

@test "counters: dump and restore" {
	on dump "$BATS_TEST_TMPDIR/dump"
	exits 0
	grep -q '"counters":"forever","key":"carol","value":7,"expires_ns":null' \
		"$BATS_TEST_TMPDIR/dump"
	rm "/dev/shm/rl.$segment"
	fill login 5 $hour_ms 1
	on restore --dry-run "$BATS_TEST_TMPDIR/dump"
	says_line 'restored      4'
	on list
	complains '0 live keys'
	on restore "$BATS_TEST_TMPDIR/dump"
	exits 0
	says_line 'restored      4'
	on get failed bob
	says_line 'value        5000000000'
	grep -qE '^expires in   (59m|1h)' <<<"$output" || fail_with 'another lifetime'
	on get forever carol
	says_line 'expires in   never'
	# once more: they are counted beside what is there
	on restore "$BATS_TEST_TMPDIR/dump"
	on get failed alice
	says_line 'value        6'
}

@test "counters: lines of a dump that are none" {
	head='{"rl_dump":1,"segment":"x","dumped_ns":1}'
	while read -r line; do
		rlctl_in "$head\n$line\n" --segment "$segment" restore -
		exits 2
		says_line 'unreadable    1'
	done <<-'LINES'
		{"counters":7,"key":"a","value":1,"expires_ns":null}
		{"counters":"failed","value":1,"expires_ns":null}
		{"counters":"failed","key":"a","value":-1,"expires_ns":null}
		{"counters":"failed","key":"a","value":281474976710656,"expires_ns":null}
		{"counters":"failed","key":"a","value":1}
	LINES
	rlctl_in "$head"'\n{"counters":"failed","key":"a","value":1,"expires_ns":1}\n' -s "$segment" restore -
	says_line 'expired       1'
	rlctl_in "$head"'\n{"counters":"login","key":"a","value":1,"expires_ns":null}\n' -s "$segment" restore -
	complains 'or that of a space of counters'
}
