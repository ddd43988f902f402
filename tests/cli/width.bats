# SPDX-License-Identifier: BSD-2-Clause
# What status, check, get, doctor and help say fits the terminal, and all of it is said.

load common

long_rule=api.example.com:search/v2/with-a-name-of-fifty-letters

setup() {
	segment_setup
	export LC_ALL=C.UTF-8
	month_ms=2592000000
	FILL_RING=60 fill "$long_rule" 1000,100000,9000000 $month_ms,$month_ms,$month_ms 60h,30,1 "ключ=3"
}

teardown() {
	segment_teardown
}

# on_terminal COLUMNS ARGUMENT...: the lines that rlctl writes to a terminal so wide.
on_terminal() {
	local columns=$1
	shift
	# shellcheck disable=SC2154 # set by segment_setup
	script -qec "stty cols $columns; '$RLCTL' -s '$segment' $*" /dev/null </dev/null | tr -d '\r'
}

# The text without what lies between its words.
words_of() {
	tr -d ' \n'
}

widest() {
	awk '{ if (length($0) > most) most = length($0) } END { print most }'
}

@test "status and peek: no line is wider than the terminal, and no word is lost" {
	for columns in 80 77 120; do
		for verb in status "peek $long_rule ключ"; do
			shown=$(on_terminal $columns "$verb")
			[ "$(widest <<<"$shown")" -le $columns ] || fail_with "$shown"
			[ "$(words_of <<<"$shown")" = "$("$RLCTL" -s "$segment" $verb | words_of)" ] || fail_with "$shown"
		done
	done
}

@test "status: a limit goes on below where it began" {
	on_terminal 40 status | grep -qx ' \{5\}[0-9].*, hard' || fail_with "$(on_terminal 40 status)"
	on_terminal 80 status | grep -qx ' \{57\}[a-z-]*' || fail_with "$(on_terminal 80 status)"
}

@test "doctor: no line but a command is wider than the terminal" {
	shown=$(on_terminal 80 doctor)
	[ "$(grep -v ' fix: ' <<<"$shown" | widest)" -le 80 ] || fail_with "$shown"
	grep -q ' why: ' <<<"$shown"
	# What is piped is a line for each thing that is said.
	[ "$("$RLCTL" -s "$segment" doctor | grep -c ' why: ')" -eq "$(grep -c ' why: ' <<<"$shown")" ]
	[ "$("$RLCTL" -s "$segment" doctor | grep -c '^ \{26\}')" -eq 0 ]
}

@test "get: a reason goes on below where a ban's note began, in a pipe as well" {
	reason='a reason as long as one may be, of fifteen words and more, which nobody says in 80 columns alone'
	"$RLCTL" -s "$segment" ban -e ключ --for 1h --reason "$reason"
	for verb in "get ключ" "get $long_rule ключ"; do
		shown=$("$RLCTL" -s "$segment" $verb | grep -vF "$long_rule")
		[ "$(widest <<<"$shown")" -le 80 ] || fail_with "$shown"
		words_of <<<"$shown" | grep -qF "for\"$(words_of <<<"$reason")\"" || fail_with "$shown"
	done
}

@test "help: no line is wider than the terminal, and no word is lost" {
	for verb in help "help list" "help override" "help replay"; do
		shown=$(on_terminal 80 "$verb")
		[ "$(widest <<<"$shown")" -le 80 ] || fail_with "$shown"
		[ "$(words_of <<<"$shown")" = "$("$RLCTL" $verb | words_of)" ] || fail_with "$shown"
	done
}

@test "config check: what could be better fits the terminal" {
	check="config check '$top/tests/config/warning/lease.json' 2>/dev/null"
	shown=$(on_terminal 60 "$check" | tail -n +2) # the first line has the path
	[ "$(widest <<<"$shown")" -le 60 ] || fail_with "$shown"
	grep -qx 'host more: 10 hosts up to 20' <<<"$shown" || fail_with "$shown"
}

@test "rld: no line of its help is wider than 80 columns" {
	[ "$("$top/build/rld" --help | widest)" -le 80 ]
}

@test "a terminal of a few columns gets all of it as well" {
	[ "$(on_terminal 20 status | words_of)" = "$("$RLCTL" -s "$segment" status | words_of)" ]
}
