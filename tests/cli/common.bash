# SPDX-License-Identifier: BSD-2-Clause
# Shared by the tests of rlctl: which binaries to run, and how to look at what they wrote.

bats_require_minimum_version 1.5.0

top="$BATS_TEST_DIRNAME/../.."
: "${RLCTL:=$top/build/rlctl}" "${FILL:=$top/build/tests/cli/fill}"

# Run rlctl; afterwards $status, $output (stdout) and $stderr.
rlctl() {
	run --separate-stderr "$RLCTL" "$@"
}

# The same, with the first argument (a printf format) as its standard input.
rlctl_in() {
	local text=$1
	shift
	# shellcheck disable=SC2059
	printf -- "$text" >"$BATS_TEST_TMPDIR/in"
	run --separate-stderr "$RLCTL" "$@" <"$BATS_TEST_TMPDIR/in"
}

# The same, with nowhere to write to; only $status is left.
rlctl_full() {
	[ -w /dev/full ] || skip 'no /dev/full'
	run bash -c '"$@" </dev/null >/dev/full' - "$RLCTL" "$@"
}

fail_with() {
	# shellcheck disable=SC2154 # set by run
	printf '%s\n' "$*" "status $status" "stdout: $output" "stderr: $stderr" >&2
	return 1
}

exits() {
	[ "$status" -eq "$1" ] || fail_with "expected exit status $1"
}

# A line of stdout, or of stderr, is or holds this text.
says_line() {
	grep -qxF -- "$1" <<<"$output" || fail_with "no such line on stdout: $1"
}

says() {
	grep -qF -- "$1" <<<"$output" || fail_with "not on stdout: $1"
}

says_not() {
	! grep -qF -- "$1" <<<"$output" || fail_with "on stdout: $1"
}

complains() {
	grep -qF -- "$1" <<<"$stderr" || fail_with "not on stderr: $1"
}

# Each NAME=VALUE is a member of the JSON object on stdout. The output is indented by two
# for each level, so that the top level can be told from what is inside.
has() {
	local pair
	for pair in "$@"; do
		grep -qE "^  \"${pair%%=*}\": ${pair#*=},?\$" <<<"$output" ||
			fail_with "not at top level: $pair"
	done
}

# Each member on a line of its own, also those of an object that has one line.
members() {
	sed -E '/^ *\{"/{s/^ *\{//; s/\},?$//; s/, "([a-z_]+)": /\n"\1": /g}' <<<"$output"
}

# The values of one member wherever it occurs, in order, with blanks between them.
values() {
	members | sed -nE "s/^ *\"$1\": (.*[^,]),?\$/\1/p" | paste -sd' '
}

are() {
	[ "$(values "$1")" = "$2" ] || fail_with "$1 is $(values "$1"), not $2"
}

# A trouble is told on stderr, by its name, and nothing is written to stdout.
in_trouble() {
	exits 2
	[[ $stderr =~ ^(rlctl|rl-replay):' ' ]] || fail_with 'stderr does not begin with the name of the program'
	complains "$1"
	[ -z "$output" ] || fail_with 'stdout is not empty'
}

# What is on stdout is as the schema says of this verb.
conforms() {
	"$BATS_TEST_DIRNAME/conforms.py" "$top/rlctl/output.schema.json" "$1" <<<"$output" ||
		fail_with "not as the schema says of $1"
}

# Until the command says yes: for a minute and more, as a machine may have other things to do.
eventually() {
	local tries
	for tries in {1..1200}; do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.05
	done
	[ ! -f "${log:-}" ] || tail -n 40 "$log" >&2
	fail_with "after $tries looks, not yet: $*"
}

# A file has so many lines that match.
has_lines() {
	[ "$(grep -c -- "$2" "$3")" -ge "$1" ]
}

# Segments of tests: named after the test, so that tests may run side by side.
segment_setup() {
	segment="bats-$$-$BATS_TEST_NUMBER"
	rm -f "/dev/shm/rl.$segment"
}

segment_teardown() {
	rm -f "/dev/shm/rl.$segment"
}

fill() {
	"$FILL" "$segment" "$@"
}

# rlctl on the test's segment.
on() {
	rlctl --segment "$segment" "$@"
}

# Files that are none, in a directory of the test's: opened carelessly, one waits for ever, one has
# no end, and none is there to be replaced.
make_odd_files() {
	odd=$BATS_TEST_TMPDIR/odd
	mkdir -p "$odd/directory"
	mkfifo "$odd/fifo"
	ln -s fifo "$odd/link-to-fifo"
	ln -s /dev/zero "$odd/device"
	ln -s nowhere "$odd/dangling"
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$odd/socket"
}

# Why such a file is refused.
why_odd() {
	case $1 in
	*/directory) echo 'Is a directory' ;;
	*/dangling) echo 'No such file or directory' ;;
	*) echo 'is no regular file' ;;
	esac
}
