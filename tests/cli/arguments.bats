# SPDX-License-Identifier: BSD-2-Clause
# Usage, help, and what is wrong with a command line.

load common

verbs_of_table() {
	sed -n 's/^VERB(\([a-z]*\),.*/\1/p' "$top/rlctl/base/verbs.def"
}

@test "help is no error" {
	rlctl --help
	exits 0
	says 'usage: rlctl'
	rlctl -h
	exits 0
}

@test "the version is told before and after a verb" {
	for args in -V --version 'status --version' '-V list'; do
		# shellcheck disable=SC2086
		rlctl $args
		exits 0
		says_line 'rlctl 0.9.0'
	done
}

@test "help, usage and --help of each verb come from one table" {
	rlctl help
	exits 0
	[ "$output" = "$("$RLCTL" --help)" ]
	verbs=$(sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$output")
	[ "$verbs" = "$(verbs_of_table)" ]
	for verb in $verbs; do
		summary=$("$RLCTL" help | sed -n "s/^  $verb  *//p")
		rlctl help "$verb"
		exits 0
		says "usage: rlctl [OPTION...] $verb"
		says_line "$verb: $summary"
		[ "$output" = "$("$RLCTL" "$verb" --help)" ]
		[ "$output" = "$("$RLCTL" -h "$verb")" ]
	done
}

@test "the schema knows the document of every verb that writes one" {
	[ "$(verbs_of_table | wc -l)" -ge 23 ]
	for verb in $(verbs_of_table); do
		file=$(grep -l "^run_$verb(" "$top"/rlctl/*/*.c) || fail_with "no run_$verb()"
		grep -q 'output_json(' "$file" || continue
		jq -e --arg verb "$verb" '.definitions[$verb]' "$top/rlctl/output.schema.json" >/dev/null ||
			fail_with "output.schema.json has no definition of $verb"
	done
}

@test "help names every option of replay" {
	rlctl replay -h
	exits 0
	for option in algorithm capacity window granularity hard format origin top segment json; do
		says "--$option"
	done
}

@test "an unknown verb is named, and a near one proposed" {
	rlctl stauts
	in_trouble "unknown verb 'stauts'; did you mean 'status'?"
	rlctl help replya
	in_trouble "unknown verb 'replya'; did you mean 'replay'?"
	rlctl frobnicate
	in_trouble "unknown verb 'frobnicate'"
}

@test "an unknown option is named, and a near one proposed" {
	rlctl replay --capicity 3
	in_trouble "unknown option '--capicity'; did you mean '--capacity'?"
	rlctl --frobnicate
	in_trouble "unknown option '--frobnicate'"
	rlctl list -x
	in_trouble "unknown option '-x'"
	rlctl status --capacity 3
	in_trouble "unknown option '--capacity'"
}

@test "options with and without a value" {
	rlctl replay --window
	in_trouble "option '--window' needs D"
	rlctl -s
	in_trouble "option '--segment' needs NAME"
	rlctl --json=yes status
	in_trouble "option '--json' takes no value"
}

@test "a slip of the fingers is known, two letters in each other's place most of all" {
	rlctl stauts
	in_trouble "unknown verb 'stauts'; did you mean 'status'?"
	rlctl lsit
	in_trouble "did you mean 'list'?"
	rlctl statz
	in_trouble "did you mean 'stats'?"
	rlctl list --sotr used
	in_trouble "did you mean '--sort'?"
}

@test "help shows an option's values in full" {
	rlctl help list
	says '--sort used|denied|rate|remaining|recent|key|none  '
	rlctl help replay
	says "--algorithm $(tr -d '\n' <"$top/libshm/algorithm/rl_algorithms.def" | grep -oE '\bALGORITHM\(RL[^)]*\)' |
		grep -v RL_IS_HELD | sed 's/[^"]*"\([a-z_]*\)".*/\1/' | paste -sd '|')  "
}

@test "operands are counted" {
	rlctl peek login
	in_trouble 'peek: missing operand'
	rlctl status more
	in_trouble "status: unexpected operand 'more'"
	rlctl get a b c
	in_trouble "get: unexpected operand 'c'"
}

replay_trouble() {
	local text=$1
	shift
	rlctl_in '1 a\n' replay "$@"
	in_trouble "$text"
}

@test "replay: what is missing" {
	replay_trouble '--capacity is missing' -w 1s
	replay_trouble '--window is missing' -c 1
}

@test "replay: --capacity is checked" {
	for text in 0 -1 +1 1.5 '' ten 268435456 18446744073709551617 '1 '; do
		replay_trouble "--capacity: '$text'" -w 1s "--capacity=$text"
	done
}

@test "replay: --window is checked" {
	replay_trouble "--window: '' is empty" -c 1 -w ''
	replay_trouble "--window: '10' has no unit" -c 1 -w 10
	replay_trouble "--window: '10x' has an unknown unit" -c 1 -w 10x
	replay_trouble "--window: '1mo': a month has no fixed length, so it is no window; use 30d" -c 1 -w 1mo
	replay_trouble "--window: '1week': a week is written 7d" -c 1 -w 1week
	replay_trouble "--window: '10s5' has no unit" -c 1 -w 10s5
	replay_trouble "--window: 's' does not begin" -c 1 -w s
	replay_trouble "--window: '-1s' does not begin" -c 1 -w-1s
	replay_trouble "--window: ' 1s' does not begin" -c 1 -w ' 1s'
	replay_trouble "--window: '300000d' is too long" -c 1 -w 300000d
	replay_trouble "--window: '18446744073709551616ns' is too long" -c 1 \
		-w 18446744073709551616ns
	replay_trouble "--window: '9ms' is not from 10ms to 400d" -c 1 -w 9ms
	replay_trouble "--window: '401d' is not from 10ms to 400d" -c 1 -w 401d
}

@test "replay: every unit means what it says" {
	for pair in 10000000ns=10ms 10000us=10ms 2000ms=2s 60s=1m 60m=1h 24h=1d 90s=90s; do
		rlctl_in '1 a\n' replay -c 1 -w "${pair%=*}"
		exits 0
		says_line "limit         sliding_window, 1 per ${pair#*=}"
	done
}

@test "replay: --granularity divides the window into 1 to 64 parts" {
	replay_trouble "--granularity: the window is not a whole multiple of '3s'" -c 1 -w 10s -g 3s
	replay_trouble "--granularity: the window is not a whole multiple of '0s'" -c 1 -w 10s -g 0s
	replay_trouble "--granularity: the window is not a whole multiple of '20s'" -c 1 -w 10s -g 20s
	replay_trouble "--granularity: '1s' makes more than 64" -c 1 -w 65s -g 1s
	replay_trouble "--granularity: 'x' does not begin" -c 1 -w 10s -g x
	replay_trouble '--granularity: fixed_window' -c 1 -w 10s -g 5s -a fixed_window
	rlctl_in '1 a\n' replay -c 1 -w 64s -g 1s
	exits 0
	says 'sliding_window, 1 per 64s, 64 x 1s'
	rlctl_in '1 a\n' replay -c 1 -w 10s -g 10s -a fixed_window
	exits 0
}

@test "replay: words are checked" {
	replay_trouble "unknown algorithm 'leaky'" -c 1 -w 1s -a leaky
	replay_trouble "unknown format 'clf'" -c 1 -w 1s -f clf
	replay_trouble "unknown origin 'last'" -c 1 -w 1s -o last
	replay_trouble "--top: 'x'" -c 1 -w 1s --top x
	replay_trouble '--hard: only sliding_window' -c 1 -w 1s --hard -a fixed_window
}

@test "output that is lost is an error" {
	for args in help 'replay -c 1 -w 1s' 'replay -c 1 -w 1s --json' --version; do
		# shellcheck disable=SC2086
		rlctl_full $args
		exits 2
		[[ $output =~ ^(rlctl|rl-replay)': stdout: No space left on device'$ ]]
	done
}

@test "a closed pipe ends rlctl without a word, also where it was started deaf to it" {
	for start in '' 'env --ignore-signal=PIPE'; do
		run --separate-stderr bash -c 'exec 3> >(:); wait $!; $2 "$1" help >&3' - "$RLCTL" "$start"
		[ "$status" -eq 141 ]
		[ -z "$stderr" ]
	done
}

# One line, without what a terminal would obey.
complains_plainly() {
	exits 2
	[[ $stderr =~ ^(rlctl|rl-replay): && $stderr != *[[:cntrl:]]* ]] || fail_with 'not one plain line'
}

@test "what was typed cannot steer a terminal, nor begin another line" {
	rlctl $'st\033[31m\x7fats'
	complains_plainly
	rlctl status -s $'a\nb'
	complains_plainly
	rlctl replay -c 1 -w 1s $'no\033[2Jfile'
	complains_plainly
	rlctl_in '1 a\177\033\n1 a\177\033\n' replay -c 1 -w 1h --json
	exits 0
	says '"a\u007F\u001B"'
}
