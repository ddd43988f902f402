# SPDX-License-Identifier: BSD-2-Clause
# What a limit would have done to small traffic that was worked out by hand.

load common

# replay INPUT OPTION...: INPUT is a printf format.
replay() {
	local text=$1
	shift
	rlctl_in "$text" replay --json "$@"
	exits 0
}

@test "fixed window: from one multiple of the window to the next" {
	replay '0 a\n1 a\n2 a\n9.999999999 a\n10 a\n11 a\n12 a\n' -a fixed_window -c 2 -w 10s
	has requests=7 keys=1 admitted=4 denied=3 keys_denied=1 unreadable=0 out_of_order=0
}

@test "two counters: the previous window counts by its remaining share" {
	# At 14.999999999 s: 2 x 5.000000001 + 1 x 10 > 2 x 10; at 15 s it is equal.
	replay '0 a\n1 a\n2 a\n10 a\n14.999999999 a\n15 a\n15 a\n' -c 2 -w 10s
	has requests=7 admitted=3 denied=4
	# 42 then 18: 42 x 45/60 + 18 = 49.5.
	text=$(printf '0 a\\n%.0s' $(seq 42))$(printf '75 a\\n%.0s' $(seq 20))
	replay "$text" -c 50 -w 60s
	has requests=62 admitted=60 denied=2
	replay "$text" -c 51 -w 60s
	has requests=62 admitted=61 denied=1
}

@test "sub-buckets: only the oldest counts by its share" {
	# At 12.5 s the first five seconds have left by half: 2 x 1/2 + 1 = 2.
	replay '0 a\n1 a\n12.499999999 a\n' -c 2 -w 10s -g 5s
	has admitted=2 denied=1
	replay '0 a\n1 a\n12.5 a\n' -c 2 -w 10s -g 5s
	has admitted=3 denied=0
}

@test "hard: the oldest sub-bucket counts in full" {
	replay '0 a\n1 a\n19.999999999 a\n' -c 2 -w 10s --hard
	has admitted=2 denied=1
	replay '0 a\n1 a\n20 a\n' -c 2 -w 10s --hard
	has admitted=3 denied=0
	replay '0 a\n1 a\n14.999999999 a\n15 a\n' -c 2 -w 10s -g 5s --hard
	has admitted=3 denied=1
}

@test "every key has its own counter" {
	replay '0 a\n1 b\n2 a\n3 c\n4 a\n5 b\n' -c 1 -w 1h
	has requests=6 keys=3 admitted=3 denied=3 keys_denied=2
}

@test "times are exact to the nanosecond, further digits are cut" {
	replay '5 a\n5.000000001 b\n1700000000.123456789999 c\n' -c 1 -w 1s
	has first_ns=5000000000 last_ns=1700000000123456789
	replay '9223372036.854775807 a\n' -c 1 -w 1s
	has requests=1 first_ns=9223372036854775807
	rlctl_in '9223372036.854775808 a\n18446744073709551617 a\n' replay -c 1 -w 1s
	in_trouble 'none of 2 lines can be read'
}

@test "origin: windows start from 1970, or from the first request" {
	replay '9 a\n11 a\n' -a fixed_window -c 1 -w 10s
	has admitted=2 denied=0
	replay '9 a\n11 a\n' -a fixed_window -c 1 -w 10s --origin epoch
	has admitted=2 denied=0
	replay '9 a\n11 a\n' -a fixed_window -c 1 -w 10s --origin first
	has admitted=1 denied=1 first_ns=9000000000 last_ns=11000000000
	# A log's clock may begin at 0, and windows then start there, to the nanosecond.
	replay '0 a\n9.999999999 a\n' -a fixed_window -c 1 -w 10s
	has admitted=1 denied=1 first_ns=0
	replay '0 a\n10 a\n' -a fixed_window -c 1 -w 10s
	has admitted=2 denied=0 last_ns=10000000000
	replay '0 a\n10 a\n' -a sliding_log -c 1 -w 10s
	has admitted=2 denied=0
}

@test "out of order: requests are decided in the order of their times" {
	local sorted shuffled rotated
	sorted='5 a\n10 a\n11 b\n12 a\n12 c\n20 a\n'
	shuffled='12 a\n5 a\n20 a\n12 c\n11 b\n10 a\n'
	rotated='12 a\n12 c\n20 a\n5 a\n10 a\n11 b\n'
	replay "$sorted" -a sliding_log -c 1 -w 6s
	has requests=6 admitted=5 denied=1 keys_denied=1 out_of_order=0 step_back_ns=0
	for text in "$shuffled" "$rotated"; do
		replay "$text" -a sliding_log -c 1 -w 6s
		has requests=6 admitted=5 denied=1 keys_denied=1
		has first_ns=5000000000 last_ns=20000000000
	done
	has out_of_order=3 step_back_ns=15000000000
	rlctl_in "$rotated" replay -a sliding_log -c 1 -w 6s
	says_line 'step_back     15s, put in order'
}

@test "out of order: any shuffling of a thousand requests gives the same, files in any order, too" {
	local expected
	seq 0 999 | awk '{ print int($1 / 3) / 10, "k" $1 % 7 }' >"$BATS_TEST_TMPDIR/all"
	replay '' -c 9 -w 10s "$BATS_TEST_TMPDIR/all"
	has requests=1000 keys=7 out_of_order=0
	expected=$(grep -vE '"(out_of_order|step_back_ns)"|"examples"|^    "k' <<<"$output")
	cd "$BATS_TEST_TMPDIR"
	split -n l/5 -d all part.
	for order in 'part.04 part.03 part.02 part.01 part.00' 'part.02 part.00 part.04 part.01 part.03'; do
		# shellcheck disable=SC2086
		replay '' -c 9 -w 10s $order
		[ "$(grep -vE '"(out_of_order|step_back_ns)"|"examples"|^    "k' <<<"$output")" = "$expected" ]
	done
	for seed in 1 2 3; do
		shuf --random-source=<(yes "$seed") all >mixed
		replay '' -c 9 -w 10s mixed
		[ "$(values out_of_order)" -gt 500 ]
		[ "$(grep -vE '"(out_of_order|step_back_ns)"|"examples"|^    "k' <<<"$output")" = "$expected" ]
	done
}

@test "out of order: what has one time is decided as it stands" {
	rlctl_in '5 a\n4 b\n5 b\n5 a\n' replay -c 1 -w 1h --verdicts
	exits 0
	[ "$(cut -f2,3 <<<"$output" | paste -sd' ')" = $'b\tallowed a\tallowed b\tdenied a\tdenied' ]
	{
		seq -f '10 a%g' 1 100
		echo '5 z'
		seq -f '10 a%g' 101 200
	} >"$BATS_TEST_TMPDIR/ties"
	rlctl replay -c 1 -w 1h --verdicts "$BATS_TEST_TMPDIR/ties"
	[ "$(cut -f2 <<<"$output")" = "$(echo z; seq -f 'a%g' 1 200)" ]
}

@test "--as-is: an earlier time counts in the key's current sub-bucket" {
	replay '10 a\n5 a\n12 a\n11 b\n' -a fixed_window -c 1 -w 10s --as-is
	has requests=4 admitted=2 denied=2 out_of_order=2 first_ns=5000000000 last_ns=12000000000
	are admitted '2 0 0 0 0 0 1 1 0'
	are denied '2 2 1 0 0 0 0 0 0 1'
}

@test "--as-is: before the first request is time 0" {
	replay '100 a\n3 b\n109 b\n' -a fixed_window -c 1 -w 10s --origin first --as-is
	has requests=3 admitted=2 denied=1 out_of_order=1 first_ns=3000000000
	replay '100 a\n3 b\n110 b\n' -a fixed_window -c 1 -w 10s --origin first --as-is
	has requests=3 admitted=3 denied=0 out_of_order=1
}

@test "a clock that is off, and what it was: told" {
	{
		echo '2111111111 x'
		seq 1 200 | sed 's/.*/17000000& a/; s/^\(.\{10\}\).* a/\1 a/'
	} >"$BATS_TEST_TMPDIR/off"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/off"
	exits 0
	complains 'warning: the last 1 of 201 requests are'
	complains 'at 2036-11-24 03:45:11 UTC: a clock that is off?'
	sed 's/^2111111111/1/' "$BATS_TEST_TMPDIR/off" >"$BATS_TEST_TMPDIR/early"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/early"
	complains 'warning: the first 1 of 201 requests are'
}

@test "common and combined lines: the host, and the time with its zone" {
	line='h - - [01/Aug/1995:%s] "GET / HTTP/1.0" 200 5\\n'
	# shellcheck disable=SC2059
	text=$(printf "$line$line$line" '00:00:01 -0400' '04:00:01 +0000' '09:30:01 +0530')
	for format in auto common combined; do
		replay "$text" -c 2 -w 1h -f "$format"
		has requests=3 keys=1 admitted=2 denied=1 unreadable=0
		has first_ns=807249601000000000 last_ns=807249601000000000
		are key '"h"'
	done
	replay '::1 - u [29/Feb/2000:12:00:00 +0000] "GET /" 200 - "ref" "agent [x] \\"y\\""\n' \
		-c 1 -w 1s
	has requests=1 first_ns=951825600000000000
	replay 'h - a [b] c [31/Dec/1999:23:59:60 +0000]\n' -c 1 -w 1s
	has requests=1 first_ns=946684800000000000
}

@test "common lines that cannot be" {
	for time in '29/Feb/1999:00:00:00 +0000' '31/Apr/1999:00:00:00 +0000' \
		'00/Jan/1999:00:00:00 +0000' '01/Foo/1999:00:00:00 +0000' \
		'01/Jan/1999:24:00:00 +0000' '01/Jan/1999:00:60:00 +0000' \
		'01/Jan/1999:00:00:61 +0000' '01/Jan/1999:00:00:00' '01/Jan/1999:00:00:00 0000' \
		'01/Jan/1999:00:00:00 +00' '1/Jan/1999:00:00:00 +0000' \
		'01/Jan/1970:00:00:00 +0100' '01/Jan/2263:00:00:00 +0000'; do
		rlctl_in "h - - [$time] x\n" replay -c 1 -w 1s -f common
		in_trouble 'stdin:1: no time'
		complains 'none of 1 lines can be read'
	done
	rlctl_in ' - - [01/Jan/1999:00:00:00 +0000]\n' replay -c 1 -w 1s -f common
	in_trouble "none of 1 lines has a 'client'"
}

@test "seconds lines that cannot be" {
	for line in '' a '1' '1 ' '1a' '1. a' '.5 a' '-1 a' '+1 a' ' 1 a' '1e3 a' '1,5 a'; do
		rlctl_in "$line\n" replay -c 1 -w 1s -f seconds
		in_trouble 'none of 1 lines'
	done
}

@test "auto decides for each file by its first readable line" {
	printf 'junk\nh - - [01/Aug/1995:00:00:01 -0400]\n1 b\n' >"$BATS_TEST_TMPDIR/common"
	printf '2 c\nh - - [01/Aug/1995:00:00:01 -0400]\n3 d\n' >"$BATS_TEST_TMPDIR/seconds"
	replay '4 e\n' -c 1 -w 1s "$BATS_TEST_TMPDIR/common" - "$BATS_TEST_TMPDIR/seconds"
	has requests=4 keys=4 unreadable=3
	complains "$BATS_TEST_TMPDIR/common:1:"
	complains "$BATS_TEST_TMPDIR/common:3:"
	complains "$BATS_TEST_TMPDIR/seconds:2:"
}

@test "unreadable lines: five are told, all are counted, none stops it" {
	replay '1 a\nx\nx\nx\nx\nx\nx\nx\n2 b\n' -c 1 -w 1s
	has requests=2 unreadable=7
	[ "$(grep -c '^rl-replay: stdin:[2-6]: ' <<<"$stderr")" -eq 5 ]
	[ "$(grep -c '' <<<"$stderr")" -eq 7 ]
	complains '7 unreadable lines in all'
	complains '2 of 9 lines could be judged'
}

@test "carriage returns, blanks, NUL bytes, and a last line without its end" {
	replay '1 a\r\n2 a\n3 a' -c 1 -w 1h
	has requests=3 keys=1 unreadable=0
	replay '1 \t  a b \n1 \t  a b \n1 a b\n' -c 1 -w 1h --key rest
	has requests=3 keys=2 denied=1
	are key '"a b "'
	replay '1 \t  a b \n1 \t  a c \n1 a d\n' -c 1 -w 1h
	has requests=3 keys=1 denied=2
	replay '1 a\0b\n1 a\0b\n1 a\n1 a\0\n' -c 1 -w 1h
	has requests=4 keys=3 denied=1
	are key '"a\u0000b"'
	rlctl_in '\0\n1\0 a\n' replay -c 1 -w 1h
	in_trouble 'none of 2 lines can be read'
}

@test "lines of any length, keys up to 4096 bytes" {
	key=$(printf 'k%.0s' $(seq 4096))
	replay "1 $key\n1 ${key}k\n" -c 1 -w 1s
	has requests=1 unreadable=1
	complains 'stdin:2: the key is too long'
	{
		printf 'h - - [01/Aug/1995:00:00:01 -0400] '
		head -c 3000000 /dev/zero | tr '\0' x
		printf '\nh - - [01/Aug/1995:00:00:02 -0400]\n'
	} >"$BATS_TEST_TMPDIR/long"
	replay '' -c 1 -w 1h "$BATS_TEST_TMPDIR/long"
	has requests=2 keys=1 denied=1
}

@test "no traffic: all zeros" {
	replay '' -c 1 -w 1s
	has requests=0 keys=0 admitted=0 denied=0 keys_denied=0 unreadable=0 out_of_order=0 \
		first_ns=0 last_ns=0 'top=\[\]' 'chart=\[\]' 'examples=\[\]' 'warnings=\[\]'
	rlctl_in '' replay -c 1 -w 1s
	exits 0
	says_line 'requests      0'
}

@test "a file that cannot be read is named" {
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/absent"
	in_trouble "$BATS_TEST_TMPDIR/absent: No such file"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR"
	in_trouble "$BATS_TEST_TMPDIR: Is a directory"
}

@test "top: the most limited keys, most denied first, then most requests, then by name" {
	text='1 a\n1 b\n1 b\n1 b\n1 c\n1 c\n1 z\n1 d\n1 d\n'
	replay "$text" -c 1 -w 1h
	has keys=5 denied=4 keys_denied=3
	are key '"b" "c" "d"'
	replay "$text" -c 1 -w 1h --top 2
	are key '"b" "c"'
	replay "$text" -c 1 -w 1h --top 0
	has 'top=\[\]' keys_denied=3
	rlctl_in "$text" replay -c 1 -w 1h
	exits 0
	says_line '         2           3          0s  b'
	says_line '         1           2          0s  d'
}

@test "chart: at most 24 rows of a round length, whose sums are the totals" {
	text=$(for i in $(seq 0 59); do printf '%d a\\n' $((i * 60)); done)
	replay "$text" -a fixed_window -c 3 -w 5m
	has requests=60 admitted=36 denied=24 chart_width_ns=300000000000
	are start_ns "$(seq 0 300000000000 3300000000000 | paste -sd' ')"
	are admitted "36$(printf ' 3%.0s' $(seq 12))"
	are denied "24 24$(printf ' 2%.0s' $(seq 12))"
	replay '0 a\n9223372036 a\n' -c 1 -w 1s
	[ "$(values start_ns | wc -w)" -le 24 ]
	replay '7.5 a\n' -c 1 -w 1s
	are start_ns 7500000000
}

@test "chart: bars are scaled to the most denied" {
	rlctl_in '0 a\n0 a\n0 a\n0 a\n0 a\n3 b\n3 b\n3 b\n' replay -c 1 -w 1s
	exits 0
	[ "$(grep -cx '[^#]*  #\{40\}' <<<"$output")" -eq 1 ]
	[ "$(grep -cx '[^#]*  #\{20\}' <<<"$output")" -eq 1 ]
}

@test "keys are shown safely" {
	key='\033[31m\\"\x27\377\302\205\342\200\256\320\266\177'
	rlctl_in "1 $key\n1 $key\n" replay -c 1 -w 1h
	exits 0
	says '  \x1b[31m\x5c\x22\x27\xff\xc2\x85\xe2\x80\xaeж\x7f'
	[ "$(LC_ALL=C tr -d '\n -~\320\266' <<<"$output" | wc -c)" -eq 0 ]
	rlctl_in "1 $key\n1 $key\n" replay -c 1 -w 1h --json
	are key_hex '"1b5b33316d5c2227ffc285e280aed0b67f"'
	are key '"\\x1b[31m\\x5c\\x22\\x27\\xff\\xc2\\x85\\xe2\\x80\\xae\u0436\\x7f"'
	rlctl_in '1 \320\266\033\n1 \320\266\033\n' replay -c 1 -w 1h --json
	are key '"\u0436\u001B"'
	are key_hex ''
}

@test "bytes that are no UTF-8 are escaped one by one" {
	# overlong, surrogate, beyond U+10FFFF, cut short, lone continuation
	for pair in '\300\257=\xc0\xaf' '\340\200\257=\xe0\x80\xaf' '\355\240\200=\xed\xa0\x80' \
		'\364\220\200\200=\xf4\x90\x80\x80' \
		'\342\202=\xe2\x82' '\200=\x80' 'a\342\202b=a\xe2\x82b'; do
		rlctl_in "1 ${pair%%=*}\n1 ${pair%%=*}\n" replay -c 1 -w 1h
		says "           2          0s  ${pair#*=}"
	done
}

@test "many keys all find a place" {
	seq 1 20000 | sed 's/.*/1 key&/' >"$BATS_TEST_TMPDIR/many"
	replay '' -c 1 -w 1h "$BATS_TEST_TMPDIR/many" "$BATS_TEST_TMPDIR/many"
	has requests=40000 keys=20000 admitted=20000 denied=20000 keys_denied=20000
}

@test "no progress line unless stderr is a terminal" {
	replay '1 a\n' -c 1 -w 1h
	[ -z "$stderr" ]
}

@test "sliding log: exactly those of the last window, whenever it is asked" {
	replay '0 a\n4 a\n9.999999999 a\n10 a\n13.999999999 a\n14 a\n' -a sliding_log -c 2 -w 10s
	has admitted=4 denied=2
}

@test "token bucket: a burst, then the rate" {
	# 1 token a second, 3 held: 3 at once, and one more after a whole second.
	replay '0 a\n0 a\n0 a\n0 a\n0.999999999 a\n1 a\n1 a\n' -a token_bucket -c 10 -w 10s -b 3
	has admitted=4 denied=3
}

@test "leaky bucket: one goes, the burst waits, the rest is refused" {
	replay '0 a\n0 a\n0 a\n0 a\n1 a\n1 a\n' -a leaky_bucket -c 10 -w 10s -b 2
	has admitted=4 denied=2
}

@test "what does not go with an algorithm is refused by name" {
	rlctl_in '' replay -c 2 -w 10s -b 3
	exits 2
	[[ $stderr == *"--burst: sliding_window has none"* ]]
	rlctl_in '' replay -a sliding_log -c 5000 -w 10s
	exits 2
	[[ $stderr == *"--capacity: sliding_log holds up to 4096"* ]]
	rlctl_in '' replay -a token_bucket -c 5 -w 10s -g 5s
	exits 2
	[[ $stderr == *"--granularity: token_bucket has no sub-buckets"* ]]
	rlctl_in '' replay -a token_bucket -c 5 -w 10s -b 0
	exits 2
	[[ $stderr == *"--burst"* ]]
}
