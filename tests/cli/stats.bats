# SPDX-License-Identifier: BSD-2-Clause
# stats, sweep, forget and unlink.

load common

month_ms=2592000000

setup() {
	segment_setup
}

teardown() {
	segment_teardown
}

@test "stats: every counter of every rule, and their sum" {
	fill login 5 $month_ms 1 alice=3 bob=9
	fill api 9 $month_ms 1 alice=1
	on stats
	exits 0
	[ "$(awk '{ print $1, $4 }' <<<"$output" | paste -sd,)" = \
		'allowed login,denied login,inserted login,allowed api,denied api,inserted api,allowed (total),denied (total),inserted (total)' ]
	on stats --all
	exits 0
	[ "$(awk '$1 == "allowed" { print $2, $4 }' <<<"$output" | paste -sd,)" = \
		'8 login,1 api,9 (total)' ]
	[ "$(awk '$1 == "denied" { print $2, $4 }' <<<"$output" | paste -sd,)" = \
		'4 login,0 api,4 (total)' ]
	counters=$(grep -c '^RL_COUNTER' "$top/include/rl_counters.def")
	[ "$(grep -c '' <<<"$output")" -eq $((3 * counters)) ]
	on stats --rule api # of one rule the sum is the rule's
	[ "$(awk '{ print $1, $4 }' <<<"$output" | paste -sd,)" = 'allowed api,denied api,inserted api' ]
	on stats --json
	exits 0
	conforms stats
	are allowed '8 1 9'
	on stats --rule api --json
	conforms stats
	are allowed '1 1'
	on stats --rule ipa
	in_trouble "unknown rule 'ipa'"
}

@test "stats agrees with list" {
	fill login 500 $month_ms 1 alice=30 bob=90 carol=7
	on stats --json
	allowed=$(values allowed)
	inserted=$(values inserted)
	on list --json
	has "total=${inserted##* }"
	[ $(($(values used | tr ' ' +))) -eq "${allowed##* }" ]
	for order in used remaining denied key recent; do
		on list --json --limit 1 --sort "$order"
		has "total=${inserted##* }"
	done
}

@test "stats --prom: the text format of Prometheus" {
	fill login 5 $month_ms 1 alice=3 bob=9
	on stats --prom
	exits 0
	grep -qE "^rl_allowed_total\\{segment=\"$segment\",rule=\"login\"\\} 8\$" <<<"$output"
	grep -qE '^# TYPE rl_denied_total counter$' <<<"$output"
	for line in 'rl_rules 1' 'rl_rules_limit 8' 'rl_limits 1' 'rl_limits_limit 128' \
		'rl_overrides 0' 'rl_overrides_limit 1024' 'rl_bans 0' 'rl_bans_limit 16'; do
		grep -qxF "${line% *}{segment=\"$segment\"} ${line#* }" <<<"$output"
	done
	says_not alice
	for option in --watch --json '--rule login'; do
		# shellcheck disable=SC2086
		on stats --prom $option
		in_trouble 'stats: --prom goes with none of'
	done
}

@test "stats --watch: what came in each interval" {
	fill login 500 $month_ms 1 alice=3
	on stats --watch --interval 10ms --count 2 --json
	exits 0
	conforms stats_watch
	[ "$(grep -c '' <<<"$output")" -eq 2 ]
	[ "$(grep -c '"allowed":0,' <<<"$output")" -eq 2 ]
	on stats -w -i 10ms -n 3
	exits 0
	[ "$(grep -cE '^20.* 0 +0 +0 +0 +0  login$' <<<"$output")" -eq 3 ]
	[ "$(grep -c '^UTC' <<<"$output")" -eq 1 ]
}

has_watched() {
	[ $(($(grep -o '"allowed":[0-9]*' "$BATS_TEST_TMPDIR/out" | cut -d: -f2 | paste -sd+))) -eq "$1" ]
}

@test "stats --watch counts what is counted while it watches" {
	fill login 500 $month_ms 1 alice=3
	"$RLCTL" -s "$segment" stats -w -i 100ms -j >"$BATS_TEST_TMPDIR/out" 3>&- &
	watch=$!
	# The first document shows that the counters before it have been read.
	eventually test -s "$BATS_TEST_TMPDIR/out"
	fill login 500 $month_ms 1 alice=7
	eventually has_watched 7
	kill $watch
	wait $watch
	output=$(cat "$BATS_TEST_TMPDIR/out")
	conforms stats_watch
	has_watched 7
}

@test "stats --watch ends well when interrupted, or when nobody reads" {
	fill login 500 $month_ms 1 alice=3
	for signal in INT TERM HUP; do
		# What is ignored stays so: SIGINT in a job in the background of a shell, SIGHUP below nohup.
		env --default-signal=INT,HUP "$RLCTL" -s "$segment" stats -w -i 100ms \
			>"$BATS_TEST_TMPDIR/$signal" 3>&- &
		watch=$!
		while [ ! -s "$BATS_TEST_TMPDIR/$signal" ]; do sleep 0.05; done
		kill -$signal $watch
		wait $watch
	done
	run timeout 120 bash -c '"$1" -s "$2" stats -w -i 10ms | head -n1; exit "${PIPESTATUS[0]}"' - \
		"$RLCTL" "$segment"
	exits 141
	[ "${#lines[@]}" -eq 1 ]
}

@test "stats: options that cannot be" {
	fill login 500 $month_ms 1 alice=3
	on stats --interval 1s
	in_trouble '--interval and --count go with --watch'
	for interval in 0s 9ms x 1; do
		on stats -w --interval $interval
		in_trouble "--interval: '$interval'"
	done
	on stats -w --count 0
	in_trouble "--count: '0'"
}

@test "sweep: frees what is over, and nothing else" {
	fill short 5 10 0 alice=3 bob=1
	fill login 5 $month_ms 1 carol=1
	sleep 0.4
	on sweep --json
	exits 0
	conforms sweep
	has retired=2 taken=1
	on status --json
	are fill 1
	on sweep
	exits 0
	says_line 'retired  0'
	says_line 'taken    1'
	on list --json
	are key '"carol"'
}

@test "forget: what an application has defined, and what it has not" {
	fill login 5 $month_ms 1 alice=3
	on forget other --yes
	in_trouble "unknown rule 'other'"
	on forget login </dev/null
	in_trouble 'needs --yes'
	on peek login alice
	exits 0
	on forget login --yes --json
	exits 0
	conforms forget
	on peek login alice
	in_trouble "unknown rule 'login'"
	on status
	says_line 'rules      0 of 8'
	fill login 5 $month_ms 1 alice=1 # the workers' next definition brings it back, anew
	on peek login alice
	exits 0
	on forget login -y
	exits 0
	says_line 'forgotten'
}

@test "unlink: wants to be told which, and to be told yes" {
	fill login 5 $month_ms 1 alice=3
	rlctl unlink --yes
	in_trouble 'unlink: say which with --segment'
	on unlink </dev/null
	in_trouble 'needs --yes'
	[ -e "/dev/shm/rl.$segment" ]
	on unlink --yes --json
	exits 0
	conforms unlink
	[ ! -e "/dev/shm/rl.$segment" ]
	on unlink --yes
	exits 1
	complains "segment '$segment'"
}

@test "unlink: a file that is no segment can be removed, too" {
	echo junk >"/dev/shm/rl.$segment"
	on unlink -y
	exits 0
	[ ! -e "/dev/shm/rl.$segment" ]
}

@test "stats --watch: a truncation ends it with a sentence" {
	export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # what was under way is left as it is
	fill login 5 2592000000 1 alice=9
	"$RLCTL" -s "$segment" stats --watch --interval 10ms >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	local pid=$! status=0
	until [ -s "$BATS_TEST_TMPDIR/out" ]; do kill -0 "$pid"; sleep 0.02; done
	truncate --size 4096 "/dev/shm/rl.$segment"
	wait "$pid" || status=$?
	[ "$status" -eq 2 ]
	grep -qF "rlctl: segment '$segment' was truncated by somebody who may write it; 'rlctl unlink' removes it" "$BATS_TEST_TMPDIR/err"
}
