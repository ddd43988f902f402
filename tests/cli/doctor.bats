# SPDX-License-Identifier: BSD-2-Clause
# doctor: each check is provoked, on a host of its own where that takes one.

load common

month_ms=2592000000

setup() {
	segment_setup
}

teardown() {
	segment_teardown
	[ -z "${sweeper:-}" ] || kill -KILL "$sweeper" 2>/dev/null || true
}

# Run in a mount namespace with a /dev/shm of its own, of so many megabytes: the setup, then
# doctor. Both are shell text.
elsewhere() {
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	export RLCTL FILL segment month_ms
	run --separate-stderr unshare -m bash -ec "
		mount -t tmpfs -o mode=1777,size=$1m tmpfs /dev/shm
		fill() { \"\$FILL\" \"\$segment\" \"\$@\"; }
		$2
		exec \"\$RLCTL\" -s \"\$segment\" doctor --json"
}

# The check says this of the host or segment: its level, and a text in what it says.
finds() {
	jq -e --arg check "$1" --arg level "$2" --arg what "$3" \
		'[.checks[] | select(.check == $check and .level == $level and (.what | contains($what)))] | length == 1' \
		<<<"$output" >/dev/null || fail_with "$1 is not $2: $3"
}

@test "doctor: a healthy segment has no findings" {
	elsewhere 200 'fill login 5 $month_ms 1 alice=1'
	exits 0
	conforms doctor
	finds segment ok 'opens, layout'
	finds shm ok left
	for check in access file_size clock fill full rules room bans audit entries clients; do
		finds $check ok ''
	done
	[ "$(jq .findings <<<"$output")" -eq 0 ]
}

@test "doctor: for people" {
	fill login 5 $month_ms 1 alice=1
	chmod 666 "/dev/shm/rl.$segment"
	on doctor
	exits 1
	grep -qE '^finding  access     everybody may write it' <<<"$output"
	grep -qE '^ +why:  every user of this host may falsify' <<<"$output"
	grep -qE "^ +fix: chmod o-rw /dev/shm/rl.$segment\$" <<<"$output"
	grep -qE '^[0-9]+ findings?, [0-9]+ notes?$' <<<"$output"
}

@test "doctor: every check of the table speaks, whatever there is" {
	# shellcheck disable=SC2016
	names=$(sed -n '/^const struct doctor_check/,/^};/s/^\t{"\([a-z_]*\)".*/\1/p' "$top/rlctl/doctor/cmd_doctor.c")
	for setup in 'fill login 5 60000 1 a=1' true; do
		elsewhere 200 "$setup"
		[ "$(jq -r '.checks[].check' <<<"$output" | uniq)" = "$names" ]
	done
}

@test "doctor: no segment, and what is none" {
	elsewhere 200 true
	exits 1
	conforms doctor
	finds segment finding "segment '$segment'"
	finds fill skipped ''
	elsewhere 200 'echo junk >/dev/shm/rl.$segment'
	exits 1
	finds segment finding "segment '$segment'"
	elsewhere 200 'fill login 5 60000 1 a=1; truncate -s 8192 /dev/shm/rl.$segment'
	exits 1
	finds segment finding "segment '$segment'"
	rlctl -s a/b doctor
	in_trouble "segment 'a/b'"
}

@test "doctor: another version" {
	# The layout's version is in the first line of the header; any other build is refused by it.
	elsewhere 200 'fill login 5 60000 1 a=1
		printf "\377" | dd of=/dev/shm/rl.$segment bs=1 seek=8 conv=notrunc status=none'
	exits 1
	finds segment finding version
}

@test "doctor: /dev/shm is small, nearly full, no tmpfs, or open to all" {
	elsewhere 60 'fill login 5 60000 1 a=1'
	exits 0
	finds shm note '/dev/shm holds 60.0 MiB'
	elsewhere 4 'fill login 5 60000 1 a=1; head -c 3600000 /dev/zero >/dev/shm/ballast || :'
	exits 1
	finds shm finding left
	elsewhere 200 'umount /dev/shm; mkdir /tmp/shm-$segment; mount --bind /tmp/shm-$segment /dev/shm
		rmdir /tmp/shm-$segment 2>/dev/null || true; chmod 1777 /dev/shm'
	rmdir "/tmp/shm-$segment" 2>/dev/null || true
	exits 1
	[ "$(stat -f -c %T /tmp)" = tmpfs ] || finds shm finding 'is no tmpfs'
	elsewhere 200 'fill login 5 60000 1 a=1; chmod 777 /dev/shm'
	exits 1
	finds directory finding 'no sticky bit'
}

@test "doctor: a directory of rl's own is used, and one that a stranger planted is not" {
	# shellcheck disable=SC2016 # the inner shell's
	elsewhere 200 'mkdir -m 3771 /dev/shm/rl; fill login 5 60000 1 a=1; mv /dev/shm/rl.$segment /dev/shm/rl
		chmod 644 /dev/shm/rl/rl.$segment'
	exits 0
	finds directory ok "/dev/shm/rl is root's"
	finds segment ok 'opens, layout'
	[ "$(jq -r '.checks[] | select(.check == "access").fix' <<<"$output")" = "chmod o-r /dev/shm/rl/rl.$segment" ]
	# shellcheck disable=SC2016
	elsewhere 200 'mkdir /dev/shm/rl; chmod 1777 /dev/shm/rl; fill login 5 60000 1 a=1; mv /dev/shm/rl.$segment /dev/shm/rl'
	exits 1
	finds directory finding '/dev/shm/rl is another user'
	finds segment finding 'no such segment'
	# shellcheck disable=SC2016
	elsewhere 200 'mkdir -m 3771 /dev/shm/rl; fill login 5 60000 1 a=1; cp /dev/shm/rl.$segment /dev/shm/rl'
	exits 1
	finds segment finding 'two segments have this name'
}

@test "doctor: /dev/shm is mounted read-only, with a segment in it or none" {
	# shellcheck disable=SC2016 # the inner shell's
	elsewhere 200 'fill login 5 60000 1 a=1; mount -o remount,ro /dev/shm'
	exits 1
	conforms doctor
	finds shm finding '/dev/shm is mounted read-only'
	finds segment ok 'opens, layout'
	elsewhere 200 'mount -o remount,ro /dev/shm'
	exits 1
	finds shm finding '/dev/shm is mounted read-only'
	# shellcheck disable=SC2016
	elsewhere 200 'mkdir -m 3771 /dev/shm/rl; mount -t tmpfs -o ro,mode=3771 tmpfs /dev/shm/rl'
	exits 1
	finds shm finding '/dev/shm/rl is mounted read-only'
	# shellcheck disable=SC2016
	elsewhere 200 'mkdir -m 3771 /dev/shm/rl; mount -t tmpfs -o mode=3771 tmpfs /dev/shm/rl
		mount -o remount,ro /dev/shm'
	finds shm ok left
}

# The same as `elsewhere`, by a user who is nobody's.
elsewhere_as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$RLCTL" --version >/dev/null 2>&1 ||
		skip 'another user cannot run rlctl here'
	elsewhere 200 "$1"'
		exec setpriv --reuid 65534 --regid 65534 --clear-groups "$RLCTL" -s "$segment" doctor --json'
}

@test "doctor: a user who may not write the directory of rl is told which group to join" {
	local fix='usermod -aG games nobody'
	elsewhere_as_nobody 'mkdir /dev/shm/rl; chgrp games /dev/shm/rl; chmod 3771 /dev/shm/rl'
	exits 1
	conforms doctor
	finds directory finding 'this user may not write /dev/shm/rl'
	for check in directory segment; do
		jq -r ".checks[] | select(.check == \"$check\").fix" <<<"$output" | grep -qF "$fix"
	done
	jq -r '.checks[] | select(.check == "segment").why' <<<"$output" | grep -qF 'this user cannot'
	# shellcheck disable=SC2016 # the inner shell's
	elsewhere_as_nobody 'mkdir /dev/shm/rl; chgrp games /dev/shm/rl; chmod 3771 /dev/shm/rl
		fill login 5 60000 1 a=1; mv /dev/shm/rl.$segment /dev/shm/rl; chmod 644 /dev/shm/rl/rl.$segment'
	exits 0
	finds directory note 'this user may not write /dev/shm/rl'
	elsewhere_as_nobody 'mkdir -m 755 /dev/shm/rl'
	finds directory finding 'this user may not write /dev/shm/rl'
	says 'systemd-tmpfiles --create rl.conf, and join the group'
	elsewhere_as_nobody 'mkdir /dev/shm/rl; chgrp nogroup /dev/shm/rl; chmod 3771 /dev/shm/rl'
	finds directory ok "/dev/shm/rl is root's"
}

@test "doctor: protected_regular" {
	for level in 0 2; do
		elsewhere 200 "fill login 5 60000 1 a=1
			echo $level >\$(dirname \$FILL)/level.$segment
			mount --bind \$(dirname \$FILL)/level.$segment /proc/sys/fs/protected_regular"
		rm -f "$(dirname "$FILL")/level.$segment"
		exits 0
		if [ $level -eq 0 ]; then
			finds directory note 'fs.protected_regular is 0'
		else
			finds directory ok 'fs.protected_regular is 2'
		fi
	done
}

@test "doctor: RemoveIPC takes a login user's segment, unless it is off or they linger" {
	logind='mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/seats
		mount -t tmpfs tmpfs /etc/systemd; mount -t tmpfs tmpfs /var/lib/systemd
		mkdir -p /etc/systemd/logind.conf.d /var/lib/systemd/linger
		printf "root:x:0:0::/:/bin/sh\nlora:x:1234:0::/:/bin/sh\n" >/run/passwd
		mount --bind /run/passwd /etc/passwd
		fill login 5 60000 1 a=1; chown 1234 /dev/shm/rl.$segment;'
	elsewhere 200 "$logind"
	exits 1
	finds removeipc finding 'owned by lora'
	elsewhere 200 "$logind echo RemoveIPC=no >/etc/systemd/logind.conf"
	exits 0
	finds removeipc ok 'RemoveIPC is off'
	elsewhere 200 "$logind echo RemoveIPC=no >/etc/systemd/logind.conf
		echo ' RemoveIPC = yes' >/etc/systemd/logind.conf.d/z.conf"
	finds removeipc finding 'owned by lora'
	elsewhere 200 "$logind touch /var/lib/systemd/linger/lora"
	finds removeipc ok lingers
	elsewhere 200 "$logind chown 0 /dev/shm/rl.\$segment"
	finds removeipc ok 'system user'
}

@test "doctor: owner, group and mode" {
	elsewhere 200 'fill login 5 60000 1 a=1; chown 54321:54322 /dev/shm/rl.$segment; chmod 660 /dev/shm/rl.$segment'
	exits 1
	finds access finding 'its owner 54321 is no user here'
	finds access finding 'its group 54322 is no group here'
	elsewhere 200 'fill login 5 60000 1 a=1; chmod 644 /dev/shm/rl.$segment'
	exits 0
	finds access note 'everybody may read it (mode 0644)'
	elsewhere 200 'fill login 5 60000 1 a=1; chmod 622 /dev/shm/rl.$segment'
	exits 1
	finds access finding 'everybody may write it (mode 0622)'
}

@test "doctor: limits of the container" {
	[ -d /sys/fs/cgroup ] || skip 'there are no control groups here'
	# The control group's path is read from /proc, and its limit from a tree of our own.
	elsewhere 200 'fill login 5 60000 1 a=1
		path=$(sed -n "s/^[0-9]*:memory://p" /proc/self/cgroup)
		file=memory/$path/memory.limit_in_bytes
		[ -n "$path" ] || { path=$(sed -n "s/^0:://p" /proc/self/cgroup); file=$path/memory.max; }
		mount -t tmpfs tmpfs /sys/fs/cgroup
		mkdir -p "/sys/fs/cgroup/$(dirname "$file")"
		echo 300000 >"/sys/fs/cgroup/$file"'
	exits 1
	finds memory finding 'this control group may use 292.9 KiB'
	elsewhere 200 'fill login 5 60000 1 a=1; ulimit -f 16'
	exits 1
	finds file_size finding 'files may grow to 16.0 KiB alone'
}

@test "doctor: a clock that is off" {
	[ -e /proc/self/ns/time ] || skip 'no time namespaces'
	for pair in 5=note 7200=finding; do
		elsewhere 200 "fill login 5 60000 1 a=1
			echo 'boottime -${pair%=*} 0' >/dev/shm/shift
			mount --bind /dev/shm/shift /proc/\$\$/timens_offsets"
		finds clock "${pair#*=}" 'ahead of the wall clock'
	done
}

@test "doctor: another time namespace has its clock right" {
	unshare -T --boottime 7200 true 2>/dev/null || skip 'no time namespaces may be made here'
	fill login 5 60000 1 a=1
	run --separate-stderr unshare -T --boottime 7200 "$RLCTL" -s "$segment" doctor --json
	finds clock ok 'agrees with the wall clock'
	finds namespace ok "7200 s off the host's clock"
}

@test "doctor and status: a sweeper of another pid namespace has no pid here" {
	unshare --pid --fork true 2>/dev/null || skip 'no pid namespaces may be made here'
	fill login 5 60000 1 a=1
	unshare --pid --fork --kill-child "$FILL" --sweeper "$segment" 60 3>&- &
	sweeper=$!
	while "$RLCTL" -s "$segment" status | grep -q 'no sweeper'; do sleep 0.01; done
	on status
	grep -qE '^sweeper    in another pid namespace, heartbeat 1m[0-9s]* ago$' <<<"$output"
	on status --json
	conforms status
	[ "$(jq .segment.sweeper.pid <<<"$output")" = null ]
	on doctor --json
	finds sweeper finding 'the sweeper, of another pid namespace, was last heard of 1m'
}

@test "doctor: a table that is nearly full, or was" {
	export FILL_KEYS=64
	# shellcheck disable=SC2046
	fill login 5 $month_ms 1 $(seq -f 'k%g=1' 95)
	on doctor --json
	exits 1
	finds fill finding '% of the slots are used'
	# shellcheck disable=SC2046
	fill login 5 $month_ms 1 $(seq -f 'm%g=1' 200)
	on doctor --json
	finds full finding 'the table was full: '
}

# 16 slots, all used, and one overflow counter for the keys of a limit that have none; of both rules a network has most.
flooded() {
	export FILL_KEYS=1 FILL_CELLS=1 FILL_RESERVES=2
	fill other 20 $month_ms 0 203.0.113.{1..4}=1
	fill web 20 $month_ms 0 203.0.113.{1..9}=1 user:{1..3}=1
}

@test "doctor: keys without a slot, whose overflow counters are full, and how many are denied" {
	flooded
	on doctor --json
	finds reserve ok '0 limits have keys without a slot'
	fill web 20 $month_ms 0 stranger=19
	on doctor --json
	conforms doctor
	finds reserve ok '1 limits have keys without a slot, of which 0.00 % at most are denied for what others have used'
	fill web 20 $month_ms 0 stranger=5 crowd:{1..80}=20
	on doctor --json
	exits 1
	conforms doctor
	finds reserve finding 'web: 100.00 % of its keys without a slot are denied for what others have used, for '
	finds reserve note 'rule web: of 1624 decisions for keys without a slot, '
	jq -e '.checks[] | select(.level == "finding" and .check == "reserve") | .fix | contains(" resize --keys ")' <<<"$output"
}

@test "doctor: more limits have keys without a slot than there are overflow counters for" {
	export FILL_KEYS=1 FILL_CELLS=1 FILL_RESERVES=1
	fill web 20 $month_ms 0 user:{1..16}=1 stranger=1
	on doctor --json
	finds reserve finding '1 limits with keys without a slot have all 1 sets of overflow counters'
}

@test "doctor: who takes a full table, and what ends it" {
	flooded
	on doctor --json
	exits 1
	conforms doctor
	finds shares note 'rule web takes 75 % of the used slots'
	finds shares finding 'network 203.0.113.0/24 has 100 % of the keys that are addresses, and 81 % of the used slots'
	fix=$(jq -r '.checks[] | select(.level == "finding" and .check == "shares") | .fix' <<<"$output")
	[ "${fix%% if nobody*}" = "rlctl --segment $segment ban 203.0.113.0/24 --for 1h," ]
	on ban 203.0.113.0/24 --for 1h
	exits 0
	on check web 203.0.113.77
	exits 1
	says 'denied by ban'
}

@test "doctor: in a table with room, nobody takes anything away" {
	fill web 20 $month_ms 0 203.0.113.{1..20}=1
	on doctor --json
	finds shares ok 'there is room for all'
}

@test "doctor: keys that would steer a terminal are none the less only keys" {
	export FILL_KEYS=1
	fill web 20 $month_ms 0 $'203.0.113.1/24\e[31m=1' $'\e]0;x\a=1' '%s%n=1' user:{1..20}=1
	on doctor
	[ "$(grep -c $'\e' <<<"$output$stderr")" -eq 0 ]
	says 'no rule and no network takes much more than others'
}

@test "doctor: names that do not match, and keys that are cut" {
	whole=$(printf 'w%.0s' $(seq 48))
	fill login 5 $month_ms 1 alice-in-wonderland=3 "${whole}x=1"
	at=$(grep -abo alice-in-wonderland "/dev/shm/rl.$segment" | cut -d: -f1)
	printf m | dd of="/dev/shm/rl.$segment" bs=1 seek="$at" conv=notrunc status=none
	on doctor --json
	exits 1
	finds entries finding '1 keys have names that do not match'
	finds entries note 'of 1 keys not all bytes are kept'
}

# damaged WHAT [KEY=COUNT@SECONDS]: a segment of one key, with that fault.
damaged() {
	rm -f "/dev/shm/rl.$segment"
	fill login 50 $month_ms 6 alice=3 "${@:2}"
	"$BATS_TEST_DIRNAME/damage.py" "$segment" "$1"
	on doctor --json
	conforms doctor
}

@test "doctor: what the audit finds, whose it is, and what mends it" {
	damaged status
	exits 1
	finds audit finding 'its tag has no status that there is; such slots: 1'
	on sweep
	on doctor --json
	finds audit ok '1 keys'
	damaged free
	exits 1
	finds audit finding 'it is free, and its key was not retired'
	damaged twice
	exits 1
	finds audit finding 'of rule login): its key has another slot; such slots: 1'
	damaged rule
	exits 1
	finds audit finding 'rule 2: its row is there twice, or beyond a gap; such rules: 1'
	damaged sum alice=2@500000
	exits 1
	finds audit finding 'alice of rule login): its sum is not what its ring holds; such slots: 1'
	on reset alice --rule login
	exits 0
	on doctor --json
	exits 0
	finds audit ok '0 keys'
}

@test "doctor: a rule that counts each address of an IPv6 network, and bans of one of them" {
	export FILL_KEYS=1000
	fill web 20 $month_ms 0 2001:db8:0:7::{1..15}=1 2001:db8:0:8::{1..9}=1 2001:db8:0:{1..20}::=1 192.0.2.{1..20}=1
	on ban 2001:db8:1:7::/64 --for 1h
	on ban 2001:db8:1:9:: --for 1h
	on doctor --json
	finds clients ok ''
	fill web 20 $month_ms 0 2001:db8:0:7::16=1
	on ban 2001:db8:1:7::2 --for 1h
	on ban 2001:db8:1:7:8::/80 --for 1h
	on doctor --json
	conforms doctor
	finds clients note 'rule web counts each IPv6 address: 16 keys are in 2001:db8:0:7::/64'
	finds clients note '2 bans and exemptions are of less than a /64 of IPv6, such as one in 2001:db8:1:7::/64'
}

@test "doctor: claims that nobody finished" {
	damaged claim
	exits 0
	finds audit note '1 slots are half claimed or half freed'
	on sweep
	on doctor --json
	finds audit ok '1 keys'
}

@test "doctor: keys charged in the future, by every algorithm" {
	for kind in 6 0 log token leaky; do
		rm -f "/dev/shm/rl.$segment"
		fill "$kind" 5 60000 $kind now=1 late=1@86400
		on doctor --json
		exits 1
		finds entries finding "1 keys were charged in the future, such as late of rule $kind"
	done
}

@test "doctor: nearly as many bans as there is room for" {
	fill login 5 $month_ms 1 alice=1
	for i in $(seq 13); do
		"$RLCTL" -s "$segment" ban "key$i" --for 1h >/dev/null
	done
	on doctor --json
	exits 1
	finds bans finding '13 bans and exemptions stand, and the segment is made for 16'
	on doctor
	says 'past that number one more may find no place, and is refused'
	"$RLCTL" -s "$segment" ban beyond --for 1h >/dev/null
	for held in $(seq 14 40); do
		"$RLCTL" -s "$segment" ban "key$held" --for 1h >/dev/null 2>&1 || break
	done
	[ "$held" -gt 17 ]
	on ban "key$held" --for 1h
	in_trouble 'ban: the segment is made for 16 bans and exemptions, and no place is left for this one'
	on ban beyond --for 2h
	exits 0
	on status
	says_line "bans       $held, room for at least 16"
	on doctor --json
	finds bans finding "$held bans and exemptions stand, and the segment is made for 16"
}

@test "doctor: rules, limits and overrides for which there is nearly no room" {
	for i in $(seq 7); do
		fill "rule$i" 5 60000 1 k=1
	done
	on doctor --json
	exits 0
	conforms doctor
	finds room note '7 of 8 rules are taken'
}

@test "doctor: a definition that was refused for a longer ring, and what gives it one" {
	FILL_RING=1 fill login 5 "$month_ms" 0 k=3
	on doctor --json
	exits 0
	FILL_RING=1 run fill page 5 "$month_ms" 60 k=1
	exits 2
	says "'rlctl resize --ring N'"
	on doctor --json
	exits 1
	conforms doctor
	finds room finding 'needs a ring of 60, and keys have 1'
	fix=$(jq -r '.checks[] | select(.check == "room") | .fix' <<<"$output")
	[ "$fix" = "rlctl --segment $segment resize --ring 60" ]
	on status
	says_line 'ring       1; a definition was refused that needs 60'
	on --json status
	conforms status
	are ring_asked 60
	on resize --ring 60
	exits 0
	fill page 5 "$month_ms" 60 k=1
	on doctor --json
	exits 0
	on --json list
	are used '3 1'
	on status
	says_line 'ring       60'
}

@test "doctor: programs that define one rule differently" {
	fill login 5 60000 1 alice=1
	fill other 5 60000 1 alice=1
	fill login 5 60000 1 alice=1
	on doctor --json
	finds rules ok 'every rule has its name'
	fill login 50 60000 1 alice=1
	fill login 5 60000 1 alice=1
	on doctor --json
	exits 0
	conforms doctor
	finds rules note 'rule login: definitions that replaced a different one: 2'
	on doctor
	says 'configure the rule, which holds for all programs, or give it two names'
	on stats
	[ "$(awk '$1 == "redefined" { print $2, $4 }' <<<"$output" | head -n 1)" = '2 login' ]
}

@test "doctor: a sweeper that died, and one that hangs" {
	fill login 5 $month_ms 1 alice=1
	on doctor --json
	finds sweeper note 'no sweeper'
	"$FILL" --sweeper "$segment" 0
	on doctor --json
	exits 1
	finds sweeper finding 'is gone: it was killed, or it crashed'
	"$FILL" --sweeper "$segment" 60 3>&- &
	sweeper=$!
	while ! "$RLCTL" -s "$segment" status | grep -q "^sweeper    pid $sweeper,"; do sleep 0.01; done
	on doctor --json
	exits 1
	finds sweeper finding "pid $sweeper, was last heard of 1m"
	kill "$sweeper"
}

# Shell text: make a segment of some 30 MB that asks for huge pages, from a process that may
# have none, or from one that may.
large='FILL_HUGE_PAGES=1 FILL_KEYS=30000 fill login 5 $month_ms 1 alice=1'
# 41 is PR_SET_THP_DISABLE.
large_without='export FILL_HUGE_PAGES=1 FILL_KEYS=30000
	python3 -c "import ctypes, os, sys
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0) == 0 or sys.exit(1)
os.execv(sys.argv[1], sys.argv[1:])" "$FILL" "$segment" login 5 $month_ms 1 alice=1'
thp=/sys/kernel/mm/transparent_hugepage/shmem_enabled

# Linux 6.1 makes huge pages of a file's small ones, unless it is told to deny them.
need_huge_pages() {
	[ -r $thp ] && ! grep -qF '[deny]' $thp || skip 'this kernel gives no huge pages'
	[ "$(printf '6.1\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.1 ] || skip 'needs Linux 6.1'
}

@test "doctor: huge pages were not asked for, or are larger than the segment" {
	elsewhere 200 'fill login 5 60000 1 a=1'
	finds pages ok 'huge pages were not asked for'
	elsewhere 200 'FILL_HUGE_PAGES=1 fill login 5 60000 1 a=1'
	exits 0
	finds pages ok 'huge pages are larger than the segment'
}

@test "doctor: huge pages were asked for, and none were given" {
	elsewhere 200 "$large_without"
	exits 1
	conforms doctor
	finds pages finding 'huge pages were asked for, and none of '
	grep -qF 'mount -o remount,huge=within_size /dev/shm' <<<"$output"
}

@test "doctor: the kernel denies huge pages" {
	[ -r $thp ] || skip 'this kernel has no huge pages'
	echo 'always within_size advise never [deny] force' >"$BATS_TEST_TMPDIR/deny"
	elsewhere 200 "$large_without
		mount --bind '$BATS_TEST_TMPDIR/deny' $thp"
	exits 1
	finds pages finding 'shmem_enabled of this kernel is deny'
	grep -qF "echo never >$thp" <<<"$output"
}

@test "doctor: huge pages were given, and status says how many" {
	need_huge_pages
	elsewhere 200 "$large
		\"\$RLCTL\" -s \"\$segment\" status --json >'$BATS_TEST_TMPDIR/status'
		\"\$RLCTL\" -s \"\$segment\" status >'$BATS_TEST_TMPDIR/text'"
	exits 0
	finds pages ok 'lie on huge pages'
	jq -e '.segment | .huge_pages and .huge_bytes > .bytes / 2 and .huge_bytes <= .bytes' \
		"$BATS_TEST_TMPDIR/status" >/dev/null
	grep -qxE 'huge_pages [0-9]+ bytes' "$BATS_TEST_TMPDIR/text"
}

@test "status: huge pages were asked for, and none were given" {
	elsewhere 200 "$large_without
		\"\$RLCTL\" -s \"\$segment\" status >'$BATS_TEST_TMPDIR/text'"
	grep -qxF 'huge_pages none, though asked for' "$BATS_TEST_TMPDIR/text"
}

@test "doctor: rl.json that is not in force, is bad, or is about another segment" {
	export RL_CONFIG="$BATS_TEST_TMPDIR/rl.json"
	put() { printf '{"segment": {"name": "%s", "keys": 50000}, "rules": {"login": {"limit": "%s/30d", "granularity": 1}}}' "$1" "$2" >"$RL_CONFIG"; }
	fill login 5 $month_ms 1 alice=1
	on doctor --json
	finds config ok "there is no $RL_CONFIG"
	put "$segment" 5
	on config reload
	on doctor --json
	finds config note 'keys'
	[ "$(jq -r '.checks[] | select(.check == "config" and .level == "note").fix' <<<"$output")" = \
		"rlctl --segment $segment resize --keys 50000 takes the file's; or else write the segment's into $RL_CONFIG" ]
	on resize --keys 50000
	on doctor --json
	finds config ok 'is what is in force'
	put "$segment" 50
	on doctor --json
	exits 1
	conforms doctor
	finds config finding "$RL_CONFIG is not what is in force: login: "
	[ "$(jq -r '.checks[] | select(.check == "config" and .level == "finding").fix' <<<"$output")" = \
		"rlctl --segment $segment config diff --config $RL_CONFIG; rlctl --segment $segment config reload --config $RL_CONFIG" ]
	on config reload
	on doctor --json
	! finds config finding '' 2>/dev/null
	put "$segment" x
	on doctor --json
	finds config finding "$RL_CONFIG:1:"
	put other 5
	on doctor --json
	finds config ok "is about segment 'other'"
}

@test "doctor: a second segment, and a host without any" {
	elsewhere 200 'fill login 5 $month_ms 1 alice=1; "$FILL" second r 5 60000 1 a=1'
	finds others note 'other segments are here, too: second'
	elsewhere 200 'fill login 5 $month_ms 1 alice=1'
	finds others ok 'there is no other'
	elsewhere 200 'exec "$RLCTL" -s "$segment" doctor'
	[ "$(grep -c '^skipped' <<<"$output")" -eq 1 ]
	grep -qE '^skipped +[0-9]+ checks: there is no segment to look at$' <<<"$output"
}

@test "doctor: an rld that is stopped is told at once" {
	cat >"$BATS_TEST_TMPDIR/rl.json" <<-END
		{"segment": {"name": "$segment"}, "rules": {"login": {"limit": "5/30d"}}}
	END
	"$(dirname "$RLCTL")/rld" -c "$BATS_TEST_TMPDIR/rl.json" 2>"$BATS_TEST_TMPDIR/log" 3>&- &
	local pid=$!
	while ! grep -q 'sweeping segment' "$BATS_TEST_TMPDIR/log"; do sleep 0.01; done
	kill -STOP $pid
	while ! grep -q 'State:.T' /proc/$pid/status; do sleep 0.01; done
	on doctor --json
	kill -KILL $pid
	finds sweeper finding "the sweeper, pid $pid, is stopped"
	grep -qF "kill -CONT $pid" <<<"$output"
}
