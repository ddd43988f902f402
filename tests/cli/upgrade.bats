# SPDX-License-Identifier: BSD-2-Clause
# upgrade: a library of another layout runs beside this one, each with its own tools and workers. Nothing is
# waited for by time: a worker's log says how far it is.

load common

: "${RLD:=$(dirname "$RLCTL")/rld}"
before=$top/build/v/older # a library, and what is linked with it, as they were before
month_ms=2592000000
month_ns=2592000000000000

setup() {
	segment_setup
	dump=$BATS_TEST_TMPDIR/dump
	log=$BATS_TEST_TMPDIR/log
	mkdir "$log"
	ends=()
	workers=()
}

teardown() {
	local pid
	for pid in "${workers[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	[ -n "${BATS_TEST_COMPLETED:-}" ] || cat "$log"/*.err >&2 || true
	rm -f "/dev/shm/rl.$segment.upgrading"
	segment_teardown
}

# The same programs, as they were before.
old_fill() {
	FILL="$before/tests/cli/fill" fill "$@"
}

old() {
	run --separate-stderr "$before/rlctl" --segment "$segment" "$@"
}

upgrade() {
	on upgrade --from "$before/rlctl" "$@"
}

# Which file the segment is.
inode() {
	stat -c %i "/dev/shm/rl.$segment"
}

# usage RLCTL: what each key has used, as lines that can be compared.
usage() {
	"$1" -s "$segment" list --json --sort key | jq -c '.keys[] | [.rule, .limit_number, .key, .used]' | sort
}

size() {
	"$1" -s "$segment" dump - | head -n 1 | jq -c .size
}

# start BUILD NAME CAPACITY WINDOW_MS PAUSE_US: a worker, which ends when its stdin does, and holds up no other's.
start() {
	local fd
	mkfifo "$log/$2.in"
	(
		for fd in "${ends[@]}"; do
			exec {fd}>&-
		done
		exec "$1/tests/cli/worker" "$segment" "$3" "$4" "$5" <"$log/$2.in" >"$log/$2" 2>"$log/$2.err" 3>&-
	) &
	workers+=($!)
	exec {fd}>"$log/$2.in"
	ends+=("$fd")
}

# stop I: the worker that was started as that one, from 0 on; it was always told something.
stop() {
	local fd=${ends[$1]}
	exec {fd}>&-
	wait "${workers[$1]}"
}

# How many requests the logs say were allowed.
allowed() {
	(cd "$log" && cat "$@" | grep -c ' ') || true
}

allowed_are() {
	local least=$1
	shift
	[ "$(allowed "$@")" -ge "$least" ]
}

is_denied() {
	local name
	for name in "$@"; do
		grep -qx denied "$log/$name" || return 1
	done
}

spans() {
	(cd "$log" && "$BATS_TEST_DIRNAME/spans.py" "$@")
}

@test "upgrade: every algorithm, counters by key and bans, there and back; the size stays" {
	for kind in 6 1h 0 log token leaky; do
		old_fill "rule-$kind" 50 $month_ms "$kind" alice=30 "bob $kind=2" $'\xff\xfe=3'
	done
	old_fill several 50,20 "$month_ms,$month_ms" 4,token carol=7
	old_fill failed 0 0 counter alice=3
	old ban 10.0.0.0/8 --for 1h --reason 'a flood'
	chmod 640 "/dev/shm/rl.$segment"
	usage "$before/rlctl" >"$BATS_TEST_TMPDIR/before"
	old bans --json
	jq -c '.bans[] | del(.left_ns)' <<<"$output" >"$BATS_TEST_TMPDIR/bans"
	size "$before/rlctl" >"$BATS_TEST_TMPDIR/size"
	on status
	in_trouble 'another rl version or build: it has layout 2, and this rl has layout 3, revision'
	complains "; 'rlctl upgrade' carries its counters over"
	first=$(inode)
	upgrade --json
	exits 0
	conforms upgrade
	has upgraded=true from_layout=2 to_layout=3 restored=22 failed=0 unreadable=0 unnamed=0 rules_missing=0
	[ "$(inode)" -ne "$first" ]
	[ "$(stat -c %a "/dev/shm/rl.$segment")" = 640 ]
	[ ! -e "/dev/shm/rl.$segment.upgrading" ]
	usage "$RLCTL" | diff "$BATS_TEST_TMPDIR/before" -
	size "$RLCTL" | diff "$BATS_TEST_TMPDIR/size" -
	on bans --json
	jq -c '.bans[] | del(.left_ns)' <<<"$output" | diff "$BATS_TEST_TMPDIR/bans" -
	old status
	in_trouble 'another rl version'
	run --separate-stderr "$before/rlctl" --segment "$segment" upgrade --from "$RLCTL"
	exits 0
	says "layout 3 before, 2 now"
	usage "$before/rlctl" | diff "$BATS_TEST_TMPDIR/before" -
	size "$before/rlctl" | diff "$BATS_TEST_TMPDIR/size" -
}

@test "upgrade: limits that keys have for a time go on, with their ends and reasons" {
	old_fill login 3 $month_ms 0 alice=3 bob=3
	old_fill api 5,9 "$month_ms,3600000" 0,0 carol=5
	old override login alice 8 --for 2h --reason 'ticket 12'
	old override api carol 7 --limit 1 --until 2099-01-01
	old overrides --output tsv
	before_tsv=$output
	upgrade --json
	exits 0
	has restored=6 failed=0 expired=0
	[ "$("$RLCTL" -s "$segment" overrides --output tsv)" = "$before_tsv" ]
	for i in 1 2 3 4 5; do
		on check login alice
		exits 0
	done
	on check login alice
	exits 1
	on check login bob
	exits 1
	on override login alice none
	exits 0
	on check api carol --cost 2
	exits 0
	on check api carol
	exits 1
}

@test "upgrade: limits of a cluster are as they were, with what this host counts" {
	export FILL_CLUSTER=1
	old_fill window 50 $month_ms 4h alice=30
	old_fill short 50 600000 token alice=30
	size "$before/rlctl" >"$BATS_TEST_TMPDIR/size"
	"$before/rlctl" -s "$segment" dump - | jq -c 'select(.define)' >"$BATS_TEST_TMPDIR/rules"
	upgrade --json
	exits 0
	has restored=2 changed=0
	size "$RLCTL" | diff "$BATS_TEST_TMPDIR/size" -
	"$RLCTL" -s "$segment" dump - | jq -c 'select(.define)' | diff "$BATS_TEST_TMPDIR/rules" -
	[ "$(jq -r '.limits[0].scope' "$BATS_TEST_TMPDIR/rules" | sort -u)" = cluster ]
	on get window alice --json
	are used 30
}

@test "upgrade: a segment of this layout is left as it is" {
	fill login 50 $month_ms 1 alice=3
	first=$(inode)
	on upgrade
	exits 0
	says 'nothing to do'
	on upgrade --json
	exits 0
	conforms upgrade
	has upgraded=false
	[ "$(inode)" -eq "$first" ]
	rlctl --segment "none-$segment" upgrade
	in_trouble 'no such segment'
}

@test "upgrade: a segment of another revision, which no release has, is refused by every tool and not carried over" {
	fill login 50 $month_ms 1 alice=3
	"$RLCTL" -s "$segment" dump - >"$dump"
	printf '\0' | dd of="/dev/shm/rl.$segment" bs=1 seek=168 conv=notrunc status=none # as builds before revisions did
	first=$(md5sum <"/dev/shm/rl.$segment")
	on status
	in_trouble 'it has layout 3, revision 0, and this rl has layout 3, revision '
	complains "no release has that layout: remove it with 'rlctl unlink'"
	for from in "--from $RLCTL" "$dump"; do
		# shellcheck disable=SC2086 # an option and its value
		on upgrade --yes $from
		in_trouble 'it has layout 3, revision 0, '
		complains 'cannot be carried over'
	done
	on doctor
	exits 1
	says 'it has layout 3, revision 0'
	says "rlctl --segment $segment unlink"
	echo "{\"segment\": {\"name\": \"$segment\"}, \"rules\": {}}" >"$BATS_TEST_TMPDIR/rl.json"
	run --separate-stderr timeout 120 "$RLD" --config "$BATS_TEST_TMPDIR/rl.json"
	exits 2
	complains 'it has layout 3, revision 0, '
	complains 'cannot be carried over'
	[ "$(md5sum <"/dev/shm/rl.$segment")" = "$first" ]
}

@test "upgrade: workers of both libraries side by side admit what was left once more, and no more" {
	limit=1000
	start "$before" old1 $limit $month_ms 2000
	start "$before" old2 $limit $month_ms 2000
	eventually allowed_are 300 old1 old2
	least=$(allowed old1 old2)
	upgrade
	exits 0
	on get login alice --json
	carried=$(grep -m 1 -o '"used": [0-9]*' <<<"$output" | grep -o '[0-9]*')
	start "$top/build" new1 $limit $month_ms 2000
	start "$top/build" new2 $limit $month_ms 2000
	eventually is_denied old1 old2 new1 new2
	for i in 0 1 2 3; do
		stop "$i"
	done
	all=$(allowed old1 old2 new1 new2)
	echo "# $all requests of a limit of $limit were allowed, $carried of them before the upgrade" >&3
	[ "$(allowed old1 old2)" -eq "$limit" ]
	[ "$carried" -ge "$least" ] || fail_with "$least were allowed before, and $carried were carried over"
	[ "$all" -eq $((2 * limit - carried)) ]
}

@test "upgrade: in no window of the real length more than twice the limit, and once where one library runs" {
	limit=50 window=500
	start "$before" old1 $limit $window 500
	start "$before" old2 $limit $window 500
	eventually allowed_are $((3 * limit)) old1 old2
	cat "$log/old1" "$log/old2" >"$log/before"
	upgrade
	exits 0
	start "$top/build" new1 $limit $window 500
	start "$top/build" new2 $limit $window 500
	eventually allowed_are $((3 * limit)) new1 new2
	stop 0
	stop 1
	eventually allowed_are $(($(allowed new1 new2) + 3 * limit)) new1 new2
	stop 2
	stop 3
	both=$(spans $window old1 old2 new1 new2)
	echo "# at most $both in $window ms, of a limit of $limit" >&3
	[ "$(spans $window old1 old2)" -le $limit ]
	[ "$(spans $window new1 new2)" -le $limit ]
	[ "$both" -le $((2 * limit)) ]
	# What was carried over counts as it did: less the millisecond by which the clocks may differ.
	[ "$(spans $((window - 1)) before new1 new2)" -le $limit ]
}

@test "upgrade: what is carried over was decided before the old workers end" {
	limit=1000
	start "$before" old $limit $month_ms 2000
	eventually allowed_are 300 old
	stop 0
	upgrade
	exits 0
	start "$top/build" new $limit $month_ms 500
	eventually is_denied new
	stop 1
	[ "$(allowed old new)" -eq "$limit" ]
}

@test "upgrade: a dry run says what it would do, and leaves all as it is" {
	old_fill login 50 $month_ms 1 alice=30
	first=$(inode)
	upgrade --dry-run --json
	exits 0
	conforms upgrade
	has upgraded=false restored=1
	upgrade -n
	exits 0
	says 'never carried over: statistics'
	[ "$(inode)" -eq "$first" ]
	[ ! -e "/dev/shm/rl.$segment.upgrading" ]
	[ "$(usage "$before/rlctl")" = '["login",1,"alice",30]' ]
}

# A configuration with an override, and units in flight that a command holds until it is told otherwise.
configured_before() {
	old_fill mine 50 $month_ms 1 alice=30
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-EOF
		{"segment": {"name": "$segment"},
		 "rules": {"api": {"limit": "9/31d", "overrides": {"vip": {"capacity": 20}}},
		           "jobs": {"limits": [{"algorithm": "in_flight", "capacity": 2}]}}}
	EOF
	old config reload --config "$BATS_TEST_TMPDIR/rl.json"
	exits 0
	old check api bob
	exits 0
}

@test "upgrade: a configuration comes into force with it; without it what is lost is said, and asked about" {
	configured_before
	first=$(inode)
	upgrade
	exits 2
	complains "rule 'api' is of a configuration that is not known here"
	complains '1 counters and bans are not carried over'
	complains 'needs --yes'
	[ -z "$output" ]
	[ "$(inode)" -eq "$first" ]
	echo '{"segment": {"name": "other"}, "rules": {}}' >"$BATS_TEST_TMPDIR/other.json"
	upgrade --config "$BATS_TEST_TMPDIR/other.json"
	exits 2
	complains "is of segment 'other'"
	RL_CONFIG=$BATS_TEST_TMPDIR/other.json upgrade --dry-run --json
	exits 1
	conforms upgrade
	has rules_missing=2 unknown_rule=1 restored=1
	RL_CONFIG=$BATS_TEST_TMPDIR/rl.json upgrade
	exits 0
	on peek api vip
	says '20'
	on get api bob --json
	are used 1
	on config diff --config "$BATS_TEST_TMPDIR/rl.json"
	exits 0
}

@test "upgrade: units in flight are not carried over, which is said and asked about" {
	configured_before
	mkfifo "$BATS_TEST_TMPDIR/go"
	"$before/rlctl" --segment "$segment" hold jobs host -- \
		sh -c 'echo >"$1"; read -r _ <"$2"' - "$BATS_TEST_TMPDIR/begun" "$BATS_TEST_TMPDIR/go" 3>&- &
	workers+=($!)
	eventually test -e "$BATS_TEST_TMPDIR/begun"
	upgrade --config "$BATS_TEST_TMPDIR/rl.json"
	exits 2
	complains 'of 1 keys units are in flight'
	upgrade --config "$BATS_TEST_TMPDIR/rl.json" --yes --json
	exits 1
	has in_flight=1 restored=2 upgraded=true
	on get api bob --json
	are used 1
	echo >"$BATS_TEST_TMPDIR/go"
	wait "${workers[0]}"
}

@test "upgrade: what overflow counters count is not carried over, which is said" {
	FILL_KEYS=16 FILL_CELLS=16 old_fill login 50 $month_ms 1 $(seq -f 'key%g=1' 200)
	upgrade --json
	exits 2
	complains 'overflow counters count of keys without a slot is not carried over'
	upgrade --yes --json
	exits 1
	[ "$(jq .cells <<<"$output")" -gt 0 ]
}

# The old tool as it is, with something after its dump, or in place of it.
make_tool() {
	tool=$BATS_TEST_TMPDIR/tool
	printf '#!/bin/sh\n%s\n' "$1" >"$tool"
	chmod +x "$tool"
}

# The old segment is as it was, and nothing lies beside it.
is_untouched() {
	[ "$(inode)" -eq "$1" ] || fail_with 'another segment'
	[ ! -e "/dev/shm/rl.$segment.upgrading" ] || fail_with 'a successor is left'
	[ "$(usage "$before/rlctl")" = '["login",1,"alice",30]' ] || fail_with 'other counters'
}

@test "upgrade: a tool that is not there, fails, or is cut short changes nothing" {
	old_fill login 50 $month_ms 1 alice=30
	first=$(inode)
	on upgrade --from "$BATS_TEST_TMPDIR/nothing"
	in_trouble 'No such file or directory'
	is_untouched "$first"
	on upgrade --from "$RLCTL" # of the new layout itself
	in_trouble 'another rl version'
	is_untouched "$first"
	make_tool "'$before/rlctl' \"\$@\" | head -n 3"
	on upgrade --from "$tool"
	exits 2
	complains 'the dump is cut short'
	is_untouched "$first"
	make_tool "'$before/rlctl' \"\$@\"; exit 2"
	on upgrade --from "$tool"
	in_trouble 'the dump failed'
	is_untouched "$first"
	make_tool "'$before/rlctl' \"\$@\" | jq -c 'del(.size)'"
	on upgrade --from "$tool"
	in_trouble 'does not say what its segment was made with'
	is_untouched "$first"
	make_tool "'$before/rlctl' \"\$@\" | jq -c 'if .size then .segment = \"x\" else . end'"
	on upgrade --from "$tool"
	in_trouble 'the dump is of another segment: x'
	is_untouched "$first"
}

@test "upgrade: killed half way, the old segment stays, and the next one begins anew; one at a time" {
	old_fill login 50 $month_ms 1 alice=30
	first=$(inode)
	mkfifo "$BATS_TEST_TMPDIR/never"
	make_tool "'$before/rlctl' \"\$@\"; read -r _ <'$BATS_TEST_TMPDIR/never'"
	"$RLCTL" --segment "$segment" upgrade --from "$tool" 3>&- &
	workers+=($!)
	is_restored() {
		"$RLCTL" --segment "$segment.upgrading" get login alice 2>/dev/null | grep -q 30
	}
	eventually is_restored
	upgrade
	in_trouble 'another upgrade of it is under way'
	kill -KILL "${workers[0]}"
	wait "${workers[0]}" || true
	echo >"$BATS_TEST_TMPDIR/never"
	[ -e "/dev/shm/rl.$segment.upgrading" ]
	[ "$(inode)" -eq "$first" ]
	upgrade
	exits 0
	[ "$(usage "$RLCTL")" = '["login",1,"alice",30]' ]
	[ ! -e "/dev/shm/rl.$segment.upgrading" ]
}

@test "upgrade: interrupted, it changes nothing, whatever the old tool waits for" {
	old_fill login 50 $month_ms 1 alice=30
	first=$(inode)
	mkfifo "$BATS_TEST_TMPDIR/never"
	make_tool "'$before/rlctl' \"\$@\"; read -r _ <'$BATS_TEST_TMPDIR/never'"
	"$RLCTL" --segment "$segment" upgrade --from "$tool" 2>"$log/upgrade.err" 3>&- &
	workers+=($!)
	eventually test -e "/dev/shm/rl.$segment.upgrading"
	kill "${workers[0]}"
	status=0
	wait "${workers[0]}" || status=$?
	[ "$status" -eq 2 ]
	grep -q interrupted "$log/upgrade.err"
	is_untouched "$first"
}

@test "upgrade: a name as long as one can be; a segment that is not yet in rl's own directory stays where it is" {
	[ "$(id -u)" -eq 0 ] || skip 'only root can mount'
	segment=$(printf 'x%.0s' $(seq 63))
	export segment before RLCTL
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	run --separate-stderr unshare --mount bash -c '
		mount -t tmpfs none /dev/shm
		"$before/tests/cli/fill" "$segment" login 50 '$month_ms' 1 alice=30
		mkdir -m 3771 /dev/shm/rl
		"$RLCTL" --segment "$segment" upgrade --from "$before/rlctl"
		find /dev/shm -type f
		"$RLCTL" --segment "$segment" get login alice'
	exits 0
	says_line "/dev/shm/rl.$segment"
	says '30'
	[ "$(grep -c '^/dev/shm' <<<"$output")" -eq 1 ]
}

@test "upgrade: a segment that is replaced meanwhile is not replaced by the old one's counters" {
	old_fill login 50 $month_ms 1 alice=30
	make_tool "'$before/rlctl' \"\$@\"; rm /dev/shm/rl.$segment; '$FILL' $segment login 50 $month_ms 1 alice=7"
	on upgrade --from "$tool"
	exits 2
	complains 'cannot be put in the place of the old one'
	[ "$(usage "$RLCTL")" = '["login",1,"alice",7]' ]
	[ ! -e "/dev/shm/rl.$segment.upgrading" ]
}

# To some milliseconds, for jq counts in doubles: how much later the moments of a log, of a window and of a ban are than they were.
@test "upgrade: times are those of the new segment's clock, however wrong the old one's was" {
	old_fill log 50 $month_ms log alice=3
	old_fill window 50 $month_ms 8h alice=3
	old ban evil --for 100d
	"$before/rlctl" -s "$segment" dump "$dump"
	step=$((month_ns / 8))
	for shift in 3600000000000 -3600000000000 $((step + step / 3)) $((-step / 2)); do
		rm -f "/dev/shm/rl.$segment"
		old_fill other 50 $month_ms 1 alice=1
		jq -c --argjson shift "$shift" 'if .size then .dumped_ns -= $shift else . end' "$dump" >"$dump.moved"
		on upgrade "$dump.moved"
		exits 0
		"$RLCTL" -s "$segment" dump "$dump.new"
		jq -s -e --argjson shift "$shift" --argjson step "$step" '
			(map(select(.rule == "log"))[0].moments[0][0]) as $was |
			(map(select(.rule == "log"))[1].moments[0][0]) as $is |
			(map(select(.rule == "window"))[0].moments[0][0]) as $began |
			(map(select(.rule == "window"))[1].moments[0][0]) as $begins |
			(map(select(.effect))[0].until_ns) as $ended |
			(map(select(.effect))[1].until_ns) as $ends |
			map(select(.size))[1].dumped_ns as $now |
			($shift > 0 or ($is - $was - $shift | . >= -1e6 and . < 1e9)) and
			($shift < 0 or $is <= $now) and
			($ends - $ended - $shift | . >= -2e6 and . < 1e9) and
			($begins >= ([$began + $shift, $now - $step] | min))' \
			"$dump" "$dump.new" || fail_with "$shift: $(cat "$dump.new")"
	done
}

@test "upgrade: the new segment is the old one's owner's" {
	[ "$(id -u)" -eq 0 ] || skip 'only root can be others'
	old_fill login 50 $month_ms 1 alice=30
	chown 54321:54322 "/dev/shm/rl.$segment"
	chmod 660 "/dev/shm/rl.$segment"
	chmod a+rx "$BATS_TEST_TMPDIR"
	upgrade
	exits 0
	[ "$(stat -c '%u %g %a' "/dev/shm/rl.$segment")" = '54321 54322 660' ]
	rm "/dev/shm/rl.$segment"
	old_fill login 50 $month_ms 1 alice=30
	run --separate-stderr setpriv --reuid 54321 --clear-groups "$RLCTL" --segment "$segment" upgrade --from "$before/rlctl"
	exits 2
}

@test "upgrade: rld sweeps no segment of another layout, says what to do, and goes on after it" {
	old_fill login 50 $month_ms 1 alice=30
	echo "{\"segment\": {\"name\": \"$segment\"}, \"rules\": {\"login\": {\"limit\": \"50/30d\"}}}" >"$BATS_TEST_TMPDIR/rl.json"
	first=$(md5sum <"/dev/shm/rl.$segment")
	run --separate-stderr timeout 120 "$RLD" --config "$BATS_TEST_TMPDIR/rl.json"
	exits 2 # which systemd answers by starting it again
	complains "rlctl --segment $segment upgrade"
	[ "$(md5sum <"/dev/shm/rl.$segment")" = "$first" ]
	upgrade --config "$BATS_TEST_TMPDIR/rl.json" --yes
	"$RLD" --config "$BATS_TEST_TMPDIR/rl.json" 2>"$log/rld" 3>&- &
	workers+=($!)
	eventually grep -q 'sweeping segment' "$log/rld"
	kill "${workers[0]}"
	wait "${workers[0]}"
}
