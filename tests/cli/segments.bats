# SPDX-License-Identifier: BSD-2-Clause
# segments, rlctl without a verb, and which segment is meant where none is named.

load common
load terminal

month_ms=2592000000

setup() {
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	segment_setup
	export LC_ALL=C.UTF-8 TERM=screen-256color
	export RLCTL FILL RL_CONFIG="$BATS_TEST_TMPDIR/rl.json"
}

teardown() {
	[ -z "${segment:-}" ] || stop
}

# Run a script where there are no other segments.
alone() {
	run --separate-stderr unshare -m bash -ec "
		mount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm
		one() { \"\$FILL\" one login 5 $month_ms 1 alice=9 bob=2; }
		two() { \"\$FILL\" two api 50 $month_ms 1 carol=9; }
		$1"
}

@test "the only segment there is need not be named" {
	alone 'one; "$RLCTL" list -o name; "$RLCTL" ban bob --for 1h; "$RLCTL" bans -H'
	exits 0
	says_line alice
	says 'ban of key bob'
}

@test "of several, none is guessed: they are named" {
	alone 'one; two; exec "$RLCTL" ban bob --for 1h'
	in_trouble 'which segment? --segment, or RL_SEGMENT, takes one of: one two'
	alone 'one; two; exec "$RLCTL" reset --all --yes'
	in_trouble 'which segment?'
	alone 'one; two; exec "$RLCTL" doctor'
	in_trouble 'which segment?'
	alone 'exec "$RLCTL" list'
	in_trouble 'there is no segment on this host'
}

@test "of many, a few are named, and first the one that may be meant" {
	alone 'one; for i in 1 2 3 4 5 6 7; do "$FILL" "web-$i" login 5 2592000000 1 a=1; done; exec "$RLCTL" -s web-o7 list'
	in_trouble "'web-o7': no such segment; --segment takes one of: web-7 one web-1 web-2 web-3 and 3 more, which 'rlctl segments' shows"
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "the order: --segment, RL_SEGMENT, the configuration, the only one" {
	echo '{"rules": {"x": {"limit": "1/s"}}, "segment": {"keys": 5, "name": "t\u0077o"}}' >"$RL_CONFIG"
	alone 'one; two; exec "$RLCTL" list -o name'
	exits 0
	[ "$output" = carol ]
	alone 'one; two; RL_SEGMENT=one exec "$RLCTL" list -o name'
	[ "$(paste -sd, <<<"$output")" = alice,bob ]
	alone 'one; two; RL_SEGMENT=one exec "$RLCTL" -s two list -o name'
	[ "$output" = carol ]
	# what is named is meant, and no other
	alone 'one; exec "$RLCTL" list'
	in_trouble "segment 'two' (named by the configuration): no such segment; --segment takes one of: one"
	alone 'one; RL_SEGMENT=three exec "$RLCTL" list'
	in_trouble "segment 'three' (of RL_SEGMENT): no such segment"
	# a file that gives no name leaves it open
	for text in '{}' '{"segment": {}}' '{"segment": {"name": 7}}' '[]' 'x' ''; do
		printf '%s' "$text" >"$RL_CONFIG"
		alone 'one; exec "$RLCTL" list -o name'
		exits 0
	done
}

@test "config reload: RL_SEGMENT goes before the name in the file" {
	echo '{"segment": {"name": "two"}, "rules": {"login": {"limit": "7/30d", "granularity": 1}}}' >"$RL_CONFIG"
	alone 'one; two; RL_SEGMENT=one "$RLCTL" config reload; exec "$RLCTL" -s one status'
	says '7 per 30d'
}

@test "segments: each, how full, what it denies, rld, age and health" {
	alone 'one; two; exec "$RLCTL" segments'
	exits 0
	[ "${#lines[@]}" -eq 3 ]
	grep -qxE 'one +2 +[0-9.]+% +4 +[0-9.k/s]+ +none +[0-9.]+m?s  ok' <<<"$output"
	grep -qxE 'two +1 +[0-9.]+% +0 +0 +none +[0-9.]+m?s  ok' <<<"$output"
	[ "$(wc -L <<<"$output")" -le 80 ]
	alone 'one; exec "$RLCTL" segments --json'
	conforms segments
	are denied 4
	are keys 2
	are heartbeat_age_ns null
	alone 'one; two; exec "$RLCTL" segments -o name'
	[ "$(paste -sd, <<<"$output")" = one,two ]
	alone 'one; two; "$RLCTL" segments -0 | tr "\0" ,'
	[ "$output" = one,two, ]
	alone 'one; exec "$RLCTL" segments -o tsv'
	[ "$(cut -f1,2,4,9 <<<"$output")" = "$(printf 'name\tkeys\tdenied\thealth\none\t2\t4\tok')" ]
	alone 'one; exec "$RLCTL" segments -H -o tsv'
	[ "${#lines[@]}" -eq 1 ]
	alone 'exec "$RLCTL" segments'
	exits 0
	[ -z "$output" ]
}

@test "segments: one that cannot be opened, and one that is full" {
	alone 'one; two; printf "\377" | dd of=/dev/shm/rl.two bs=1 seek=8 conv=notrunc 2>/dev/null
		exec "$RLCTL" segments -j'
	exits 0
	conforms segments
	are health '"ok" "refused"'
	alone 'FILL_KEYS=1 "$FILL" one r 5 60000 1 $(seq -f "k%g=1" 400); exec "$RLCTL" segments'
	grep -qE '^one .* full$' <<<"$output"
}

@test "without a verb: one screen, the rules that deny most below their segment" {
	alone 'one; two; exec "$RLCTL"'
	exits 0
	[ "${#lines[@]}" -eq 5 ]
	grep -qxE ' +7 allowed +[^ ]+ +4 denied +[^ ]+  login' <<<"$output"
	[ "$(wc -L <<<"$output")" -le 80 ]
	alone 'for i in 1 2 3 4 5 6; do "$FILL" many rule$i 1 60000 1 a=$i; done; exec "$RLCTL"'
	[ "$(grep -oE 'rule[0-9]' <<<"$output" | paste -sd,)" = rule6,rule5,rule4,rule3,rule2 ]
	says_line '  and 1 more rules'
	alone 'exec "$RLCTL"'
	exits 1
	complains 'there is no segment on this host'
}

@test "names are whole in a pipe, and cut in the middle on a terminal" {
	alone 'for i in 1 2; do "$FILL" a-segment-of-some-name-$i a-rule-with-a-name-so-long 5 2592000000 1 alice=9; done
		"$RLCTL" segments -H; "$RLCTL" segments -H -o wide
		script -qec "stty cols 80; \"$RLCTL\" segments -H" /dev/null </dev/null'
	exits 0
	[ "$(grep -c '  a-rule-with-a-name-so-long$' <<<"$output")" -eq 2 ]
	for i in 1 2; do
		[ "$(grep -cE "^a-segment-of-some-name-$i +1 " <<<"$output")" -eq 2 ]
		[ "$(grep -cE "^a-segm…-name-$i " <<<"$output")" -eq 1 ]
	done
}

@test "rlctl without a verb: as JSON it is what segments has, also where there is none" {
	alone 'one; two; exec "$RLCTL" --json'
	exits 0
	conforms segments
	[ "$(jq -c '[.segments[].name]' <<<"$output")" = '["one","two"]' ]
	alone 'exec "$RLCTL" --json'
	exits 1
	[ "$(jq -c .segments <<<"$output")" = '[]' ]
}

@test "rlctl without a verb: forty segments fit a screen, who denies most first" {
	alone 'for i in $(seq 40); do "$FILL" s$i login 5 2592000000 1 alice=$((i == 33 ? 99 : 4)); done; exec "$RLCTL"'
	exits 0
	[ "$(wc -l <<<"$output")" -le 23 ]
	[[ ${lines[1]} == s33\ * ]]
	says 'that deny less: see'
	# Three of them have room for their rules.
	alone 'for i in 1 2 3; do "$FILL" s$i login 5 2592000000 1 alice=$((4 + i)); done; exec "$RLCTL"'
	[ "$(wc -l <<<"$output")" -eq 7 ]
}

@test "--watch: again and again, as often as asked" {
	alone 'one; "$RLCTL" list -w -i 10ms --count 3 -o tsv | grep -c "^used"
		"$RLCTL" status -w -i 10ms --count 2 | grep -c "^segment "
		"$RLCTL" segments -w -i 10ms --count 2 | grep -c "^one "
		"$RLCTL" bans -w -i 10ms --count 2 | grep -c "in force"'
	[ "$(paste -sd, <<<"$output")" = 3,2,2,2 ]
	for verb in list status segments bans; do
		alone "one; exec \"\$RLCTL\" $verb --count 3"
		in_trouble "$verb: --interval and --count go with --watch"
	done
	alone 'one; exec "$RLCTL" list -w -i 1ms'
	in_trouble "--interval: '1ms' is less than 10ms"
}

@test "forms that contradict each other are refused" {
	for args in 'list -j -o tsv' 'segments -0 -o wide' 'list -o nam' 'list -k -o tsv' 'list -M -o name'; do
		alone "one; exec \"\$RLCTL\" $args"
		exits 2
		[ -z "$output" ]
	done
	complains 'do not go with --mask'
}

@test "standard output that is full is told" {
	alone 'one; exec "$RLCTL" segments >/dev/full'
	exits 2
	alone 'one; exec "$RLCTL" >/dev/full'
	exits 2
}

# A line with the escapes that colours are.
colours() {
	"$FILL" "$segment" login 3 $month_ms 1 alice=3 zoe=1 >/dev/null
	script -qec "$1 '$RLCTL' -s '$segment' list -S key" /dev/null </dev/null
}

@test "colours: on a terminal alone, and where they are wanted" {
	red=$'\033[33mlimited\033[0m'
	colours '' | grep -qF "$red"
	colours '' | grep 'zoe' | grep -q 'open' && ! colours '' | grep zoe | grep -q $'\033'
	for off in NO_COLOR=1 TERM=dumb; do
		! colours "env $off" | grep -q $'\033' || fail_with "$off"
	done
	[ -n "$(colours NO_COLOR= | grep -F "$red")" ]
	on list
	! grep -q $'\033' <<<"$output"
	rm -f "/dev/shm/rl.$segment"
}

@test "segments: one whose memory is gone beneath the look hides none of the others" {
	export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # what was under way is left as it is
	alone 'one; two; fallocate --punch-hole --offset 8192 --length "$(($(stat -c %s /dev/shm/rl.one) - 8192))" /dev/shm/rl.one
		chown 65534:65534 /dev/shm/rl.one
		dd if=/dev/zero of=/dev/shm/full bs=4k status=none 2>/dev/null || :
		exec "$RLCTL" segments -o name'
	exits 0
	says_line two
}

@test "segments: a stranger's file beside rl's own directory is neither listed nor opened" {
	alone 'mkdir -m 3771 /dev/shm/rl; two; mkdir /dev/shm/aside; mv /dev/shm/rl /dev/shm/other; one; chown 65534:65534 /dev/shm/rl.one
		mv /dev/shm/other /dev/shm/rl; "$RLCTL" segments -o name; "$RLCTL" -s one status || echo "status $?"
		"$RLCTL" -s one unlink --yes || echo "unlink $?"; ls /dev/shm'
	exits 0
	[ "${lines[0]}" = two ] || fail_with 'not two alone'
	says_line 'status 2'
	says_line 'rl.one'
	complains "segment 'one': no such segment"
}

@test "package: an upgrade says when segments cannot be listed" {
	mkdir "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\nkill -SEGV $$\n' >"$BATS_TEST_TMPDIR/bin/rlctl"
	chmod 755 "$BATS_TEST_TMPDIR/bin/rlctl"
	sed "s,-x /usr/lib/rl/rlctl,-n x," "$top/debian/rl-tools.postinst" >"$BATS_TEST_TMPDIR/postinst"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH run --separate-stderr sh "$BATS_TEST_TMPDIR/postinst" configure
	exits 0
	complains 'segments could not be listed, and are not carried over'
}
