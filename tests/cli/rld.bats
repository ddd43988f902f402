# SPDX-License-Identifier: BSD-2-Clause
# The daemon by itself. Its segments are named after the test, its files are in the test's
# directory, and it is waited for by what it says, never by time.

load common

: "${RLD:=$(dirname "$RLCTL")/rld}"

setup() {
	segment="rld-$$-$BATS_TEST_NUMBER"
	config=$BATS_TEST_TMPDIR/rl.json
	log=$BATS_TEST_TMPDIR/log
	socket=$BATS_TEST_TMPDIR/metrics
	pid=
	configure
}

# Of a test that failed: what the daemon was doing, and what it has said.
tell_daemon() {
	[ -z "${BATS_TEST_COMPLETED:-}" ] && [ -n "$pid" ] || return 0
	grep -E '^(State|TracerPid|SigPnd|ShdPnd|SigBlk)' "/proc/$pid/status" || true
	tail -n 5 "$log"
}

teardown() {
	tell_daemon
	[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
	rm -f "/dev/shm/rl.$segment"
}

# A rule 'login' for 5 in 30 days. More of the segment, and other rules, if given.
configure() {
	local rule='"login": {"capacity": 5, "window": "30d", "algorithm": "fixed_window"}'
	cat >"$config" <<-EOF
		{
			"segment": {"name": "$segment"${1:+, $1}},
			"gc": {"interval": "100ms", "buffer": "1ms"},
			"rules": {
				${2:-$rule}
			}
		}
	EOF
}

rld() {
	run --separate-stderr timeout 120 "$RLD" --config "$config" "$@"
}

has_logged() {
	grep -qF -- "$1" "$log"
}

start() {
	: >"$log"
	"$RLD" --config "$config" "$@" 2>>"$log" 3>&- &
	pid=$!
	eventually has_logged 'sweeping segment'
}

# End it as the signal says, and take its exit status.
stop() {
	kill "-$1" "$pid"
	status=0
	wait "$pid" || status=$?
	pid=
}

metrics() {
	curl --silent --fail --max-time 5 --unix-socket "$socket" http://localhost/metrics
}

metric_is() {
	metrics | grep -qxF -- "$1"
}

fill() {
	"$FILL" "$segment" "$@"
}

used() {
	"$RLCTL" -s "$segment" get login "$1" | sed -n 's/^used  *//p'
}

file_is_whole() {
	[ "$(tail -n 1 "$1" | cut -d'{' -f1)" = rl_config_last_load_successful ]
}

@test "rld: help, version, and what it does not know" {
	rld --help
	exits 0
	says 'usage: rld '
	rld --version
	exits 0
	[[ $output =~ ^rld\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	rld --frob
	exits 2
	complains "unrecognized option '--frob'"
	rld operand
	exits 2
	complains "unexpected operand 'operand'"
	[ ! -e "/dev/shm/rl.$segment" ]
}

@test "rld --check: says whether the file is good, and does nothing else" {
	rld --check
	exits 0
	complains "<6>$config is good: segment '$segment', 1 rules"
	configure '' '"login": {"capacity": "many", "window": "1s"}'
	rld -n
	exits 1
	complains "<3>$config:5:"
	complains '/rules/login/capacity'
	rm "$config"
	rld -n
	exits 1
	complains "$config"
	[ ! -e "/dev/shm/rl.$segment" ]
}

@test "rld: a bad file starts nothing" {
	echo '{' >"$config"
	rld
	exits 1
	complains "<3>$config:"
	[ ! -e "/dev/shm/rl.$segment" ]
}

@test "rld: a configuration that is no regular file is refused at once" {
	make_odd_files
	for file in "$odd"/*; do
		for check in '' --check; do
			# shellcheck disable=SC2086 # none or one
			run --separate-stderr timeout 60 "$RLD" --config "$file" $check
			exits 1
			complains "<3>$file: $(why_odd "$file")"
		done
	done
	truncate -s 257M "$odd/large"
	run --separate-stderr timeout 60 "$RLD" --config "$odd/large"
	exits 1
	complains "<3>$odd/large: is larger than 256 MiB"
	[ ! -e "/dev/shm/rl.$segment" ]
}

@test "rld: SIGHUP with a configuration that is no regular file changes nothing" {
	start
	make_odd_files
	cp "$config" "$BATS_TEST_TMPDIR/good"
	for kind in fifo device socket; do
		: >"$log"
		ln -sf "$odd/$kind" "$config"
		kill -HUP "$pid"
		eventually has_logged 'configuration refused; the one before stays in force'
		has_logged "<3>$config: is no regular file"
	done
	mv "$BATS_TEST_TMPDIR/good" "$config"
	kill -HUP "$pid"
	eventually has_logged 'configuration read'
	stop TERM
	exits 0
}

@test "rld: rules that would not fit are refused before a segment is made" {
	configure '"rules": 1' '"a": {"capacity": 1, "window": "1s"}, "b": {"capacity": 1, "window": "1s"}'
	rld
	exits 1
	complains "$config"
	[ ! -e "/dev/shm/rl.$segment" ]
}

@test "rld: makes the segment as the file says, and leaves it there" {
	configure "\"keys\": 1000, \"mode\": \"0660\", \"group\": \"$(id -gn)\""
	start
	has_logged "<6>segment '$segment':"
	[ "$(stat -c '%a %G' "/dev/shm/rl.$segment")" = "660 $(id -gn)" ]
	rlctl -s "$segment" status --json
	are slots 1672
	are name "\"$segment\""
	are rule "\"login\""
	rlctl -s "$segment" status
	grep -qE "^sweeper +pid $pid, heartbeat " <<<"$output"
	stop TERM
	exits 0
	has_logged "segment '$segment' stays"
	[ -e "/dev/shm/rl.$segment" ]
	rlctl -s "$segment" status
	says 'no sweeper'
	start
	stop INT
	exits 0
}

@test "rld: a segment that is there keeps its counters" {
	start
	fill login 5 2592000000 0 alice=3 bob=9
	stop TERM
	start
	[ "$(used alice)" = 3 ]
	[ "$(used bob)" = 5 ]
	stop KILL
	exits 137
	start
	[ "$(used alice)" = 3 ]
	[ "$(used bob)" = 5 ]
}

@test "rld: sweeps what is over" {
	configure '' '"short": {"capacity": 5, "window": "10ms", "algorithm": "fixed_window"}'
	start --metrics-listen "unix:$socket"
	fill short 5 10 0 a=1 b=1 c=1
	eventually metric_is "rl_slots_taken{segment=\"$segment\"} 0"
	eventually metric_is "rl_sweep_retired_total{segment=\"$segment\"} 3"
	metric_is "rl_retired_total{segment=\"$segment\",rule=\"short\"} 3"
	metric_is "rl_inserted_total{segment=\"$segment\",rule=\"short\"} 3"
}

@test "rld: SIGHUP takes the interval of the sweep from the file, at once" {
	local rule='"short": {"capacity": 5, "window": "10ms", "algorithm": "fixed_window"}'
	configure '"keys": 100' "$rule" # one slice sees all of it
	sed -i 's/"100ms"/"1h"/' "$config"
	start --metrics-listen "unix:$socket"
	eventually metric_is "rl_sweep_passes_total{segment=\"$segment\"} 1"
	fill short 5 10 0 a=1 b=1 c=1
	configure '"keys": 100' "$rule"
	kill -HUP "$pid"
	eventually metric_is "rl_sweep_retired_total{segment=\"$segment\"} 3"
}

@test "rld: a second one is told who is there, and the first goes on" {
	start
	rld
	exits 1
	complains "<3>segment '$segment' has a sweeper already, process $pid"
	kill -0 "$pid"
	stop KILL
	start
}

@test "rld: SIGHUP puts the file into force, counters kept; a bad one changes nothing" {
	start --metrics-listen "unix:$socket"
	fill login 5 2592000000 0 alice=9
	configure '' '"login": {"capacity": 7, "window": "30d", "algorithm": "fixed_window"}'
	kill -HUP "$pid"
	eventually has_logged 'configuration read'
	metric_is "rl_config_loads_total{segment=\"$segment\"} 2"
	rlctl -s "$segment" get login alice
	says_line 'limit        7'
	says_line 'used         5'
	echo '{"segment"' >"$config"
	kill -HUP "$pid"
	eventually has_logged '<4>configuration refused; the one before stays in force'
	has_logged "<3>$config:"
	metric_is "rl_config_refused_total{segment=\"$segment\"} 1"
	metric_is "rl_config_last_load_successful{segment=\"$segment\"} 0"
	rlctl -s "$segment" get login alice
	says_line 'limit        7'
	configure
	sed -i "s/\"$segment\"/\"$segment-other\"/" "$config"
	kill -HUP "$pid"
	eventually has_logged 'that takes a restart'
	[ ! -e "/dev/shm/rl.$segment-other" ]
	configure
	kill -HUP "$pid"
	eventually metric_is "rl_config_last_load_successful{segment=\"$segment\"} 1"
	stop TERM
	exits 0
}

keys_of_segment() {
	"$RLCTL" --segment "$segment" --json status | jq .segment.keys
}

@test "rld: a file that asks for more keys or a longer ring gets them, and no count is lost" {
	configure '"keys": 1000'
	start
	fill login 5 2592000000 0 alice=3
	configure '"keys": 20000, "ring": 300'
	kill -HUP "$pid"
	eventually has_logged 'all keys have moved'
	has_logged 'has room for 20001 keys now'
	[ "$(keys_of_segment)" = 20001 ]
	[ "$("$RLCTL" -s "$segment" --json status | jq .segment.ring)" = 300 ]
	[ "$(used alice)" = 3 ]
	stop TERM
	configure '"keys": 40000'
	start
	eventually has_logged 'all keys have moved'
	[ "$(used alice)" = 3 ]
	configure '"keys": 2000000000'
	kill -HUP "$pid"
	eventually has_logged 'configuration refused'
	[ "$(keys_of_segment)" -ge 40000 ]
}

@test "rld: moves what a resize has left, and resizes by itself with keys_most" {
	configure '"keys": 20, "keys_most": 5000'
	start
	for i in $(seq 40); do keys+=("key$i=1"); done
	fill login 5 2592000000 0 "${keys[@]:0:17}"
	eventually has_logged 'all keys have moved'
	[ "$(keys_of_segment)" -ge 40 ]
	fill login 5 2592000000 0 "${keys[@]:17}"
	eventually eval '[ "$(keys_of_segment)" -ge 80 ]'
	[ "$("$RLCTL" -s "$segment" --json list | jq .total)" = 40 ]
	configure '"keys": 20, "keys_most": 10'
	rld --check
	complains '/segment/keys_most: expected no less than "keys", 20, got 10'
}

ring_of_segment() {
	"$RLCTL" --segment "$segment" --json status | jq .segment.ring
}

@test "rld: the ring is as long as the rules of the file need, and longer if a definition asks and keys_most is set" {
	configure
	start
	[ "$(ring_of_segment)" = 1 ]
	fill login 5 2592000000 0 alice=3
	configure '' '"login": {"capacity": 5, "window": "30d", "algorithm": "fixed_window"}, "page": {"limit": "9/min", "granularity": 12}'
	kill -HUP "$pid"
	eventually eval '[ "$(ring_of_segment)" = 12 ]'
	eventually has_logged 'all keys have moved'
	run fill mail 5 2592000000 60 bob=1
	exits 2
	eventually has_logged "resize --ring 60'"
	[ "$(ring_of_segment)" = 12 ]
	stop TERM
	configure '"keys_most": 50000'
	start
	eventually eval '[ "$(ring_of_segment)" = 60 ]'
	fill mail 5 2592000000 60 bob=1
	[ "$(used alice)" = 3 ]
}

@test "rld: a file that asks for another segment is refused, and says what to do" {
	configure '"keys": 1000'
	start
	fill login 5 2592000000 0 alice=3
	stop TERM
	configure '"keys": 2000, "key_bytes": 96'
	rld
	exits 1
	complains "segment '$segment' is less than $config asks for: keys: 1003, and 2000 were asked for; key_bytes: 48, and 96 were asked for"
	complains 'rlctl unlink'
	[ "$(used alice)" = 3 ]
	configure '"keys": 100' # more does no harm, and is told
	start
	has_logged 'the running segment has 1003'
	[ "$(used alice)" = 3 ]
	stop TERM
	configure # what the file leaves out may be as it is
	start
	[ "$(used alice)" = 3 ]
}

@test "rld: what is no segment is refused, and left alone" {
	echo 'not a segment' >"/dev/shm/rl.$segment"
	rld
	exits 1
	complains "<3>segment '$segment': not an rl segment"
	[ "$(cat "/dev/shm/rl.$segment")" = 'not a segment' ]
}

@test "rld: a segment that is removed is not swept on" {
	start
	rm "/dev/shm/rl.$segment"
	status=0
	wait "$pid" || status=$?
	exits 2
	has_logged "segment '$segment' was removed: ending"
	[ "$(grep -c stays "$log")" -eq 0 ]
	start
	cp "/dev/shm/rl.$segment" "$BATS_TEST_TMPDIR/other"
	mv -f "$BATS_TEST_TMPDIR/other" "/dev/shm/rl.$segment"
	status=0
	wait "$pid" || status=$?
	pid=
	exits 2
	has_logged "segment '$segment' was removed: ending"
}

@test "rld: no room in /dev/shm is said, and nothing is left" {
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	configure '"keys": 100000'
	# shellcheck disable=SC2016 # the inner shell's
	run --separate-stderr unshare --mount sh -c '
		mount -t tmpfs -o size=1m,mode=1777 tmpfs /dev/shm || exit 99
		"$@"; status=$?
		ls /dev/shm
		exit "$status"' - timeout 120 "$RLD" --config "$config"
	exits 1
	[ -z "$output" ]
	complains "<3>segment '$segment' needs "
	complains 'has 1048576 free; nothing was created'
	complains 'remount,size='
}

@test "rld: more than the memory that is left is refused with numbers, not by the kernel's killer" {
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	printf 'MemAvailable:    1000 kB\nSwapFree: 24 kB\n' >"$BATS_TEST_TMPDIR/meminfo"
	# shellcheck disable=SC2016 # the inner shell's
	run --separate-stderr unshare --mount sh -c 'mount --bind "$0/meminfo" /proc/meminfo && exec "$@"' \
		"$BATS_TEST_TMPDIR" timeout 120 "$RLD" --config "$config"
	exits 1
	complains "<3>segment '$segment' needs "
	complains 'bytes of memory, and 1048576 are left by /proc/meminfo; nothing was created'
	[ ! -e "/dev/shm/rl.$segment" ]
}

# Run rld in a mount namespace with a directory of rl's own; before it the setup, a shell text.
beside() {
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
	# shellcheck disable=SC2016 # the inner shell's
	run --separate-stderr unshare --mount sh -c '
		mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm || exit 99
		segment=$1; setup=$2; shift 2
		eval "$setup"
		"$@"; status=$?
		ls /dev/shm/rl >&2
		exit "$status"' - "$segment" "$@"
}

@test "rld: a segment is made in the directory of rl's own, whatever a stranger did before" {
	# shellcheck disable=SC2016 # the inner shell's
	beside 'mkdir -m 3771 /dev/shm/rl; : >/dev/shm/rl.$segment; chown 65534 /dev/shm/rl.$segment' \
		sh -c '"$@" & pid=$!
			until [ -s "/dev/shm/rl/rl.$0" ] || ! kill -0 $pid; do sleep 0.01; done
			kill $pid; wait $pid' "$segment" timeout 120 "$RLD" --config "$config"
	complains "rl.$segment"
}

@test "rld: who may not write the directory of rl's own is told so, and goes nowhere else" {
	# shellcheck disable=SC2016 # the inner shell's
	beside 'mkdir -m 555 /dev/shm/rl' \
		setpriv --bounding-set -dac_override,-dac_read_search timeout 120 "$RLD" --config "$config"
	exits 1
	complains "<3>segment '$segment': no permission for /dev/shm/rl, where segments are made"
}

@test "metrics: over a unix socket, for its owner and group" {
	start --metrics-listen "unix:$socket"
	fill login 5 2592000000 0 alice=9
	has_logged "metrics at unix:$socket"
	[ "$(stat -c %a "$socket")" = 660 ]
	metrics >"$BATS_TEST_TMPDIR/text"
	promtool check metrics <"$BATS_TEST_TMPDIR/text"
	metric_is "rl_allowed_total{segment=\"$segment\",rule=\"login\"} 5"
	metric_is "rl_denied_total{segment=\"$segment\",rule=\"login\"} 4"
	eventually metric_is "rl_slots_taken{segment=\"$segment\"} 1"
	eventually metric_is "rl_sweeper_present{segment=\"$segment\"} 1"
	metrics | grep -qE '^rl_sweeper_heartbeat_age_seconds\{.*\} [0-9]+\.[0-9]{9}$'
	! grep -F alice "$BATS_TEST_TMPDIR/text"
	run curl --silent --include --unix-socket "$socket" http://rld/
	grep -qF '404 Not Found' <<<"$output"
	run curl --silent --include --unix-socket "$socket" --data x http://localhost/metrics
	grep -qF '405 Method Not Allowed' <<<"$output"
	run curl --silent --head --unix-socket "$socket" http://localhost/metrics
	grep -qF '200 OK' <<<"$output"
	stop TERM
	[ ! -e "$socket" ]
}

@test "metrics: every counter of the library is there, with its sentence" {
	start --metrics-listen "unix:$socket"
	metrics >"$BATS_TEST_TMPDIR/text"
	count=0
	while IFS='"' read -r name _ _ text _; do
		name=${name#RL_COUNTER(}
		grep -qxF "# HELP rl_${name%%,*}_total $text" "$BATS_TEST_TMPDIR/text"
		grep -qF "rl_${name%%,*}_total{segment=\"$segment\",rule=\"login\"} 0" "$BATS_TEST_TMPDIR/text"
		count=$((count + 1))
	done < <(grep '^RL_COUNTER(' "$top/include/rl_counters.def")
	[ "$count" -gt 10 ]
}

# Asked at two moments, they may differ in what has changed in between.
tells_the_same() {
	[ "$(metrics | grep -v -e rl_sweep_ -e rl_config_l -e rl_config_refused -e heartbeat -e rl_keys_limited)" = \
		"$("$RLCTL" -s "$segment" stats --prom | grep -v heartbeat)" ]
}

@test "metrics: rlctl stats --prom tells the same" {
	start --metrics-listen "unix:$socket"
	fill login 5 2592000000 0 alice=9 bob=1
	eventually metric_is "rl_slots_taken{segment=\"$segment\"} 2"
	rlctl -s "$segment" stats --prom
	exits 0
	says "rl_denied_total{segment=\"$segment\",rule=\"login\"} 4"
	eventually tells_the_same
}

@test "metrics: over loopback, and nowhere else" {
	for address in '127.0.0.1' '[::1]'; do
		[ "$address" = 127.0.0.1 ] || grep -qs '^0*1 ' /proc/net/if_inet6 || continue
		start --metrics-listen "$address:0"
		url=$(sed -n 's/.*metrics at //p' "$log")
		[[ $url == "http://$address:"*/metrics ]]
		curl --silent --fail --globoff --max-time 5 "$url" | grep -q "^rl_build_info{segment=\"$segment\""
		stop TERM
		exits 0
	done
	for address in 0.0.0.0:9 192.0.2.1:9 '[::]:9' '[::1' :9 127.0.0.1 127.0.0.1:65536 \
		127.0.0.1:x 127.0.0.1:-1 localhost:9 unix: ''; do
		rld --metrics-listen "$address"
		exits 2
		complains "<3>--metrics-listen $address: "
	done
}

@test "metrics: a socket that nobody listens to is replaced, nothing else is" {
	start --metrics-listen "unix:$socket"
	stop KILL
	[ -S "$socket" ]
	start --metrics-listen "unix:$socket"
	eventually metrics
	cp "$config" "$config.other"
	sed -i "s/\"$segment\"/\"$segment-other\"/" "$config.other"
	run --separate-stderr timeout 120 "$RLD" --config "$config.other" --metrics-listen "unix:$socket"
	rm -f "/dev/shm/rl.$segment-other"
	exits 2
	complains 'Address already in use'
	metrics >/dev/null
	stop TERM
	echo precious >"$socket"
	rld --metrics-listen "unix:$socket"
	exits 2
	complains 'Address already in use'
	[ "$(cat "$socket")" = precious ]
}

@test "metrics: a client that says nothing delays nobody" {
	start --metrics-listen "unix:$socket"
	for _ in 1 2 3; do
		curl --silent --unix-socket "$socket" --max-time 20 --no-buffer -T- http://localhost/metrics \
			< <(sleep 20 3>&-) >/dev/null 3>&- &
		disown
	done
	metrics >/dev/null
	stop TERM
	exits 0
}

# Such clients at an address, and a scrape has its answer beside them and after them.
with_clients() {
	local address=$1
	shift
	start --metrics-listen "$address"
	run timeout 300 "$BATS_TEST_DIRNAME/clients.py" "$(sed -n 's/.*metrics at //p' "$log")" "$@"
	[ "$status" -eq 0 ] || fail_with "$address"
	[ "$(grep -c '<[0-4]>' "$log")" -eq 0 ]
	stop TERM
	exits 0
}

# So many rules that an answer does not fit what the kernel keeps.
configure_large() {
	local rules='"r": {"capacity": 5, "window": "1m"}' i
	for i in $(seq 300); do
		rules+=", \"rule-of-a-long-name-$i\": {\"capacity\": 5, \"window\": \"1m\"}"
	done
	configure '' "$rules"
}

@test "metrics: are served however many clients come and go, over a unix socket" {
	with_clients "unix:$socket" gone 20 200 2000
}

@test "metrics: are served however many clients come and go, over TCP" {
	with_clients 127.0.0.1:0 gone 20 200 2000
}

@test "metrics: clients that say nothing shut nobody out, over a unix socket" {
	with_clients "unix:$socket" silent 20 200 2000
}

@test "metrics: clients that say nothing shut nobody out, over TCP" {
	with_clients 127.0.0.1:0 silent 20 200 2000
}

@test "metrics: clients that say a byte now and again shut nobody out, over a unix socket" {
	with_clients "unix:$socket" drip 20 200 2000
}

@test "metrics: clients that say a byte now and again shut nobody out, over TCP" {
	with_clients 127.0.0.1:0 drip 20 200 2000
}

@test "metrics: clients that never read shut nobody out, over a unix socket" {
	configure_large
	with_clients "unix:$socket" unread 20 200
}

@test "metrics: clients that never read shut nobody out, over TCP" {
	configure_large
	with_clients 127.0.0.1:0 unread 20 200
}

@test "metrics: one answer a connection, however often it asks, and whether or not it says so" {
	with_clients "unix:$socket" pipeline 20 200 2000
	with_clients 127.0.0.1:0 pipeline 20 200 2000
	with_clients "unix:$socket" half 20 200
	with_clients 127.0.0.1:0 half 20 200
}

@test "metrics: clients do not take the descriptors that rld needs itself" {
	(ulimit -n 40 && start --metrics-listen "unix:$socket" && echo "$pid" >"$BATS_TEST_TMPDIR/pid")
	pid=$(cat "$BATS_TEST_TMPDIR/pid")
	run timeout 300 "$BATS_TEST_DIRNAME/clients.py" "unix:$socket" silent 20 200
	[ "$status" -eq 0 ] || fail_with "with few descriptors"
	[ "$(grep -c '<[0-4]>' "$log")" -eq 0 ]
}

@test "watchdog: is fed while rld answers itself, and only then" {
	run --separate-stderr timeout 300 "$BATS_TEST_DIRNAME/manager.py" - "$RLD" --config "$config"
	exits 0
	run --separate-stderr timeout 300 "$BATS_TEST_DIRNAME/manager.py" "$socket" \
		"$RLD" --config "$config" --metrics-listen "unix:$socket"
	exits 0
	complains '<4>rld has asked for its own metrics in vain ('
	run --separate-stderr timeout 300 "$BATS_TEST_DIRNAME/manager.py" - \
		"$RLD" --config "$config" --metrics-listen 127.0.0.1:0
	exits 0
}

@test "metrics: a file that is whole at any time, and goes when rld does" {
	file=$BATS_TEST_TMPDIR/rl.prom
	(umask 077 && start --metrics-textfile "$file" && echo "$pid" >"$BATS_TEST_TMPDIR/pid")
	pid=$(cat "$BATS_TEST_TMPDIR/pid")
	eventually test -e "$file"
	promtool check metrics <"$file"
	[ "$(stat -c %a "$file")" = 644 ]
	for _ in $(seq 30); do
		kill -HUP "$pid"
		file_is_whole "$file"
	done
	eventually grep -qE '^rl_config_loads_total.* ([2-9]|[1-3][0-9])$' "$file"
	[ "$(find "$BATS_TEST_TMPDIR" -name 'rl.prom*' | wc -l)" -eq 1 ]
	kill -TERM "$pid"
	eventually test ! -e "$file"
}

@test "metrics: a file is put in the place of a file, and nothing else" {
	make_odd_files
	echo old >"$odd/file"
	ln -s file "$odd/link-to-file"
	for file in "$odd"/{device,fifo,link-to-fifo,link-to-file,dangling,socket,directory}; do
		why='exists and is no regular file'
		[ ! -L "$file" ] || why='is a symbolic link: name the file that is meant'
		rld --metrics-textfile "$file"
		exits 2
		complains "<3>--metrics-textfile $file: $why"
		[ -e "$file" ] || continue # nor is there a socket
		[ "$file" != "$odd/socket" ] || continue # nobody listens there
		rld --metrics-listen "unix:$file"
		exits 2
		complains "<3>--metrics-listen unix:$file: Address already in use"
	done
	[ -L "$odd/device" ]
	[ -L "$odd/link-to-file" ]
	[ "$(cat "$odd/file")" = old ]
	[ -p "$odd/fifo" ]
	[ -d "$odd/directory" ]
}

@test "metrics: a file's place may turn into another's, who keeps it" {
	file=$BATS_TEST_TMPDIR/rl.prom
	mkfifo "$file.tmp"
	start --metrics-textfile "$file" --metrics-listen "unix:$socket"
	eventually test -e "$file"
	rm "$file"
	mkfifo "$file"
	kill -HUP "$pid"
	eventually has_logged "<4>$file: is no regular file; what is there is old, and is tried again"
	rm "$file" "$socket"
	echo precious >"$file"
	echo precious >"$socket"
	stop TERM
	exits 0
	[ "$(cat "$file" "$socket")" = $'precious\nprecious' ]
	[ -p "$file.tmp" ]
}

@test "metrics: a file that cannot be written is told, and stops nothing" {
	start --metrics-textfile "$BATS_TEST_TMPDIR/none/rl.prom"
	eventually has_logged "$BATS_TEST_TMPDIR/none/rl.prom: No such file or directory"
	stop TERM
	exits 0
}

@test "rld: keys that find no slot are told of" {
	configure '"keys": 1, "on_full": "deny"'
	start
	keys=()
	for i in $(seq 200); do
		keys+=("key$i=1")
	done
	fill login 5 2592000000 0 "${keys[@]}"
	eventually has_logged 'requests were denied because their key found no slot'
	eventually has_logged 'some keys will find none'
	[ "$(grep -c 'their key found no slot' "$log")" -eq 1 ]
}

@test "rld: what another process configures leaves a trace in the log" {
	start
	RL_CONFIG=$config "$RLCTL" config set /rules/login/capacity 11
	eventually has_logged '<5>another process has changed the configuration, generation 2, was 1'
	has_logged '<5>login: '
	stop TERM
}

@test "rld: lines for the journal have a priority each, and no control bytes" {
	start
	stop TERM
	! grep -vE '^<[0-7]>' "$log"
	rld --metrics-listen "$(printf 'a\nb\033c')"
	exits 2
	complains '--metrics-listen a?b?c: '
	[ "$(grep -cvE '^<[0-7]>' <<<"$stderr")" -eq 0 ]
	! grep -q $'\033' <<<"$stderr"
}

@test "dashboard: names only metrics that there are" {
	start --metrics-listen "unix:$socket"
	metrics | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort -u >"$BATS_TEST_TMPDIR/there"
	jq -r '.. | .expr? // empty, (.query? | strings)' "$top/rld/dashboard.json" |
		grep -oE '\brl_[a-z_]+' | grep -v '^rl_cluster_' | sort -u >"$BATS_TEST_TMPDIR/named"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/named")" -ge 10 ]
	missing=$(comm -23 "$BATS_TEST_TMPDIR/named" "$BATS_TEST_TMPDIR/there")
	[ -z "$missing" ] || fail_with "not there: $missing"
}

@test "units: those for one segment and for several say the same" {
	sed -e 's/ of %i$//; s/%i\.json/rl.json/; s/rld-%i/rld/; s/%i\.bans/rld.bans/' "$top/systemd/rld@.service" |
		diff "$top/systemd/rld.service" -
	systemd-analyze security --offline=true --threshold=10 --no-pager "$top/systemd/rld.service"
	systemd-analyze security --offline=true --threshold=10 --no-pager "$top/systemd/rld@.service"
}

@test "segment: huge pages are asked for, and a segment without is swept all the same" {
	configure '"huge_pages": true'
	start
	"$RLCTL" -s "$segment" status --json | jq -e .segment.huge_pages
	stop TERM
	rm "/dev/shm/rl.$segment"
	configure
	start
	stop TERM
	configure '"huge_pages": true'
	start
	has_logged '/segment/huge_pages: the running segment has false'
	"$RLCTL" -s "$segment" status --json | jq -e '.segment.huge_pages | not'
}

bans() {
	"$RLCTL" -s "$segment" bans -o tsv -H | cut -f1-4,8,9 | sort
}

file_has() {
	grep -qF -- "$1" "$bans"
}

@test "rld --bans-file: bans come back in a new segment, with all that is known of them" {
	bans=$BATS_TEST_TMPDIR/bans
	start --bans-file "$bans"
	"$RLCTL" -s "$segment" ban alice --for 1h --reason $'why\033"' --rule login
	"$RLCTL" -s "$segment" ban $'k\xff\n' --exact --until never
	"$RLCTL" -s "$segment" allow 192.0.2.0/24 --for 1h
	"$RLCTL" -s "$segment" ban soon --for 1ms
	"$RLCTL" -s "$segment" check login alice || true
	eventually file_has '192.0.2.0/24'
	before=$(bans)
	[ "$(wc -l <<<"$before")" -eq 3 ]
	stop TERM
	[ "$status" -eq 0 ]
	[ "$(stat -c %a "$bans")" = 600 ]
	rm "/dev/shm/rl.$segment"
	start --bans-file "$bans"
	has_logged "$bans: 3 bans, exemptions and overrides restored, 0 have ended, 0 stood already, 0 wait for their rule"
	[ "$(bans)" = "$before" ] || fail_with "$(bans)"
	grep -q '1.*why\\x1b\\x22' <<<"$before"
}

@test "rld --bans-file: an automatic ban comes back as one, and gives way to an exemption" {
	bans=$BATS_TEST_TMPDIR/bans
	configure '' '"login": {"limit": "1/30d", "granularity": 1,
		"ban": {"after": 1, "within": "10m", "for": "1h"}}'
	start --bans-file "$bans"
	for _ in 1 2; do "$RLCTL" -s "$segment" check login 10.1.2.3 || true; done
	eventually file_has '"automatic":true'
	stop TERM
	rm "/dev/shm/rl.$segment"
	start --bans-file "$bans"
	[ "$("$RLCTL" -s "$segment" bans -j | jq -c '.bans[] | [.key, .automatic]')" = '["10.1.2.3",true]' ]
	"$RLCTL" -s "$segment" allow 10.0.0.0/8 --for 1h
	"$RLCTL" -s "$segment" peek login 10.1.2.3
}

@test "rld --bans-file: a limit of one key for a time comes back after a reboot, and waits for its rule" {
	bans=$BATS_TEST_TMPDIR/bans
	configure '' '"login": {"limit": "1/30d", "granularity": 1}'
	start --bans-file "$bans"
	"$RLCTL" -s "$segment" override login alice 3 --for 1h --reason trial
	"$RLCTL" -s "$segment" override login soon 3 --for 1ms
	eventually file_has '"effect":"override"'
	before=$("$RLCTL" -s "$segment" overrides -o tsv -H | grep alice)
	"$RLCTL" -s "$segment" override login alice 4 --for 2h --reason trial
	eventually file_has '"capacity":4'
	"$RLCTL" -s "$segment" override login alice 3 --for 2h --reason trial
	before=$("$RLCTL" -s "$segment" overrides -o tsv -H | grep alice)
	stop TERM
	rm "/dev/shm/rl.$segment"
	configure '' '"other": {"limit": "1/30d", "granularity": 1}'
	start --bans-file "$bans"
	has_logged '1 wait for their rule'
	configure '' '"login": {"limit": "1/30d", "granularity": 1}'
	kill -HUP "$pid"
	eventually comes_back
	for _ in 1 2 3; do "$RLCTL" -s "$segment" check login alice; done
	run -1 "$RLCTL" -s "$segment" check login alice
}

comes_back() {
	[ "$("$RLCTL" -s "$segment" overrides -o tsv -H)" = "$before" ]
}

@test "rld --bans-file: what rld had no time to write at its end is there as well" {
	bans=$BATS_TEST_TMPDIR/bans
	start --bans-file "$bans"
	"$RLCTL" -s "$segment" ban alice --for 1h
	eventually file_has alice
	stop KILL
	rm "/dev/shm/rl.$segment"
	start --bans-file "$bans"
	[ "$("$RLCTL" -s "$segment" bans -o name)" = alice ]
}

@test "rld --bans-file: what was lifted, or stands, stays so" {
	bans=$BATS_TEST_TMPDIR/bans
	start --bans-file "$bans"
	"$RLCTL" -s "$segment" ban alice bob --for 1h
	eventually file_has alice
	stop KILL
	"$RLCTL" -s "$segment" unban alice
	start --bans-file "$bans"
	[ "$("$RLCTL" -s "$segment" bans -o name)" = bob ]
	stop TERM
	rm "/dev/shm/rl.$segment"
	start
	"$RLCTL" -s "$segment" allow bob --for 1m
	stop TERM
	start --bans-file "$bans"
	has_logged "$bans: 0 bans, exemptions and overrides restored, 0 have ended, 1 stood already"
	[ "$("$RLCTL" -s "$segment" bans -o tsv -H | cut -f1,4)" = "$(printf 'exemption\tbob')" ]
}

@test "rld --bans-file: one of a rule that is not there waits for it" {
	bans=$BATS_TEST_TMPDIR/bans
	cat >"$bans" <<-'EOF'
		{"rl_bans":1,"segment":"x","created_ns":1}
		{"effect":"ban","rule":"later","match":"key","key":"alice","until_ns":null,"since_ns":5,"author":7,"hits":3}
		{"rl_bans_end":1}
	EOF
	start --bans-file "$bans"
	has_logged '1 wait for their rule'
	[ -z "$("$RLCTL" -s "$segment" bans -o name)" ]
	stop TERM
	file_has '"rule":"later"'
	rm "/dev/shm/rl.$segment"
	start --bans-file "$bans"
	"$FILL" "$segment" later 5 60000 1 x=1
	waited() { [ "$("$RLCTL" -s "$segment" bans -o name)" = alice ]; }
	eventually waited
	"$RLCTL" -s "$segment" bans -j | grep -q '"hits": 3'
}

@test "rld --bans-file: a hostile file bans nobody, and stops nothing" {
	bans=$BATS_TEST_TMPDIR/bans
	{
		echo '{"rl_bans":1,"segment":"x","created_ns":1}'
		echo '{"effect":"ban","rule":null,"match":"network","key":"10.0.0.0/99","until_ns":null,"since_ns":5,"author":7,"hits":3}'
		echo '{"effect":"ban","rule":null,"match":"key","key":"","until_ns":null,"since_ns":5,"author":7,"hits":3}'
		echo '{"effect":"ban","rule":null,"match":"key","key_hex":"6","until_ns":null,"since_ns":5,"author":7,"hits":3}'
		echo '{"effect":"ban","rule":null,"match":"key","key":"k","until_ns":-1,"since_ns":5,"author":7,"hits":3}'
		echo '{"effect":"ban","rule":null,"match":"key","key":"k","until_ns":null,"since_ns":5,"author":70000000000,"hits":3}'
		echo '{"effect":"ban","rule":null,"match":"key","key":"k","until_ns":null,"since_ns":5,"author":7,"hits":3,"reason":"'"$(printf '%097d' 0)"'"}'
		echo '{"effect":"ban","rule":"'"$(printf '%064d' 0)"'","match":"key","key":"k","until_ns":null,"since_ns":5,"author":7,"hits":3}'
		printf '{"x":"%05000d"}\n' 0
		printf '\377\000[[[[\n\n'
		echo '{"effect":"ban","rule":null,"match":"key","key":"good","until_ns":null,"since_ns":5,"author":7,"hits":3}'
		echo '{"rl_bans_end":11'
	} >"$bans"
	start --bans-file "$bans"
	[ "$("$RLCTL" -s "$segment" bans -o name)" = good ]
	has_logged "$bans:2: "
	has_logged 'was cut short'
	[ "$(grep -c 'the line is left out' "$log")" -eq 3 ]
	stop TERM
	for text in '' x '{}' '{"rl_bans":2}' '[1]'; do
		printf '%s' "$text" >"$bans"
		rld --bans-file "$bans"
		exits 1
		complains "--bans-file $bans: is no file of bans that this rld wrote"
		[ "$(cat "$bans")" = "$text" ]
	done
	ln -sf /etc/passwd "$BATS_TEST_TMPDIR/link"
	rld --bans-file "$BATS_TEST_TMPDIR/link"
	exits 1
	complains "--bans-file $BATS_TEST_TMPDIR/link: "
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	rld --bans-file "$BATS_TEST_TMPDIR/fifo"
	exits 1
}

# What counts, exactly; of a bucket the level changes all the time.
moments() {
	"$RLCTL" -s "$segment" dump - | grep -v -e rl_dump -e '"define"' -e '"bucket"' -e '"held"' | sed 's/,"expires_ns.*//' | sort
}

# A rule of each kind that a counter may be of.
configure_kinds() {
	configure '' '"login": {"limit": "5/30d", "algorithm": "fixed_window"},
		"two": {"limits": [{"limit": "9/day"}, {"limit": "50/30d", "algorithm": "sliding_log"}]},
		"bucket": {"limit": "70/30d", "algorithm": "token_bucket"},
		"held": {"capacity": 3, "algorithm": "in_flight"}'
}

@test "rld --counters-file: what keys have used comes back in a new segment; units in flight do not" {
	counters=$BATS_TEST_TMPDIR/counters
	configure_kinds
	start --counters-file "$counters"
	"$RLCTL" -s "$segment" check login alice --cost 3
	"$RLCTL" -s "$segment" check two $'k\xff\n' --cost 4
	"$RLCTL" -s "$segment" check bucket 192.0.2.1 --cost 60
	"$FILL" "$segment" failures 0 2592000000 counter carol=7
	"$RLCTL" -s "$segment" hold held dave -- sleep 60 3>&- &
	holder=$!
	is_held() { "$RLCTL" -s "$segment" get held dave; }
	eventually is_held
	before=$(moments)
	[ "$(wc -l <<<"$before")" -eq 4 ] || fail_with "$before"
	stop TERM
	kill "$holder"
	[ "$status" -eq 0 ]
	[ "$(stat -c %a "$counters")" = 600 ]
	! grep -q 64617665 "$counters"
	rm "/dev/shm/rl.$segment"
	start --counters-file "$counters"
	has_logged "$counters: 5 counters restored, 0 are over, 0 have no rule or limit any more"
	[ "$(moments)" = "$before" ] || fail_with "$(moments)"
	! "$RLCTL" -s "$segment" peek bucket 192.0.2.1 --cost 12
	! is_held
}

@test "rld --counters-file: in the segment that it was written of nothing is charged again" {
	counters=$BATS_TEST_TMPDIR/counters
	start --counters-file "$counters"
	"$RLCTL" -s "$segment" check login alice --cost 3
	stop TERM
	start --counters-file "$counters"
	[ "$(used alice)" = 3 ] || fail_with "$(used alice)"
	! has_logged 'counters restored'
	stop TERM
	rm "/dev/shm/rl.$segment"
	for round in 1 2; do
		start --counters-file "$counters"
		[ "$(used alice)" = 3 ] || fail_with "$round: $(used alice)"
		stop TERM
	done
}

@test "rld --counters-file: is written while rld runs, by a child that delays no sweep" {
	counters=$BATS_TEST_TMPDIR/counters
	start
	"$RLCTL" -s "$segment" check login alice
	stop TERM
	start --counters-file "$counters"
	has_alice() { grep -q 616c696365 "$counters"; }
	eventually has_alice
	stop KILL
	rm "/dev/shm/rl.$segment"
	start --counters-file "$counters"
	[ "$(used alice)" = 1 ]
	stop TERM
	[ "$(ls "$BATS_TEST_TMPDIR"/counters*)" = "$counters" ]
}

@test "rld --counters-file: a counter whose rule or limit is gone is told, and charged to nobody" {
	counters=$BATS_TEST_TMPDIR/counters
	configure_kinds
	start --counters-file "$counters"
	"$RLCTL" -s "$segment" check login alice
	"$RLCTL" -s "$segment" check two alice
	stop TERM
	rm "/dev/shm/rl.$segment"
	configure '' '"login": {"limit": "5/29d", "algorithm": "fixed_window"},
		"two": {"limit": "60/30d", "algorithm": "sliding_log"}'
	start --counters-file "$counters"
	has_logged "$counters: 1 counters restored, 0 are over, 2 have no rule or limit any more"
	! "$RLCTL" -s "$segment" get login alice
	"$RLCTL" -s "$segment" get two alice
}

@test "rld --counters-file: what is damaged restores nothing, and what is foreign is left alone" {
	counters=$BATS_TEST_TMPDIR/counters
	start --counters-file "$counters"
	"$RLCTL" -s "$segment" check login alice --cost 3
	stop TERM
	cp "$counters" "$BATS_TEST_TMPDIR/good"
	for damage in 's/616c/616d/' '$d' '2d' '$s/end 1/end 2/' 's/ 3$/ 4/' '$a\key 0 61 1 1'; do
		sed "$damage" "$BATS_TEST_TMPDIR/good" >"$counters"
		rm -f "/dev/shm/rl.$segment"
		start --counters-file "$counters"
		has_logged "$counters: is damaged or cut short: no counter is restored" || fail_with "$damage"
		! "$RLCTL" -s "$segment" get login alice
		stop TERM
	done
	for text in '' x 'rl-counters 2 5' 'rl-counters 1' '{"rl_dump":1}'; do
		printf '%s\n' "$text" >"$counters"
		rld --counters-file "$counters"
		exits 1
		complains "--counters-file $counters: is no file of counters that this rld wrote"
		[ "$(cat "$counters")" = "$text" ]
	done
	[ -e "/dev/shm/rl.$segment" ]
	ln -s "$BATS_TEST_TMPDIR/good" "$BATS_TEST_TMPDIR/link"
	rld --counters-file "$BATS_TEST_TMPDIR/link"
	exits 1
	complains "is a symbolic link"
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	rld --counters-file "$BATS_TEST_TMPDIR/fifo"
	exits 1
}

@test "rld: what others change is told in the log, and hostile keys are harmless there" {
	start
	"$RLCTL" -s "$segment" ban $'a\033[2J' --exact --for 1h --reason $'r\n<0>x'
	eventually has_logged "ban of key a\\x1b[2J, any rule, for \"r\\x0a<0>x\": set by uid $(id -u)"
	"$RLCTL" -s "$segment" unban $'a\033[2J' --exact
	eventually has_logged "ban of key a\\x1b[2J, any rule, for \"r\\x0a<0>x\": lifted by uid $(id -u)"
	"$RLCTL" -s "$segment" check login $'b\n<0>' >/dev/null
	"$RLCTL" -s "$segment" reset $'b\n<0>' --rule login
	eventually has_logged "1 resets of what is counted, the last of rule login, by uid $(id -u)"
	"$RLCTL" -s "$segment" ban short --for 1s
	eventually has_logged 'ban of key short'
	"$RLCTL" config set --config "$config" /rules/login/capacity 6
	eventually has_logged 'generation 2 of the configuration is in force, put there by uid'
	seq -f 'k%.0f' 100 | "$RLCTL" -s "$segment" ban - --for 1h
	eventually has_logged 'more bans and exemptions set or lifted'
	gone() { ! "$RLCTL" -s "$segment" bans -o name | grep short; }
	eventually gone
	"$RLCTL" -s "$segment" ban last --for 1h
	eventually has_logged 'ban of key last'
	! has_logged 'ban of key short, any rule: lifted'
}
