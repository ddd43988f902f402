# SPDX-License-Identifier: BSD-2-Clause
# hold, and what the other verbs tell of units in flight.

load common
load terminal

setup() {
	segment_setup
	config=$BATS_TEST_TMPDIR/rl.json
	cat >"$config" <<-'EOF'
		{"rules": {
			"jobs": {"limits": [{"algorithm": "in_flight", "capacity": 2}]},
			"both": {"limits": [{"algorithm": "in_flight", "capacity": 2},
				{"algorithm": "fixed_window", "capacity": 3, "window": "30d"}]},
			"rate": {"limits": [{"capacity": 3, "window": "30d"}]}
		}}
	EOF
	fill rate 3 2592000000 1 nobody=1
	on config reload --config "$config"
	exits 0
	go=$BATS_TEST_TMPDIR/go
	mkfifo "$go"
}

teardown() {
	[ -z "${holder:-}" ] || kill "$holder" 2>/dev/null || true
	[ -z "${waiter:-}" ] || kill "$waiter" 2>/dev/null || true
	segment_teardown
}

# A command in the background that holds so many units of a key until somebody writes to $go.
hold_in_background() {
	"$RLCTL" --segment "$segment" hold "$1" "$2" --cost "$3" -- \
		sh -c 'echo >"$1"; read -r _ <"$2"' - "$BATS_TEST_TMPDIR/begun" "$go" 3>&- &
	holder=$!
	eventually test -e "$BATS_TEST_TMPDIR/begun"
	rm "$BATS_TEST_TMPDIR/begun"
}

let_go() {
	echo >"$go"
	wait "$holder" || true
}

@test "hold: the command runs, and its exit status is the answer" {
	on hold jobs k -- echo one 'and two'
	exits 0
	says_line 'one and two'
	on hold jobs k -- sh -c 'exit 7'
	exits 7
	on hold jobs k -- true --help
	exits 0
	on hold jobs k --cost 2 -- sh -c 'kill -TERM $$'
	exits 143
	on hold jobs k -c 2 -- true
	exits 0
}

@test "hold: denied while others hold, and the command is not run" {
	hold_in_background jobs k 1
	on hold jobs k --cost 2 -- touch "$BATS_TEST_TMPDIR/run"
	exits 1
	complains 'jobs: denied, touch is not run'
	[ ! -e "$BATS_TEST_TMPDIR/run" ]
	on hold jobs k -- true
	exits 0
	on hold jobs other --cost 2 -- true
	exits 0
	let_go
	on hold jobs k --cost 2 -- true
	exits 0
}

@test "hold: what a killed command held is the next one's" {
	hold_in_background jobs k 2
	on hold jobs k -- true
	exits 1
	kill -KILL "$holder"
	wait "$holder" || true
	on hold jobs k --cost 2 -- true
	exits 0
}

@test "hold --wait: until there is room; --timeout: not for longer" {
	hold_in_background jobs k 2
	on hold jobs k --timeout 10ms -- true
	exits 1
	"$RLCTL" --segment "$segment" hold jobs k --wait -- touch "$BATS_TEST_TMPDIR/run" 3>&- &
	waiter=$!
	on hold jobs k -t 200ms -- true
	exits 1
	[ ! -e "$BATS_TEST_TMPDIR/run" ]
	let_go
	wait "$waiter"
	[ -e "$BATS_TEST_TMPDIR/run" ]
}

@test "hold: several limits are all taken or none" {
	for _ in 1 2 3; do
		on hold both k -- true
		exits 0
	done
	on hold both k -- true
	exits 1
	on sweep # what the dead held
	on peek both k
	says ' 2/2 '
	says ' 0/3 '
}

@test "hold: what cannot be run gives all back" {
	run -127 --separate-stderr "$RLCTL" --segment "$segment" hold both k -- "$BATS_TEST_TMPDIR/none"
	complains 'No such file'
	on hold both k -- "$config"
	exits 126
	complains 'Permission denied'
	on peek both k
	says ' 2/2 '
	says ' 3/3 '
}

@test "hold: what is wrong with the command line" {
	on hold jobs k
	in_trouble 'missing operand'
	on hold rate k -- true
	in_trouble "rule 'rate' has no concurrency limit"
	on hold none k -- true
	in_trouble "unknown rule 'none'"
	on hold jobs '' -- true
	in_trouble 'KEY has 0 bytes'
	on hold jobs k --cost 3 -- true
	exits 1
	complains 'jobs: 3 units are more than its limit of 2'
	for cost in 0 x 4294967296; do
		on hold jobs k "--cost=$cost" -- true
		in_trouble "--cost: '$cost'"
	done
	on hold jobs k --timeout soon -- true
	in_trouble '--timeout: soon'
	on hold jobs k --unknown -- true
	in_trouble "unknown option '--unknown'"
	rlctl --segment "$segment-none" hold jobs k -- true
	in_trouble "$segment-none"
	chmod 400 "/dev/shm/rl.$segment"
	[ "$(id -u)" = 0 ] || {
		on hold jobs k -- true
		in_trouble 'ermission'
	}
}

@test "hold: standard output that is full is the command's trouble" {
	[ -w /dev/full ] || skip 'no /dev/full'
	run bash -c '"$@" >/dev/full' - "$RLCTL" --segment "$segment" hold jobs k -- cat /etc/hostname
	[ "$status" -eq 1 ]
}

@test "get: who holds what, alive or dead" {
	hold_in_background jobs k 2
	on get jobs k
	exits 0
	says_line 'used         2'
	says_line 'answer       denied, until units in flight are given back'
	says_line "held         2 by pid $holder (sh), alive"
	says_not 'retry after'
	on get jobs k --json
	conforms get
	are units 2
	are pid "$holder"
	are command '"sh"'
	are state '"limited" "alive"'
	kill -KILL "$holder"
	wait "$holder" || true
	on get jobs k
	says_line "held         2 by pid $holder, dead: comes back to the next who is denied, or by a sweep"
	on get jobs k --json
	conforms get
	are command null
	are state '"limited" "dead"'
	on sweep
	on get jobs k
	exits 1
}

@test "get: a command chooses its name, and not what a terminal does" {
	cp "$(command -v sleep)" "$BATS_TEST_TMPDIR/$(printf 'a\033[31mb')"
	"$RLCTL" --segment "$segment" hold jobs k -- "$BATS_TEST_TMPDIR/$(printf 'a\033[31mb')" 60 3>&- &
	holder=$!
	for _ in $(seq 500); do
		on get jobs k
		grep -qF '[31mb' <<<"$output" && break
		sleep 0.02
	done
	kill "$holder"
	says '[31mb), alive'
	says_not $'\033'
}

@test "check, peek: a denial says that nobody knows until when" {
	hold_in_background jobs k 1
	on check jobs k --cost 2
	exits 1
	says_line 'denied, until units in flight are given back'
	on check jobs k
	exits 0
	on peek jobs k
	exits 0
	says ' 1/2 '
	let_go
}

@test "list, top: no time where nobody knows one" {
	hold_in_background jobs k 2
	on list
	exits 0
	grep -qE ' 2/2 .* limited +- +- +0 +-  jobs  k$' <<<"$output"
	on list --json
	conforms list
	has total=1
	run_on_terminal 80 24 "'$RLCTL' -s '$segment' top"
	sees ' 2/2 +limited +- .* jobs  k'
	stop
	let_go
}

@test "doctor: who holds, who has died, and who found no seat" {
	on doctor
	says 'in_flight  0 units are in flight'
	hold_in_background jobs k 2
	on doctor
	says 'in_flight  2 units are in flight; of seats for who holds some, 1 of '
	kill -KILL "$holder"
	wait "$holder" || true
	on doctor
	says '2 units are held by processes that have ended'
	says "rlctl --segment $segment sweep"
}

@test "stats --prom: how much is in flight, by rule, and how many hold it" {
	hold_in_background jobs k 2
	on stats --prom
	exits 0
	says_line "rl_in_flight{segment=\"$segment\",rule=\"jobs\"} 2"
	says_line "rl_in_flight{segment=\"$segment\",rule=\"both\"} 0"
	! grep -F 'rl_in_flight{' <<<"$output" | grep -qF 'rule="rate"'
	says_line "rl_holders{segment=\"$segment\"} 1"
	let_go
}
