# SPDX-License-Identifier: BSD-2-Clause
# dump and restore. Windows of 30 days, so that none ends during a test.

load common

month_ms=2592000000
month_ns=2592000000000000

setup() {
	segment_setup
	file=$BATS_TEST_TMPDIR/dump
}

teardown() {
	segment_teardown
}

# A dump made by hand, of these lines; $now is the segment's time.
write_dump() {
	{
		echo '{"rl_dump":1,"segment":"x","dumped_ns":1}'
		printf '%s\n' "$@"
		echo "{\"rl_dump_end\":true,\"entries\":$#,\"unnamed\":0,\"bans\":0}"
	} >"$file"
}

# entry RULE KEY MOMENTS [ALGORITHM [WINDOW_NS]]
entry() {
	echo "{\"rule\":\"$1\",\"limit_number\":1,\"key\":\"$2\",\"moments\":[$3],\"shape\":{" \
		"\"algorithm\":\"${4:-sliding_window}\",\"window_ns\":${5:-$month_ns}," \
		'"capacity":5,"granularity":1,"hard":false,"burst":0,"undelayed":0,"prefetch":0,"shadow":false,' \
		'"prefix_v4":0,"prefix_v6":0}}'
}

now_ns() {
	date +%s%N
}

# Usage of every key as lines that can be compared.
usage() {
	"$RLCTL" -s "$segment" list --json --sort key | jq -c '.keys[] | [.rule, .limit_number, .key, .used]' | sort
}

@test "dump and restore: into a fresh segment, every algorithm" {
	for kind in 1 6 1h 0 log token leaky; do
		fill "rule-$kind" 50 $month_ms "$kind" alice=30 "bob $kind=2"
	done
	fill several 50,20 "$month_ms,$month_ms" 4,token carol=7
	usage >"$BATS_TEST_TMPDIR/before"
	on dump "$file"
	exits 0
	[ "$output" = '16 entries, 0 bans, exemptions and overrides' ]
	output=$(cat "$file")
	conforms dump_line
	[ "$(stat -c %a "$file")" = 600 ]
	rm "/dev/shm/rl.$segment"
	for kind in 1 6 1h 0 log token leaky; do
		fill "rule-$kind" 50 $month_ms "$kind" alice=0
	done
	fill several 50,20 "$month_ms,$month_ms" 4,token carol=0
	on restore "$file" --json
	exits 0
	conforms restore
	has restored=16 expired=0 unnamed=0 unknown_rule=0 changed=0 failed=0 unreadable=0 \
		complete=true
	usage | diff "$BATS_TEST_TMPDIR/before" -
}

@test "dump: bytes of keys are kept exactly" {
	fill login 50 $month_ms 1 $'\xff\xfe=2' $'\u0436"\\=3' $'\033[31m=4'
	on dump -
	exits 0
	conforms dump_line
	printf '%s\n' "$output" >"$file"
	usage >"$BATS_TEST_TMPDIR/before"
	rm "/dev/shm/rl.$segment"
	fill login 50 $month_ms 1 x=0
	rlctl -s "$segment" restore - <"$file"
	exits 0
	usage | diff "$BATS_TEST_TMPDIR/before" -
	[ "$(wc -l <"$BATS_TEST_TMPDIR/before")" -eq 3 ]
}

@test "dump: a key whose bytes are not all kept is in it, and named as not restorable" {
	whole=$(printf 'w%.0s' $(seq 48))
	fill login 50 $month_ms 1 "$whole=2" "${whole}x=1"
	on dump "$file" --json
	exits 1
	conforms dump
	has entries=2 unnamed=1
	complains 'of 1 keys not all bytes are kept'
	on reset --all --yes
	exits 0
	on restore "$file" --json
	exits 1
	has restored=1 unnamed=1
	complains "$file:"
	complains 'not all bytes of the key are in the dump'
	on list --json
	has total=1
}

@test "restore: what expired meanwhile is gone, the rest still counts" {
	fill login 50 $month_ms 1 x=0
	fill log 50 60000 log x=0
	now=$(now_ns)
	write_dump "$(entry login old "[$((now - 3 * month_ns)),4]")" \
		"$(entry login some "[$((now - 3 * month_ns)),4],[$((now - month_ns / 100)),3]")" \
		"$(entry log gone "[$((now - 61000000000)),1]" sliding_log 60000000000)" \
		"$(entry log there "[$((now - 1000000000)),1]" sliding_log 60000000000)"
	on restore "$file" --json
	exits 0
	conforms restore
	has restored=2 expired=2
	on list --json --sort key
	are key '"some" "there"'
	are used '3 1'
}

@test "restore: the previous sub-bucket still counts by its share" {
	fill login 50 $month_ms 1 x=0
	write_dump "$(entry login a "[$((($(now_ns) / month_ns - 1) * month_ns)),4]")" \
		"$(entry login b "[$((($(now_ns) / month_ns - 2) * month_ns)),4]")"
	on restore "$file" --json
	has restored=1 expired=1
	on list --json
	are key '"a"'
}

@test "restore: rules that are gone, and limits of another shape, are told and counted" {
	fill login 50 $month_ms 1 x=0
	now=$(now_ns)
	write_dump "$(entry login a "[$now,1]")" "$(entry nologin b "[$now,1]")" \
		"$(entry login c "[$now,1]" fixed_window)" "$(entry login d "[$now,1]" sliding_window 1000000000)"
	on restore "$file" --json
	exits 1
	conforms restore
	has restored=1 unknown_rule=1 changed=2
	complains "$file:3: the segment has no rule of this name: nologin"
	complains "$file:4: the rule has no limit of this shape any more: login"
	on list --json
	are key '"a"'
}

@test "restore: a limit is found by its shape when its number has changed" {
	fill api "9,50" "60000,$month_ms" 0,1 x=0
	write_dump "$(entry api a "[$(now_ns),3]")"
	on restore "$file"
	exits 0
	on list --json
	are limit_number 2
	are used 3
}

@test "restore: a charge ahead of the clock counts as of now" {
	fill log 50 60000 log x=0
	write_dump "$(entry log a "[$(($(now_ns) + month_ns)),1]" sliding_log 60000000000)"
	on restore "$file"
	exits 0
	complains '1 charges are ahead'
	on list --json
	are used 1
	[ "$(values reset_after_ns)" -le 60000000000 ]
}

@test "restore --dry-run changes nothing" {
	fill login 50 $month_ms 1 x=0
	write_dump "$(entry login a "[$(now_ns),1]")" '{"effect":"ban","rule":null,"match":"key","key":"b","until_ns":null}'
	cp "/dev/shm/rl.$segment" "$BATS_TEST_TMPDIR/before"
	on restore --dry-run "$file" --json
	has restored=2
	cmp "/dev/shm/rl.$segment" "$BATS_TEST_TMPDIR/before"
}

@test "restore: what is no dump is refused, and a dump cut short is told" {
	fill login 50 $month_ms 1 x=0
	for text in '' 'junk' '[]' '{}' '{"rl_dump":2,"segment":"x","dumped_ns":1}' '"rl_dump"'; do
		printf '%s' "$text" >"$file"
		on restore "$file"
		exits 2
		complains "$file"
		[ -z "$output" ]
	done
	on restore "$BATS_TEST_TMPDIR/absent"
	in_trouble "$BATS_TEST_TMPDIR/absent: No such file"
	on restore "$BATS_TEST_TMPDIR"
	in_trouble "$BATS_TEST_TMPDIR: Is a directory"
	write_dump "$(entry login a "[$(now_ns),1]")"
	sed -i '$d' "$file"
	on restore "$file"
	exits 2
	complains "$file: the dump is cut short"
	on list --json
	are key '"a"'
}

@test "restore: lines that cannot be read are told, counted, and do not stop it" {
	fill login 50 $month_ms 1 x=0
	now=$(now_ns)
	good=$(entry login a "[$now,1]")
	write_dump "$good" 'junk' "${good/\"rule\"/\"rool\"}" "${good/:1,/:0,}" "${good/\"key\"/\"kay\"}" \
		"${good/[[]$now,1]/[$now]}" "${good/[[]$now,1]/[$now,0]}" "${good/[[]$now,1]/[-1,1]}" \
		"${good/sliding_window/slithering}" "${good/\"key\":\"a\"/\"key\":\"\"}" \
		"${good/\"key\":\"a\"/\"key\":\"b\",\"key_hex\":\"f\"}" '{"effect":"curse"}'
	on restore "$file" --json
	exits 2
	conforms restore
	# The end says how many lines there were, too.
	has restored=1 unreadable=12
	complains "$file:3: no JSON object"
	complains "$file:4: no rule"
	[ "$(grep -c "^rlctl: $file:" <<<"$stderr")" -eq 5 ]
}

@test "restore: a dump of before an option was there is read; one whose size is wrong is not" {
	fill login 50 $month_ms 1 alice=3
	on dump "$file"
	jq -c 'del(.size.changes)' "$file" >"$file.before"
	jq -c 'if .size then .size.changes = "many" else . end' "$file" >"$file.wrong"
	on restore "$file.before" --dry-run
	exits 0
	on restore "$file.wrong" --dry-run
	exits 2
}

@test "bans and exemptions are dumped and restored, unless they are over" {
	fill login 50 $month_ms 1 x=1
	on ban 'user:*' --for 2h
	on allow alice --until never --rule login
	on ban over --for 1h
	on dump "$file"
	says '3 bans, exemptions and overrides'
	jq -c 'if .key == "over" then .until_ns = 1 else . end' "$file" >"$file.later"
	rm "/dev/shm/rl.$segment"
	fill login 50 $month_ms 1 x=0
	on restore "$file.later" --json
	exits 0
	has restored=3 expired=1
	on bans --json
	are effect '"ban" "exemption"'
	are key '"user:" "alice"'
	are rule 'null "login"'
}

@test "dump: the old file stays until the new one is whole" {
	fill login 50 $month_ms 1 x=1
	on dump "$BATS_TEST_TMPDIR/no/such/dump"
	in_trouble "$BATS_TEST_TMPDIR/no/such/dump: No such file"
	on dump /dev/null
	in_trouble '/dev/null: exists and is no regular file'
	[ -c /dev/null ]
	echo kept >"$BATS_TEST_TMPDIR/real"
	ln -s real "$BATS_TEST_TMPDIR/link"
	on dump "$BATS_TEST_TMPDIR/link"
	in_trouble "$BATS_TEST_TMPDIR/link: is a symbolic link: name the file that is meant"
	[ -L "$BATS_TEST_TMPDIR/link" ]
	[ "$(cat "$BATS_TEST_TMPDIR/real")" = kept ]
	echo old >"$file"
	# A file that may not grow: the new one cannot be written, the old one is not touched.
	run bash -c 'ulimit -f 0; trap "" XFSZ; exec "$@"' - "$RLCTL" -s "$segment" dump "$file"
	exits 2
	[ "$(cat "$file")" = old ]
	[ "$(find "$BATS_TEST_TMPDIR" -name 'dump*' | wc -l)" -eq 1 ]
	on dump "$file"
	exits 0
	[ "$(head -c 12 "$file")" = '{"rl_dump":1' ]
}

@test "dump: an interrupt leaves nothing half written" {
	export FILL_KEYS=200000
	# shellcheck disable=SC2046
	fill login 50 $month_ms 1 $(seq -f 'key-%g=1' 20000)
	echo old >"$file"
	env --default-signal=INT "$RLCTL" -s "$segment" dump "$file" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	pid=$!
	# Its file that has no name yet shows that it is at work.
	for _ in $(seq 1000); do
		readlink "/proc/$pid"/fd/* | grep -qF "$BATS_TEST_TMPDIR/#" && break
	done
	kill -INT $pid
	status=0
	wait $pid || status=$?
	# It may have been quicker than the signal; then the new file is whole.
	if [ $status -eq 2 ]; then
		[ "$(cat "$file")" = old ]
		grep -q 'dump: interrupted, and left no file' "$BATS_TEST_TMPDIR/err"
	else
		[ $status -eq 0 ]
		tail -n1 "$file" | grep -q '"entries":20000'
	fi
	[ "$(find "$BATS_TEST_TMPDIR" -name 'dump*' | wc -l)" -eq 1 ]
}
