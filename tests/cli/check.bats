# SPDX-License-Identifier: BSD-2-Clause
# check, peek and reset. Windows of 30 days, so that none ends during a test.

load common
load terminal

month_ms=2592000000

setup() {
	segment_setup
}

teardown() {
	stop
	segment_teardown
}

@test "check: spends, and says yes until it is denied" {
	fill login 3 $month_ms 1 alice=1
	for left in 1 0; do
		on check login alice
		exits 0
		says_line allowed
		says " $left/3 "
	done
	on check login alice
	exits 1
	says 'denied, retry after '
	on peek login alice
	exits 1
}

@test "check --cost: all of it or nothing, and what can never be is said" {
	fill login 5 $month_ms 1 alice=1
	on check login alice --cost 5
	exits 1
	says 'denied, retry after '
	on check login alice --cost 4
	exits 0
	on check login bob -c 6
	exits 1
	says_line 'never: cost 6 is more than 5'
	for cost in 0 -1 x '' 4294967296; do
		on check login alice "--cost=$cost"
		in_trouble "--cost: '$cost'"
	done
}

@test "peek: as check would answer, and nothing is spent" {
	fill login 3 $month_ms 1 alice=2
	cp "/dev/shm/rl.$segment" "$BATS_TEST_TMPDIR/before"
	on peek login alice
	exits 0
	says ' 1/3 '
	on peek login nobody
	exits 0
	says ' 3/3 '
	cmp "/dev/shm/rl.$segment" "$BATS_TEST_TMPDIR/before"
}

@test "check and peek --json" {
	fill login 3 $month_ms 1 alice=2
	on check login alice --json
	exits 0
	conforms check
	has 'rule="login"' 'key="alice"' 'verdict="allowed"' remaining=0 'reason="limit"' cost=1 \
		error=null
	on check login alice --json
	exits 1
	conforms check
	has 'verdict="denied"' decided_by=1
	on peek login $'\xff' --json
	exits 0
	conforms peek
	has 'key_hex="ff"' remaining=3
}

@test "check and peek: what cannot be asked is trouble" {
	fill login 3 $month_ms 1 alice=2
	for verb in check peek; do
		on $verb logni alice
		in_trouble "unknown rule 'logni'; did you mean 'login'?"
		on $verb $'lo\033gin' alice
		in_trouble 'lo\x1bgin'
		on $verb login ''
		in_trouble 'KEY has 0 bytes'
		rlctl -s "$segment-absent" $verb login alice
		in_trouble "segment '$segment-absent'"
	done
	[ ! -e "/dev/shm/rl.$segment-absent" ]
}

@test "a segment that may only be read: peek answers, check does not spend" {
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
	export FILL_MODE=0644
	fill login 3 $month_ms 1 alice=2
	reader() {
		run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$RLCTL" -s "$segment" "$@"
	}
	cp "$RLCTL" "$BATS_TEST_TMPDIR/rlctl"
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/rlctl" "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
	RLCTL=$BATS_TEST_TMPDIR/rlctl
	for args in status list 'get login alice' 'peek login alice' bans; do
		# shellcheck disable=SC2086
		reader $args
		exits 0
	done
	for args in 'check login alice' 'reset alice' 'ban alice --for 1m' 'unban alice'; do
		# shellcheck disable=SC2086
		reader $args
		in_trouble "segment '$segment': "
	done
}

@test "reset KEY: under every rule, or one" {
	fill login 5 $month_ms 1 alice=3 bob=2
	fill api 9 $month_ms 6 alice=4
	on reset alice --rule login
	exits 0
	[ "$output" = '1 reset' ]
	on list --json
	are key '"alice" "bob"'
	on reset alice --json
	exits 0
	conforms reset
	has reset=1 unnamed=0 failed=0
	on reset alice
	exits 1
	[ "$output" = '0 reset' ]
	on list --json
	are key '"bob"'
}

@test "reset --rule, --match and --all: those and no others" {
	fill login 5 $month_ms 1 user:1=1 user:2=1 guest=1 192.0.2.7=1 192.0.3.7=1
	fill api 5 $month_ms 1 user:1=1 guest=1
	on reset --yes --match 'user:*' --rule login
	[ "$output" = '2 reset' ]
	on list --json
	are key '"192.0.2.7" "192.0.3.7" "guest" "guest" "user:1"'
	on reset --yes --match 192.0.2.0/24
	[ "$output" = '1 reset' ]
	on list --json
	are key '"192.0.3.7" "guest" "guest" "user:1"'
	on reset -y --rule api
	[ "$output" = '2 reset' ]
	on reset -y --match nobody
	exits 1
	on reset --all --yes
	exits 0
	[ "$output" = '2 reset' ]
	on list
	[ -z "$output" ]
	[ "$stderr" = '0 live keys' ]
}

@test "reset of many needs --yes where there is no terminal" {
	fill login 5 $month_ms 1 alice=3
	for args in --all '--match *' '--rule login'; do
		set -f
		# shellcheck disable=SC2086
		on reset $args </dev/null
		set +f
		in_trouble 'needs --yes'
	done
	on list --json
	are used 3
}

@test "reset of many asks at a terminal" {
	fill login 5 $month_ms 1 alice=3
	for answer in n '' no; do
		run_on_terminal 120 24 "'$RLCTL' -s '$segment' reset --match 'a*'"
		sees "^Reset every key that matches a\\* of segment '$segment'\\? \\[y/N\\]"
		tm send-keys "$answer" Enter
		sees 'nothing was changed$'
		sees '^exit 2$'
		stop
	done
	on list --json
	are used 3
	run_on_terminal 120 24 "'$RLCTL' -s '$segment' reset --match 'a*'"
	sees 'Reset every key.* \[y/N\]'
	tm send-keys y Enter
	sees '^1 reset$'
	sees '^exit 0$'
	on list
	[ -z "$output" ]
	[ "$stderr" = '0 live keys' ]
}

@test "reset: whom is said once" {
	fill login 5 $month_ms 1 alice=3
	for args in '' 'alice --all' 'alice --match a' '--all --match a' '--all --rule login'; do
		# shellcheck disable=SC2086
		on reset $args
		in_trouble 'reset: '
	done
	on reset --match 192.0.2.0/33 -y
	in_trouble "--match: '192.0.2.0/33' is no network: expected an address and 0 to 32 bits"
	on reset --match 10.0.0/24 -y
	in_trouble "--match: '10.0.0/24' is no network: expected an address and 0 to 32 bits"
	complains "; with a \\ before it, it is the key of this very name"
	on reset --rule lgin -y
	in_trouble "unknown rule 'lgin'; did you mean 'login'?"
}

@test "reset: keys whose bytes are not all kept, by what is known of them" {
	whole=$(printf 'w%.0s' $(seq 48))
	fill login 5 $month_ms 1 "$whole=1" "${whole}x=1" v=1
	fill api 5 $month_ms 1 "${whole}x=1"
	on reset --match "${whole}x*" --yes --json
	exits 2
	has reset=0 unnamed=2 failed=0
	complains '2 keys cannot be told by name'
	on reset --match "*x" --yes --json # a glob that is no prefix
	exits 2
	has reset=0 unnamed=2 failed=0
	on reset --match 'x*' --yes --json
	exits 1
	has reset=0 unnamed=0 failed=0
	on reset --match 'ww*' --rule api --yes --json
	exits 0
	has reset=1 unnamed=0 failed=0
	on list --json --rule login
	has total=3
	on reset --rule login --yes --json
	exits 0
	has reset=3 unnamed=0 failed=0
	fill login 5 $month_ms 1 "${whole}x=1"
	for how in "--match=*" --all; do
		fill login 5 $month_ms 1 "${whole}x=1"
		on reset "$how" --yes
		exits 0
		[ "$output" = '1 reset' ]
		[ -z "$stderr" ]
	done
	fill login 5 $month_ms 1 "${whole}x=1"
	on reset "${whole}x"
	exits 0
}

@test "reset: of each key every limit's counter is counted" {
	fill login 5 $month_ms 1
	printf '{"segment": {"name": "%s"}, "rules": {"two": {"limits": [{"limit": "5/h"}, {"limit": "9/d"}]}}}' \
		"$segment" >"$BATS_TEST_TMPDIR/rl.json"
	rlctl config reload --config "$BATS_TEST_TMPDIR/rl.json"
	exits 0
	for key in a b cab cax; do
		on check two $key
		exits 0
	done
	on reset a
	[ "$output" = '2 reset' ]
	on reset --match 'b*' --yes
	[ "$output" = '2 reset' ]
	on reset --match 'c*b' --rule two --yes
	[ "$output" = '2 reset' ]
	on reset --match '*x' --yes
	[ "$output" = '2 reset' ]
	on list
	[ -z "$output" ]
}

@test "check: what is in flight is given back at once" {
	fill login 3 $month_ms 1 alice=1
	printf '{"rules": {"jobs": {"algorithm": "in_flight", "capacity": 2}}}\n' >"$BATS_TEST_TMPDIR/rl.json"
	on config reload --config "$BATS_TEST_TMPDIR/rl.json"
	exits 0
	for _ in 1 2 3; do
		on check jobs alice
		exits 0
		says ' 1/2 '
	done
	on get jobs alice
	exits 1
	on peek jobs alice
	says 'in_flight, 2 at once'
}
