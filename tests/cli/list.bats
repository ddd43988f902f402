# SPDX-License-Identifier: BSD-2-Clause
# list: on a terminal, in a pipe, and for other programs.

load common
load terminal

month_ms=2592000000

setup() {
	segment_setup
	export LC_ALL=C.UTF-8 TERM=screen-256color
}

teardown() {
	stop
	segment_teardown
}

# list on a screen of $1 columns, with the other arguments.
list_on() {
	local columns=$1
	shift
	run_on_terminal "$columns" 24 "'$RLCTL' -s '$segment' list $*"
	sees '^exit 0$'
}

# As many lines of keys as there are keys: none was wrapped.
lines_of_keys() {
	screen | grep -cE '^ *[0-9]+/[0-9]+ ' || true
}

@test "list: keys are seen on a terminal of 80 columns" {
	FILL_KEY_BYTES=200 fill login 100000 $month_ms 1 alice=3 "$(printf 'user:%0100d' 7)=2" "ü$(printf 'é%.0s' {1..90})=1"
	list_on 80
	[ "$(lines_of_keys)" -eq 3 ]
	sees '^ +3/100000  open .* login  alice$'
	sees '^ +2/100000  open .* login  user:0+…$'
	sees '^ +1/100000  open .* login  üé+…$'
	sees '^3 live keys$'
	screen | grep '…$' | while read -r line; do
		[ "${#line}" -ge 70 ] && [ "${#line}" -le 80 ]
	done
}

@test "list: a long rule gives way to its key, and a wide terminal shows all" {
	rule=$(printf 'r%.0s' {1..63})
	FILL_KEY_BYTES=100 fill "$rule" 200000000 $month_ms 1 "$(printf 'user:%070d' 7)=2"
	list_on 80
	[ "$(lines_of_keys)" -eq 1 ]
	sees ' r{15}…  user:0{18,}…$'
	stop
	list_on 40
	[ "$(lines_of_keys)" -eq 1 ]
	stop
	list_on 220
	sees "^used/limit +remaining  state +retry +reset  denied +/s  rule +key$"
	sees "^   2/200000000 .* $rule  user:0{69}7$"
}

@test "list: short keys leave room for every column" {
	fill login 5 $month_ms 1 alice=3 bob=9
	list_on 80
	sees '^used/limit  remaining  state +retry +reset  denied +/s  rule   key$'
}

@test "list: a pipe gets all of a key, and nothing but keys" {
	FILL_KEY_BYTES=200 fill login 5 $month_ms 1 "$(printf 'user:%0100d' 7)=2" bob=1
	on list
	says "login  $(printf 'user:%0100d' 7)"
	[ "${#lines[@]}" -eq 3 ]
	[ "$stderr" = '2 live keys' ]
	on list --no-headers
	[ "${#lines[@]}" -eq 2 ]
	[ -z "$stderr" ]
}

@test "list, get and top: a key is judged by the tier of its last request" {
	fill login 400 $month_ms 0 plain=60
	FILL_TIER=50 fill login 400 $month_ms 0 alice=60 bob=10
	on list --sort key
	exits 0
	says ' 50/50 '
	[ "$(grep -c ' limited ' <<<"$output")" -eq 1 ]
	on list --limited --keys
	[ "$output" = alice ]
	on list --sort remaining --keys --limit 2
	[ "$(paste -sd, <<<"$output")" = alice,bob ]
	on list --sort key --json
	conforms list
	are tier '50 50 null'
	are limit '50 50 400'
	are remaining '0 40 340'
	on get login alice
	says_line 'tier         50, of its last request that had one'
	says 'answer       denied, retry after '
	on get login alice --json
	conforms get
	are tier 50
	on get login plain
	says_not 'tier '
	on top --json
	conforms top
	says '"tier": 50'
	on dump -
	[ "$(grep -c '"tier":50' <<<"$output")" -eq 2 ]
	conforms dump_line
}

@test "dump and restore: a tier comes back with the next request that has one" {
	FILL_TIER=50 fill login 400 $month_ms 0 alice=60
	on dump "$BATS_TEST_TMPDIR/dump"
	exits 0
	rm "/dev/shm/rl.$segment"
	fill login 400 $month_ms 0
	on restore "$BATS_TEST_TMPDIR/dump"
	exits 0
	on list --json
	are used 50
	are limit 400
	are tier null
	FILL_TIER=50 fill login 400 $month_ms 0 alice=1
	on list --json
	are used 50
	are limit 50
	are tier 50
}

@test "list: denials a second, by which it can be sorted, are in each form" {
	fill login 5 $month_ms 1 alice=1005
	on list -S rate -o tsv
	exits 0
	[ "$(cut -f8 <<<"${lines[0]}")" = denied_per_second ]
	rate=$(cut -f8 <<<"${lines[1]}")
	[[ $rate =~ ^[0-9]+\.[0-9]$ && $rate != 0.0 ]]
	on list -S rate -o wide
	grep -qE '^ +used/limit .* denied +/s  rule  key$' <<<"$output"
	grep -qE ' ~?[0-9.]+k?  login  alice$' <<<"$output"
}

@test "list: a key that is banned has the reason beside it, where there is room" {
	fill login 5 $month_ms 1 alice=1 10.1.2.3=1 bob=1 carol=1
	"$RLCTL" -s "$segment" ban alice --for 1h --reason $'why\033[31m"'
	"$RLCTL" -s "$segment" ban 10.0.0.0/8 --for 1h --reason 'a network'
	"$RLCTL" -s "$segment" ban bob --for 1h
	on list -o wide -H --sort key
	exits 0
	grep -qE 'login  10.1.2.3  "a network"$' <<<"$output"
	grep -qF 'login  alice  "why\x1b[31m\x22"' <<<"$output"
	grep -qE 'login  bob$' <<<"$output"
	on list -o wide -H --limited
	[ "$(grep -c banned <<<"$output")" -eq 3 ]
	on list --json --sort key
	conforms list
	[ "$(jq -c '[.keys[].ban_reason]' <<<"$output")" = '["a network","why\u001b[31m\"",null,null]' ]
	on list --mask --json
	[ "$(jq -c '[.keys[].ban_reason] | unique' <<<"$output")" = '[null]' ]
	list_on 80
	[ "$(lines_of_keys)" -eq 4 ]
	on get login 10.1.2.3
	says 'for "a network"'
}

@test "list --keys: words of a shell, each key once, by name" {
	fill login 5 $month_ms 1 alice=3 $'b\001 c=1' "q'uote=5" 'x y=1' $'\xff=1' 'a$b=1'
	fill api 5 $month_ms 1 alice=1
	on list --keys
	exits 0
	[ -z "$stderr" ]
	[ "$output" = "\$'a\$b'
alice
\$'b\\x01 c'
\$'q\\x27uote'
\$'x y'
\$'\\xff'" ]
	eval "keys=($output)"
	[ "${keys[*]@Q}" = "'a\$b' 'alice' \$'b\\001 c' 'q'\\''uote' 'x y' \$'\\377'" ]
	on list -k --sort used -n 1
	[ "$output" = "\$'q\\x27uote'" ]
}

@test "list --null: any key comes back to rlctl" {
	fill login 2 $month_ms 1 alice=1 $'b\001 c=2' "q'uote=2" $'\xff=2'
	"$RLCTL" -s "$segment" list -l0 >"$BATS_TEST_TMPDIR/keys"
	[ "$(tr '\0' '\n' <"$BATS_TEST_TMPDIR/keys")" = $'b\001 c\nq\'uote\n\xff' ]
	xargs -0 -n1 "$RLCTL" -s "$segment" ban --for 10m --exact -- <"$BATS_TEST_TMPDIR/keys"
	on bans --json
	are key '"\\xff" "b\u0001 c" "q'\''uote"' || are key '"b\u0001 c" "q'\''uote" "\\xff"'
}

@test "list --keys: what cannot be named is told" {
	FILL_KEY_BYTES=8 fill login 5 $month_ms 1 alice=3 "$(printf 'user:%0100d' 7)=2"
	on list --keys
	exits 2
	[ "$output" = alice ]
	complains 'left out: 1 of which not all bytes are kept'
	for form in --keys --null; do
		on list "$form" --json
		in_trouble "$form is a form of "
	done
}

@test "list --sort none: the same keys, in whatever order" {
	# shellcheck disable=SC2046 # a word each
	FILL_KEYS=2000 fill login 9 $month_ms 1 $(for i in $(seq 1000); do echo "k$i=$((i % 9 + 1))"; done)
	on list --keys
	whole=$(sort <<<"$output")
	on list --keys --sort none
	[ "$(sort <<<"$output")" = "$whole" ]
	on list --json --sort none
	conforms list
	has total=1000
	[ "$(jq -r '.keys[].key' <<<"$output" | sort)" = "$whole" ]
	on list --sort none -n 7
	[ "$stderr" = '7 of 1000 live keys' ]
	[ "${#lines[@]}" -eq 8 ]
}

@test "list: of very many keys nothing is kept in memory, and each is a line" {
	for part in 0 50000; do
		# shellcheck disable=SC2046 # a word each
		FILL_KEYS=150000 FILL_RING=1 fill login 9 $month_ms 1 $(seq -f 'user:%.0f=1' $((part + 1)) $((part + 52000)))
	done
	memory=8192
	[[ $RLCTL != */asan/* ]] || memory=unlimited # which itself needs more
	for form in -j '' '-o tsv'; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr bash -c 'ulimit -d "$4" && "$1" -s "$2" list $3' - "$RLCTL" "$segment" "$form" "$memory"
		[ "$status" -eq 0 ] || fail_with "list $form"
		[ "$(grep -c user: <<<"$output")" -eq 102000 ] || fail_with "list $form"
		[ "$form" = -j ] || complains 'as they lie, for there are many'
	done
	on list -n 3
	[ "$(grep -c user: <<<"$output")" -eq 3 ]
	[[ $stderr != *'as they lie'* ]]
}

@test "list --json: written key by key, in little memory, and none when nobody reads" {
	# shellcheck disable=SC2046 # a word each
	FILL_KEYS=60000 FILL_RING=1 fill login 9 $month_ms 1 $(seq -f 'user:%.0f=1' 40000)
	# As one document, these take 100 MB.
	run bash -c 'ulimit -v "$3" && "$1" -s "$2" list --json' - "$RLCTL" "$segment" 60000
	case $output in
	*AddressSanitizer*) on list --json ;; # which itself needs more
	esac
	[ "$status" -eq 0 ]
	[ "$(jq '.total, (.keys | length)' <<<"$output" | paste -sd' ')" = '40000 40000' ]
	run --separate-stderr bash -c '"$1" -s "$2" list -j | head -c 200; exit "${PIPESTATUS[0]}"' - "$RLCTL" \
		"$segment"
	[ "$status" -eq 141 ]
	[ -z "$stderr" ]
}
