# SPDX-License-Identifier: BSD-2-Clause
# What is asked at night, of a site with its own log of verdicts: each answer is compared with that. What to type is
# in docs/COOKBOOK.md, "At night".

load common

setup() {
	segment_setup
	file=$BATS_TEST_TMPDIR/rl.json
	verdicts=$BATS_TEST_TMPDIR/verdicts
	cat >"$file" <<-EOF2
		{"segment": {"name": "$segment", "keys": 1000}, "rules": {
			"login": {"limit": "5/30d", "algorithm": "fixed_window", "ban": {"after": 20, "within": "1h", "for": "1h"}},
			"api": {"limits": [{"limit": "100/30d", "algorithm": "fixed_window"}, {"limit": "20/30d", "algorithm": "fixed_window"}]},
			"search": {"limit": "30/30d", "algorithm": "fixed_window"}}}
	EOF2
	export RL_CONFIG=$file
	: >"$verdicts"
	start
}

: "${RLD:=$(dirname "$RLCTL")/rld}"
before=$top/build/v/older # the programs of a version before, of another layout

# start [OPTION...]: rld, with these; stop is its end in good order.
start() {
	"$RLD" --config "$file" "$@" 2>"$BATS_TEST_TMPDIR/log" 3>&- &
	pid=$!
	eventually grep -qF 'sweeping segment' "$BATS_TEST_TMPDIR/log"
}

stop() {
	kill "$pid"
	wait "$pid" || true
}

# The machine is started again.
reboot() {
	stop
	rm "/dev/shm/rl.$segment"
	start "$@"
}

teardown() {
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	segment_teardown
}

# ask RULE KEY TIMES: as the site does, with a line of its own for each verdict.
ask() {
	for _ in $(seq "$3"); do
		if "$RLCTL" -s "$segment" check "$1" "$2" >/dev/null; then
			echo "$(date +%s.%N) $1 $2 allowed"
		else
			echo "$(date +%s.%N) $1 $2 denied"
		fi
	done >>"$verdicts"
}

# How many of these verdicts the site has noted.
noted() {
	grep -cE "^\S+ $1 $2 $3\$" "$verdicts" || true
}

traffic() {
	ask login maria 8
	ask api key:free 30
	ask api key:paid 3
	ask search 198.51.100.7 40
	ask search 192.0.2.1 2
}

@test "night: X says that she is blocked; who is the worst; are we flooded" {
	traffic
	on get maria
	exits 0
	grep -qE '^denied +5/5 .*  login$' <<<"$output"
	on get key:free
	grep -qE '^denied +20/20 .*  api\(2\)$' <<<"$output"
	on get key:paid
	grep -qE '^allowed +3/20 .*  api\(2\)$' <<<"$output"
	on list --sort denied --limit 3 --output tsv --no-headers
	worst=$(grep ' denied$' "$verdicts" | awk '{ print $3 }' | sort | uniq -c | sort -k1,1nr -k2 | awk '{ print $1, $2 }')
	[ "$(awk -F'\t' '{ print $7, $10 }' <<<"$output" | sort -k1,1nr -k2)" = "$worst" ]
	# Of the last seconds: the first who were denied may be over by now, but nobody else is among those that are not.
	on list --sort rate --output tsv --no-headers
	cut -f 8 <<<"$output" | sort -c -g -r
	awk -F'\t' '$8 > 0 { print $10 }' <<<"$output" | sort >"$BATS_TEST_TMPDIR/now"
	[ -s "$BATS_TEST_TMPDIR/now" ]
	[ "$(awk '{ print $2 }' <<<"$worst" | sort | comm -23 "$BATS_TEST_TMPDIR/now" -)" = '' ]
	rlctl --json
	[ "$(jq --arg name "$segment" '.segments[] | select(.name == $name).denied' <<<"$output")" -eq "$(grep -c ' denied$' "$verdicts")" ]
	on stats --history --json
	for rule in login api search; do
		for verdict in allowed denied; do
			[ "$(jq --arg rule $rule --arg verdict $verdict '[.rules[] | select(.rule == $rule).minutes[][$verdict]] | add' <<<"$output")" -eq \
				"$(noted $rule '\S+' $verdict)" ] || fail_with "minutes of $rule $verdict"
		done
	done
	on stats --json
	for rule in login api search; do
		for verdict in allowed denied; do
			[ "$(jq --arg rule $rule --arg verdict $verdict '.rules[] | select(.rule == $rule).counters[$verdict]' <<<"$output")" -eq \
				"$(noted $rule '\S+' $verdict)" ] || fail_with "$rule $verdict"
		done
	done
}

@test "night: ban a network, say why, see what it does, lift it" {
	traffic
	on ban 198.51.100.0/24 --for 2h --reason 'scrapes search'
	exits 0
	says_line '1 live key matches'
	ask search 198.51.100.7 4
	[ "$(tail -4 "$verdicts" | grep -c denied)" -eq 4 ]
	on bans --json
	jq -e '.bans[0] | .key == "198.51.100.0/24" and .hits == 4 and .reason == "scrapes search"' <<<"$output"
	on unban 198.51.100.7
	exits 1
	complains 'rlctl unban 198.51.100.0/24'
	on unban 198.51.100.0/24
	exits 0
}

@test "night: a ban that a rule has set by itself is wrong, and is lifted" {
	ask login maria 30
	on get maria
	says 'ban of key maria, rule login'
	grep -qE '^banned +5/5 .*  login$' <<<"$output"
	on bans --json
	[ "$(jq '.bans[0].hits' <<<"$output")" -eq $(($(noted login maria denied) - 20)) ]
	on unban maria
	exits 1
	complains 'automatic ban of key maria, rule login'
	complains 'rlctl unban --rule login maria'
	on unban --rule login --forget maria
	exits 0
	says_line 'forgotten under 1 rule'
	on get maria
	grep -qE '^denied +5/5 .*  login$' <<<"$output"
}

@test "night: what has the change of yesterday denied; what would another limit do" {
	traffic
	on config set /rules/search/limit 50/30d
	exits 0
	on config history
	says '        search: '
	on log --changes
	grep -qE 'configured .*generation 2 by ' <<<"$output"
	# The site's own log, by the rule as it was and as it is.
	grep ' search ' "$verdicts" >"$BATS_TEST_TMPDIR/requests"
	"$RLCTL" config history 1 >"$BATS_TEST_TMPDIR/before.json"
	rlctl replay --json --log-format "\$time \$rule \$client \$verdict" -C "$BATS_TEST_TMPDIR/before.json" -r search -C "$file" -r search \
		"$BATS_TEST_TMPDIR/requests"
	exits 0
	[ "$(jq -c '[.candidates[].denied]' <<<"$output")" = "[$(noted search '\S+' denied),0]" ]
	# And by what came since, with one word for the change.
	ask search 203.0.113.9 55
	grep ' 203.0.113.9 ' "$verdicts" >"$BATS_TEST_TMPDIR/since"
	rlctl replay --json --log-format "\$time \$rule \$client \$verdict" --since-change 2 -r search "$BATS_TEST_TMPDIR/since"
	exits 0
	[ "$(jq -c '[.candidates[].denied]' <<<"$output")" = "[25,$(noted search 203.0.113.9 denied)]" ]
	rlctl replay --log-format "\$time \$rule \$client \$verdict" --since-change 2 -r search "$BATS_TEST_TMPDIR/since"
	says 'search before change 2'
	says 'search since change 2'
	grep ' search ' "$verdicts" | sed 's/^[0-9.]*/1700000000.0/' >"$BATS_TEST_TMPDIR/old"
	rlctl replay --json --log-format "\$time \$rule \$client \$verdict" --since-change 2 -r search "$BATS_TEST_TMPDIR/old"
	[ "$(jq -c '[.candidates[].denied]' <<<"$output")" = '[0,0]' ] # what came before it does not count
	for wrong in '--since-change 1 -r search' '--since-change 9 -r search' '--since-change x -r search' \
		'--since-change 2' '--since-change 2 -r nosuch' '--since-change 2 -r search --limit 3/min' \
		'--since-change 2 -r search --since 2026-01-01'; do
		# shellcheck disable=SC2086 # words
		rlctl replay $wrong "$BATS_TEST_TMPDIR/since"
		[ "$status" -eq 2 ] || fail_with "$wrong"
		[ -z "$output" ]
	done
}

@test "night: rld has died; more keys; nothing is forgotten" {
	traffic
	on doctor --json
	jq -e 'all(.checks[] | select(.check == "sweeper"); .level == "ok")' <<<"$output"
	health() { "$RLCTL" --json | jq -r --arg name "$segment" '.segments[] | select(.name == $name).health'; }
	[ "$(health)" = ok ]
	kill -KILL "$pid"
	wait "$pid" || true
	[ "$(health)" = 'rld late' ]
	on doctor --json
	exits 1
	jq -e 'any(.checks[]; .level == "finding" and .check == "sweeper")' <<<"$output"
	ask search 198.51.100.7 1
	[ "$(tail -1 "$verdicts" | awk '{ print $4 }')" = denied ]
	on resize --keys 4k
	exits 0
	on get maria
	grep -qE '^denied +5/5 .*  login$' <<<"$output"
	on doctor --json
	jq -r '.checks[] | select(.check == "config").fix' <<<"$output" | grep -F 'resize --keys 1000 takes'
}

@test "night: a higher limit for X for an hour, and back" {
	traffic
	on override api key:free 25 --limit 2 --for 1h --reason 'ticket 12'
	exits 0
	: >"$verdicts"
	ask api key:free 10
	[ "$(noted api key:free allowed)" -eq 5 ]
	on get key:free
	grep -qE '^denied +25/25 .*  api\(2\)$' <<<"$output"
	says 'for "ticket 12"'
	on log --changes
	grep -qE 'override +(1h|1h00m|59m..s) +api\(2\) +key:free 25/30d by ' <<<"$output"
	"$RLCTL" config set /rules/search/limit 31/30d # a reload leaves it
	[ "$("$RLCTL" -s "$segment" overrides --output name)" = key:free ]
	on override api key:free none
	on get key:free
	grep -qE '^denied +25/20 .*  api\(2\)$' <<<"$output"
}

@test "night: 20 in place of 30: what that denies, by the site's log" {
	traffic
	grep ' search ' "$verdicts" >"$BATS_TEST_TMPDIR/requests"
	rlctl replay --json --log-format "\$time \$rule \$client \$verdict" --algorithm fixed_window --limit 30/30d --limit 20/30d \
		"$BATS_TEST_TMPDIR/requests"
	exits 0
	would=$(awk '++asked[$3] > 20 { denied++ } END { print denied }' "$BATS_TEST_TMPDIR/requests")
	[ "$(jq -c '[.candidates[].denied]' <<<"$output")" = "[$(noted search '\S+' denied),$would]" ]
}

@test "night: the table is full: of whom, and what ends it" {
	sed -i 's/"keys": 1000/"keys": 1/' "$file"
	reboot
	ask login maria 6
	for i in $(seq 40); do ask search "203.0.113.$i" 1; done
	on doctor --json
	exits 1
	fix=$(jq -r '.checks[] | select(.check == "shares" and .level == "finding") | .fix' <<<"$output")
	[[ $fix == "rlctl --segment $segment ban 203.0.113.0/24 --for 1h,"* ]] || fail_with "$fix"
	jq -e 'any(.checks[].fix // ""; contains(" resize --keys "))' <<<"$output"
	on get maria
	grep -qE "^denied +$(noted login maria allowed)/5 .*  login\$" <<<"$output"
	on stats --json
	jq -e --argjson allowed "$(noted search '\S+' allowed)" --argjson denied "$(noted search '\S+' denied)" \
		'.rules[] | select(.rule == "search").counters | .allowed == $allowed and .denied == $denied and .reserved > 0' <<<"$output"
	on ban 203.0.113.0/24 --for 1h
	ask search 203.0.113.99 1
	[ "$(noted search 203.0.113.99 denied)" -eq 1 ]
	on resize --keys 1k
	exits 0
	on get maria
	grep -qE '^denied +5/5 .*  login$' <<<"$output"
	ask search 198.51.100.7 2
	[ "$(noted search 198.51.100.7 allowed)" -eq 2 ]
}

@test "night: the disk is full: it is said, files stay whole, and limits go on" {
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	ask login maria 7
	mkdir "$BATS_TEST_TMPDIR/disk"
	export RLCTL file segment
	run --separate-stderr unshare -m bash -c '
		mount -t tmpfs -o size=16k tmpfs "$BATS_TEST_TMPDIR/disk" && cd "$BATS_TEST_TMPDIR/disk" && cp "$file" rl.json || exit 9
		head -c 16k /dev/zero >fill 2>/dev/null
		"$RLCTL" config set --config rl.json /rules/search/limit 50/30d; echo "set $?"
		cmp rl.json "$file" && echo whole
		"$RLCTL" -s "$segment" dump dump; echo "dump $?"
		ls'
	exits 0
	[ "$output" = $'set 2\nwhole\ndump 2\nfill\nrl.json' ]
	complains 'disk/rl.json: No space left on device; it stays as it is'
	complains 'rlctl: dump: No space left on device'
	ask login maria 1
	on get maria
	grep -qE "^denied +$(noted login maria allowed)/5 .*  login\$" <<<"$output"
	[ "$(noted login maria denied)" -eq 3 ]
}

@test "night: after a reboot limits and bans are what they were" {
	reboot --bans-file "$BATS_TEST_TMPDIR/bans" --counters-file "$BATS_TEST_TMPDIR/counters"
	traffic
	on ban 198.51.100.0/24 --for 2h --reason 'scrapes search'
	ask search 198.51.100.7 3
	reboot --bans-file "$BATS_TEST_TMPDIR/bans" --counters-file "$BATS_TEST_TMPDIR/counters"
	for key in 'login maria' 'search 192.0.2.1' 'search 198.51.100.7'; do
		on list --rule "${key% *}" --match "${key#* }" --json
		# shellcheck disable=SC2086 # a rule and a key
		[ "$(jq '.keys[].used' <<<"$output")" -eq "$(noted $key allowed)" ] || fail_with "$key"
	done
	on bans --json
	jq -e '.bans | length == 1 and .[0].hits == 3 and .[0].reason == "scrapes search"' <<<"$output"
	ask search 198.51.100.8 1
	[ "$(noted search 198.51.100.8 denied)" -eq 1 ]
}

@test "night: a new version has what the old one has counted" {
	stop
	rm "/dev/shm/rl.$segment"
	FILL=$before/tests/cli/fill fill search 1 1000 0
	"$before/rlctl" -s "$segment" config reload
	RLCTL=$before/rlctl traffic
	on upgrade --from "$before/rlctl"
	exits 0
	for key in 'login maria' 'search 192.0.2.1' 'search 198.51.100.7'; do
		on list --rule "${key% *}" --match "${key#* }" --json
		# shellcheck disable=SC2086 # a rule and a key
		[ "$(jq '.keys[].used' <<<"$output")" -eq "$(noted $key allowed)" ] || fail_with "$key"
	done
	ask login maria 1
	[ "$(tail -1 "$verdicts" | awk '{ print $4 }')" = denied ]
}
