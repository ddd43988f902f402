# SPDX-License-Identifier: BSD-2-Clause
# A terminal that tmux plays, and what is to be seen on it.

# A server of its own for each start: one that is ending is in nobody's way.
tm() {
	# shellcheck disable=SC2154 # set by segment_setup
	# Its leak check stops the program with ptrace and waits, which a terminal that goes away
	# meanwhile can turn into waiting for good.
	ASAN_OPTIONS=detect_leaks=0 tmux -S "$BATS_TEST_TMPDIR/tmux-${starts:-0}" -f /dev/null "$@"
}

stop() {
	tm kill-server 2>/dev/null || true
}

# run_on_terminal COLUMNS ROWS COMMAND: below it, its exit status and the state of echo is shown.
run_on_terminal() {
	starts=$((${starts:-0} + 1))
	# cat keeps the screen open after it.
	tm new-session -d -x "$1" -y "$2" \
		"$3; echo \"exit \$?\"; stty -a | tr ' ;' '\n\n' | grep -x -- '-*echo'; exec cat"
}

screen() {
	tm capture-pane -p
}

# Wait until the screen shows, or does not show, a line that matches.
sees() {
	for _ in $(seq 1200); do
		screen | grep -qE -- "$1" && return
		sleep 0.05
	done
	screen >&2
	echo "never seen: $1" >&2
	return 1
}

sees_no() {
	for _ in $(seq 1200); do
		screen | grep -qE -- "$1" || return 0
		sleep 0.05
	done
	screen >&2
	echo "still seen: $1" >&2
	return 1
}
