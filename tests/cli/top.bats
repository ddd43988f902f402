# SPDX-License-Identifier: BSD-2-Clause
# top, on a terminal that tmux plays, and without one.

load common
load terminal

month_ms=2592000000

setup() {
	segment_setup
	export LC_ALL=C.UTF-8 TERM=screen-256color
	unset NO_COLOR
}

teardown() {
	stop
	segment_teardown
}

# Start top on a screen of 80x24, or $1 x $2.
start() {
	run_on_terminal "${1:-80}" "${2:-24}" \
		"${before:-}'$RLCTL' -s '$segment' top -i 100ms ${options:-}"
}

# The main screen's lines of keys, in order.
keys() {
	screen | sed -nE 's/^ +[0-9]+\/[0-9]+ .*  [^ ]+  (.+)$/\1/p' | paste -sd' '
}

has_keys() {
	for _ in $(seq 1200); do
		[ "$(keys)" = "$1" ] && return
		sleep 0.05
	done
	screen >&2
	echo "keys are $(keys), not $1" >&2
	return 1
}

@test "top without a terminal: one frame" {
	fill login 5 $month_ms 1 alice=3 bob=9
	on top -i 100ms
	exits 0
	[[ ${lines[0]} == "rl $segment  20"*" UTC  "*" % full  0 bans" ]]
	grep -qE '^login +0 .* 0 ' <<<"$output"
	grep -qE '^ +5/5 +limited .* login  bob$' <<<"$output"
	grep -qE '^ +3/5 +open .* login  alice$' <<<"$output"
	on top -i 100ms --sort key --match 'a*'
	says alice
	says_not bob
}

@test "top --json: one frame" {
	fill login 5 $month_ms 1 alice=3 $'b\033=9'
	on top -i 100ms --json
	exits 0
	conforms top
	are key '"b\u001B" "alice"'
	has total=2
}

@test "top: options that cannot be" {
	fill login 5 $month_ms 1 alice=3
	for interval in 0s 99ms 2h x; do
		on top --interval $interval
		in_trouble "--interval: '$interval'"
	done
	on top --sort size
	in_trouble "--sort: unknown order 'size'"
	on top --match 10.0.0.0/99
	in_trouble "--match: '10.0.0.0/99' is no network"
}

@test "top: rules, rates, keys, and a sparkline when something is asked" {
	fill login 5 $month_ms 1 alice=3 bob=9
	start
	sees '^login +0 .* 0 '
	has_keys 'bob alice'
	fill login 5 $month_ms 1 carol=4 bob=4
	sees '^login .*█ .*█'
	sees '^3 live keys, by used$'
	has_keys 'bob carol alice'
}

# The heads and the keys of the picture in the README.
@test "top: when it began is seen at once, in the last hour of each rule, and docs/top.svg is drawn as that" {
	fill login 5 $month_ms 1 alice=9@-2400 bob=1@-60 carol=1
	start
	sees '^rule +allowed last hour +denied last hour$'
	sees '^login +0 {4,10}█.* 0 {4,10}█ *$'
	[ "$(screen | awk '{ print length }' | sort -n | tail -1)" -le 80 ]
	sed -n 's/.*fill="#ffcb6b">\([^<]*\)<.*/\1/p' "$top/docs/top.svg" | sed 's/\xc2\xa0/ /g; s/?/[?]/g; s/  */ +/g' >"$BATS_TEST_TMPDIR/heads"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/heads")" -eq 3 ]
	while read -r head; do sees "^ *${head# +}\$"; done <"$BATS_TEST_TMPDIR/heads"
}

@test "top: q quits and leaves the terminal as it was" {
	fill login 5 $month_ms 1 alice=3
	start
	sees alice
	[ "$(tm display -p '#{alternate_on}')" = 1 ]
	tm send-keys q
	sees '^exit 0$'
	sees '^echo$'
	[ "$(tm display -p '#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}')" = '0 1 0' ]
	! screen | grep -q alice
}

@test "top: signals end it and leave the terminal as it was" {
	fill login 5 $month_ms 1 alice=3
	for signal in INT TERM HUP QUIT SEGV BUS ABRT; do
		start
		sees alice
		pid=$(pgrep -f -- "-s $segment top" | while read -r pid; do
			[ "$(cat "/proc/$pid/comm")" != rlctl ] || echo "$pid"
		done)
		kill -$signal "$pid"
		sees '^exit [0-9]+$'
		sees '^echo$'
		[ "$(tm display -p '#{alternate_on} #{cursor_flag}')" = '0 1' ]
		stop
	done
}

@test "top: orders" {
	fill login 9 $month_ms 1 bob=1 alice=3 zoe=2
	fill api 3 $month_ms 1 carol=1
	start
	has_keys 'alice zoe bob carol'
	tm send-keys a
	has_keys 'alice bob carol zoe'
	sees 'live keys, by key$'
	tm send-keys l
	has_keys 'carol alice zoe bob'
	tm send-keys u
	has_keys 'alice zoe bob carol'
	tm send-keys s s
	sees 'live keys, by rate$'
	tm send-keys s
	sees 'live keys, by remaining$'
}

@test "top: filter by a part, a glob, a network, and none" {
	fill login 9 $month_ms 1 user:1=3 user:22=2 192.0.2.7=1
	start
	has_keys 'user:1 user:22 192.0.2.7'
	tm send-keys / ser: Enter
	has_keys 'user:1 user:22'
	sees 'by used, filter ser:$'
	tm send-keys / C-u 'user:??' Enter
	has_keys user:22
	tm send-keys / C-u 192.0.0.0/16 Enter
	has_keys 192.0.2.7
	tm send-keys / C-u 192.0.0.0/99 Enter
	sees "'192.0.0.0/99' is no network"
	has_keys 192.0.2.7
	tm send-keys / BSpace BSpace x Escape
	has_keys 192.0.2.7
	tm send-keys / C-u Enter
	has_keys 'user:1 user:22 192.0.2.7'
}

@test "top: pause holds what is shown" {
	fill login 9 $month_ms 1 alice=3
	start
	has_keys alice
	tm send-keys p
	sees PAUSED
	fill login 9 $month_ms 1 bob=4
	tm send-keys p
	sees_no PAUSED
	has_keys 'bob alice'
}

@test "top: explain, and back" {
	fill login 9 $month_ms 1 alice=3 bob=1
	start
	has_keys 'alice bob'
	tm send-keys Enter
	sees 'select a key first'
	tm send-keys j j Enter
	sees '^key          bob$'
	sees '^sliding_window, 9 per 30d$'
	tm send-keys q
	has_keys 'alice bob'
	tm send-keys '?'
	sees 'reset it$'
	tm send-keys x
	has_keys 'alice bob'
}

@test "top: reset asks, and does it" {
	fill login 9 $month_ms 1 alice=3 bob=1
	start
	has_keys 'alice bob'
	tm send-keys j r
	sees '^Reset alice under rule login\? \[y/N\]'
	tm send-keys n
	sees '^nothing was changed$'
	has_keys 'alice bob'
	tm send-keys r y
	has_keys bob
	sees '^reset$'
	on list --json
	are key '"bob"'
}

@test "top: ban asks for how long, and whether, and does it" {
	fill login 9 $month_ms 1 alice=3
	start
	has_keys alice
	tm send-keys Down b
	sees '^ban alice under rule login for: 10m$'
	tm send-keys C-u 2y Enter
	sees "^'2y' has an unknown unit"
	tm send-keys b 3h BSpace BSpace 2h Enter
	sees '^Ban alice under rule login for 2h\? \[y/N\]'
	tm send-keys y
	sees '^banned for 2h$'
	sees ' 1 ban$'
	on bans --json
	are key '"alice"'
	are rule '"login"'
}

@test "top: exempts, and lifts what stands" {
	fill login 9 $month_ms 1 alice=3
	start
	sees '^1 live key, by used$'
	tm send-keys Down x
	sees '^Lift what stands for alice\? \[y/N\]'
	tm send-keys y
	sees '^nothing stands for this key'
	tm send-keys e
	sees '^exempt alice under rule login for: 10m$'
	tm send-keys Enter y
	sees '^exempted for 10m$'
	on bans --json
	are effect '"exemption"'
	tm send-keys x y
	sees '^lifted$'
	on bans --json
	has 'bans=\[\]'
}

@test "top: a terminal that cannot move its cursor gets one frame" {
	fill login 9 $month_ms 1 alice=3
	before='TERM=dumb ' start
	sees '^exit 0$'
	[ "$(screen | grep -c ' alice$')" -eq 1 ]
	sees '^login +0 +'
}

@test "top --rule, and the other way round" {
	fill login 9 $month_ms 1 alice=3 bob=1
	fill api 9 $month_ms 1 carol=2
	options='--rule login' start
	has_keys 'alice bob'
	! screen | grep -q '^api'
	tm send-keys R
	has_keys 'bob alice'
	sees 'live keys, by used reversed$'
	tm send-keys R
	has_keys 'alice bob'
	on top -i 100ms --rule logn
	in_trouble "unknown rule 'logn'"
}

# Pause while it shows a rate.
pause_at_a_rate() {
	for _ in 1 2 3 4 5; do
		fill login 9 $month_ms 1 bob=100
		sees '^login +[0-9]+ [^0-9]* [1-9]' || true
		tm send-keys p
		sees PAUSED
		if screen | grep -qE '^login +[0-9]+ [^0-9]* [1-9]'; then
			return
		fi
		tm send-keys p
		sees_no PAUSED
	done
	return 1
}

@test "top: after a pause the rates stay until there are new ones" {
	fill login 9 $month_ms 1 alice=3 bob=9
	options='-i 1s' start
	sees bob
	for _ in 1 2 3 4 5; do # a machine that stands still for a second has new ones
		pause_at_a_rate
		sleep 3.3
		tm send-keys p
		sees_no PAUSED
		if has_stayed=$(screen | grep -E '^login +[0-9]+ [^0-9]* [1-9]'); then break; fi
	done
	[ -n "$has_stayed" ]
	sees '^login +0 .* 0 '
}

@test "top: the selection stays with its key" {
	fill login 9 $month_ms 1 alice=4 bob=3 carol=2
	start
	has_keys 'alice bob carol'
	tm send-keys j j
	fill login 9 $month_ms 1 carol=7
	has_keys 'carol alice bob'
	tm send-keys r
	sees '^Reset bob under rule login'
	tm send-keys n k r
	sees '^Reset alice under rule login'
}

@test "top: a small screen, and one that changes its size" {
	# shellcheck disable=SC2046
	fill login 9 $month_ms 1 $(seq -f 'k%02g=1' 40)
	start 80 24
	sees 'k17$'
	[ "$(screen | wc -l)" -eq 24 ]
	tm resize-window -x 60 -y 12
	sees_no 'k17$'
	sees '^40 live keys'
	tm resize-window -x 120 -y 40
	sees 'k30$'
	tm send-keys End
	sees 'k40$'
	tm resize-window -x 20 -y 3
	sees '^40 live keys'
	tm send-keys q
	sees 'exit 0'
}

@test "top: keys act on no terminal" {
	fill login 9 $month_ms 1 $'\033[2J\007=3' $'\u202e=2' $'\u0436=1'
	start
	has_keys '\x1b[2J\x07 \xe2\x80\xae ж'
	tm send-keys q
	sees '^exit 0$'
	stop
	before='LC_ALL=C '
	start
	has_keys '\x1b[2J\x07 \xe2\x80\xae ?'
}

@test "top: colours, unless NO_COLOR" {
	fill login 9 $month_ms 1 alice=9
	start
	sees alice
	tm capture-pane -pe | grep -q $'\033\\[3[0-7]m'
	stop
	before='NO_COLOR=1 '
	start
	sees alice
	! tm capture-pane -pe | grep -q $'\033\\[[0-9;]*3[0-7]m'
}

@test "top: a terminal of an unknown type gets one frame" {
	fill login 9 $month_ms 1 alice=9
	# curses itself loses some memory then.
	before='ASAN_OPTIONS=detect_leaks=0 TERM=no-such-terminal '
	start
	sees ' login  alice$'
	sees '^exit 0$'
}
