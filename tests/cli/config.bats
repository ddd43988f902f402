# SPDX-License-Identifier: BSD-2-Clause
# The configuration file: what is said of it, changing it, and putting it into force.

load common

setup() {
	segment="bats-config-$$-$BATS_TEST_NUMBER"
	rm -f "/dev/shm/rl.$segment"
	file="$BATS_TEST_TMPDIR/rl.json"
	export RL_CONFIG="$file" TMPDIR="$BATS_TEST_TMPDIR"
	unset VISUAL EDITOR
	cat >"$file" <<-EOF
		{
		  "comment": "limits of the web servers",
		  "segment": {"name": "$segment"},
		  "rules": {
		    "login": {
		      "comment": "slow down guessing",
		      "limit": "100/min",
		      "granularity": 6
		    }
		  }
		}
	EOF
	cp "$file" "$BATS_TEST_TMPDIR/old"
}

teardown() {
	rm -f "/dev/shm/rl.$segment"
}

unchanged() {
	cmp "$file" "$BATS_TEST_TMPDIR/old" || fail_with 'the file has changed'
}

# The file is what it was, but for the lines of a diff.
changed_to() {
	diff "$BATS_TEST_TMPDIR/old" "$file" | grep '^[<>]' | sed 's/\([<>]\) */\1 /' >"$BATS_TEST_TMPDIR/diff" || true
	diff - "$BATS_TEST_TMPDIR/diff" <<<"$1" || fail_with 'another change'
}

create() {
	"$FILL" "$segment" other 5 60000 1 somebody=1
}

# As a message lists them: "one", "another" or "a third".
algorithm_words() {
	sed -n 's/^ALGORITHM(.*"\([a-z_]*\)".*/"\1"/p' "$top/libshm/algorithm/rl_algorithms.def" |
		sed ':all; N; $!b all; s/\n/, /g; s/\(.*\), /\1 or /'
}

@test "check: every problem at its place, for each bad file" {
	cd "$top"
	count=0
	words=$(algorithm_words)
	for bad in tests/config/bad/*.json tests/config/meaning/*.json; do
		rlctl config check "$bad"
		exits 1
		[ -z "$output" ]
		[ "$stderr" = "$(sed "s/@ALGORITHMS@/$words/" "${bad%.json}.txt")" ] || fail_with "$bad"
		count=$((count + 1))
	done
	[ "$count" -ge 20 ]
}

@test "config: what is no regular file is refused at once, by every verb" {
	make_odd_files
	for odd_file in "$odd"/*; do
		run --separate-stderr timeout 60 "$RLCTL" config check "$odd_file"
		in_trouble "$odd_file: $(why_odd "$odd_file")"
	done
	for verb in check show diff reload 'set /rules/x/limit 1/s' 'unset /rules' edit; do
		for kind in fifo device; do
			# shellcheck disable=SC2086 # its words
			EDITOR=true run --separate-stderr timeout 60 "$RLCTL" config $verb --config "$odd/$kind"
			in_trouble "$odd/$kind: is no regular file"
		done
	done
	truncate -s 257M "$odd/large"
	run --separate-stderr timeout 60 "$RLCTL" config check "$odd/large"
	exits 1
	complains "$odd/large: is larger than 256 MiB"
}

@test "check: - is standard input, and that may be anything" {
	rlctl config check <(cat "$file")
	in_trouble "is no regular file; 'rlctl config check -' checks standard input"
	run --separate-stderr "$RLCTL" config check - < <(cat "$file")
	exits 0
	says_line 'stdin: valid: rules 1, limits 1, overrides 0'
	rlctl_in '{' config check -
	exits 1
	complains 'stdin:1:1: '
	rlctl_in '{}' config check - --json
	exits 0
	are file '"stdin"'
	run --separate-stderr "$RLCTL" config check - <"$BATS_TEST_TMPDIR"
	in_trouble 'stdin: Is a directory'
}

@test "check: warnings do not make a file bad" {
	cd "$top"
	rlctl config check tests/config/warning/unused.json
	exits 0
	[ "$stderr" = "$(cat tests/config/warning/unused.txt)" ]
	says 'valid: rules 5, limits 9, overrides 2'
	rlctl config check tests/config/warning/early.json
	exits 0
	[ "$stderr" = "$(cat tests/config/warning/early.txt)" ]
	rlctl config check tests/config/warning/lease.json
	exits 0
	[ "$stderr" = "$(cat tests/config/warning/lease.txt)" ]
}

@test "check: a log that would be exact in the same memory" {
	printf '{"rules": {"a": {"limit": "30/h"}, "b": {"limit": "31/h"}, "c": {"limit": "5/h",
		"algorithm": "fixed_window"}, "d": {"limit": "9/h", "overrides": {"k": {"capacity": 900}}},
		"e": {"limits": [{"limit": "5000/d"}, {"limit": "9/s"}]}}}' >"$file"
	rlctl config check
	exits 0
	[ "$(grep -c sliding_log <<<"$output")" -eq 2 ]
	says_line 'a: 30 per 1h: "algorithm": "sliding_log" would be exact in the same memory, for its requests fit the ring of 60'
	says 'e, limit 2: 9 per 1s: '
	rlctl config check --json
	are level '"note" "note"'
	for i in $(seq 12); do
		printf ', "r%s": {"limit": "%s/min"}' "$i" "$i"
	done | sed '1s/^, /{"rules": {/; $s/$/}}/' >"$file"
	rlctl config check
	[ "$(grep -c sliding_log <<<"$output")" -eq 10 ]
	says_line 'and 2 more limits of which the same is true'
}

@test "check: overrides of one address of an IPv6 client" {
	printf '{"rules": {"login": {"limit": "5000/h", "overrides": {"2001:db8:0:7::9": {"capacity": 9000},
		"2001:db8:0:7:8::/80": {"unlimited": true}, "2001:db8:0:7::/64": {"capacity": 9000}, "2001:db8:0:8::": {"capacity": 9000},
		"192.0.2.1": {"capacity": 9000}, "::ffff:192.0.2.2": {"capacity": 9000}, "alice": {"capacity": 9000}}}}}' >"$file"
	rlctl config check
	exits 0
	[ "$(grep -c 'counted by its /64' <<<"$output")" -eq 2 ]
	says 'login: override 2001:db8:0:7::9: a client of IPv6 is counted by its /64, whose key that is not, '
	says 'where keys are whole addresses: say 2001:db8:0:7::/64'
}

@test "a flood of one warning: ten of it, the others, and a sum; check tells all" {
	jq -n --arg name "$segment" '{segment: {name: $name, mode: "0666"},
		rules: {login: {limit: "5/min", overrides: ([range(2000)] | map({key: "user:\(.)", value: {capacity: 5}}) | from_entries)}}}' >"$file"
	rlctl config set /gc/interval 5s
	exits 0
	[ "$(grep -c '/user:[0-9]*: changes nothing: the rule itself has the same capacity' <<<"$stderr")" -eq 10 ]
	complains '/rules/login/overrides/user:9: '
	complains '/segment/mode: lets everybody on the host falsify counts'
	complains "$file: warning: and 1990 more like these: changes nothing: the rule itself has the same capacity; 'rlctl config check' shows all"
	rlctl config check
	exits 0
	[ "$(grep -c 'changes nothing: the rule itself has the same capacity' <<<"$stderr")" -eq 2000 ]
	[[ $stderr != *more* ]]
}

@test "check: good files, and the example, without a word on stderr" {
	cd "$top"
	for good in tests/config/good/*.json config/rl.json; do
		rlctl config check "$good"
		exits 0
		says "$good: valid"
		[ -z "$stderr" ]
	done
}

@test "check: which file" {
	rlctl config check
	exits 0
	says "$file: valid: rules 1, limits 1, overrides 0"
	echo '{"rule": 1}' >"$BATS_TEST_TMPDIR/other"
	rlctl config check "$BATS_TEST_TMPDIR/other"
	exits 1
	rlctl config -c "$BATS_TEST_TMPDIR/other" check
	exits 1
	rlctl config check "$file" --config "$BATS_TEST_TMPDIR/other"
	exits 0
	rlctl config check /nonexistent
	in_trouble '/nonexistent: No such file'
	rlctl config check "$BATS_TEST_TMPDIR"
	in_trouble 'Is a directory'
}

@test "check --json" {
	rlctl config check --json
	exits 0
	conforms config_check
	has valid=true rules=1 limits=1 overrides=0 'problems=\[\]'
	rlctl config check --json "$top/tests/config/bad/not-an-object.json"
	exits 1
	conforms config_check
	has valid=false
	are level '"error"'
	says 'not-an-object.json:1:1: expected an object, got an array'
	[ -z "$stderr" ]
}

@test "verbs and operands are counted" {
	rlctl config
	in_trouble 'missing operand'
	rlctl config chekc
	in_trouble "config: unknown verb 'chekc'; did you mean 'check'?"
	rlctl config frobnicate
	in_trouble "config: unknown verb 'frobnicate'"
	rlctl config set /a
	in_trouble 'config set: missing operand; usage: rlctl config set PATH VALUE'
	rlctl config show x
	in_trouble 'config show: unexpected operand'
}

@test "show: with every default" {
	rlctl config show
	exits 0
	for line in "file       $file" "segment    $segment" 'keys       24576' 'mode       0600' \
		'ring       6' 'on_full    reserve' 'huge_pages false' 'interval   10s' 'buffer     10s' \
		'  sliding_window, 100 per 1m, 6 x 10s'; do
		says_line "$line"
	done
}

@test "show --json is a file that means the same" {
	rlctl config show --json -c "$top/config/rl.json"
	exits 0
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/full"
	rlctl config show --json -c "$BATS_TEST_TMPDIR/full"
	exits 0
	[ "$output" = "$(cat "$BATS_TEST_TMPDIR/full")" ]
}

@test "show: overrides of any bytes do not reach the terminal as they are" {
	printf '{"rules": {"a": {"limit": "5/s", "overrides": {"\\u001b[31m\\u202e": {"banned": true}}}}}' >"$file"
	rlctl config show
	exits 0
	says_line '  \x1b[31m\xe2\x80\xae: banned'
}

@test "show: a bad file is not shown" {
	echo '{"rules": 5}' >"$file"
	rlctl config show
	exits 1
	[ -z "$output" ]
	complains "$file:1:11: /rules: expected an object, got 5"
}

@test "set: one value, every other byte as it was" {
	rlctl config set /rules/login/limit 200/min
	exits 0
	changed_to '< "limit": "100/min",
> "limit": "200/min",'
}

@test "set: a field that was not there comes last, with the objects around it" {
	rlctl config set /rules/login/overrides/user:1/capacity 3
	exits 0
	changed_to '< "granularity": 6
> "granularity": 6,
> "overrides": {"user:1": {"capacity": 3}}'
}

@test "set: JSON, or a word" {
	rlctl config set --create /rules/api '{"limit": "5/s", "mode": "shadow"}'
	exits 0
	rlctl config set /rules/api/hard true
	exits 0
	rlctl config set /gc/interval 5s
	exits 0
	rlctl config show
	says_line '  sliding_window, 5 per 1s, 50 x 20ms, hard, shadow'
	says_line 'interval   5s'
	rlctl config set /comment '{"x'
	in_trouble "value '{\"x'"
	rlctl config set /comment 'é'
	exits 0
	grep -q '"comment": "é"' "$file"
}

@test "set: what makes the file bad is refused, and the file stays" {
	rlctl config set /rules/login/hard perhaps
	exits 1
	complains '/rules/login/hard: expected true or false, got "perhaps"'
	rlctl config set /rules/login/limit 100/month
	exits 1
	complains '"100/month": a month has no fixed length, so it is no window; use 30d'
	rlctl config set /rules/login/capacity 5
	exits 1
	complains 'says again what /rules/login/limit says'
	rlctl config set rules 5
	in_trouble "path 'rules'"
	rlctl config set /comment/x 5
	in_trouble "path '/comment/x': a part of it is neither object nor array"
	unchanged
}

@test "set: a rule that is not there is not made by a slip" {
	rlctl config set /rules/logn/limit 11/min
	exits 1
	complains "path '/rules/logn/limit': there is no rule 'logn'; did you mean 'login'? --create makes it"
	rlctl config set '/rules/a~1b' '{"limit": "1/s"}'
	exits 1
	complains "there is no rule 'a/b'; --create makes it"
	unchanged
	rlctl config set --create /rules/api/limit 11/min
	exits 0
	grep -q '"api": {"limit": "11/min"}' "$file"
	rlctl config set /rules/api/limit 12/min
	exits 0
}

@test "set, unset, reload --dry-run: what would change, and nothing does" {
	rlctl config set --dry-run /rules/login/limit 7/min
	exits 0
	says "segment '$segment' does not exist yet"
	create
	rlctl config reload
	for change in 'set --dry-run /rules/login/limit 7/min' 'set --dry-run --create /rules/api/limit 7/min' \
		'unset --dry-run /rules/login/granularity'; do
		# shellcheck disable=SC2086
		rlctl config $change
		exits 0
		unchanged
		[ -n "$output" ]
		rlctl config diff
		exits 0
	done
	rlctl config set --dry-run /rules/login/limit 7/min
	says 'login: capacity 7, was 100'
	rlctl config set --dry-run /rules/login/limit 7/fortnight
	exits 1
	rlctl config set -n /rules/login/limit 8/min
	rlctl config reload --dry-run
	exits 0
	says 'login: capacity 8, was 100'
	rlctl config diff
	exits 1
}

@test "check: what people write that is no JSON" {
	wrong() {
		printf '%b' "$2" >"$file"
		rlctl config check
		exits 1
		complains "$file:$1"
		complains "$3"
	}
	comments='JSON has no comments; "comment": "..." may stand in any object'
	wrong "1:11: $comments" '{"gc": {} // often\n}' '              ^'
	wrong "2:1: $comments" '{\n# often\n}' '# often'
	wrong "1:2: a string stands in double quotes" "{'gc': {}}" "     ^"
	wrong "2:11: a comma with nothing behind it" '{\n  "gc": {},\n}' '              ^'
	wrong '1:1: the file is empty; {} is the least that it may say' '' '    ^'
	wrong '1:1: the file is empty; {} is the least that it may say' ' \n' '    ^'
	wrong '1:1: JSON has no byte order mark: save it as UTF-8 without one' '\xef\xbb\xbf{}' '    ^'
	wrong '1:1: JSON has no byte order mark: save it as UTF-8 without one' '\xff\xfe{\x00}\x00' '    ^'
	# In a string they are text, and what comes behind the place is another matter.
	wrong "1:16: ':' expected near '1'" "{\"http://'x,}\" 1, }" '                   ^'
	printf '{"x": "%s" 5}' "$(printf 'é%.0s' {1..300})" >"$file"
	rlctl config check
	complains "    ${stderr_lines[1]#    }"
	[ "${#stderr_lines[1]}" -le 76 ]
	rlctl config check --json
	[ "$(jq '.problems | length' <<<"$output")" = 1 ]
}

@test "unset" {
	rlctl config unset /rules/login/granularity
	exits 0
	changed_to '< "limit": "100/min",
< "granularity": 6
> "limit": "100/min"'
	rlctl config unset /rules/login/granularity
	exits 1
	complains 'there is no such value'
	rlctl config unset /rules/login/limit
	exits 1
	complains 'has no capacity'
}

@test "set keeps mode, owner and symbolic link, and leaves nothing beside" {
	mkdir "$BATS_TEST_TMPDIR/real"
	mv "$file" "$BATS_TEST_TMPDIR/real/x.json"
	ln -s real/x.json "$file"
	chmod 0604 "$file"
	[ "$(id -u)" -ne 0 ] || chown 1234:4321 "$file"
	before=$(stat -Lc '%a %u %g' "$file")
	rlctl config set /rules/login/limit 7/min
	exits 0
	[ -L "$file" ]
	[ "$(stat -Lc '%a %u %g' "$file")" = "$before" ]
	grep -q 7/min "$BATS_TEST_TMPDIR/real/x.json"
	[ "$(ls -A "$BATS_TEST_TMPDIR/real" | paste -sd,)" = .x.json.history,x.json ]
}

@test "set: a broken file is told, not changed" {
	echo '{"rules": ' >"$file"
	rlctl config set /comment x
	exits 1
	complains "$file:2:"
	[ "$(cat "$file")" = '{"rules": ' ]
}

@test "many changes at once: none is lost" {
	pids=
	for i in 1 2 3 4 5 6 7 8; do
		"$RLCTL" config set -n --create "/rules/r$i" '{"limit": "1/s"}' &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid"
	done
	rlctl config check
	says 'rules 9, limits 9'
}

@test "a file that another process edits is left alone" {
	exec 8<"$file"
	flock 8
	EDITOR=true rlctl config edit
	in_trouble "$file: another process is changing it"
	exec 8<&-
	EDITOR=true rlctl config edit
	exits 0
}

@test "edit: a valid text takes the place of the old" {
	EDITOR='sed -i /limit/s/100/50/' rlctl config edit
	exits 0
	changed_to '< "limit": "100/min",
> "limit": "50/min",'
	! ls "$BATS_TEST_TMPDIR"/rl-*.json
}

@test "edit: VISUAL before EDITOR, and nothing changed" {
	VISUAL=true EDITOR=false rlctl config edit
	exits 0
	says_line 'nothing has changed'
	unchanged
}

@test "edit: where the environment is not to be trusted, neither VISUAL nor EDITOR is run" {
	[ "$(id -u)" = 0 ] || skip 'not root'
	[[ $(findmnt -no OPTIONS -T "$BATS_TEST_TMPDIR") != *nosuid* ]] || skip 'mounted nosuid'
	install -g 65534 -m 2755 "$RLCTL" "$BATS_TEST_TMPDIR/rlctl"
	printf '#!/bin/sh\n: >%q\n' "$BATS_TEST_TMPDIR/vi-ran" >"$BATS_TEST_TMPDIR/vi"
	chmod +x "$BATS_TEST_TMPDIR/vi"
	RLCTL=$BATS_TEST_TMPDIR/rlctl PATH="$BATS_TEST_TMPDIR:$PATH" \
		VISUAL="touch $BATS_TEST_TMPDIR/ran;" EDITOR="touch $BATS_TEST_TMPDIR/ran;" \
		rlctl config edit --config "$file"
	exits 0
	[ -e "$BATS_TEST_TMPDIR/vi-ran" ]
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	RL_CONFIG=/nowhere rlctl config check
	complains /nowhere
	RL_CONFIG=/nowhere RLCTL=$BATS_TEST_TMPDIR/rlctl rlctl config check
	! grep -F /nowhere <<<"$stderr"
}

@test "edit: without a terminal a bad text is kept, not asked about" {
	EDITOR='sed -i /limit/s/100/many/' rlctl_in 'd\n' config edit
	exits 1
	complains '/rules/login/limit: expected a rate'
	unchanged
	copy=$(sed -n 's/.* kept in //p' <<<"$stderr")
	grep -q many/min "$copy"
	[ "$(stat -c %a "$copy")" = 600 ]
}

@test "edit: on a terminal: again, discard, keep" {
	cat >"$BATS_TEST_TMPDIR/editor" <<-'EOF'
		#!/bin/sh
		n=$(cat "$TMPDIR/n" 2>/dev/null || echo 0)
		echo $((n + 1)) >"$TMPDIR/n"
		[ "$n" -eq 0 ] && sed -i /limit/s/100/many/ "$1" || sed -i /limit/s/many/70/ "$1"
	EOF
	chmod +x "$BATS_TEST_TMPDIR/editor"
	export EDITOR="$BATS_TEST_TMPDIR/editor"
	printf 'x\nd\n' | script -qec "$RLCTL config edit" /dev/null >"$BATS_TEST_TMPDIR/out" || true
	grep -q '(e)dit again, (d)iscard, (k)eep' "$BATS_TEST_TMPDIR/out"
	unchanged
	! ls "$BATS_TEST_TMPDIR"/rl-*.json
	rm "$BATS_TEST_TMPDIR/n"
	printf 'k\n' | script -qec "$RLCTL config edit" /dev/null >"$BATS_TEST_TMPDIR/out" || true
	grep -q 'kept in' "$BATS_TEST_TMPDIR/out"
	rm "$BATS_TEST_TMPDIR/n" "$BATS_TEST_TMPDIR"/rl-*.json
	printf 'e\n' | script -qec "$RLCTL config edit" /dev/null >"$BATS_TEST_TMPDIR/out"
	changed_to '< "limit": "100/min",
> "limit": "70/min",'
}

@test "edit: an editor that fails changes nothing" {
	EDITOR=false rlctl config edit
	in_trouble "the editor 'false' failed"
	unchanged
	EDITOR='sed -i /limit/s/100/50/ "$1"; false' rlctl config edit
	in_trouble 'kept in'
	unchanged
}

@test "edit: somebody else's change is not overwritten" {
	EDITOR="echo '{}' >$file; sed -i /limit/s/100/50/" rlctl config edit
	in_trouble 'somebody else has changed it meanwhile'
	complains 'kept in'
	[ "$(cat "$file")" = '{}' ]
}

@test "reload: into a segment that is there" {
	rlctl config reload
	in_trouble "segment '$segment'"
	create
	rlctl config reload
	exits 0
	says_line 'login: new, 100 per 1m'
	says 'generation'
	rlctl status -s "$segment"
	grep -qE '^configuration .*  login$' <<<"$output"
	says_line '  1  sliding_window, 100 per 1m, 6 x 10s'
	rlctl config reload
	exits 0
}

@test "reload by its old name: the same with a warning; help and completion tell of the new one" {
	create
	rlctl config reload
	for args in reload 'reload --dry-run' 'reload extra' "reload -s $segment-not"; do
		# shellcheck disable=SC2086
		rlctl config $args
		wanted=$status$output$stderr
		# shellcheck disable=SC2086
		rlctl $args
		[ "$(head -n 1 <<<"$stderr")" = "rlctl: warning: 'rlctl reload' is 'rlctl config reload' now; the next release does not know the old name" ]
		[ "$status$output$(tail -n +2 <<<"$stderr")" = "$wanted" ]
	done
	for verb in 'help reload' 'reload --help' '-h reload'; do
		# shellcheck disable=SC2086
		[ "$("$RLCTL" $verb 2>"$BATS_TEST_TMPDIR/warning")" = "$("$RLCTL" help config)" ]
	done
	[ -z "$("$RLCTL" help | grep '^  reload ')" ]
	[ -z "$("$RLCTL" completion bash | grep '^	reload)')" ]
}

@test "reload: a bad file changes nothing" {
	create
	rlctl config reload
	exits 0
	sed -i /limit/s/100/many/ "$file"
	rlctl config reload
	exits 1
	complains '/rules/login/limit'
	rlctl status -s "$segment"
	says '  1  sliding_window, 100 per '
}

@test "diff: what a reload would do, and nothing done" {
	rlctl config diff
	in_trouble "segment '$segment'"
	create
	rlctl config diff
	exits 1
	says_line 'login: new, 100 per 1m'
	rlctl status -s "$segment"
	says_not login
	rlctl config reload
	exits 0
	says_line "segment '$segment': generation 1"
	rlctl config diff
	exits 0
	says_line 'no difference'
	rlctl config reload
	exits 0
	says_line "segment '$segment': nothing has changed"
	rlctl config set -n /rules/login/window 1h
	rlctl config unset -n /rules/login/limit
	exits 1
	sed -i 's/"limit": "100.min"/"limit": "50\/h"/' "$file"
	rlctl config diff
	exits 1
	says_line 'login: starts anew, its window has changed'
	echo '{"rules": 5}' >"$file"
	rlctl config diff
	exits 2
}

@test "reload: what the segment has no room for is refused, with what to do" {
	create
	rlctl config reload
	rlctl config set -n /rules/login/overrides '{"a": {"banned": true}}'
	for i in 1 2 3 4 5 6 7 8; do
		rlctl config set -n --create "/rules/r$i" '{"limit": "1/s"}'
	done
	rlctl config diff
	exits 1
	[ -z "$output" ]
	rlctl config reload
	exits 1
	complains "$file:1:1: no room for 10 rules, those of applications and of earlier files among them, the segment holds 8;"
	complains "end what uses it and 'rlctl unlink' it"
	complains "segment '$segment' keeps the configuration it had"
	cp "$BATS_TEST_TMPDIR/old" "$file"
	rlctl config diff
	exits 0
	# What was refused has taken no room.
	for i in 1 2 3 4 5 6; do
		rlctl config set -n --create "/rules/s$i" '{"limit": "1/s"}'
	done
	rlctl config reload
	exits 0
}

@test "set puts it into force, --no-reload does not" {
	create
	rlctl config set /rules/login/limit 30/min
	exits 0
	rlctl status -s "$segment"
	says '  1  sliding_window, 30 per '
	rlctl config set --no-reload /rules/login/limit 20/min
	exits 0
	rlctl status -s "$segment"
	says '  1  sliding_window, 30 per '
}

@test "a segment may be named" {
	sed -i "s/$segment/$segment-not/" "$file"
	create
	rlctl config reload -s "$segment"
	exits 0
	rlctl config reload
	in_trouble "segment '$segment-not'"
}

@test "the segment and the file disagree: said, with what to do" {
	create
	rlctl config set -n /segment/keys 1000000
	rlctl config set -n /segment/on_full deny
	rlctl config reload
	exits 0
	complains 'warning: /segment/keys: the running segment has '
	complains 'warning: /segment/on_full: the running segment has "reserve"; a segment keeps what'
}

@test "diff, dry runs and changes: as JSON, too" {
	echo "{\"segment\": {\"name\": \"$segment\"}, \"rules\": {\"login\": {\"limit\": \"5/30d\"}}}" >"$file"
	rlctl config set /rules/login/limit 6/30d --dry-run --json
	exits 0
	conforms config_change
	[ "$(jq -c '[.exists, .dry_run, .changes]' <<<"$output")" = '[false,true,[]]' ]
	fill login 5 2592000000 60 alice=1
	rlctl config reload --json
	exits 0
	conforms config_change
	[ "$(jq -c '[.changed, .dry_run, .generation]' <<<"$output")" = '[true,false,1]' ]
	rlctl config diff --json
	exits 0
	[ "$(jq -c '[.changed, .changes]' <<<"$output")" = '[false,[]]' ]
	rlctl config set /rules/login/limit 6/30d --dry-run --json
	exits 0
	conforms config_change
	jq -e '.changed and .dry_run and .generation == null and any(.changes[]; contains("was 5"))' <<<"$output"
	rlctl config set /rules/login/limit 6/30d --json
	exits 0
	jq -e '.changed and .generation == 2' <<<"$output"
	rlctl config undo --json
	exits 0
	conforms config_change
	jq -e 'any(.changes[]; contains("was 6"))' <<<"$output"
	rlctl config history
	grep -qE '^        login: .* 6, was 5' <<<"$output" || fail_with 'no summary'
}

@test "history, undo: who changed what when, and back" {
	rlctl config history
	exits 0
	[ -z "$output" ]
	rlctl config undo
	exits 1
	complains 'no other text of'
	rlctl config set /rules/login/granularity 12
	exits 0
	cp "$file" "$BATS_TEST_TMPDIR/second"
	rlctl config history
	[ "$(awk '$1 ~ /^[0-9]+$/ { print $1, $4 }' <<<"$output" | paste -sd,)" = "2 $(id -un),1 $(id -un)" ]
	says '        login: '
	rlctl config history --json
	conforms config_history
	[ "$(jq -c '[.versions[].changes | length]' <<<"$output")" = '[1,0]' ]
	[ "$(jq -c '[.versions[].changes | type]' <<<"$output")" = '["array","null"]' ]
	are number '2 1'
	rlctl config history 1
	[ "$output" = "$(cat "$BATS_TEST_TMPDIR/old")" ]
	rlctl config undo --dry-run
	exits 0
	cmp "$file" "$BATS_TEST_TMPDIR/second"
	# What could not be written is not said to be so.
	shown=$(trap '' XFSZ; ulimit -f 0; "$RLCTL" config undo 2>&1 | cat)
	[[ $shown == *'it stays as it is'* && $shown != *again* ]] || fail_with "$shown"
	cmp "$file" "$BATS_TEST_TMPDIR/second"
	rlctl config undo
	exits 0
	says "$file is version 1 again, of 20"
	unchanged
	rlctl config undo # and a second one takes back the first
	cmp "$file" "$BATS_TEST_TMPDIR/second"
	rlctl config undo --to 1 --dry-run
	exits 0
	cmp "$file" "$BATS_TEST_TMPDIR/second"
	rlctl config undo --to 1
	unchanged
	for number in 99 0 x; do
		rlctl config undo --to $number
		in_trouble "$number"
		[[ $number == 99 ]] || complains '--to'
		rlctl config history $number
		in_trouble "$number"
	done
	unchanged
}

@test "undo: puts it into force, and is no way to a bad file" {
	"$FILL" "$segment" other 5 60000 1 a=1
	rlctl config reload
	rlctl config set /rules/login/limit 7/min
	rlctl config set /rules/login/limit 8/min
	on status
	says ' 8 per 1m'
	rlctl config undo --to 1 --dry-run # over both, in the words of set
	exits 0
	says 'capacity 100, was 8'
	on status
	says ' 8 per 1m'
	rlctl config undo --to 1
	on status
	says ' 100 per 1m'
	printf '{' >"$BATS_TEST_TMPDIR/.rl.json.history/000099-1-0"
	rlctl config undo
	exits 1
	unchanged
}

@test "history: bounded, and what a killed one left is no version" {
	for i in $(seq 30); do
		rlctl config set /rules/login/limit "$i/min" -n
	done
	rlctl config history
	[ "$(grep -c '^ *[0-9]* *20' <<<"$output")" -eq 20 ]
	[ "$(sed -n 2p <<<"$output" | awk '{ print $1 }')" = 31 ]
	[ "$(stat -c %a "$BATS_TEST_TMPDIR/.rl.json.history")" = 700 ]
	[ "$(stat -c %a "$BATS_TEST_TMPDIR/.rl.json.history/"*)" = "$(yes 600 | head -n 20)" ]
	touch "$BATS_TEST_TMPDIR/.rl.json.history/000500-1-0.XyZabc" "$BATS_TEST_TMPDIR/.rl.json.history/x"
	rlctl config history
	[ "$(grep -cE '^ *[0-9]+ +(19|20)[0-9]{2}-' <<<"$output")" -eq 20 ]
	rlctl config undo
	[ "$("$RLCTL" config history 30)" = "$(cat "$file")" ]
}

@test "history: what cannot be kept does not stop a change; sudo tells who" {
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
	touch "$BATS_TEST_TMPDIR/.rl.json.history"
	rlctl config set /rules/login/granularity 12 -n
	exits 0
	complains 'this text is not kept in its history'
	rm "$BATS_TEST_TMPDIR/.rl.json.history"
	SUDO_UID=54321 rlctl config set /rules/login/granularity 10 -n
	rlctl config history
	grep -qE '^ +2 .*  54321$' <<<"$output"
}
