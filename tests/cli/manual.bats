# SPDX-License-Identifier: BSD-2-Clause
# The manual page and --help say the same.

load common

page=$BATS_TEST_DIRNAME/../../man/rlctl.1
replay=$(dirname "$RLCTL")/rl-replay
page_of_replay=$BATS_TEST_DIRNAME/../../man/rl-replay.1

# Options of a verb, as "-s --segment" or "--hard".
options_of_verb() {
	"$RLCTL" "$1" --help | sed -n '/^options:/,/^$/p' |
		sed -nE 's/^  (-.), (--[a-z-]+).*/\1 \2/p; s/^      (--[a-z-]+).*/\1/p' | sort
}

# Options of every verb.
options_of_all() {
	"$RLCTL" --help | sed -n '/^options of every verb:/,/^$/p' |
		sed -nE 's/^  (-.), (--[a-z-]+).*/\1 \2/p; s/^      (--[a-z-]+).*/\1/p' | sort
}

# The same in the part of the page whose first line matches.
options_in_page() {
	sed -n "/$1/,/^\.S[sh] /{/$1/p; /^\.It Fl/p}" "$page" |
		sed -nE 's/^\.It Fl (.) , (-[a-z-]+).*/-\1 -\2/p; s/^\.It Fl (-[a-z-]+).*/-\1/p' | sort
}

@test "manual: mandoc finds nothing wrong with it" {
	run mandoc -T lint -W style "$page" "$page_of_replay"
	[ -z "$(grep -vE 'referenced manual not found|outdated mandoc.db' <<<"$output")" ]
	mandoc -T utf8 "$page" | grep -q 'see and steer live rate limits'
}

@test "manual: every verb, in the order of help, and no other" {
	verbs=$("$RLCTL" help | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
	[ "$(sed -n 's/^\.Ss \([a-z]*\).*/\1/p' "$page")" = "$verbs" ]
}

@test "manual: every verb below a verb, in the order of its help, and no other" {
	for verb in config cluster; do
		below=$("$RLCTL" help "$verb" | sed -n "/^verbs of $verb:/,/^\$/s/^  \([a-z]*\) .*/\1/p" | paste -sd '|' | sed 's/|/ | /g')
		[ -n "$below" ]
		grep -qxF ".Ss $verb $below" "$page" || fail_with "verbs of $verb: $below"
	done
}

@test "manual: every option of --help, with its letter, and no other" {
	[ -n "$(options_of_all)" ]
	diff <(options_of_all) <(options_in_page '^\.Sh OPTIONS$')
	for verb in $(sed -n 's/^\.Ss \([a-z]*\).*/\1/p' "$page" | grep -vx replay); do
		diff <(options_of_verb "$verb") <(options_in_page "^\.Ss $verb\( \|\$\)") ||
			fail_with "options of $verb differ"
	done
	[ "$(options_of_verb list | wc -l)" -eq 13 ]
}

@test "manual: a replay has the options of its program, with their letters, and no other" {
	forms='s/^  (-.), (--[a-z-]+).*/\1 \2/p; s/^      (--[a-z-]+).*/\1/p'
	"$replay" --help | sed -nE "$forms" | sort >"$BATS_TEST_TMPDIR/helped"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/helped")" -gt 20 ]
	page=$page_of_replay
	options_in_page '^\.Sh OPTIONS$' | diff "$BATS_TEST_TMPDIR/helped" -
	"$RLCTL" replay --help | sed -nE "$forms" | grep -v -- --segment | sort | diff "$BATS_TEST_TMPDIR/helped" -
}
