# SPDX-License-Identifier: BSD-2-Clause
# The status page of rld, and what else it serves to programs of others: OpenMetrics, alerts, units.

load common

: "${RLD:=$(dirname "$RLCTL")/rld}"

setup() {
	segment="page-$$-$BATS_TEST_NUMBER"
	config=$BATS_TEST_TMPDIR/rl.json
	log=$BATS_TEST_TMPDIR/log
	pid=
	prometheus=
	cat >"$config" <<-EOF
		{
			"segment": {"name": "$segment", "key_bytes": 64},
			"rules": {
				"login": {"capacity": 5, "window": "30d", "algorithm": "fixed_window"},
				"api": {"limits": [{"limit": "1000/day", "algorithm": "fixed_window"},
					{"limit": "3/day", "algorithm": "fixed_window"}]},
				"trial": {"limit": "1/day", "algorithm": "fixed_window", "mode": "shadow"}
			}
		}
	EOF
}

teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 5 "$log" || true
	[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
	[ -z "$prometheus" ] || kill -KILL "$prometheus" 2>/dev/null || true
	rm -f "/dev/shm/rl.$segment"
}

start() {
	"$RLD" --config "$config" --metrics-listen 127.0.0.1:0 "$@" 2>"$log" 3>&- &
	pid=$!
	eventually grep -qF 'sweeping segment' "$log"
	url=$(sed -nE 's|.*metrics at (http://[0-9.:]+)/metrics.*|\1|p' "$log")
}

ask() {
	curl --silent --max-time 60 "$@"
}

# The HTTP status of a path, with more options.
status_of() {
	local path=$1
	shift
	ask --output /dev/null --write-out '%{http_code}' "$@" "$url$path"
}

check() {
	local rule=$1 key=$2 times=$3
	while [ "$times" -gt 0 ]; do
		"$RLCTL" -s "$segment" check "$rule" "$key" >/dev/null || true
		times=$((times - 1))
	done
}

# The newest answer holds what jq says; it is kept for a second.
page_has() {
	ask "$url/status.json" | jq -e "$1"
}

hostile=$'\xe2\x80\xae<img src=x onerror="document.title=1">\x1b[31m\xff\\'

@test "page: is not served unasked, and not without an address" {
	start
	[ "$(status_of /)" = 404 ]
	[ "$(status_of /status.json)" = 404 ]
	[ "$(status_of /metrics)" = 200 ]
	run --separate-stderr "$RLD" --config "$config" --status-page
	exits 2
	complains 'rld: --status-page needs --metrics-listen, which says where'
}

@test "page: is read-only, never kept, and takes nothing from elsewhere" {
	start --status-page
	for path in / /status.css /status.js /status.json; do
		[ "$(status_of "$path")" = 200 ]
		[ "$(status_of "$path" --data x)" = 405 ]
		ask --head "$url$path" | tr -d '\r' >"$BATS_TEST_TMPDIR/head"
		grep -qx 'Cache-Control: no-store' "$BATS_TEST_TMPDIR/head"
		grep -qx 'X-Content-Type-Options: nosniff' "$BATS_TEST_TMPDIR/head"
		grep -qx 'Cross-Origin-Resource-Policy: same-origin' "$BATS_TEST_TMPDIR/head"
		grep -q "^Content-Security-Policy: default-src 'none'; script-src 'self'; .*frame-ancestors 'none'" \
			"$BATS_TEST_TMPDIR/head"
		! grep -qi 'unsafe\|Access-Control' "$BATS_TEST_TMPDIR/head"
	done
	[ "$(status_of /status.html)" = 404 ]
	[ "$(status_of /../etc/passwd --path-as-is)" = 404 ]
	! grep -rnE 'https?://' "$top/rld/serve/page" | grep -vF 'http://www.w3.org/2000/svg'
	! grep -nE 'innerHTML|outerHTML|insertAdjacent|document\.write|eval\(| style=|<script>| on[a-z]+=' \
		"$top"/rld/serve/page/*
}

@test "page: and metrics: answer to names of this host alone, the metrics to those that are given, too" {
	start --status-page --metrics-host stats.example --metrics-host 192.0.2.7
	for host in localhost LOCALHOST localhost:80 127.0.0.1 127.0.0.1:9778 '[::1]' '[::1]:9'; do
		[ "$(status_of /status.json --header "Host: $host")" = 200 ] || fail_with "refused: $host"
	done
	for host in evil.example localhost.evil.example 127.0.0.1.evil.example localhost: localhost:x \
		'localhost:80@evil.example' '[::1]x' xlocalhost 127.0.0.11; do
		for path in / /status.js /status.css /status.json /metrics; do
			[ "$(status_of "$path" --header "Host: $host")" = 403 ] || fail_with "answered: $host"
		done
	done
	[ "$(status_of / --http1.0 --header 'Host:')" = 403 ]
	[ "$(status_of /metrics --http1.0 --header 'Host:')" = 403 ]
	for host in localhost:9778 stats.example Stats.Example:80 192.0.2.7; do
		[ "$(status_of /metrics --header "Host: $host")" = 200 ] || fail_with "refused: $host"
	done
	[ "$(status_of / --header 'Host: stats.example')" = 403 ]
	curl --silent --header 'Host: evil.example' "${url}metrics" "$url/metrics" | grep -q -- --metrics-host
}

@test "metrics: names of hosts are names, not too many, and need an address" {
	run --separate-stderr "$RLD" --config "$config" --metrics-listen 127.0.0.1:0 --metrics-host ''
	exits 2
	complains 'rld: --metrics-host: takes a name'
	run --separate-stderr "$RLD" --config "$config" --metrics-host a
	exits 2
	complains 'rld: --metrics-host needs --metrics-listen'
	# shellcheck disable=SC2046
	run --separate-stderr "$RLD" --config "$config" --metrics-listen 127.0.0.1:0 $(printf -- '--metrics-host n%d ' {1..17})
	exits 2
	complains '--metrics-host n17: there may be 16 names'
}

@test "page: tells rules, which limit denies, since when, who, bans and room" {
	start --status-page
	check api alice 7
	check login bob 2
	check trial carol 3
	"$RLCTL" -s "$segment" ban mallory --for 1h >/dev/null
	check login mallory 1
	"$RLCTL" -s "$segment" override login bob 9 --for 1h >/dev/null
	"$FILL" "$segment" late 1 86400000 0 dora=2@-25 dora=2@-5 # told once, and denied later again
	eventually page_has '.overrides == [{rule: "login", limit: 1, key: "bob", capacity: 9, until: .overrides[0].until}]'
	eventually page_has '.bans == [{exemption: false, rule: "", key: "mallory", until: .bans[0].until}]'
	eventually page_has '[.keys[].key] | sort == ["alice", "dora", "mallory"]'
	ask "$url/status.json" | jq -e 'all(.rules[]; has("minutes") | not)'
	ask "$url/status.json?history=api" | jq -e '[.rules[] | select(has("minutes") and has("quarters")).rule] == ["api"]'
	ask "$url/status.json?history=*" >"$BATS_TEST_TMPDIR/page"
	jq -e '.rules[0] | .rule == "api" and .allowed == 3 and .denied == 4
		and [.limits[].denied] == [0, 4] and .limits[1].text == "3 per 1d"' "$BATS_TEST_TMPDIR/page"
	jq -e '.rules[0] | [.minutes | length, (map(.[2]) | add), (map(.[1]) | add)] == [60, 4, 3]' "$BATS_TEST_TMPDIR/page"
	jq -e '.rules[0] | [.quarters | length, (map(.[2]) | add)] == [96, 4]' "$BATS_TEST_TMPDIR/page"
	jq -e '.rules[] | select(.rule == "trial") | .limits[0] | .shadow and .denied == 2' "$BATS_TEST_TMPDIR/page"
	jq -e '.keys | map({(.key): .}) | add | .alice.state == "limited" and .alice.rule == "api" and .alice.limit == 2
		and .alice.retry > 0 and .alice.since <= .alice.last and .mallory.state == "banned"' "$BATS_TEST_TMPDIR/page"
	# Denied 20 s and more after the first time; who was denied last is the last.
	jq -e '.keys | map({(.key): .}) | add | .dora.last - .dora.since >= 19000' "$BATS_TEST_TMPDIR/page"
	jq -e '[.keys[].last] | . == sort' "$BATS_TEST_TMPDIR/page"
	jq -e '.areas | map({(.name): .used}) | add | .rules == 4 and .limits == 5 and .bans == 2' "$BATS_TEST_TMPDIR/page"
	jq -e '[.health[].level] | unique == ["ok"]' "$BATS_TEST_TMPDIR/page"
	"$RLCTL" -s "$segment" reset alice >/dev/null
	eventually page_has '.keys[] | select(.key == "alice").state | . == "open" or . == "unknown"'
}

health_has() {
	page_has "[.health[] | select(.level == \"$1\").text] | any(.[]; test(\"$2\"))"
}

# What the page tells and what doctor finds is judged once.
@test "page: its health is what doctor finds of the segment itself" {
	sed -i 's/"key_bytes": 64/"key_bytes": 64, "bans": 16, "rules": 8/' "$config"
	start --status-page
	for i in $(seq 12); do "$RLCTL" -s "$segment" ban "k$i" --for 1h >/dev/null; done
	eventually page_has '[.areas[] | select(.name == "bans").used] == [12]'
	page_has '[.health[].level] | unique == ["ok"]'
	"$RLCTL" -s "$segment" ban k13 --for 1h >/dev/null
	for i in 1 2 3 4; do "$FILL" "$segment" "more$i" 5 60000 1 k=1; done
	"$FILL" "$segment" more1 6 60000 1 k=1
	eventually health_has warn '^bans: 13 of 16 are used'
	eventually health_has note '^rules: 7 of 8 are used'
	eventually health_has note '^1 definitions of rules replaced'
	rlctl -s "$segment" doctor
	exits 1
	for check in bans room rules; do
		grep -qE "^(note|finding) +$check " <<<"$output" || fail_with "doctor has no $check"
	done
}

# 16 slots, and one overflow counter, of which a crowd uses all lanes up.
@test "page: of a full table it tells whose keys are denied for what others have used" {
	printf '{"segment": {"name": "%s", "keys": 1, "cells": 1, "reserves": 2}, "rules": {}}' "$segment" >"$config"
	start --status-page
	"$FILL" "$segment" web 20 86400000 0 user:{1..16}=1 stranger=1
	eventually health_has ok '^rule web, limit 1: of its keys without a slot 0.00 % are denied'
	"$FILL" "$segment" web 20 86400000 0 crowd:{1..80}=20
	eventually health_has warn '^rule web, limit 1: of its keys without a slot 100.00 % are denied'
}

@test "page: a refused configuration is a warning" {
	start --status-page
	echo '{' >"$config"
	kill -HUP "$pid"
	eventually page_has '[.health[] | select(.level == "warn").text] | length == 1 and (.[0] | test("refused"))'
}

@test "page: shows a bounded number of rules, keys and bans" {
	for i in $(seq 100); do rules="${rules:+$rules, }\"r$i\": {\"limit\": \"1/day\"}"; done
	printf '{"segment": {"name": "%s", "rules": 128}, "rules": {%s}}' "$segment" "$rules" >"$config"
	start --status-page
	for i in $(seq 60); do "$RLCTL" -s "$segment" ban "b$i" --for 1h >/dev/null; done
	for i in $(seq 40); do check "r$i" "k$i" 2; done
	check r7 k7 2
	eventually page_has '(.bans | length) == 50 and .bans_more and [.areas[] | select(.name == "bans").used] == [60]'
	eventually page_has '(.keys | length) == 32 and any(.keys[]; .key == "k40") and all(.keys[]; .key != "k1")'
	eventually page_has '(.rules | length) == 64 and .rule_count == 100 and .rules[0].rule == "r7"'
}

# A number of answers that would take a second for each, if each were made anew.
@test "page: the segment is read once in a second, however many ask" {
	start --status-page
	begin=$(date +%s)
	for _ in $(seq 40); do ask "$url/status.json" | jq .now; done | sort -u >"$BATS_TEST_TMPDIR/nows"
	passed=$(($(date +%s) - begin))
	[ "$(wc -l <"$BATS_TEST_TMPDIR/nows")" -le $((passed + 2)) ]
}

@test "page: what a key holds is shown as text that moves and hides nothing" {
	start --status-page
	check login "$hostile" 6
	check login "$(printf '%04096d' 7)" 6
	eventually page_has '.keys | length == 2'
	ask "$url/status.json" >"$BATS_TEST_TMPDIR/page"
	jq -r '.keys[0].key' "$BATS_TEST_TMPDIR/page" >"$BATS_TEST_TMPDIR/key"
	printf '%s\n' '\xe2\x80\xae<img src=x onerror="document.title=1">\x1b[31m\xff\\' | diff - "$BATS_TEST_TMPDIR/key"
	[ "$(jq -r '.keys[1].key | length' "$BATS_TEST_TMPDIR/page")" -le 100 ]
	jq -e '.keys[1] | .key | endswith("…")' "$BATS_TEST_TMPDIR/page"
	! LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f\xff]|\xe2\x80\xae' "$BATS_TEST_TMPDIR/page"
}

@test "page: a network is limited as list says, and what is not known is said, and not counted" {
	sed -i 's|"trial": .*|"net": {"window": "30d", "prefixes": [{"v4": 24, "capacity": 2}]},\n"held": {"algorithm": "in_flight", "capacity": 1}|; s/"key_bytes": 64/"key_bytes": 32/' "$config"
	start --status-page
	for i in 1 2 3 4; do check net "198.51.100.$i" 1; done
	check login "$(printf 'token-%050d' 7)" 6
	"$RLCTL" -s "$segment" hold held dave -- sleep 60 3>&- &
	holder=$!
	is_held() { "$RLCTL" -s "$segment" get held dave; }
	eventually is_held
	check held dave 1
	eventually page_has '.keys | length == 3'
	ask "$url/status.json" >"$BATS_TEST_TMPDIR/page"
	jq -e '.keys[] | select(.key == "dave") | .state == "limited" and .retry == 0' "$BATS_TEST_TMPDIR/page"
	jq -e '.keys[] | select(.key == "198.51.100.0/24") | .state == "limited" and .retry > 0 and .rate > 0' "$BATS_TEST_TMPDIR/page"
	jq -e '.keys[] | select(.key | startswith("token")) | .state == "unknown"' "$BATS_TEST_TMPDIR/page"
	command -v chromium >/dev/null || skip 'no chromium'
	timeout 300 "$top/tests/page/browser.py" "$url/" >"$BATS_TEST_TMPDIR/seen"
	kill $holder
	jq -e '.wide.live | test("2 are limited now, and of 1 it is not known")' "$BATS_TEST_TMPDIR/seen"
	# Units in flight come back when somebody gives them back, which nobody knows.
	jq -e '.wide.text | test("dave[^/]*not known") and (test("in 0 s") | not)' "$BATS_TEST_TMPDIR/seen"
	# Sorted by key, and back; then one rule alone.
	jq -e '.handled | .sorted == (.turned | reverse) and (.sorted | length) == 3 and .filtered == ["198.51.100.0/24"] and .folded' \
		"$BATS_TEST_TMPDIR/seen"
	jq -e '.complaints == []' "$BATS_TEST_TMPDIR/seen"
}

@test "page: in a browser, wide, narrow, in the dark, without colour and by the keyboard" {
	command -v chromium >/dev/null || skip 'no chromium'
	sed -i 's/"key_bytes": 64/"key_bytes": 64, "rules": 3/' "$config" # all of them are used, so that what is folded unfolds
	start --status-page
	check login "$hostile" 6
	check api alice 7
	"$RLCTL" -s "$segment" ban '<script>document.title=2</script>' --for 1h >/dev/null
	check trial '<script>document.title=2</script>' 5
	eventually page_has '(.keys | length) == 3 and (.bans | length) == 1'
	ask "$url/status.json?history=trial" | jq -e '[.rules[].minutes // [] | .[] | .[2:]] | transpose | map(add) == [5, 5, 0]'
	timeout 300 "$top/tests/page/browser.py" "$url/" >"$BATS_TEST_TMPDIR/seen"
	jq -r .wide.text "$BATS_TEST_TMPDIR/seen" >"$BATS_TEST_TMPDIR/text"
	grep -qF 'onerror="document.title=1">' "$BATS_TEST_TMPDIR/text"
	grep -qF '<script>document.title=2</script>' "$BATS_TEST_TMPDIR/text"
	grep -q 'limited' "$BATS_TEST_TMPDIR/text"
	grep -q '3 per 1d (fixed_window): denied 4' "$BATS_TEST_TMPDIR/text"
	jq -e --arg title "rl: $segment" '[.wide.title, .narrow.title] == [$title, $title]' "$BATS_TEST_TMPDIR/seen"
	jq -e '[.wide, .narrow] | all((.elements | contains(["img"]) | not) and .scrolls <= .width and .bars >= 2)' \
		"$BATS_TEST_TMPDIR/seen"
	jq -e '.narrow.width == 360 and .wide.paper != .narrow.paper' "$BATS_TEST_TMPDIR/seen"
	jq -e --arg url "$url/" '.wide.asked | length >= 4 and all(startswith($url))' "$BATS_TEST_TMPDIR/seen"
	jq -e '.wide.captions | length == 5 and (.[:3] | all(. != ""))' "$BATS_TEST_TMPDIR/seen"
	jq -e '.wide.live | test("2 are limited now")' "$BATS_TEST_TMPDIR/seen"
	jq -e '.wide.pictures | any(test("4 denied a minute")) and any(test("; 5 denied by bans$"))' "$BATS_TEST_TMPDIR/seen"
	jq -e '[.wide, .narrow] | all(.unfolded)' "$BATS_TEST_TMPDIR/seen"
	# The picture in the documentation is of this page: "make status-page" makes it anew.
	diff <(jq .wide.words "$BATS_TEST_TMPDIR/seen") <("$top/tests/page/browser.py" --words "$top/docs/status-page.png" | jq .)
	jq -e '.keyboard | .reached[:3] == ["skip", "pause", "filter"] and .paused == "true"' "$BATS_TEST_TMPDIR/seen"
	jq -e '.complaints == []' "$BATS_TEST_TMPDIR/seen"
}

@test "OpenMetrics: for who asks for it, and with all that belongs to it" {
	start
	ask --include --header 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5' "$url/metrics" |
		tr -d '\r' >"$BATS_TEST_TMPDIR/open"
	grep -qx 'Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8' "$BATS_TEST_TMPDIR/open"
	[ "$(tail -n 1 "$BATS_TEST_TMPDIR/open")" = '# EOF' ]
	grep -qx '# TYPE rl_allowed counter' "$BATS_TEST_TMPDIR/open"
	grep -qx '# UNIT rl_limit_window_seconds seconds' "$BATS_TEST_TMPDIR/open"
	grep -q '^rl_allowed_total{' "$BATS_TEST_TMPDIR/open"
	! grep -E '^# (TYPE|HELP|UNIT) [a-z_]*_total' "$BATS_TEST_TMPDIR/open"
	ask --include "$url/metrics" | tr -d '\r' >"$BATS_TEST_TMPDIR/plain"
	grep -qx 'Content-Type: text/plain; version=0.0.4; charset=utf-8' "$BATS_TEST_TMPDIR/plain"
	! grep -q 'EOF\|^# UNIT' "$BATS_TEST_TMPDIR/plain"
}

scraped() {
	ask --get --data-urlencode "query=$1" "http://127.0.0.1:$port/api/v1/query" |
		jq -e '.data.result[0].value[1] | tonumber >= 1'
}

describes() {
	ask --get --data-urlencode "metric=$1" "http://127.0.0.1:$port/api/v1/targets/metadata" |
		jq -e ".data[0] | $2"
}

@test "OpenMetrics: Prometheus scrapes it" {
	command -v prometheus >/dev/null || skip 'no prometheus'
	start
	check api alice 7
	cat >"$BATS_TEST_TMPDIR/prometheus.yml" <<-EOF
		global: {scrape_interval: 1s}
		scrape_configs:
		  - job_name: rl
		    static_configs: [{targets: ["${url#http://}"]}]
		rule_files: ["$(realpath "$top")/systemd/prometheus/alerts.yml"]
	EOF
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	prometheus --config.file="$BATS_TEST_TMPDIR/prometheus.yml" --web.listen-address="127.0.0.1:$port" \
		--storage.tsdb.path="$BATS_TEST_TMPDIR/tsdb" >"$BATS_TEST_TMPDIR/prometheus.log" 2>&1 3>&- &
	prometheus=$!
	eventually scraped 'up{job="rl"}'
	eventually scraped 'rl_limit_denied_total{rule="api",limit="2"} == 4'
	eventually scraped 'rl_limit_capacity{rule="api",limit="2"} == 3'
	eventually scraped 'rl_keys_limited{rule="api",limit="2"} == 1'
	# What OpenMetrics alone tells it: a family's unit; and a counter's, without its "_total".
	eventually describes rl_allowed '.type == "counter" and .help != ""'
	eventually describes rl_limit_window_seconds '.type == "gauge" and .unit == "seconds"'
}

@test "alerts: come when they are due, and not before" {
	command -v promtool >/dev/null || skip 'no promtool'
	cp "$top/systemd/prometheus/alerts.yml" "$top/tests/prometheus/alerts.test.yml" "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	promtool check rules alerts.yml
	promtool test rules alerts.test.yml
	sed -n 's/.*- alert: //p' alerts.yml | sort >named
	sed -n 's/.*alertname: //p' alerts.test.yml | sort | uniq -c | awk '{ print $2, $1 }' >tried
	sed 's/$/ 2/' named | diff - tried
}

@test "alerts: name only metrics that there are" {
	start
	ask "$url/metrics" | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort -u >"$BATS_TEST_TMPDIR/there"
	sed -n '/expr:/,/for:\|labels:/p' "$top/systemd/prometheus/alerts.yml" | grep -oE '\brl_[a-z_]+' |
		grep -v '^rl_cluster_' | sort -u >"$BATS_TEST_TMPDIR/named" # cluster.bats has those
	[ "$(wc -l <"$BATS_TEST_TMPDIR/named")" -ge 12 ]
	missing=$(comm -23 "$BATS_TEST_TMPDIR/named" "$BATS_TEST_TMPDIR/there")
	[ -z "$missing" ] || fail_with "not there: $missing"
}

proxied() {
	ask --fail "http://127.0.0.1:$port/metrics" | grep -q "^rl_build_info{segment=\"$segment\""
}

@test "units: a scraper on the loopback reaches a rld without a network" {
	[ -x /lib/systemd/systemd-socket-proxyd ] || skip 'no systemd-socket-proxyd'
	socket=$BATS_TEST_TMPDIR/metrics.sock
	"$RLD" --config "$config" --metrics-listen "unix:$socket" 2>"$log" 3>&- &
	pid=$!
	eventually grep -qF 'sweeping segment' "$log"
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	read -r command < <(sed -n 's/^ExecStart=//p' "$top/systemd/rld-metrics.service")
	# shellcheck disable=SC2086 # words
	systemd-socket-activate --listen "127.0.0.1:$port" ${command/\/run\/rld\/metrics.sock/$socket} \
		>"$BATS_TEST_TMPDIR/proxy.log" 2>&1 3>&- &
	prometheus=$!
	eventually proxied
	grep -qx 'ListenStream=127.0.0.1:9778' "$top/systemd/rld-metrics.socket"
	systemd-analyze security --offline=true --threshold=10 --no-pager "$top/systemd/rld-metrics.service"
}
