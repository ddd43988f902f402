# SPDX-License-Identifier: BSD-2-Clause
# status, list and get on a live segment. Its windows are 30 days, so that none ends during
# a test.

load common

month_ms=2592000000

setup() {
	segment_setup
}

teardown() {
	segment_teardown
}

@test "a segment that is not there is named, and not created" {
	for args in status list 'get login a'; do
		# shellcheck disable=SC2086
		rlctl -s "$segment" $args
		in_trouble "segment '$segment'"
	done
	[ ! -e "/dev/shm/rl.$segment" ]
	for args in status 'unlink --yes' doctor; do
		rlctl -s a/b $args
		in_trouble "rlctl: segment 'a/b': a name has 1 to 63 letters, digits and . _ -"
	done
}

@test "a segment that is not there: those that are" {
	fill login 5 $month_ms 1 alice=1
	rlctl -s "$segment-x" status
	in_trouble "segment '$segment-x': no such segment; --segment takes one of:"
	grep -qE " $segment( |\$)" <<<"$stderr"
}

@test "a segment that is not there: each that is, once, and nothing else" {
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	export RLCTL FILL
	# shellcheck disable=SC2016 # the inner shell's
	run --separate-stderr unshare -m bash -ec '
		mount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm
		"$RLCTL" -s nosuch status || true
		"$FILL" one r 5 60000 1 a=1
		"$FILL" two r 5 60000 1 a=1
		mkdir -m 3771 /dev/shm/rl /dev/shm/rl.directory
		cp /dev/shm/rl.one /dev/shm/rl/rl.one
		printf "no segment" >/dev/shm/rl.text
		exec "$RLCTL" -s nosuch status'
	in_trouble "segment 'nosuch': no such segment, and no other either"
	[ "$(tail -n 1 <<<"$stderr")" = \
		"rlctl: segment 'nosuch': no such segment; --segment takes one of: one two" ]
}

@test "a file that is no segment is refused" {
	printf 'not a segment' >"/dev/shm/rl.$segment"
	rlctl -s "$segment" status
	in_trouble "segment '$segment'"
}

@test "status: the segment, its rules, and only the counters that count" {
	fill login 5 $month_ms 1 alice=3 bob=9
	fill api 100 60000 6 carol=2
	fill day 7 86400000 0 dave=1
	rlctl -s "$segment" status
	exits 0
	says_line "segment    $segment"
	says_line 'mode       0600'
	says_line "owner      $(stat -c %U "/dev/shm/rl.$segment")"
	says "bytes      $(stat -c %s "/dev/shm/rl.$segment") ("
	says_line 'keys       259 find room'
	says_line 'key_bytes  48'
	says_line 'on_full    reserve'
	says_line 'huge_pages none'
	says_line 'buffer     200ms'
	grep -qxE 'fill       4 \([0-9]+\.[0-9] %\)' <<<"$output"
	says_line 'sweeper    no sweeper'
	says_line 'config     generation 0'
	grep -qxE 'rules      3 of [0-9]+' <<<"$output"
	grep -qxE 'limits     3 of [0-9]+' <<<"$output"
	grep -qxE 'overrides  0 of [0-9]+' <<<"$output"
	grep -qxE 'bans       0, room for at least [0-9]+' <<<"$output"
	grep -qxE 'application +8 +4 +0 +0  login' <<<"$output"
	says_line '  1  sliding_window, 5 per 30d'
	grep -qxE 'application +2 +0 +0 +0  api' <<<"$output"
	says_line '  1  sliding_window, 100 per 1m, 6 x 10s'
	grep -qxE 'application +1 +0 +0 +0  day' <<<"$output"
	says_line '  1  fixed_window, 7 per 1d'
	grep -qE '^allowed +11 ' <<<"$output"
	grep -qE '^denied +4 ' <<<"$output"
	grep -qE '^inserted +4 ' <<<"$output"
	says_not full_denied
}

@test "status: allowed and denied are shown even when zero" {
	fill login 5 $month_ms 1 alice=0
	rlctl -s "$segment" status
	grep -qE '^allowed +0 ' <<<"$output"
	grep -qE '^denied +0 ' <<<"$output"
	says_not inserted
}

@test "status --json" {
	fill login 5 $month_ms 1 alice=3 bob=9
	fill api 100 60000 6 carol=2
	rlctl status --json --segment "$segment"
	exits 0
	conforms status
	are name "\"$segment\""
	are rule "\"login\" \"api\""
	are algorithm '"sliding_window" "sliding_window"'
	are capacity '5 100'
	are window_ns '2592000000000000 60000000000'
	are granularity '1 6'
	are hard 'false false'
	are allowed '8 2 10'
	are denied '4 0 4'
	are fill 3
	are rules_room 8
	are limits_room 128
	are overrides_room 1024
	are mode '"0600"'
	are on_full '"reserve"'
	are huge_pages false
	are huge_bytes 0
	are folded 0
	[ "$(values created_ns)" -gt 1700000000000000000 ]
}

@test "list: most used first, then the count" {
	fill login 5 $month_ms 1 alice=3 bob=9 zoe=1 amy=1
	fill api 100 $month_ms 1 alice=42
	rlctl -s "$segment" list
	exits 0
	[ "$(awk '/\// && !/used/ { print $1, $2, $3, $NF }' <<<"$output" | paste -sd,)" = \
		'42/100 58 open alice,5/5 0 limited bob,3/5 2 open alice,1/5 4 open amy,1/5 4 open zoe' ]
	[ "$stderr" = '5 live keys' ]
	rlctl -s "$segment" list --json
	exits 0
	conforms list
	has total=5
	are rule '"api" "login" "login" "login" "login"'
	are key '"alice" "bob" "alice" "amy" "zoe"'
	are used '42 5 3 1 1'
	are limit '100 5 5 5 5'
	are remaining '58 0 2 4 4'
	are limited 'false true false false false'
	are limit_number '1 1 1 1 1'
	[ "$(values retry_after_ns | cut -d' ' -f1,3-)" = '0 0 0 0' ]
	[ "$(values retry_after_ns | cut -d' ' -f2)" -gt 0 ]
}

@test "list: nothing to show" {
	fill login 5 $month_ms 1 alice=0
	rlctl -s "$segment" list
	exits 0
	[ -z "$output" ]
	[ "$stderr" = '0 live keys' ]
	rlctl -s "$segment" list -j
	conforms list
	has 'keys=\[\]' total=0
}

@test "list and get: a key is gone once its window and the buffer have passed" {
	fill short 5 10 0 alice=3
	sleep 0.4
	rlctl -s "$segment" status --json
	are fill 1
	rlctl -s "$segment" list
	exits 0
	[ -z "$output" ]
	[ "$stderr" = '0 live keys' ]
	rlctl -s "$segment" get short alice
	exits 1
}

@test "list and get: keys are shown safely" {
	fill login 5 $month_ms 1 $'\033]0;x\007"=1' $'\xff\xfe=2' $'\u202eж=3'
	rlctl -s "$segment" list
	exits 0
	says '  login  \x1b]0;x\x07\x22'
	says '  login  \xff\xfe'
	says '  login  \xe2\x80\xaeж'
	rlctl -s "$segment" list --json
	are key '"\u202E\u0436" "\\xff\\xfe" "\u001B]0;x\u0007\""'
	are key_hex '"fffe"'
	rlctl -s "$segment" get login $'\xff\xfe'
	exits 0
	says_line 'key          \xff\xfe'
	rlctl -s "$segment" get login $'\xff\xfe' -j
	conforms get
	are key_hex '"fffe" "fffe" "fffe"'
	are used 2
}

@test "list: a key that was cut says so" {
	whole=$(printf 'w%.0s' $(seq 48))
	fill login 5 $month_ms 1 "$whole=2" "${whole}x=1"
	rlctl -s "$segment" list
	[ "$(grep -cE "  login  $whole\$" <<<"$output")" -eq 1 ]
	[ "$(grep -cE "  login  $whole…\$" <<<"$output")" -eq 1 ]
	rlctl -s "$segment" list --json
	are used '2 1'
	are truncated true
	rlctl -s "$segment" get login "${whole}x"
	says_line 'used         1'
}

@test "list: a name that was damaged shows as its hash, never as another name" {
	fill login 5 $month_ms 1 alice-in-wonderland=3
	at=$(grep -abo alice-in-wonderland "/dev/shm/rl.$segment" | cut -d: -f1)
	printf 'm' | dd of="/dev/shm/rl.$segment" bs=1 seek="$at" conv=notrunc status=none
	rlctl -s "$segment" list
	exits 0
	grep -qE '^ +3/5 .*  login  #[0-9a-f]+$' <<<"$output"
	rlctl -s "$segment" list --json
	are key null
	grep -qE '"key_id": ?"#[0-9a-f]+"' <<<"$output"
	rlctl -s "$segment" get login alice-in-wonderland
	says_line 'used         3'
}

@test "get: one key explained" {
	fill login 5 $month_ms 1 alice=3 bob=9
	rlctl -s "$segment" get login alice
	exits 0
	for line in 'rule         login' 'key          alice' 'state        open' 'used         3' \
		'limit        5' 'remaining    2' 'retry after  0s'; do
		says_line "$line"
	done
	[ "$(grep -cx '[0-9: -]* 3  #\{28\}' <<<"$output")" -eq 1 ]
	[ "$(grep -cx '[0-9: -]* 0    (partly out)' <<<"$output")" -eq 1 ]
	says_line 'answer       allowed'
	says_line 'sliding_window, 5 per 30d'
	rlctl -s "$segment" get login bob
	says_line 'state        limited'
	says_line 'remaining    0'
	says_not 'retry after  0s'
	says 'answer       denied, retry after '
}

@test "get: without a rule, under every one that knows the key" {
	fill login 5 $month_ms 1 alice=3 bob=9
	fill api 5 $month_ms 1 alice=1
	fill net 5 $month_ms 1/24/64 192.0.2.1=2
	on get alice
	exits 0
	says_line 'key          alice'
	grep -qxE 'allowed +3/5 +0s +[0-9dhms]+  login' <<<"$output"
	grep -qxE 'allowed +1/5 +0s +[0-9dhms]+  api' <<<"$output"
	[ "${#lines[@]}" -eq 4 ]
	on get alice --verbose
	[ "$(grep '^rule ' <<<"$output" | paste -sd,)" = 'rule         login,rule         api' ]
	says_line 'used         3'
	says_line 'used         1'
	on get 192.0.2.200
	grep -qxE 'allowed +2/5 .*  net' <<<"$output"
	on get bob --json
	conforms get
	are rule '"login" "login"'
	on get nobody
	exits 1
	complains 'no rule has a counter for this key'
	on get nobody --json
	exits 1
	conforms get
	has 'rules=\[\]'
}

@test "get: rules fit a screen, the limit that denies first, and a ban once" {
	for rule in $(seq 6); do
		fill "a-rule-of-some-length-$rule" 100000 $month_ms 60 203.0.113.7=3
	done
	fill pair 50,20 "$month_ms,$month_ms" 60,60 203.0.113.7=3
	fill api 50,4,60 "$month_ms,$month_ms,$month_ms" 60,60,1 203.0.113.7=9
	on get 203.0.113.7
	exits 0
	grep -qxE 'denied +4/4 .*  api\(2\)' <<<"$output"
	grep -qxE 'allowed +3/20 .*  pair\(2\)' <<<"$output"
	on ban 203.0.113.0/24 --for 1h --reason 'scrapes'
	on ban 203.0.113.7 --for 1h --rule a-rule-of-some-length-3
	on get 203.0.113.7
	exits 0
	[ "$(wc -l <<<"$output")" -le 20 ]
	[ "$(grep -c 'ban of network 203.0.113.0/24, any rule' <<<"$output")" -eq 1 ]
	[ "$(grep -c 'ban of key 203.0.113.7, rule a-rule-of-some-length-3' <<<"$output")" -eq 1 ]
	[ "$(grep -c '^banned ' <<<"$output")" -eq 8 ]
	narrow
	# The rest is asked for: some lines of it are 61 sub-buckets.
	on get 203.0.113.7 --verbose
	narrow
	[ "$(grep -c '^2[0-9: -]*  *[03]  #*' <<<"$output")" -gt 300 ]
	on get a-rule-of-some-length-1 203.0.113.7
	narrow
	says_line '59 empty'
	[ "$(wc -l <<<"$output")" -le 24 ]
}

# No line is wider than 80 columns.
narrow() {
	! grep -E '.{81}' <<<"$output" || fail_with 'a line above 80 columns'
}

@test "list --match: a key that was cut, by its first bytes or by all" {
	whole=$(printf 'w%.0s' $(seq 48))
	fill login 5 $month_ms 1 "${whole}xyz=1" "v=1"
	for match in "$whole" 'w*' "${whole}xyz"; do
		on list --match "$match"
		[ "${#lines[@]}" -eq 2 ]
		[ "$stderr" = $'1 live key\nof 1 only the first bytes are kept, and matched' ]
	done
	for match in "${whole}wxyz" '*z' "${whole}x*"; do
		on list --match "$match"
		[ -z "$output" ]
	done
	on list --match v
	[ "$stderr" = '1 live key' ]
}

@test "get --json: sub-buckets, newest first, the last one leaving" {
	fill api 100 $month_ms 3 alice=42
	rlctl get api alice --json -s "$segment"
	exits 0
	conforms get
	has 'rule="api"' 'key="alice"' 'bans=\[\]' 'overrides=\[\]'
	are used 42
	are bucket_ns 864000000000000
	are count '42 0 0 0'
	are leaving 'false false false true'
	[ $(($(values start_ns | cut -d' ' -f1) - $(values start_ns | cut -d' ' -f4))) -eq \
		$((3 * 864000000000000)) ]
}

@test "get: a fixed window has one bucket, and it does not leave" {
	fill day 7 $month_ms 0 dave=2
	rlctl -s "$segment" get day dave -j
	are count 2
	are leaving false
	rlctl -s "$segment" get day dave
	says_not partly
}

@test "get: no counter is a no, no rule is trouble" {
	fill login 5 $month_ms 1 alice=3
	rlctl -s "$segment" get login nobody
	exits 1
	complains "rule 'login' has no counter for this key"
	[ -z "$output" ]
	rlctl -s "$segment" get logon alice
	in_trouble "unknown rule 'logon'"
	rlctl -s "$segment" get login ''
	in_trouble 'KEY has 0 bytes'
	rlctl -s "$segment" get login "$(printf 'k%.0s' $(seq 4097))"
	in_trouble 'KEY has 4097 bytes'
}

@test "get: a key is taken as it is" {
	fill login 5 $month_ms 1 '-j=1' '%s=2' 'a b=3'
	rlctl -s "$segment" get login '%s'
	says_line 'used         2'
	rlctl -s "$segment" get login 'a b'
	says_line 'used         3'
	rlctl -s "$segment" get login -- -j
	says_line 'used         1'
}

@test "looking changes nothing" {
	fill login 5 $month_ms 1 alice=3
	cp "/dev/shm/rl.$segment" "$BATS_TEST_TMPDIR/before"
	for args in status list 'get login alice' 'get login nobody'; do
		# shellcheck disable=SC2086
		rlctl -s "$segment" $args
		[ "$status" -lt 2 ]
	done
	cmp "/dev/shm/rl.$segment" "$BATS_TEST_TMPDIR/before"
}

@test "status, list and get: output that is lost is an error" {
	fill login 5 $month_ms 1 alice=3
	for args in status list 'get login alice' 'status -j' 'list -j' 'get login alice -j'; do
		# shellcheck disable=SC2086
		rlctl_full -s "$segment" $args
		exits 2
		[ "$output" = 'rlctl: stdout: No space left on device' ]
	done
}

@test "list --sort: each order, and ties by key" {
	fill login 5 $month_ms 1 bob=2 alice=2 carol=4
	fill api 50 $month_ms 1 zoe=3
	for pair in 'used=carol zoe alice bob' 'remaining=carol alice bob zoe' \
		'key=alice bob carol zoe' 'denied=alice bob carol zoe' 'recent=alice bob carol zoe'; do
		on list --json --sort "${pair%%=*}"
		exits 0
		names=${pair#*=}
		are key "\"${names// /\" \"}\""
	done
	on list --sort size
	in_trouble "--sort: unknown order 'size'"
}

@test "list --sort recent: the newest charge first" {
	fill log 9 $month_ms log old=1 new=1@1 newer=1@2
	on list --sort recent --json
	are key '"newer" "new" "old"'
}

@test "list --limit: the first few of all, and how many there are" {
	export FILL_KEYS=4096
	# shellcheck disable=SC2046
	fill login 9 $month_ms 1 $(for i in $(seq 1000); do echo "k$i=$((i * 7 % 9 + 1))"; done)
	on list --json
	conforms list
	for order in used remaining key; do
		on list --json --sort $order
		whole=$(values key)
		for most in 1 7 999 1001; do
			on list --json --sort $order --limit $most
			has total=1000
			are key "$(cut -d' ' "-f1-$most" <<<"$whole")"
		done
	done
	on list -n 3
	[ "$stderr" = '3 of 1000 live keys' ]
	[ "$(wc -w <<<"$whole")" -eq 1000 ]
	for text in 0 -1 x ''; do
		on list "--limit=$text"
		in_trouble "--limit: '$text'"
	done
}

@test "list --rule, --limited and --match" {
	fill login 5 $month_ms 1 user:1=5 user:22=1 2001:db8::1=2 2001:db9::1=2 192.0.2.9=1
	fill api 5 $month_ms 1 user:1=1
	matching() {
		local keys=$1
		shift
		on list --json --sort key "$@"
		exits 0
		are key "$keys"
	}
	matching '"user:1"' --rule api
	matching '"user:1"' --limited
	matching '"user:1" "user:1"' --match 'user:?'
	matching '"user:22"' --match '*r:??'
	matching '"user:1" "user:1" "user:22"' --match 'us*:*'
	matching '"2001:db8::1"' --match 2001:db8::/32
	matching '"2001:db8::1" "2001:db9::1"' --match 2001::/16
	matching '"192.0.2.9"' --match 192.0.2.0/24
	matching '' --match 'user:\?'
	matching '' --match user
	matching '' --match 10.0.0.0/8
	on list --rule nologin
	in_trouble "unknown rule 'nologin'; did you mean 'login'?"
	on list --match 10.0.0.0/99
	in_trouble "--match: '10.0.0.0/99' is no network: expected an address and 0 to 32 bits"
	complains "; with a \\ before it, it is the key of this very name"
	for args in '10.0.0/24 network' '192.168.1.300 address' '10.0.0 address' '[::1] address' \
		'192.0.2.9:80 address' '2001:db8::g address' '[ab] pattern'; do
		on list --match "${args% *}"
		in_trouble "--match: '${args% *}' is no ${args#* }: "
	done
	matching '' --match '\10.0.0/24'
	matching '"192.0.2.9"' --match '\192.0.2.9'
	matching '"192.0.2.9"' --match '192.0.2.?'
	matching '"192.0.2.9"' --match 192.0.2.77/24
}

@test "list --match: a character is not a byte, and any byte is a character" {
	fill login 5 $month_ms 1 $'\320\266=1' $'\377=1' ab=1
	on list --json --match '?'
	are used '1 1'
	on list --json --match '??'
	are key '"ab"'
	on list --json --match $'*\266'
	are key '"\u0436"'
}

@test "get: a log shows its times, and when each frees up" {
	fill log 20 60000 log alice=3
	on get log alice
	exits 0
	says_line 'sliding_log, 20 per 1m'
	grep -qxE '1m ago \|\.{37}3\| now' <<<"$output"
	grep -qE '^20.* [123]  frees up in (60.0s|[345][0-9.]*s|1m)$' <<<"$output"
	on get log alice --json
	conforms get
	# Times of one millisecond are one.
	[ "$(jq '[.limits[0].counted.moments[].cost] | add' <<<"$output")" -eq 3 ]
}

@test "get: a token bucket shows its tokens, a leaky one its queue" {
	fill tokens 4 $month_ms token alice=3
	fill queue 4 $month_ms leaky alice=3
	on get tokens alice
	exits 0
	says_line "tokens       [#########$(printf "%29s")] 1 of 4"
	says 'one more comes every 180h; full in '
	on get queue alice
	exits 0
	grep -qE '^queue        \[#+ +\] 3 of 5$' <<<"$output"
	says 'one leaks every 180h; empty in '
}

@test "get: every limit of a rule, and what it counts" {
	fill api 5,2,9 "$month_ms,$month_ms,60000" 1,0,token alice=2
	on get api alice
	exits 0
	for line in 'limit 1 of 3: sliding_window, 5 per 30d' 'limit 2 of 3: fixed_window, 2 per 30d' \
		'limit 3 of 3: token_bucket, 9 per 1m, burst 9'; do
		says_line "$line"
	done
	says 'answer       denied by limit 2, retry after '
	on get api alice --json
	conforms get
	[ "$(jq -c '[.limits[].counted.limited]' <<<"$output")" = '[false,true,false]' ]
	on list --sort key
	says '  api(2)  alice'
	on list --json
	conforms list
	are limit_number '1 2 3'
}

@test "get: what stands for or against a key" {
	fill login 5 $month_ms 1 user:1=2
	on ban 'user:*' --for 1h
	on allow user:1 --for 1h --rule login
	on ban user:2 --for 1h
	on get login user:1
	exits 0
	says_line 'answer       allowed by exemption'
	says 'stands       exemption of key user:1, rule login,'
	says 'stands       ban of prefix user:*, any rule,'
	says_not user:2
	on get login user:1 --json
	conforms get
	are effect '"ban" "exemption"'
	on get login user:3
	exits 0
	says 'answer       denied by ban'
	says_line 'nothing counted'
}

@test "rules with prefixes: networks are the keys" {
	fill net 9,50 "$month_ms,$month_ms" 1/24/64,1/16/48 192.0.2.7=3 192.0.2.9=2 198.51.100.1=1 2001:db8::1=1
	on list --json --sort used
	conforms list
	are key '"192.0.0.0/16" "192.0.2.0/24" "198.51.0.0/16" "198.51.100.0/24" "2001:db8::/48" "2001:db8::/64"'
	are used '5 5 1 1 1 1'
	# The /16 is not inside the /20.
	on list --json --match 192.0.0.0/20
	are key '"192.0.2.0/24"'
	on list --json --sort key --match 192.0.0.0/16
	are key '"192.0.0.0/16" "192.0.2.0/24"'
	on get net 192.0.2.200
	exits 0
	says_line 'counted as   192.0.2.0/24'
	says_line 'counted as   192.0.0.0/16'
	on get net 192.0.2.0/24
	exits 0
	says_line 'used         5'
	on get net alice
	in_trouble 'key: '
	on dump "$BATS_TEST_TMPDIR/dump"
	says '6 entries'
	on reset --yes --match 192.0.2.0/24
	exits 0
	on list --json --match 192.0.2.0/24
	has total=0
	on reset --all --yes
	exits 0
	on restore "$BATS_TEST_TMPDIR/dump"
	exits 0
	on list --json --sort used
	are used '5 5 1 1 1 1'
}

@test "get: overrides of the configuration, the one for the key first" {
	# The segment is made with room for few bans, and for overrides as usual.
	fill other 5 60000 1 somebody=1
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-EOF
		{
		  "segment": {"name": "$segment"},
		  "rules": {
		    "login": {
		      "limit": "5/min",
		      "overrides": {
		        "user:*": {"capacity": 50},
		        "user:7": {"unlimited": true},
		        "10.0.0.0/8": {"banned": true}
		      }
		    }
		  }
		}
	EOF
	rlctl config reload --config "$BATS_TEST_TMPDIR/rl.json"
	exits 0
	on status
	grep -qE '^configuration +0 +0 +3 +0  login$' <<<"$output"
	on get login user:7
	exits 0
	[ "$(grep '^stands' <<<"$output" | paste -sd,)" = \
		'stands       override of key user:7: unlimited,stands       override of prefix user:*: capacity 50' ]
	on get login 10.1.2.3
	exits 0
	says_line 'stands       override of network 10.0.0.0/8: banned'
	says 'answer       denied'
	on get login user:8 --json
	conforms get
	are kind '"capacity"'
	[ "$(jq .answer.limit <<<"$output")" -eq 50 ]
	on get login nobody
	exits 1
}
