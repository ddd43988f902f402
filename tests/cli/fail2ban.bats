# SPDX-License-Identifier: BSD-2-Clause
# What rld says of a network that takes the table, and what fail2ban makes of it.

load common

: "${RLD:=$(dirname "$RLCTL")/rld}"

ours=$BATS_TEST_DIRNAME/../../systemd/fail2ban

setup() {
	segment_setup
	log=$BATS_TEST_TMPDIR/log
	config=$BATS_TEST_TMPDIR/rl.json
	pid=
	# shellcheck disable=SC2154 # set by segment_setup
	cat >"$config" <<-EOF2
		{
			"segment": {"name": "$segment", "keys": 64},
			"rules": {
				"web": {"capacity": 20, "window": "30d", "algorithm": "fixed_window"},
				"other": {"capacity": 20, "window": "30d", "algorithm": "fixed_window"}
			}
		}
	EOF2
}

teardown() {
	stop
	segment_teardown
}

stop() {
	[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
	[ -z "$pid" ] || wait "$pid" 2>/dev/null || true
	pid=
}

# Wait until rld has said this.
run_until() {
	"$RLD" --config "$config" 2>"$log" 3>&- &
	pid=$!
	eventually grep -qF -- "$1" "$log"
}

# Fill the table, half of it and more from one network, and have rld look at it.
flood() {
	run_until 'sweeping segment'
	stop
	for key in "$@" $(seq -f 'user:%g' 30); do
		"$RLCTL" -s "$segment" check web "$key" >/dev/null
	done
	run_until ' of the used slots'
	stop
}

# What the filter finds in the log, one address a line; further arguments are the filter's.
found() {
	command -v fail2ban-regex >/dev/null || skip 'no fail2ban'
	mkdir -p "$BATS_TEST_TMPDIR/fail2ban/filter.d"
	cp "$ours/filter.d/rld.conf" "$BATS_TEST_TMPDIR/fail2ban/filter.d/"
	fail2ban-regex --config "$BATS_TEST_TMPDIR/fail2ban" --datepattern '{NONE}' --out ip "$log" "rld${1:-}"
}

@test "fail2ban: the filter finds the network that rld says takes the table" {
	flood 203.0.113.{1..80}
	grep -qE "^<4>segment '$segment': network 203\.0\.113\.0/24 takes [0-9]+ % of the used slots, and [0-9]+ % of all are used; 'rlctl --segment $segment ban 203\.0\.113\.0/24 --for 1h' denies it\$" "$log"
	[ "$(found)" = 203.0.113.0/24 ]
	[ "$(found "[segment=$segment]")" = 203.0.113.0/24 ]
	[ -z "$(found '[segment=another]')" ]
}

@test "fail2ban: a network of IPv6" {
	flood 2001:db8:7::{1..80}
	[ "$(found)" = 2001:db8:7::/48 ]
}

@test "fail2ban: as the journal and syslog have it, and no line that a name could make" {
	flood 203.0.113.{1..80}
	line=$(sed -n "s/^<4>\(segment .* network .*\)/\1/p" "$log")
	for before in 'host rld[123]: ' 'rld[123]: ' ''; do
		printf '%s\n' "$before$line" >"$log"
		[ "$(found)" = 203.0.113.0/24 ]
	done
	for before in "segment 'x': rule '" 'a ' "host other[1]: "; do
		printf '%s\n' "$before$line" >"$log"
		[ -z "$(found)" ]
	done
}

@test "fail2ban: the action bans for as long as it is told, and lifts it" {
	flood 203.0.113.{1..80}
	[ "$(values_of actionban)" = "rlctl --segment '<segment>' ban <client> --for '<bantime>s'" ]
	act actionban
	on check other 203.0.113.7
	exits 1
	says 'denied by ban'
	on check other 198.51.100.7
	exits 0
	act actionunban
	on check other 203.0.113.7
	exits 0
	act actionunban
}

# The value of one key in the action's file.
values_of() {
	sed -n "s/^$1 = //p" "$ours/action.d/rlctl.conf"
}

# Run it as fail2ban does, with what it puts in.
act() {
	local command
	command=$(values_of "$1" | sed "s|<client>|$(values_of client)|; s|<segment>|$segment|; s|<ip>|${2:-203.0.113.0/24}|g; s|<bantime>|3600|")
	PATH="$(dirname "$RLCTL"):$PATH" sh -ec "$command"
}

@test "fail2ban: a ban of an IPv6 address is one of its client, the /64" {
	run_with
	run grep -n ' ;' <(grep -v '^#' "$ours/action.d/rlctl.conf") # fail2ban takes what follows for a remark
	exits 1
	for at in 2001:db8:0:7::9/2001:db8:0:7:: ::1/:: 192.0.2.7/192.0.2.7 'user:7/user:7' 'a:b:x/a:b:x' ; do
		act actionban "${at%%/*}"
		on check web "${at#*/}"
		exits 1
		says 'denied by ban'
		act actionunban "${at%%/*}"
		on check web "${at#*/}"
		exits 0
	done
	stop
}

@test "fail2ban: the jail's filter and action are there" {
	[ "$(sed -n 's/^filter *= \([a-z]*\)\[.*/\1/p' "$ours/jail.d/rld.conf")" = rld ]
	[ "$(sed -n 's/^action *= \([a-z]*\)\[.*/\1/p' "$ours/jail.d/rld.conf")" = rlctl ]
	grep -qx 'maxretry = 1' "$ours/jail.d/rld.conf"
}

# rld, with what it is to hand events to.
run_with() {
	"$RLD" --config "$config" "$@" 2>"$log" 3>&- &
	pid=$!
	eventually grep -qF 'sweeping segment' "$log"
}

# Wait until the file has so many denials.
await_denials() {
	eventually has_lines "$2" ' denied: ' "$1"
}

@test "rld --events-file: fail2ban finds the addresses that are denied, and no client writes one for another" {
	command -v fail2ban-regex >/dev/null || skip 'no fail2ban'
	file=$BATS_TEST_TMPDIR/events
	run_with --events-file "$file"
	"$RLCTL" -s "$segment" ban 'tmp:*' --for 1h
	for key in 192.0.2.7 2001:db8::7 $'x key 198.51.100.1' 'user:7'; do
		for _ in $(seq 21); do
			"$RLCTL" -s "$segment" check web "$key" >/dev/null || true
		done
	done
	await_denials "$file" 4
	stop
	grep -qE ' ban set: .* key tmp:\*$' "$file"
	grep -qF 'ban of prefix tmp:*, any rule: set by uid' "$log"
	run fail2ban-regex --print-all-matched --datepattern '^%Y-%m-%dT%H:%M:%SZ' "$file" \
		"$ours/filter.d/rl-events.conf[segment=$segment]"
	[ "$status" -eq 0 ]
	[[ $output == *'2 matched'* ]]
	[[ $output == *'192.0.2.7'* && $output == *'2001:db8::7'* ]]
	run fail2ban-regex "$file" "$ours/filter.d/rl-events.conf[segment=$segment, rule=other]"
	[[ $output == *' 0 matched'* ]]
}

@test "rld --events-file: on a disk that is full, what is lost is told, and no line is joined to another" {
	command -v fail2ban-regex >/dev/null || skip 'no fail2ban'
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	export RLD RLCTL config segment log
	run unshare -m bash -ec '
		mkdir "$BATS_TEST_TMPDIR/disk"
		mount -t tmpfs -o size=16k tmpfs "$BATS_TEST_TMPDIR/disk"
		cd "$BATS_TEST_TMPDIR/disk"
		await() { for _ in $(seq 1200); do "$@" && return; sleep 0.05; done; cat "$log"; exit 9; }
		"$RLD" --config "$config" --events-file "$PWD/events" 2>"$log" 3>&- &
		pid=$!
		trap "kill $pid; wait $pid || :" EXIT
		await grep -qF "sweeping segment" "$log"
		head -c 11k /dev/zero >fill
		# Of many in a second some are left out; so keys are banned until there is no more room.
		is_full() {
			"$RLCTL" -s "$segment" ban "203.0.113.1$((i += 1))"-aaaaaaaaaaaaa --for 1h >/dev/null
			grep -qF "events could not be written: No space left on device" "$log"
		}
		await is_full
		tail -c 20 events | xxd | tail -1
		rm fill
		is_told() { "$RLCTL" -s "$segment" ban 192.0.2.1 --for 1h >/dev/null; grep -qE "key 192.0.2.1$" events; }
		await is_told
		cp events ../events
		# What is lost in the minute after that was told is told at the end.
		head -c 64k /dev/zero >fill || :
		head -c 64k /dev/zero >>events || :
		"$RLCTL" -s "$segment" allow 203.0.113.2 --for 1h >/dev/null
		trap - EXIT
		kill $pid
		wait $pid || :
		[ "$(grep -cF "events could not be written: No space left on device" "$log")" -ge 2 ]'
	[ "$status" -eq 0 ] || { echo "$output"; false; }
	file=$BATS_TEST_TMPDIR/events
	[ "$(grep -cE ' \(cut\)$' "$file")" -eq 1 ]
	# Each line is one event, or what is left of one and says so.
	! grep -vE '^[0-9TZ:-]+ rl\[[^]]*\] [a-z ]+: rule \S+ limit [0-9]+ one in [0-9]+ retry ([0-9]+ ms|never)( by uid [0-9]+)?( key \S+)?$| \(cut\)$' "$file"
	# However a line is cut, nobody is taken for another.
	printf '2026-11-22T10:00:00Z rl[%s] denied: rule web limit 1 one in 1 retry 5 ms key 192.0.2.1 (cut)\n' "$segment" >"$file"
	run fail2ban-regex --datepattern '^%Y-%m-%dT%H:%M:%SZ' "$file" "$ours/filter.d/rl-events.conf[segment=$segment]"
	[[ $output == *' 0 matched'* ]]
}

@test "rld --events-file: a line that is torn at any byte bans nobody, and rld ends what it finds torn" {
	command -v fail2ban-regex >/dev/null || skip 'no fail2ban'
	file=$BATS_TEST_TMPDIR/events
	filter=("$ours/filter.d/rl-events.conf[segment=$segment]")
	line="2026-11-22T10:00:00Z rl[$segment] denied: rule web limit 1 one in 1 retry 5 ms key 203.0.113.129"
	for ((at = 1; at <= ${#line}; at++)); do
		echo "${line:0:at} (cut)"
	done >"$file"
	run fail2ban-regex --datepattern '^%Y-%m-%dT%H:%M:%SZ' "$file" "${filter[@]}"
	[[ $output == *"${#line} lines, 0 ignored, 0 matched"* ]] || fail_with 'a torn line is taken for one'
	# The machine has lost power in the middle of a line; what comes then has one of its own.
	printf '%s' "${line%29}" >"$file"
	run_with --events-file "$file"
	for _ in $(seq 21); do
		"$RLCTL" -s "$segment" check web 192.0.2.7 >/dev/null || true
	done
	await_denials "$file" 2
	stop
	[ "$(head -n 1 "$file")" = "${line%29} (cut)" ]
	[ "$(fail2ban-regex --datepattern '^%Y-%m-%dT%H:%M:%SZ' --out ip "$file" "${filter[@]}")" = 192.0.2.7 ]
}

@test "rld --events-journal: one datagram of fields, with the key's bytes as they are" {
	socket=$BATS_TEST_TMPDIR/journal
	python3 - "$socket" "$BATS_TEST_TMPDIR/datagrams" 3>&- <<-'EOF2' &
		import socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1])
		s.settimeout(60)
		with open(sys.argv[2], "ab") as out:
		    while b"RL_EVENT=denied" not in (data := s.recv(65536)):
		        pass
		    out.write(data)
	EOF2
	reader=$!
	eventually test -S "$socket"
	run_with --events-journal="$socket"
	for _ in $(seq 21); do
		"$RLCTL" -s "$segment" check web $'two\nlines' >/dev/null || true
	done
	wait "$reader"
	stop
	for line in SYSLOG_IDENTIFIER=rld RL_EVENT=denied "RL_SEGMENT=$segment" RL_RULE=web RL_LIMIT=1 RL_ONE_IN=1; do
		grep -qaxF "$line" "$BATS_TEST_TMPDIR/datagrams"
	done
	[ "$(grep -ca '^MESSAGE=rl\[.* key two\\x0alines$' "$BATS_TEST_TMPDIR/datagrams")" -eq 1 ]
	python3 -c 'import sys; d = open(sys.argv[1], "rb").read(); sys.exit(b"RL_KEY\n" + bytes([9, 0, 0, 0, 0, 0, 0, 0]) + b"two\nlines\n" not in d)' "$BATS_TEST_TMPDIR/datagrams"
}

@test "rld --events-file: what is no file is refused, and no link is followed" {
	ln -s "$BATS_TEST_TMPDIR/elsewhere" "$BATS_TEST_TMPDIR/link"
	for file in "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/link" "$BATS_TEST_TMPDIR/none/events"; do
		run --separate-stderr timeout 120 "$RLD" --config "$config" --events-file "$file"
		[ "$status" -eq 2 ]
		[[ $stderr == *"--events-file $file: "* ]]
		[ ! -e "$BATS_TEST_TMPDIR/elsewhere" ]
	done
}
