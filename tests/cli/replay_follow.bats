# SPDX-License-Identifier: BSD-2-Clause
# replay --follow, and input that is made to harm. What is waited for is an event, never a time.

load common

setup() {
	log=$BATS_TEST_TMPDIR/log
	out=$BATS_TEST_TMPDIR/out
	err=$BATS_TEST_TMPDIR/err
	pid=
}

teardown() {
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
}

# start OPTION...: follow the log in the background; returns when it notes signals.
start() {
	local tries
	: >>"$log"
	"$RLCTL" replay --follow "$@" "$log" >"$out" 2>"$err" 3>&- &
	pid=$!
	for tries in $(seq 1200); do
		(((0x$(sed -n 's/^SigCgt:\s*//p' "/proc/$pid/status") >> 14) & 1)) && return
		sleep 0.05
	done
	fail_with "after $tries looks, SIGTERM is not noted"
}

# told COUNT: so many lines are told.
told() {
	local tries
	for tries in $(seq 1200); do
		[ "$(wc -l <"$out")" -ge "$1" ] && return
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	fail_with "after $tries looks, not $1 lines: $(cat "$out" "$err")"
}

# End it, and look at what it wrote.
stop() {
	kill -TERM "$pid"
	wait "$pid"
	pid=
}

@test "--follow: verdicts as lines come, in order within --late" {
	start --verdicts -c 2 -w 1h --late 10s
	printf '100 a\n104 a\n102 b\n' >>"$log"
	printf '111.5 x\n' >>"$log"
	told 1
	[ "$(cut -f2,3 "$out" | head -1)" = $'a\tallowed' ]
	printf '114 x\n' >>"$log"
	told 3
	[ "$(cut -f1,2 "$out" | paste -sd' ')" = $'1970-01-01T00:01:40.000000000Z\ta 1970-01-01T00:01:42.000000000Z\tb 1970-01-01T00:01:44.000000000Z\ta' ]
	# What is half written waits for its end; what is too late is decided when it comes.
	printf '101 a\n12' >>"$log"
	told 4
	[ "$(sed -n 4p "$out" | cut -f2,3)" = $'a\tdenied' ]
	printf '5 a\n' >>"$log"
	stop
	[ "$(cut -f2 "$out" | paste -sd' ')" = 'a b a a x x a' ]
	[ "$(tail -1 "$out" | cut -f1,3)" = $'1970-01-01T00:02:05.000000000Z\tdenied' ]
}

@test "--follow: what nothing comes behind is decided after --late, too" {
	start --verdicts -c 2 -w 1h --late 1s
	printf '100 a\n' >>"$log"
	told 1
	stop
}

@test "--follow: keys beyond the first tables change no verdict" {
	start --verdicts -c 1 -w 1h --late 0s
	seq 1 300 | sed 's/.*/& k&/' >>"$log"
	told 300
	seq 301 2000 | sed 's/.*/& k&/' >>"$log"
	seq 2001 4000 | awk '{ print $1, "k" $1 - 2000 }' >>"$log"
	told 4000
	stop
	[ "$(cut -f3 "$out" | uniq -c | awk '{ print $1 $2 }' | paste -sd' ')" = '2000allowed 2000denied' ]
}

@test "--follow: at its end the report that the whole log gives" {
	seq 0 999 | awk '{ print int($1 / 3) / 10, "k" $1 % 7 }' >"$BATS_TEST_TMPDIR/all"
	head -500 "$BATS_TEST_TMPDIR/all" >"$log"
	start -c 9 -w 10s
	tail -n +501 "$BATS_TEST_TMPDIR/all" >>"$log"
	stop
	"$RLCTL" replay -c 9 -w 10s "$BATS_TEST_TMPDIR/all" | diff - "$out"
	# From a pipe, until its end, shuffled within what is waited for; and with what came too late.
	sort -k2,2 -s "$BATS_TEST_TMPDIR/all" | "$RLCTL" replay -c 9 -w 10s --follow --late 1h --json - >"$out"
	[ "$(jq -c '[.admitted, .denied, .late, .top]' "$out")" = \
		"$("$RLCTL" replay -c 9 -w 10s --json "$BATS_TEST_TMPDIR/all" | jq -c '[.admitted, .denied, .late, .top]')" ]
	[ "$(jq .out_of_order "$out")" -gt 0 ]
	(cat "$BATS_TEST_TMPDIR/all"; echo '1 k1') | "$RLCTL" replay -c 9 -w 10s --follow --late 1s - >"$out"
	grep -qx 'late          1' "$out"
}

@test "--follow: a log that is rotated or truncated goes on" {
	start --verdicts -c 2 -w 1h --late 0s
	printf '1 a\n' >>"$log"
	told 1
	printf '2 last' >>"$log"
	mv "$log" "$log.1"
	printf '3 b\n' >"$log"
	told 3
	printf '4 c\n5 d\n' >>"$log"
	told 5
	printf '6 e\n' >"$log"
	told 6
	stop
	[ "$(cut -f2 "$out" | paste -sd' ')" = 'a last b c d e' ]
}

@test "--follow: several logs, and one that is not there" {
	: >"$log.2"
	start --verdicts -c 2 -w 1h --late 0s "$log.2"
	printf '1 a\n' >>"$log.2"
	told 1
	printf '2 b\n' >>"$log"
	told 2
	stop
	rlctl replay --follow -c 1 -w 1s "$BATS_TEST_TMPDIR/absent"
	in_trouble "$BATS_TEST_TMPDIR/absent: No such file"
}

# A sanitizer takes what memory it wants.
is_sanitized() {
	nm "$RLCTL" 2>/dev/null | grep -q __asan_init
}

# bounded MIB COMMAND...: with so much memory at most.
bounded() {
	local kib=$(($1 * 1024))
	shift
	if is_sanitized; then
		"$@"
	else
		(ulimit -v "$kib" && "$@")
	fi
}

@test "a line of 100 MB takes no memory; what is in front of it counts" {
	{
		printf '192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET /'
		head -c 100000000 /dev/zero | tr '\0' a
		printf '\n192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1\n{"ts":1,'
		head -c 1000000 /dev/zero | tr '\0' '['
		printf '\n'
	} >"$log"
	run --separate-stderr bounded 256 "$RLCTL" replay --json -c 1 -w 1s "$log"
	exits 0
	has requests=2 keys=1 denied=1 unreadable=1
}

@test "a bomb is given up: what unpacks to more than 256 MiB of nothing" {
	for pack in gzip zstd xz; do
		head -c 8388608 /dev/zero | "$pack" -c >"$BATS_TEST_TMPDIR/one"
		{
			printf '1 a\n' | "$pack" -c
			for _ in $(seq 40); do cat "$BATS_TEST_TMPDIR/one"; done
		} >"$log"
		[ "$(stat -c %s "$log")" -lt 2000000 ]
		run --separate-stderr bounded 512 "$RLCTL" replay -c 1 -w 1s "$log"
		in_trouble '256 MiB up to line 2 have nothing that can be read; given up'
	done
	yes x | head -n 200000 >"$log"
	run --separate-stderr bounded 512 "$RLCTL" replay -c 1 -w 1s "$log"
	in_trouble 'none of the first 100000 lines tells its format'
}

@test "a line that could be searched again from each of its bytes is not" {
	for piece in ' [' '[' '"' '\\\\"' ' from ' '{"a":' ']' ' ' '1 ' '$a'; do
		{
			echo '192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"'
			printf 'a b'
			yes "$piece" | head -c 250000 | tr -d '\n'
			echo
		} >"$log"
		for _ in 1 2 3 4 5 6 7; do tail -1 "$log" >>"$log"; done
		timeout 120 "$RLCTL" replay -c 1 -w 1s --where 'agent != x' "$log" >"$out" 2>"$err"
		sed -n 2p "$log" >"$log.bad"
		run timeout 120 "$RLCTL" replay -c 1 -w 1s "$log.bad"
		[ "$status" -eq 2 ]
	done
}

@test "a million keys take no more than 300 MB, one sub-bucket or a bucket" {
	! is_sanitized || skip 'its memory is not bounded'
	seq -f '1 client-%.0f' 1000001 2000000 >"$log"
	for algorithm in sliding_window token_bucket; do
		run --separate-stderr bounded 300 "$RLCTL" replay --json -a "$algorithm" -c 1 -w 1s "$log"
		exits 0
		has requests=1000000 keys=1000000 denied=0
	done
}

@test "bytes of any kind harm nothing and reach no terminal" {
	head -c 3000000 /dev/urandom >"$log"
	run --separate-stderr bounded 256 "$RLCTL" replay -c 1 -w 1s "$log"
	[ "$status" -eq 2 ] || [ "$status" -eq 0 ]
	[ "$(LC_ALL=C tr -d '\n -~' <<<"$output$stderr" | LC_ALL=C tr -d '\200-\377' | wc -c)" -eq 0 ]
	printf '%b' '192.0.2.7 - \033[2J [22/Nov/2026:10:00:00 +0000] "\0\033]0;x\007 /\302\233" 200 1\n' >"$log"
	for key in user method path client,user; do
		rlctl replay -c 1 -w 1s -k "$key" --verdicts "$log"
		exits 0
		[ "$(LC_ALL=C tr -d '\n\t -~' <<<"$output$stderr" | wc -c)" -eq 0 ]
	done
}

@test "keys that are chosen to meet in one place do not" {
	# Any order of bytes with one sum or xor: what a plain hash would put together.
	awk 'BEGIN { for (i = 0; i < 100000; i++) printf "%d %08d%08d\n", i / 1000, i, 99999999 - i }' >"$log"
	rlctl replay --json -c 1 -w 1s "$log"
	exits 0
	has requests=100000 keys=100000
}
