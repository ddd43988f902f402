# SPDX-License-Identifier: BSD-2-Clause
# A full table: keys without a slot, as each tool shows them, and who takes the table.

load common

month_ms=2592000000

setup() {
	segment_setup
}

teardown() {
	segment_teardown
}

# 16 slots, all used by keys of 'web', and one overflow counter for the rest of a limit; a crowd uses all of its lanes up.
full() {
	FILL_KEYS=1 FILL_CELLS=1 FILL_RESERVES=2 fill web 20 $month_ms 0 user:{1..16}=1
}

# Further requests under 'web'.
more() {
	FILL_KEYS=1 FILL_CELLS=1 FILL_RESERVES=2 fill web 20 $month_ms 0 "$@"
}

@test "full: while every key has a slot, nobody says otherwise" {
	full
	on status
	says_line 'reserve    2 x 1 overflow counters, not in use'
	on list
	grep -q '^16 live keys$' <<<"$stderr"
	[ "$(grep -c 'without a slot' <<<"$stderr")" -eq 0 ]
	on status --json
	[ "$(jq -c .segment.reserve <<<"$output")" = '[]' ]
	on list --json
	[ "$(jq -c .reserve <<<"$output")" = '[]' ]
	on get web user:1 --json
	[ "$(jq -c '.limits[0].in_cell' <<<"$output")" = null ]
}

@test "full: status names the limits that have keys without a slot" {
	full
	more stranger=17
	on status
	grep -qE '^reserve    2 x 1 overflow counters, in use for [0-9]+d' <<<"$output"
	grep -qE '^             web: 1 of 1 overflow counter in use, 0 full, the fullest has 17 of 20, for [0-9]+d' <<<"$output"
	says 'of its keys without a slot 0.00 % are denied for what others have used'
	on status --json
	conforms status
	jq -e '.segment.reserve | length == 1 and .[0].rule == "web" and .[0].number == 1 and
		.[0].cells_used == 1 and .[0].cells_full == 0 and .[0].used_most == 17 and .[0].capacity == 20 and
		.[0].denied_ppm == 0' <<<"$output"
	more stranger=3 crowd:{1..80}=20
	on status
	says 'web: 1 of 1 overflow counter in use, 1 full, the fullest has 20 of 20'
	says 'of its keys without a slot 100.00 % are denied for what others have used'
}

@test "full: get explains a key without a slot, and spends nothing" {
	full
	more stranger=17
	for _ in 1 2; do
		on get web stranger
		exits 0
		says_line 'no slot      counted with others, 17 of 20'
		says_line 'remaining    3'
		says 'retry after  at most '
		says 'answer       allowed, no slot: counted together with others'
	done
	on get stranger
	exits 0
	grep -qE '^allowed +~17/20 ' <<<"$output"
	on get web stranger --json
	conforms get
	jq -e '.answer.reason == "reserve" and .limits[0].counted == null and .limits[0].in_cell.used == 17 and
		.limits[0].in_cell.limit == 20 and .limits[0].in_cell.remaining == 3' <<<"$output"
	more stranger=3
	on get web stranger
	says 'answer       denied, retry after at most '
	on check web stranger
	exits 1
	says 'retry after at most '
}

@test "full: get of a key that has its slot says nothing of overflow counters" {
	full
	more stranger=17
	on get web user:1
	exits 0
	says_not 'no slot'
	says_line 'used         1'
}

@test "full: list and top say in one line that keys are counted together" {
	full
	more stranger=20 crowd:{1..80}=20
	on list
	exits 0
	complains 'keys without a slot: 1 overflow counter, 1 full, of web (100.00 % denied)'
	[ "$(grep -c '' <<<"$output")" -eq 17 ]
	on list --no-header
	[ -z "$stderr" ]
	on list --json
	conforms list
	jq -e '.reserve[0] | .cells_full == 1 and .denied_ppm == 1000000' <<<"$output"
	on top --interval 100ms
	says_line 'keys without a slot: 1 overflow counter, 1 full, of web (100.00 % denied)'
	on top --interval 100ms --json
	conforms top
	jq -e '.reserve[0].rule == "web"' <<<"$output"
}

@test "full: the line is cut at 80 columns, whatever rules are called" {
	for n in 1 2 3; do
		FILL_KEYS=1 FILL_CELLS=1 fill "$(printf "r$n%.0s" {1..30})" 20 $month_ms 0 user:{1..40}=1
	done
	on list
	line=$(grep 'keys without a slot: ' <<<"$stderr")
	[ "$(LC_ALL=C.UTF-8 printf '%s' "$line" | LC_ALL=C.UTF-8 wc -m)" -eq 80 ]
}

@test "full: of one rule, its own alone" {
	full
	FILL_KEYS=1 FILL_CELLS=1 fill other 20 $month_ms 0 user:{1..16}=1
	more stranger=1
	on list --rule other
	complains 'of other'
	[ "$(grep -c 'web' <<<"$stderr")" -eq 0 ]
}

@test "full: what is restored into overflow counters is restored, and said to be there" {
	fill web 20 $month_ms 0 user:{1..40}=5
	"$RLCTL" -s "$segment" dump - >"$BATS_TEST_TMPDIR/dump"
	"$RLCTL" -s "$segment" unlink --yes
	more other=1
	on restore "$BATS_TEST_TMPDIR/dump" --json
	exits 0
	conforms restore
	has restored=40 failed=0
	[ "$(jq .in_cells <<<"$output")" -ge 24 ]
	on restore "$BATS_TEST_TMPDIR/dump"
	says 'of those restored went into overflow counters, for the table is full'
}
