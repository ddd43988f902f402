# SPDX-License-Identifier: BSD-2-Clause
# list, top and bans say of each key what a request would be told.

load common

month_ms=2592000000

setup() {
	segment_setup
	config="$BATS_TEST_TMPDIR/rl.json"
	fill login 3 $month_ms 1 alice=3 bob=3 carol=1 dora=1 eve=1 frank=3 zoe=1
	fill trial 3 $month_ms 1s sam=5
	on ban bob --for 1h
	on ban carol --for 1h --rule login
	on allow dora --until never
	cat >"$config" <<END
{"rules": {"login": {"limit": "3/30d", "granularity": 1,
  "overrides": {"eve": {"banned": true}, "frank": {"unlimited": true}, "zoe": {"capacity": 2}}}}}
END
	on config reload --config "$config"
	exits 0
}

teardown() {
	segment_teardown
}

# "KEY STATE" of each line, in the order of the keys.
states() {
	sed -nE 's/^ *[0-9]+\/[0-9]+ .* (open|limited|banned|exempt|shadow)(\??) .*  ([^ ]+)$/\3 \1\2/p' \
		<<<"$output" | sort | paste -sd,
}

wanted='alice limited,bob banned,carol banned,dora exempt,eve banned,frank exempt,sam shadow,zoe open'

@test "list: the state of each key is what peek says of it" {
	on list --sort key
	[ "$(states)" = "$wanted" ] || fail_with "$(states)"
	on list --sort key --json
	conforms list
	are key '"alice" "bob" "carol" "dora" "eve" "frank" "sam" "zoe"'
	are state '"limited" "banned" "banned" "exempt" "banned" "exempt" "shadow" "open"'
	are limited 'true true true false true false false false'
	are state_known "$(yes true | head -n8 | paste -sd' ')"
	are used '3 3 1 1 1 3 3 1'
	local states=('denied' 'denied by ban' 'denied by ban' 'allowed by exemption'
		'denied by ban' 'allowed by exemption' '' 'allowed') i=0
	for key in alice bob carol dora eve frank - zoe; do
		[ "$key" = - ] || [ "$("$RLCTL" -s "$segment" peek login "$key" | head -n1 | cut -d, -f1)" = \
			"${states[i]}" ] || fail_with "$key is not ${states[i]}"
		i=$((i + 1))
	done
}

@test "list: retry and reset of a banned key are the ban's" {
	on list --match 'bob' --json
	[ "$(values retry_after_ns)" -gt 3500000000000 ]
	[ "$(values retry_after_ns)" -le 3600000000000 ]
	are reset_after_ns "$(values retry_after_ns)"
	are remaining 0
	on list --match 'eve' --json
	are retry_after_ns null
	on list --match 'dora' --json
	are retry_after_ns 0
}

@test "list --limited: whom peek denies, whatever denies them" {
	on list --limited
	[ "$(states)" = 'alice limited,bob banned,carol banned,eve banned' ] || fail_with "$(states)"
	on list -l --json --sort key -n 3
	conforms list
	are key '"alice" "bob" "carol"'
	has total=4
}

@test "list --sort remaining: a banned key has none left" {
	on list --sort remaining -n 4
	[ "$(states)" = 'alice limited,bob banned,carol banned,eve banned' ] || fail_with "$(states)"
}

@test "list: of a name that is cut, only the limit is known" {
	long=$(printf 'x%.0s' $(seq 100))
	fill login 3 $month_ms 1 "$long=3"
	on list --limited --match '*'
	on list --limited --sort key
	says ' limited?'
	on list --json --sort key
	conforms list
	[ "$(values state_known | tr ' ' '\n' | grep -c false)" -eq 1 ]
}

@test "top: one frame has the same states" {
	on top -i 100ms
	exits 0
	[ "$(states)" = "$wanted" ] || fail_with "$(states)"
	on top -i 100ms --json --sort key
	conforms top
	are state '"limited" "banned" "banned" "exempt" "banned" "exempt" "shadow" "open"'
}

@test "get: the counter of a banned key says so" {
	on get login bob
	says_line 'state        banned'
	on get login bob --json
	conforms get
}

@test "bans: overrides of the configuration that ban or exempt are among them, marked" {
	on bans --config "$config"
	exits 0
	[ -z "$stderr" ]
	says_line '5 in force'
	[ "$(grep ' config ' <<<"$output" | awk '{ print $1, $2, $(NF-1), $NF }' | paste -sd,)" = \
		'never ban login eve,never exemption login frank' ] || fail_with 'not marked'
	on bans --config "$config" -o wide
	[ "$(grep -c ' as configured ' <<<"$output")" -eq 2 ]
	on bans --config "$config" -o name
	[ "$(sort <<<"$output" | paste -sd,)" = bob,carol,dora ]
	on bans --config "$config" --json
	conforms bans
	are source '"call" "call" "call" "configuration" "configuration"'
	on bans --config "$config" --rule trial
	says_line '2 in force'
}

@test "bans: what no file names is told of" {
	on bans --config "$BATS_TEST_TMPDIR/none.json"
	exits 0
	says_line '3 in force'
	complains '3 overrides of the configuration in force are not in '
}
