# SPDX-License-Identifier: BSD-2-Clause
# Segments that keep no names, and listings that show no address in full.

load common

hour_ms=3600000

setup() {
	segment_setup
}

teardown() {
	segment_teardown
}

# Of JSON on standard input, the keys alone: a time may have any digits.
keys_of_json() {
	grep -oE '"key(_hex)?": ?"([^"\\]|\\.)*"'
}

# Nothing on standard input has this in it.
lacks() {
	if grep -E -- "$1"; then
		return 1
	fi
}

@test "key_bytes 0: no name is in memory, and keys count as ever" {
	FILL_KEY_BYTES=0 fill login 5 $hour_ms 1 alice-in-wonderland=3 bob=6
	on ban --for 1h mallory-the-malicious
	exits 0
	lacks 'wonderland|mallory' <"/dev/shm/rl.$segment"
	on status
	says_line 'key_bytes  0'
	on peek login bob
	exits 1
	on check login mallory-the-malicious
	exits 1
	on get login alice-in-wonderland
	exits 0
	says_line 'used         3'
	on reset alice-in-wonderland
	exits 0
	says_line '1 reset'
	on unban mallory-the-malicious
	exits 0
}

@test "key_bytes 0: what needs names says what it cannot do" {
	FILL_KEY_BYTES=0 fill login 5 $hour_ms 1 alice=3 bob=6
	on list
	[ "$(grep -cE '  login  #[0-9a-f]+$' <<<"$output")" -eq 2 ]
	on list --json
	are key 'null null'
	on list --match 'a*'
	complains '--match: of 2 keys no name is kept, and none was judged'
	complains '0 live keys'
	on list --keys
	exits 2
	complains 'left out: 2'
	on reset --match 'a*' --yes
	exits 2
	complains '2 keys cannot be told by name'
	says_line '0 reset'
	on dump -
	exits 1
	complains 'of 2 keys not all bytes are kept'
	"$RLCTL" -s "$segment" dump - 2>/dev/null | "$RLCTL" -s "$segment" restore - \
		2>/dev/null | grep -qx 'unnamed       2'
	on ban --for 1h carol
	on bans
	exits 0
	[ "$(grep -cE ' any  #0$' <<<"$output")" -eq 1 ]
	on reset --rule login --yes
	exits 0
	says_line '2 reset'
}

@test "key_bytes 0: doctor takes it for what it is" {
	FILL_KEY_BYTES=0 fill login 5 $hour_ms 1 alice=3
	on doctor
	says_not 'do not match their tags'
	says 'none if it is to keep no names'
}

@test "key_bytes 0 in a configuration, and a segment that keeps names" {
	printf '{"segment": {"name": "%s", "key_bytes": 0}, "rules": {"login": {"limit": "5/h"}}}' \
		"$segment" >"$BATS_TEST_TMPDIR/rl.json"
	rlctl config show --config "$BATS_TEST_TMPDIR/rl.json"
	exits 0
	says_line 'key_bytes  0'
	rlctl config show --config "$BATS_TEST_TMPDIR/rl.json" --json
	are key_bytes 0
	FILL_KEY_BYTES=48 fill login 5 $hour_ms 1 alice=3
	rlctl config reload --config "$BATS_TEST_TMPDIR/rl.json"
	complains '/segment/key_bytes: the running segment has 48'
	rm "/dev/shm/rl.$segment"
	FILL_KEY_BYTES=0 fill login 5 $hour_ms 1 alice=3
	rlctl config reload --config "$BATS_TEST_TMPDIR/rl.json"
	exits 0
	lacks key_bytes <<<"$stderr"
}

# mask_of KEY: what list --mask shows of it.
mask_of() {
	rm -f "/dev/shm/rl.$segment"
	FILL_KEY_BYTES=${FILL_KEY_BYTES:-200} fill login 5 $hour_ms 1 "$1=1"
	"$RLCTL" -s "$segment" list --mask --no-header | sed 's/.*  login  //'
}

@test "list --mask: addresses in every form" {
	while read -r key shown; do
		[ "$(mask_of "$key")" = "$shown" ] || fail_with "$key: $(mask_of "$key")"
	done <<-'KEYS'
		192.0.2.77               192.0.2.…
		192.0.2.77:8080          192.0.2.*:8080…
		login/192.0.2.77/x       login/192.0.2.*/x…
		192.0.2.0/24             192.0.2.*/24…
		1192.0.2.7712345         1192.0.2.…
		1.2.3.4,5.6.7.8          1.2.3.*,5.6.7.…
		2001:db8:1:2:3:4:5:6     2001:db8:1:2:…
		1:2:3:4:5:6:192.0.2.77   1:2:3:4:…
		.9.10.20.30.40.50        .9.10.20.…
		[2001:db8::7]:80         [2001:db8::*]:80…
		2001:db8:1:2::/64        2001:db8:1:2:*/64… 
		user2001:db8:1:2:3::4    user2001:db8:1:2:…
		::1                      ::…
		::ffff:192.0.2.77        ::ffff:192.0.2.…
		::ffff:c000:24d          ::…
		::FFFF:192.0.2.77        ::FFFF:192.0.2.…
		::ffff:192.0.2.77:80     ::…
		fe80::1%eth0             fe80::*%eth0…
		1:2001:db8:1:2:3:4:5:6   1:2001:db8:1:…
		aa:bb:cc:dd:ee:ff        aa:bb:cc:dd:ee:ff
		a:b:192.0.2.77           a:b:192.0.2.…
		12:30:45                 12:30:45
		1.2.3                    1.2.3
		user@example.com         user@example.com
	KEYS
}

@test "list --mask: keys that are cut, and bytes of an address" {
	[ "$(FILL_KEY_BYTES=16 mask_of 2001:db8:1:2:3:77:88:99)" = '2001:db8:1:2:…' ]
	[ "$(FILL_KEY_BYTES=16 mask_of user,192.0.2.77)" = 'user,192.0.2.…' ]
	[ "$(mask_of $'\xc0\x01\x02\x4d')" = '\xc0\x01\x02…' ]
	[ "$(mask_of abcd)" = abcd ]
	[ "$(mask_of "$(printf '\x20\x01\x0d\xb8\x01\x02\x03\x04aaaabbbb')")" = ' \x01\x0d\xb8\x01\x02\x03\x04…' ]
}

@test "list --mask: no host is told, whatever stands around it" {
	python3 - >"$BATS_TEST_TMPDIR/keys" <<-'PYTHON'
		import random
		random.seed(7)
		around = "xyz :.,/@-[]%1\u00e9\\"
		for i in range(300):
		    text = lambda: "".join(random.choice(around) for _ in range(random.randrange(6)))
		    host = random.choice(["10.20.30.231", "2001:db8:1:2:cafe:cafe:cafe:cafe",
		                          "2001:db8::cafe", "::ffff:10.20.30.231"])
		    print(text() + host + text() + "=1")
	PYTHON
	mapfile -t keys <"$BATS_TEST_TMPDIR/keys"
	FILL_KEYS=1000 FILL_KEY_BYTES=200 fill login 5 $hour_ms 1 "${keys[@]}"
	on list --mask
	exits 0
	[ "${#lines[@]}" -gt 250 ]
	sed 's/.*  login  //' <<<"$output" | lacks '231|cafe'
	on list --mask --json
	[ "$(keys_of_json <<<"$output" | wc -l)" -gt 250 ]
	keys_of_json <<<"$output" | lacks '231|cafe'
	conforms list
	on dump --mask -
	exits 0
	[ "$(keys_of_json <<<"$output" | wc -l)" -gt 250 ]
	keys_of_json <<<"$output" | lacks '231|cafe'
}

@test "list --mask: what is written for other commands is not masked, and says so" {
	fill login 5 $hour_ms 1 192.0.2.77=1
	for how in --keys --null; do
		on list --mask $how
		in_trouble 'do not go with --mask'
	done
}

@test "dump --mask: bans, too; and nobody restores a part of a key as a key" {
	fill login 5 $hour_ms 1 192.0.2.77=3 alice=2
	on ban --for 1h 198.51.100.231
	on dump --mask "$BATS_TEST_TMPDIR/dump"
	exits 0
	lacks '[.]231' <"$BATS_TEST_TMPDIR/dump"
	rm "/dev/shm/rl.$segment"
	fill login 5 $hour_ms 1
	on restore "$BATS_TEST_TMPDIR/dump"
	says_line 'restored      1'
	says_line 'unnamed       2'
	on list --keys
	[ "$output" = alice ]
}
