# SPDX-License-Identifier: BSD-2-Clause
# What the manual shows of replay runs as it is written, and its JSON is as the schema says.

load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir bin
	ln -s "$(dirname "$(realpath "$RLCTL")")"/{rlctl,rl-replay} bin/
	PATH=$PWD/bin:$PATH
	seq 0 299 | awk '{ printf "192.0.2.%d - - [22/Nov/2026:10:00:%02d +0000] \"POST /login HTTP/1.1\" 401 5 \"-\" \"curl\"\n",
		$1 % 3, $1 / 5 }' >all
	head -30 all | gzip >access.log.2.gz
	sed -n 31,60p all >access.log.1
	tail -n +61 all >access.log
	for second in 0 1 2; do
		printf '{"ts":179534160%d.5,"request":{"remote_ip":"192.0.2.7","client_ip":"192.0.2.7","uri":"/"},"status":401}\n' "$second"
	done >caddy.log
	for second in 0 1 2 3; do
		printf '192.0.2.7 [22/Nov/2026:10:00:0%d +0000] "GET / HTTP/1.1" k1\n' "$second"
	done >api.log
	for second in 0 1 2 3 4; do
		printf 'Nov 22 10:00:0%d host sshd[1]: Failed password for root from 192.0.2.7 port 1 ssh2\n' "$second"
	done >auth.log
	for second in 0 1 2 3; do
		printf '{"ts":179534160%d,"key":"k1","estimate":40000,"total_tokens":%d,"seconds":0.5}\n' "$second" "$((second * 20000))"
	done >answers.json
	echo '{"rules": {"login": {"limit": "20/min"}}}' >rl.json
}

recipes() {
	mandoc -T ascii -O width=200 "$top/man/rl-replay.1" | col -bx | sed -n 's/^ *\$ \(.*rl-replay\)/\1/p'
}

@test "the recipes of the manual run as written" {
	[ "$(recipes | wc -l)" -ge 6 ]
	while read -r recipe; do
		run --separate-stderr bash -c "$recipe"
		exits 0
		[ -n "$output" ] || fail_with "$recipe"
		[ -z "$stderr" ] || [[ $stderr == 'rl-replay: warning: '* ]] || fail_with "$recipe"
	done < <(recipes)
	rlctl replay --limit 20/min access.log*
	says_line 'requests      300'
	says_line 'out_of_order  60'
	says_line 'denied        240'
	rlctl replay --limit 3/10min auth.log
	says_line 'denied        2'
	rlctl replay --limit 100000/min --key key --cost estimate --actual total_tokens --lasts seconds answers.json
	says_line 'settled       120000 of 160000 charged: 60000 given back, 20000 of debts, 0 too late'
}

@test "the manual has each format" {
	page=$(mandoc -T ascii -O width=200 "$top/man/rl-replay.1" | col -bx)
	for format in $(bin/rl-replay --help | sed -n 's/.*--format \([a-z0-9|]*\).*/\1/p' | tr '|' ' '); do
		grep -qw "$format" <<<"$page" || fail_with "$format is not in the manual"
	done
}

@test "replay --json is as its schema says" {
	for options in '-l 5/min' '-c 5 -w 1m' '-l 5/min -l 9/min' '--suggest -w 1m' '-C rl.json -r login'; do
		# shellcheck disable=SC2086
		rlctl replay --json $options access.log*
		exits 0
		conforms replay
	done
	printf '1 \377\n1 \377\n' | "$RLCTL" replay --json -c 1 -w 1s >out
	output=$(cat out)
	conforms replay
	output='{"requests": 1}'
	! conforms replay 2>/dev/null
}

@test "a replay asks for no segment, and rlctl runs the program that is beside it" {
	run --separate-stderr env -i "$PWD/bin/rl-replay" --limit 20/min access.log
	exits 0
	says_line 'denied        180'
	same=$output
	rlctl replay --limit 20/min access.log
	[ "$output" = "$same" ]
	rlctl --json replay --limit 20/min -- access.log # options on either side of the verb, and their end
	exits 0
	[ "$(jq .denied <<<"$output")" = 180 ]
	run --separate-stderr bin/rl-replay --segment web --limit 20/min access.log
	exits 2
	[ "$stderr" = "rl-replay: unknown option '--segment'; see 'rl-replay --help'" ]
	cp "$(realpath "$RLCTL")" alone
	run --separate-stderr ./alone replay --limit 20/min access.log
	exits 2
	[ "$stderr" = "alone: $PWD/rl-replay: No such file or directory; it comes with rlctl, and belongs beside it" ]
}
