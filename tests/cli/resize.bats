# SPDX-License-Identifier: BSD-2-Clause
# resize: another table for a live segment, while its workers go on.

load common

hour_ms=3600000
WORKER=$top/build/tests/cli/worker

setup() {
	segment_setup
	workers=()
	mkfifo "$BATS_TEST_TMPDIR/until"
	exec 9<>"$BATS_TEST_TMPDIR/until"
}

teardown() {
	for pid in "${workers[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	segment_teardown
}

# A worker that asks for one key until the test has ended.
start() {
	"$WORKER" "$segment" 300 $hour_ms "$1" <"$BATS_TEST_TMPDIR/until" >>"$BATS_TEST_TMPDIR/log" 3>&- 9>&- &
	workers+=($!)
}

allowed() {
	grep -c ' ' "$BATS_TEST_TMPDIR/log" || true
}

@test "resize: up and down, and counts stay" {
	fill login 5 $hour_ms 1 alice=3 bob=5
	fill uploads 0 0 counter carol=7
	on resize --keys 20k
	exits 0
	says 'found room, 20000 do; 3 are counted'
	says_line 'moved    all; the memory of the table before is given back'
	on check login alice
	exits 0
	on check login bob
	exits 1
	on resize --keys 50 --ring 500
	exits 0
	on --json status
	are ring 500
	on --json list
	are used '7 5 4'
	on get uploads carol
	says_line 'value        7'
	on ban dave
	on resize --keys 3k
	on bans
	says dave
}

@test "resize: says what it takes, and changes nothing, with --dry-run" {
	fill login 5 $hour_ms 1 alice=3
	on resize --keys 2M --dry-run
	exits 0
	says 'found room, 2000000 do; 1 are counted'
	says '; both until the keys have moved'
	says_line 'changed  nothing'
	on --json resize --keys 2M --dry-run
	conforms resize
	has keys=2000000 dry_run=true moved=false counted=1
	on --json status
	[ "$(jq .segment.keys <<<"$output")" -lt 1000 ]
	on --json resize --keys 500
	conforms resize
	has dry_run=false moved=true left=0
}

@test "resize: what cannot be is refused by name" {
	fill login 5 $hour_ms 1 a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1
	on resize --keys 10
	in_trouble '17 keys are counted now, and room for 10 is too little for them'
	on resize --ring 1
	in_trouble 'a ring of 1 is shorter than that of'
	on resize --keys 0
	in_trouble "--keys: '0' is not a number from 1 to 1500000000, such as 200k or 5M"
	on resize --keys 5G
	in_trouble "--keys: '5G' is not a number"
	on resize --keys 1500M
	in_trouble 'are needed beside what the segment has'
	on resize
	exits 0
	says_line 'moved    nothing: no keys were on their way'
	on resize now
	in_trouble 'resize'
}

# Its name is torn, as a writer that is killed leaves it: who asks for it brings it along.
@test "resize: a key that no mover can move is told by status and doctor, until it is asked for" {
	fill login 5 $hour_ms 1 torn-name=3 bob=5
	file=/dev/shm/rl/rl.$segment
	if ! [ -e "$file" ]; then file=/dev/shm/rl.$segment; fi
	at=$(grep -obUa 'torn-name' "$file" | tail -1 | cut -d: -f1)
	printf x | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	on resize --keys 20k
	exits 0
	says 'moved    all but 1, which go when they are asked for or over'
	on status
	says 'moving     keys come from a table of '
	on --json status
	conforms status
	are resized 1
	on doctor
	says 'keys are moving from a table of '
	says "rlctl --segment $segment resize"
	on resize --keys 30k
	exits 2
	on check login torn-name
	says '1/5'
	on resize
	says_line 'moved    all; the memory of the table before is given back'
	on status
	says_not 'moving '
	on check login bob
	exits 1
}

@test "resize: workers admit what is left, and nothing twice" {
	fill other 5 $hour_ms 1 bob=1
	start 300
	start 500
	start 700
	for keys in 2000 50 100000 300 40 7000 60 900; do
		on resize --keys $keys
		exits 0
		says_line 'moved    all; the memory of the table before is given back'
	done
	while ! grep -q denied "$BATS_TEST_TMPDIR/log"; do sleep 0.01; done
	for keys in 5000 50; do
		on resize --keys $keys
		exits 0
	done
	[ "$(allowed)" -eq 300 ]
}

@test "resize: a longer ring while workers go on, who admit what is left, and nothing twice" {
	FILL_RING=8 fill other 5 $hour_ms 1 bob=1
	start 300
	start 500
	start 700
	for ring in 9 60 64 200 300; do
		on resize --ring $ring
		exits 0
		says_line 'moved    all; the memory of the table before is given back'
		on --json status
		are ring $ring
	done
	while ! grep -q denied "$BATS_TEST_TMPDIR/log"; do sleep 0.01; done
	on resize --ring 301
	exits 0
	[ "$(allowed)" -eq 300 ]
	on check other bob
	exits 0
	says 3/5
}
