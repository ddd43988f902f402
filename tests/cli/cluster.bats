# SPDX-License-Identifier: BSD-2-Clause
# A segment in a cluster of one Redis, by rld and rlctl; the tests of a cluster that breaks are tests/cluster's.

# shellcheck disable=SC2030,SC2031 # each test has its own processes
load common

setup() {
	segment="bats-cluster-$$-$BATS_TEST_NUMBER"
	rm -f "/dev/shm/rl.$segment"
	dir="$BATS_TEST_TMPDIR"
	export RL_CONFIG="$dir/rl.json"
	: "${RLD:=$(dirname "$RLCTL")/rld}"
	pids=()
	make_secret "$dir/secret"
	start_store
	write_config "$dir/rl.json" "$segment" "$dir/secret"
}

# A file that is whole, and nobody else's, from when it has its name: rld looks for one.
make_secret() {
	(umask 077 && head -c 32 "${2:-/dev/urandom}" >"$1.new")
	mv "$1.new" "$1"
}

teardown() {
	for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || :; done
	rm -f "/dev/shm/rl.$segment" "/dev/shm/rl.$segment-2"
}

# A port of the loopback that nobody has; another tries the next.
start_store() {
	for port in $(seq $((21000 + $$ % 5000)) $((21050 + $$ % 5000))); do
		redis-server --port "$port" --bind 127.0.0.1 --save '' --repl-diskless-sync-delay 0 --dir "$dir" >"$dir/redis" 2>&1 3>&- &
		pids+=($!)
		for _ in $(seq 600); do
			if redis-cli -p "$port" info server 2>/dev/null | grep -q "process_id:${pids[-1]}"; then return; fi
			kill -0 "${pids[-1]}" 2>/dev/null || break
			sleep 0.05
		done
	done
	return 1
}

write_config() {
	cat >"$1" <<-EOF
		{"segment": {"name": "$2", "keys": 1000},
		 "cluster": {"nodes": ["127.0.0.1:$port"], "secret_file": "$3", "timeout": "1s", "lease": "5s"},
		 "rules": {"api": {"limit": "10/h", "scope": "cluster", "blind": 2, "away": "closed"},
		           "own": {"limit": "10/h"}}}
	EOF
}

start_rld() {
	local of
	of=$(dirname "$1")
	"$RLD" -c "$1" --state "$of" --metrics-listen "unix:$of/m" >"$of/rld" 2>&1 3>&- &
	pids+=($!)
}

has_host() {
	"$RLCTL" cluster hosts | grep -q "$1"
}

# Spends until somebody has lent more than is admitted blind.
spend() {
	"$RLCTL" --segment "$segment" check api alice >/dev/null || :
	"$RLCTL" cluster show api alice | grep -q '[1-9][0-9]* lent'
}

@test "a host joins, and is lent what its keys need" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	eventually spend
	rlctl cluster show api alice
	exits 0
	says ' lent'
	rlctl cluster show api alice --json
	exits 0
	conforms cluster
	[ "$(jq '.limits[0].lent == ([.limits[0].shares[].share] | add)' <<<"$output")" = true ]
	rlctl cluster show api nobody
	exits 0
	says ': 0 lent'
}

# What 'away' says is for a store that is: else a host would not ask before three quarters of that are used.
@test "while the store answers shares are what counts, whatever away says" {
	sed -i 's/"10\/h", "scope"/"10000\/h", "scope"/; s/, "away": "closed"//' "$dir/rl.json"
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	eventually spend
}

@test "the user that CLUSTER.md gives may do what is needed, and no more" {
	local words
	words=$(sed -n 's/^ *user rl on >\.\.\. //p' "$top/docs/CLUSTER.md")
	# shellcheck disable=SC2086
	redis-cli -p "$port" acl setuser rl on '>word' $words | grep -q OK || fail_with "$words"
	redis-cli -p "$port" acl setuser default off >/dev/null
	echo word >"$dir/password"
	chmod 600 "$dir/password"
	sed -i "s|\"secret_file\"|\"user\": \"rl\", \"password_file\": \"$dir/password\", \"secret_file\"|" "$dir/rl.json"
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	eventually spend
	rlctl cluster override api alice 5
	exits 0
	rlctl cluster push "$dir/rl.json"
	exits 0
	rlctl cluster ban bob --for 1h
	exits 0
	says_line 'done on 1 of 1 host'
	rlctl cluster forget nobody
	exits 1
	rlctl cluster status
	says 'has no replica'
	says_not 'NOPERM'
	! grep -q NOPERM "$dir/rld" || fail_with "$(cat "$dir/rld")"
	[[ $(redis-cli -p "$port" --user rl --pass word --no-auth-warning flushall 2>&1) == *NOPERM* ]]
}

@test "no key leaves the host" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	eventually spend
	keys=$(redis-cli -p "$port" --scan)
	[[ $keys == *'rl1:{'* ]] || fail_with 'nothing in the store'
	[[ $keys != *alice* && $keys != *api* ]] || fail_with "$keys"
}

@test "status tells nodes, hosts, what may be too much, and what is not as it is to be" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	rlctl cluster status
	exits 1
	says "127.0.0.1:$port"
	says 'has no replica'
	says 'at most 2 above its capacity (1 host, blind 2)'
	redis-cli -p "$port" config set maxmemory-policy allkeys-lru >/dev/null
	rlctl cluster status --json
	exits 1
	conforms cluster
	[[ $output == *'set noeviction'* ]] || fail_with 'nothing of the policy'
}

# The check says this of the store: its level, and a text in what it says.
doctor_finds() {
	"$RLCTL" --segment "$segment" doctor --json | jq -e --arg level "$1" --arg what "$2" \
		'.checks[] | select(.check == "cluster" and .level == $level and (.what | contains($what)))'
}

has_shares() {
	! doctor_finds finding 'lent to this segment'
}

lease_is_over() {
	"$RLCTL" --segment "$segment" status --json | jq -e '.segment.cluster.lease_left_ns == 0'
}

@test "status and get tell what a host has of a key, for how long, and what then, in 80 columns" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	eventually spend
	rlctl --segment "$segment" status
	says 'cluster    1 host, shares count for '
	rlctl --segment "$segment" status --json
	conforms status
	[ "$(jq '.segment.cluster.lease_left_ns > 0 and .segment.cluster.hosts == 1' <<<"$output")" = true ]
	rlctl --segment "$segment" get api alice
	says ' without news of the store'
	says 'blind        2, admitted beside the share'
	[ "$(wc -L <<<"$output")" -le 80 ] || fail_with "$output"
	share=$(sed -n 's/^share  *\([0-9]*\),.*/\1/p' <<<"$output")
	((share >= 1)) || fail_with "$output"
	rlctl --segment "$segment" get api alice --json
	conforms get
	[ "$(jq '.limits[0].cluster.share >= 1' <<<"$output")" = true ] || fail_with "$output"
	used=$(jq '.limits[0].used' <<<"$output")
	rlctl --segment "$segment" resize --keys 3000
	exits 0
	rlctl --segment "$segment" get api alice --json
	[ "$(jq ".limits[0].cluster.share >= 1 and .limits[0].used == $used" <<<"$output")" = true ] || fail_with "$output"
	rlctl --segment "$segment" check own alice
	rlctl --segment "$segment" get own alice
	says_not 'share'
	kill -9 "${pids[0]}"
	eventually lease_is_over
	rlctl --segment "$segment" status
	says "cluster    1 host, nothing is lent: limits go on as 'away' says"
	[ "$(grep '^cluster' <<<"$output" | wc -L)" -le 80 ]
	rlctl --segment "$segment" get api alice
	says 'and its lease is over: away closed'
}

# As a machine that was copied while it ran would ask: with the same name, for the same slot, and later.
ask_as_copy() {
	redis-cli -p "$port" hset "$1" "$2" '1:9999999999999999:99999999999999' >/dev/null
	"$RLCTL" --segment "$segment" check api alice >/dev/null || :
	grep -q "another host has this one's name" "$dir/rld"
}

has_another_id() {
	"$RLCTL" cluster hosts | grep "$segment" | grep -qv "^$1 "
}

@test "of two hosts with one name, as of a machine that was copied, one takes another, and keeps it" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	eventually spend
	id=$("$RLCTL" cluster hosts --json | jq -r '.hosts[0].id')
	key=$(redis-cli -p "$port" --scan --pattern 'rl1:{*' | grep -v 'hosts\|orders')
	field=$(redis-cli -p "$port" hkeys "$key" | grep "^$id\\.")
	eventually ask_as_copy "$key" "$field"
	eventually has_another_id "$id"
	kill -9 "${pids[-1]}"
	redis-cli -p "$port" hdel 'rl1:{hosts}' "$id" >/dev/null
	start_rld "$dir/rl.json"
	eventually has_another_id "$id"
	[ "$("$RLCTL" cluster hosts | grep -c "$segment ")" = 1 ] || fail_with "$("$RLCTL" cluster hosts)"
}

@test "doctor finds what of the store and the hosts is not as it is to be" {
	sed -i 's/"blind": 2/"strict": true/' "$dir/rl.json"
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	eventually doctor_finds finding 'has no replica'
	eventually has_shares
	redis-cli -p "$port" config set maxmemory-policy volatile-lru >/dev/null
	doctor_finds finding 'may evict what is lent' || fail_with 'nothing of the policy'
	redis-cli -p "$port" hset 'rl1:{hosts}' other '99999999999999:h2 s2 0.0.1 3 refused 0' >/dev/null
	doctor_finds finding 'host h2, segment s2: has refused the rules' || fail_with 'nothing of the rules'
	doctor_finds finding 'another version of rl' || fail_with 'nothing of versions'
	redis-cli -p "$port" hdel 'rl1:{hosts}' other >/dev/null
	redis-server --port 0 --unixsocket "$dir/replica" --save '' --dir "$dir" --replicaof 127.0.0.1 "$port" >"$dir/redis2" 2>&1 3>&- &
	pids+=($!)
	eventually doctor_finds finding 'without a replica that hears of it'
	redis-cli -p "$port" config set min-replicas-to-write 1 >/dev/null
	redis-cli -p "$port" config set maxmemory-policy noeviction >/dev/null
	eventually doctor_finds ok 'set up as it should be, for 1 host'
	redis-cli -p "$port" config set min-replicas-to-write 0 >/dev/null
	redis-cli -p "$port" set 'rl1:{hosts}:check' 2:0123 >/dev/null
	doctor_finds finding 'secret: the store is in use with another one' || fail_with 'nothing of the secret'
	kill -9 "${pids[0]}"
	eventually doctor_finds finding 'nothing is lent to this segment any more'
}

secret_step() {
	[ "$("$RLCTL" cluster secret --json | jq -r .step)" = "$1" ]
}

secret_hosts() {
	[ "$("$RLCTL" cluster secret --json | jq --arg s "$1" '[.hosts[] | select(.state == $s)] | length')" = "$2" ]
}

is_banned() {
	"$RLCTL" --segment "$segment$1" check api mallory | grep -q 'denied by ban'
}

@test "the secret is changed while hosts run, by steps: each is lent under the next one, bans hold, and a new host has them" {
	mkdir "$dir/2"
	cp "$dir/secret" "$dir/2/secret"
	write_config "$dir/2/rl.json" "$segment-2" "$dir/2/secret"
	start_rld "$dir/rl.json"
	start_rld "$dir/2/rl.json"
	eventually has_host "$segment "
	eventually has_host "$segment-2 "
	eventually spend
	rlctl cluster ban mallory --for 1h
	exits 0
	rlctl cluster secret
	exits 0
	says "head -c 32 /dev/urandom >$dir/secret.next"
	rlctl cluster secret --switch
	exits 0
	complains 'cannot be used as yet'
	make_secret "$dir/secret.next"
	eventually secret_hosts 'has the next' 1
	rlctl cluster secret --json
	exits 1
	conforms cluster
	secret_step give
	rlctl cluster secret --switch
	exits 1
	make_secret "$dir/2/secret.next" "$dir/secret.next"
	eventually secret_step switch
	rlctl cluster secret --switch
	exits 0
	says 'uses the next'
	says "mv $dir/secret.next $dir/secret"
	[ "$(redis-cli -p "$port" get 'rl1:{hosts}:check')" != '' ]
	is_banned '' || fail_with 'no ban'
	is_banned -2 || fail_with 'no ban on the other'
	redis-cli -p "$port" --scan --pattern 'rl1:{*' | sort >"$dir/before"
	eventually spend
	redis-cli -p "$port" --scan --pattern 'rl1:{*' | sort >"$dir/after"
	[ "$(comm -13 "$dir/before" "$dir/after" | wc -l)" -ge 1 ] || fail_with 'the key has the name that it had'
	mv "$dir/secret.next" "$dir/secret"
	mv "$dir/2/secret.next" "$dir/2/secret"
	eventually secret_step make
	rm "$dir"/2/*.orders
	kill -9 "${pids[-1]}"
	rm "/dev/shm/rl.$segment-2"
	start_rld "$dir/2/rl.json"
	eventually is_banned -2
	! grep 'not of this secret' "$dir/rld" "$dir/2/rld" || fail_with 'an order cannot be read'
}

@test "a host that has read its configuration again still looks for its next secret" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	kill -HUP "${pids[-1]}"
	eventually grep -q 'configuration read' "$dir/rld"
	make_secret "$dir/secret.next"
	eventually secret_hosts 'has the next' 1
	! grep 'cluster: ' "$dir/rld" || fail_with 'it complains'
}

@test "with a wrong secret every verb of the cluster fails and says why" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	head -c 32 /dev/urandom >"$dir/secret2"
	chmod 600 "$dir/secret2"
	write_config "$dir/rl2.json" "$segment-2" "$dir/secret2"
	export RL_CONFIG="$dir/rl2.json"
	for verb in status hosts 'show api alice' 'override api alice 5' "push $dir/rl.json" pull "diff $dir/rl.json" \
		'reset api alice' 'ban bob --for 1h' 'allow bob --for 1h' 'unban bob' 'forget nobody'; do
		# shellcheck disable=SC2086
		rlctl cluster $verb
		exits 2
		complains 'the store is in use with another one'
		[ "${#stderr_lines[@]}" -eq 1 ] || fail_with "$stderr"
	done
	[ "$(redis-cli -p "$port" --scan --pattern 'rl1:o:*')" = '' ]
	rlctl cluster secret
	exits 1
	says 'use another secret'
	export RL_CONFIG="$dir/rl.json"
	redis-cli -p "$port" set 'rl1:{hosts}:check' 0123456789abcdef0123456789abcdef >/dev/null
	redis-cli -p "$port" hset 'rl1:{hosts}' old '99999999999999:h1 s1 0.9.0 0 own 0 0' >/dev/null
	eventually grep -q 'questions have another form' "$dir/rld"
	rlctl cluster hosts
	exits 2
	complains 'hosts of another version'
	rlctl cluster secret
	exits 1
	says 'upgrade or end all of them'
	redis-cli -p "$port" del 'rl1:{hosts}' >/dev/null
	rlctl cluster secret --switch
	exits 0
	rlctl cluster hosts
	exits 0
}

@test "two masters are told by every verb, and by status, hosts and doctor which one is not asked" {
	local first=$port
	start_store
	sed -i "s|\"127.0.0.1:$first\"|\"127.0.0.1:$port\", \"127.0.0.1:$first\"|" "$dir/rl.json"
	start_rld "$dir/rl.json"
	eventually grep -q 'two masters' "$dir/rld"
	rlctl cluster hosts
	exits 2
	complains "two masters, and nothing tells the later one"
	redis-cli -p "$first" set 'rl1:{hosts}:epoch' 1:aa >/dev/null
	eventually has_host "$segment"
	rlctl cluster status
	exits 1
	says "problem  127.0.0.1:$port: a master, too, and an earlier one"
	rlctl cluster hosts
	exits 0
	complains "127.0.0.1:$port: a master, too"
	doctor_finds finding "127.0.0.1:$port: a master, too" || fail_with 'nothing of it by doctor'
}

@test "a cluster that has no slots as yet is told from a store that does not answer" {
	kill -9 "${pids[-1]}"
	wait "${pids[-1]}" || :
	redis-server --port "$port" --cluster-enabled yes --cluster-port $((port + 6000)) --bind 127.0.0.1 --save '' --dir "$dir" >"$dir/redis" 2>&1 3>&- &
	pids+=($!)
	eventually redis-cli -p "$port" ping
	rlctl cluster status
	in_trouble 'none of its nodes has a slot'
	says_not 'does not answer'
	start_rld "$dir/rl.json"
	eventually grep -q 'none of its nodes has a slot' "$dir/rld"
	redis-cli -p "$port" cluster addslotsrange 0 16383
	eventually has_host "$segment"
}

@test "strict limits lend without a replica only where that is asked for, and status says so" {
	sed -i 's/"blind": 2/"strict": true/' "$dir/rl.json"
	rlctl cluster status
	says 'strict limits lend nothing of the keys that it has'
	sed -i 's/"lease"/"without_replica": "lend", "lease"/' "$dir/rl.json"
	rlctl config show --json
	[ "$(jq -r .cluster.without_replica <<<"$output")" = lend ] || fail_with "$output"
	rlctl cluster status
	says 'what strict limits lend there is forgotten with it'
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	eventually rlctl_admits
	redis-cli -p "$port" config set min-replicas-to-write 1 >/dev/null
	rlctl cluster status
	says 'takes no writes without one'
}

rlctl_admits() {
	"$RLCTL" --segment "$segment" check api alice
}

# A library that has a program's clock go so many seconds ahead.
make_clock() {
	gcc -shared -fPIC -D_GNU_SOURCE -o "$dir/clock.so" -x c - <<-'EOF'
		#include <dlfcn.h>
		#include <stdlib.h>
		#include <sys/time.h>
		#include <time.h>
		int clock_gettime(clockid_t id, struct timespec *t)
		{
			int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
			int result = real(id, t);

			if (id == CLOCK_REALTIME)
				t->tv_sec += atoi(getenv("AHEAD"));
			return result;
		}
		int gettimeofday(struct timeval *restrict t, void *restrict zone)
		{
			struct timespec now;

			clock_gettime(CLOCK_REALTIME, &now);
			t->tv_sec = now.tv_sec;
			t->tv_usec = now.tv_nsec / 1000;
			return 0;
		}
	EOF
}

status_says() {
	"$RLCTL" cluster status | grep -qF "$1"
}

@test "a host whose clock is another than the store's is told by doctor and status" {
	kill -9 "${pids[-1]}"
	make_clock
	export AHEAD=7200 LD_PRELOAD="$dir/clock.so"
	start_store
	unset LD_PRELOAD
	write_config "$dir/rl.json" "$segment" "$dir/secret"
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	eventually status_says 'behind the store'
	rlctl cluster status
	exits 1
	says "segment $segment: its clock is 7"
	says 'run NTP there'
	doctor_finds finding 'its clock is 7' || fail_with 'nothing of it by doctor'
	rlctl cluster hosts --json
	conforms cluster
	[ "$(jq '.hosts[0].clock_ahead_ms | . < -7100000 and . > -7300000' <<<"$output")" = true ] || fail_with "$output"
}

has_both_nodes() {
	[ "$(redis-cli -p "$port" cluster info | grep -c 'cluster_state:ok\|cluster_known_nodes:2' || :)" = 2 ]
}

@test "nodes whose clocks are apart are told by status" {
	kill -9 "${pids[-1]}"
	make_clock
	local ports=()
	for ahead in 0 7200; do
		mkdir "$dir/node$ahead"
		for port in $(seq $((26000 + $$ % 5000)) $((26050 + $$ % 5000))); do
			AHEAD=$ahead LD_PRELOAD="$dir/clock.so" redis-server --port "$port" --cluster-enabled yes --cluster-port $((port + 6000)) \
				--bind 127.0.0.1 --save '' --dir "$dir/node$ahead" >"$dir/redis$ahead" 2>&1 3>&- &
			pids+=($!)
			eventually node_is_up_or_down "${pids[-1]}"
			if kill -0 "${pids[-1]}" 2>/dev/null; then break; fi
		done
		ports+=("$port")
	done
	redis-cli -p "${ports[0]}" cluster addslotsrange 0 8191
	redis-cli -p "${ports[1]}" cluster addslotsrange 8192 16383
	redis-cli -p "${ports[0]}" cluster meet 127.0.0.1 "${ports[1]}" $((ports[1] + 6000))
	port=${ports[0]}
	write_config "$dir/rl.json" "$segment" "$dir/secret"
	eventually has_both_nodes
	eventually status_says 'clocks of nodes are 7'
}

# Answers, or has ended for want of a free port.
node_is_up_or_down() {
	! kill -0 "$1" 2>/dev/null || redis-cli -p "$port" info server 2>/dev/null | grep -q "process_id:$1"
}

@test "another secret is refused, by rld and by rlctl" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	head -c 32 /dev/urandom >"$dir/secret2"
	chmod 600 "$dir/secret2"
	write_config "$dir/rl2.json" "$segment-2" "$dir/secret2"
	"$RLD" -c "$dir/rl2.json" >"$dir/rld2" 2>&1 3>&- &
	pids+=($!)
	eventually grep -q 'another secret' "$dir/rld2"
	! has_host "$segment-2" || fail_with 'it has joined'
	rlctl cluster status -c "$dir/rl2.json"
	in_trouble 'another one'
}

@test "a secret that others can read is refused" {
	chmod 644 "$dir/secret"
	rlctl cluster status
	in_trouble "$dir/secret: others may read or write it"
	run "$RLD" -c "$dir/rl.json"
	[ "$status" -eq 1 ]
	[[ $output == *'others may read or write it'* ]]
}

@test "a key has another capacity everywhere, for a while or until it is lifted" {
	rlctl cluster override api alice
	exits 0
	says_line none
	rlctl cluster override api alice 3
	exits 0
	says_line 3
	rlctl cluster override api alice 4 --for 1h
	exits 0
	grep -qE '^4 until 20.* UTC$' <<<"$output"
	rlctl cluster override api alice --json
	conforms cluster
	has 'capacity=4'
	until_ms=$(($(jq .until_ns <<<"$output") / 1000000))
	((until_ms > $(date +%s%3N) + 3500000 && until_ms < $(date +%s%3N) + 3601000))
	rlctl cluster override api alice none
	says_line none
	rlctl cluster override api alice -- -3
	in_trouble "'-3': expected a capacity of 0 to"
	rlctl cluster override api alice 3 --for ever
	in_trouble "--for 'ever': expected a duration"
}

@test "a key that is to be denied altogether is banned under its rule, on all hosts, whatever they were lent" {
	rlctl cluster override api alice banned
	in_trouble "'rlctl cluster ban KEY --rule RULE'"
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	start_second
	eventually spend
	rlctl cluster ban alice --rule api --for 1h
	exits 0
	for one in "$segment" "$segment-2"; do
		rlctl --segment "$one" check api alice
		exits 1
		says 'by ban'
		rlctl --segment "$one" check own alice
		exits 0
	done
	rlctl cluster allow alice --rule api --for 1h
	exits 0
	[ "$(admit "$segment" 15)" = 15 ]
	[ "$(admit "$segment-2" 15)" = 15 ]
	rlctl cluster unban alice --rule api
	exits 0
	((30 > $(admit "$segment" 15) + $(admit "$segment-2" 15))) || fail_with 'no limit any more'
}

@test "an override is in force in the store at the next question" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	rlctl cluster override api alice 1
	exits 0
	eventually spend
	rlctl cluster show api alice
	says ': 1 lent'
}

# admit SEGMENT TIMES: how many requests of alice are admitted there.
admit() {
	local n=0
	for _ in $(seq "$2"); do
		if "$RLCTL" --segment "$1" check api alice >/dev/null; then n=$((n + 1)); fi
	done
	echo "$n"
}

# Both hosts spend until more than the rule's capacity was admitted on each.
spend_on_both() {
	first=$((first + $(admit "$segment" 5)))
	second=$((second + $(admit "$segment-2" 5)))
	((first > 12 && second > 12))
}

@test "an override above the capacity is admitted on every host, and no more than it" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	start_second
	rlctl cluster override api alice 60
	exits 0
	first=0 second=0
	eventually spend_on_both
	for _ in 1 2 3 4; do spend_on_both || :; done
	((first + second <= 60 + 2 * 2)) || fail_with "$first and $second of 60"
	rlctl --segment "$segment" get api alice --json
	[ "$(jq '.limits[0].counted.used > 12' <<<"$output")" = true ] || fail_with "$output"
}

@test "unlimited in the store is more than is asked for" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	rlctl cluster override api alice unlimited
	exits 0
	says_line 268435455
	eventually spend
	eventually spends_fifty
}

spends_fifty() {
	[ "$(admit "$segment" 50)" = 50 ]
}

calls_of() {
	redis-cli -p "$port" info commandstats | sed -n "s/^cmdstat_$1:calls=\([0-9]*\),.*/\1/p"
}

# What a script calls is counted, too: a GET of an override in each call of it, and no other question about one.
@test "whether there is an override is asked along with the share, and of a key without one no more" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	eventually spend
	redis-cli -p "$port" config resetstat >/dev/null
	local begin=$SECONDS
	admit "$segment" 400 >/dev/null
	local asks gets beats=$((2 * (SECONDS - begin) + 4)) # a host looks whose store it is, and of what epoch
	asks=$(calls_of evalsha) gets=$(calls_of get)
	((asks < 400)) || fail_with "$asks calls for 400 requests"
	((${gets:-0} <= asks * 2 + beats)) || fail_with "$gets overrides read in $asks calls"
}

shares_at_most() {
	local lent
	lent=$("$RLCTL" cluster show api alice | sed 's/.*: \([0-9]*\) lent/\1/;q')
	((lent <= $1))
}

asks() {
	curl -s --unix-socket "$dir/m" http://localhost/metrics | sed -n 's/^rl_cluster_asks_total{.*} //p'
}

# Nothing is asked for any more, until something changes.
is_quiet() {
	local before
	before=$(asks)
	sleep 2.5
	[ "$(asks)" = "$before" ]
}

@test "what is lent above a capacity that was lowered is given back before its lease is over" {
	sed -i 's/"10\/h", "scope"/"1000\/h", "scope"/; s/"lease": "5s"/"lease": "300s"/' "$dir/rl.json"
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	eventually spend
	admit "$segment" 40 >/dev/null # of one request no more is lent than it needs
	! shares_at_most 100 || fail_with 'a little'
	eventually is_quiet
	sed -i 's/"1000\/h", "scope"/"60\/h", "scope"/' "$dir/rl.json"
	kill -HUP "${pids[-1]}"
	eventually shares_at_most 60
}

@test "a log that has no room for an override says so" {
	sed -i 's/"limit": "10\/h", "scope"/"limit": "10\/h", "algorithm": "sliding_log", "scope"/' "$dir/rl.json"
	rlctl cluster override api alice 100000
	exits 0
	complains "rule 'api' keeps a log: each host admits at most"
	rlctl cluster override api alice 11
	exits 0
	[ -z "$stderr" ]
}

@test "the store that is away is told once, and when it is back" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	kill -STOP "${pids[0]}"
	eventually grep -q 'cluster: the store does not answer' "$dir/rld"
	rlctl cluster status
	in_trouble 'the store does not answer'
	kill -CONT "${pids[0]}"
	eventually grep -q 'cluster: the store answers again' "$dir/rld"
	[ "$(grep -c 'cluster: the store does not answer' "$dir/rld")" = 1 ] || fail_with "$(cat "$dir/rld")"
	eventually tells_once 'store back'
	eventually tells_once 'store away'
	rlctl --segment "$segment" log
	says 'store away'
	! grep 'store' <<<"$output" | grep -q 'by ' || fail_with "$output"
	[ "$(wc -L <<<"$output")" -le 80 ] || fail_with "$output"
	rlctl --segment "$segment" log --json
	conforms log
	jq -e 'select(.event == "store back") | .retry_after_ns >= 1000000000 and .uid == null' <<<"$output" >/dev/null
}

tells_once() {
	[ "$("$RLCTL" --segment "$segment" log --json | jq -r --arg event "$1" 'select(.event == $event) | .event' | wc -l)" = 1 ]
}

@test "hosts that come and go are told by those that stay" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	start_second
	eventually tells_once 'host joined'
	kill -9 "${pids[-1]}"
	id=$("$RLCTL" cluster hosts --json | jq -r --arg name "$segment-2" '.hosts[] | select(.segment == $name) | .id')
	redis-cli -p "$port" hset 'rl1:{hosts}' "$id" '1:h s 1 0 own 0' >/dev/null
	eventually tells_once 'host gone'
	rlctl --segment "$segment" log
	says "$id"
}

@test "what all hosts admit together is told by config check, by doctor, and by both more strictly where it is much" {
	rlctl config check "$dir/rl.json"
	says_line 'api: 10 per 1h: all hosts together admit at most 2 for each host more: 10 hosts up to 30; 10m is the most for "auto"'
	sed 's/"blind": 2/"blind": "auto"/; s/10\/h/100\/min/' "$dir/rl.json" >"$dir/auto.json"
	rlctl config check "$dir/auto.json"
	says_line 'api: 100 per 1m: all hosts together admit at most 5 % more, however many there are; 10 ask before they admit'
	sed 's/"blind": 2, //; s/10\/h/1000\/10min/' "$dir/rl.json" >"$dir/auto.json"
	rlctl config check "$dir/auto.json"
	says_line 'api: 1000 per 10m: all hosts together admit at most 5 % more, however many there are'
	sed 's/"blind": 2/"strict": true/' "$dir/rl.json" >"$dir/strict.json"
	rlctl config check "$dir/strict.json"
	! says_line 'api: 10 per 1h: all hosts' || fail_with "$output"
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	doctor_finds ok 'rule api: all hosts together admit up to 12, of a capacity of 10' || fail_with 'nothing of the bound'
	redis-cli -p "$port" hset 'rl1:{hosts}' other '99999999999999:h2 s2 0.0.1 3 own 0' >/dev/null
	doctor_finds finding 'rule api: all hosts together admit up to 14, of a capacity of 10' || fail_with 'nothing of a wide one'
}

@test "a limit that a few hosts exceed blind is warned of by rld -n" {
	run "$RLD" -n -c "$dir/rl.json"
	[ "$status" -eq 0 ]
	[[ $output == *"rule 'api': each host admits 2 without a share, and all may admit 10: 10 hosts admit up to 30"* ]]
	[[ $output != *"rule 'own'"* ]]
}

@test "metrics tell of the cluster" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	eventually spend
	curl -s --unix-socket "$dir/m" http://localhost/metrics >"$dir/metrics"
	grep -q "^rl_cluster_hosts{segment=\"$segment\"} 1$" "$dir/metrics"
	grep -q "^rl_cluster_overshoot_max{segment=\"$segment\",rule=\"api\"} 2$" "$dir/metrics"
	grep -q "^rl_cluster_overshoot_ratio{segment=\"$segment\",rule=\"api\"} 0.200$" "$dir/metrics"
	grep -q "^rl_cluster_shares{segment=\"$segment\",rule=\"api\"} 1$" "$dir/metrics"
	grep -q "^rl_cluster_away{segment=\"$segment\"} 0$" "$dir/metrics"
	lent=$(sed -n "s/^rl_cluster_lent{segment=\"$segment\",rule=\"api\"} //p" "$dir/metrics")
	[ "$lent" -ge 1 ] || fail_with "$(cat "$dir/metrics")"
	! grep 'rule="own"' "$dir/metrics" | grep rl_cluster || fail_with 'a rule of this host alone'
	grep -q "^rl_cluster_away_since_timestamp_seconds{segment=\"$segment\"} 0.000000000$" "$dir/metrics"
	count=$(sed -n "s/^rl_cluster_round_trip_seconds_count{segment=\"$segment\"} //p" "$dir/metrics")
	grep -q "^rl_cluster_round_trip_seconds_bucket{segment=\"$segment\",le=\"+Inf\"} $count\$" "$dir/metrics"
	[ "$count" -ge 2 ]
	! command -v promtool >/dev/null || promtool check metrics <"$dir/metrics"
	{
		sed -n '/expr:/,/for:\|labels:/p' "$top/systemd/prometheus/alerts.yml"
		jq -r '.. | .expr? // empty' "$top/rld/dashboard.json"
	} | grep -oE '\brl_cluster_[a-z_]+' | sort -u >"$dir/named"
	[ "$(wc -l <"$dir/named")" -ge 6 ]
	while read -r name; do grep -q "^$name{" "$dir/metrics" || fail_with "$name is not there"; done <"$dir/named"
	kill -STOP "${pids[0]}"
	eventually is_away_since
	kill -CONT "${pids[0]}"
}

# A time of this minute or the last.
is_away_since() {
	local since
	curl -s --unix-socket "$dir/m" http://localhost/metrics >"$dir/metrics"
	since=$(sed -n 's/^rl_cluster_away_since_timestamp_seconds{.*} \([0-9]*\)\..*/\1/p' "$dir/metrics")
	grep -q "^rl_cluster_away{segment=\"$segment\"} 1$" "$dir/metrics" && (($(date +%s) - since < 120))
}

# The capacity of a rule, as the segment has it.
has_capacity() {
	"$RLCTL" --segment "$segment" status --json | jq -e --arg rule "$1" --argjson capacity "$2" \
		'.rules[] | select(.rule == $rule) | .limits[0].capacity == $capacity'
}

rules_state() {
	"$RLCTL" cluster hosts --json | jq -e --argjson version "$1" --arg state "$2" \
		'.hosts[0] | .rules == $version and .rules_state == $state'
}

@test "rules for all hosts are pushed, put into force, refused, and kept for the next start" {
	sed -i 's/"lease"/"rules": "shared", "lease"/' "$dir/rl.json"
	sed 's/"limit": "10\/h", "scope"/"limit": "20\/h", "scope"/' "$dir/rl.json" >"$dir/all.json"
	rlctl cluster pull
	exits 1
	complains 'the store has no rules'
	start_rld "$dir/rl.json"
	eventually has_host "$segment"
	rlctl cluster push "$dir/all.json"
	exits 0
	says_line 'version 1'
	eventually has_capacity api 20
	eventually rules_state 1 good
	rlctl cluster hosts --json
	conforms cluster
	rlctl cluster diff "$dir/all.json"
	exits 0
	says 'the same as version 1'
	rlctl cluster diff "$dir/rl.json" --json
	exits 1
	conforms cluster
	"$RLCTL" cluster pull | cmp - "$dir/all.json"
	rlctl cluster push "$dir/rl.json" --replace 7
	exits 2
	complains 'RLVERSION 1'
	echo '{"rules": {"api": {"limit": "x"}}}' >"$dir/bad.json"
	rlctl cluster push "$dir/bad.json"
	exits 1

	# A document that somebody has written past rlctl is judged by each host.
	redis-cli -p "$port" hset 'rl1:{rules}' v 2 s "$(sha256sum <"$dir/bad.json" | cut -c1-64)" r "$(cat "$dir/bad.json")
" >/dev/null
	eventually rules_state 2 refused
	has_capacity api 20 || fail_with 'the rules before are gone'

	kill -9 "${pids[1]}"
	kill -9 "${pids[0]}"
	rm -f "/dev/shm/rl.$segment"
	start_rld "$dir/rl.json"
	eventually has_capacity api 20
}

# Another host, with the same store and secret.
start_second() {
	write_config "$dir/rl2.json" "$segment-2" "$dir/secret"
	mkdir "$dir/state2"
	"$RLD" -c "$dir/rl2.json" --state "$dir/state2" >"$dir/rld2" 2>&1 3>&- &
	pids+=($!)
	eventually has_host "$segment-2 "
}

@test "a ban, an exemption and what lifts them reach all hosts, and are told" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	start_second
	rlctl cluster ban alice --for 1h --reason 'too many'
	exits 0
	says_line 'done on 2 of 2 hosts'
	for one in "$segment" "$segment-2"; do
		rlctl --segment "$one" bans
		says 'alice'
		says 'too many'
		rlctl --segment "$one" check own alice
		exits 1
		rlctl --segment "$one" log --json
		says '"event":"ban set","rule":null,"key":"alice"'
		says '"event":"order","rule":null,"key":"ban"'
	done
	grep -q 'cluster: order for all hosts: ban, every rule: done' "$dir/rld2" || fail_with "$(cat "$dir/rld2")"
	rlctl cluster allow 192.0.2.0/24 --until never --rule api --json
	exits 0
	conforms cluster
	has 'hosts=2' 'done=2'
	rlctl --segment "$segment-2" bans
	says '192.0.2.0/24'
	rlctl cluster unban alice
	exits 0
	rlctl --segment "$segment-2" check own alice
	exits 0
	rlctl cluster hosts --json
	conforms cluster
	[ "$(jq '[.hosts[].order] | unique | length' <<<"$output")" = 1 ] || fail_with 'hosts say otherwise'

	# Nothing of it can be read there, and nobody without the secret can add to it.
	! redis-cli -p "$port" --no-raw hgetall 'rl1:{orders}' | grep -E 'alice|192\.0\.2|too many|api' ||
		fail_with 'an order is not sealed'
	redis-cli -p "$port" hset 'rl1:{orders}' forged "$(printf '%0100d' 7)" >/dev/null
	redis-cli -p "$port" zadd 'rl1:{orders}:n' 9000000000000000 forged >/dev/null
	eventually grep -q 'not of this secret' "$dir/rld"
}

@test "a limit of one key for a time, of each host or shared, is everywhere with one word, and is lifted with it" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	start_second
	rlctl --segment "$segment" override own alice 13 --everywhere --for 1h --reason 'ticket 12'
	exits 0
	says_line 'done on 2 of 2 hosts'
	for one in "$segment" "$segment-2"; do
		rlctl --segment "$one" check own alice --cost 13
		exits 0
		rlctl --segment "$one" check own alice
		exits 1
		rlctl --segment "$one" overrides
		says 'alice  "ticket 12"'
		rlctl --segment "$one" log --changes
		says 'own           alice 13/h by '
	done
	grep -q 'cluster: order for all hosts: override, rule own: done' "$dir/rld2" || fail_with "$(cat "$dir/rld2")"
	rlctl --segment "$segment" override own alice none --everywhere --json
	exits 0
	conforms override
	has 'hosts=2' 'done=2'
	[ -z "$("$RLCTL" --segment "$segment-2" overrides --output name)" ]

	# Of what hosts share the store keeps it, to the end that was said.
	rlctl --segment "$segment" override api alice 4 --everywhere --until 2099-01-01
	exits 0
	says_line '4 until 2099-01-01 00:00:00 UTC'
	rlctl cluster override api alice
	says_line '4 until 2099-01-01 00:00:00 UTC'
	rlctl --segment "$segment" override api alice 5 --everywhere
	until=$("$RLCTL" cluster override api alice --json | jq '.until_ns / 1000000000 | floor')
	((until > $(date +%s) + 3500 && until < $(date +%s) + 3601))
	rlctl --segment "$segment" override api alice 5 --everywhere --reason why
	in_trouble 'of a limit that hosts share the store keeps none'
	rlctl --segment "$segment" override api alice none --everywhere
	says_line none
}

@test "of a rule of several limits the one that is meant is another everywhere" {
	jq '.rules.both = {limits: [{limit: "10/h", scope: "cluster", blind: 2}, {limit: "20/d", scope: "cluster", blind: 2}, {limit: "5/s"}]}' \
		"$dir/rl.json" >"$dir/more.json"
	mv "$dir/more.json" "$dir/rl.json"
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	rlctl --segment "$segment" override both alice 30/d --everywhere
	exits 0
	[ "$(redis-cli -p "$port" --scan --pattern 'rl1:o:*' | wc -l)" = 1 ]
	rlctl --segment "$segment" override both alice none --everywhere
	in_trouble 'has limits that hosts share and others; say by --limit which one'
	rlctl --segment "$segment" override both alice 6/s --everywhere
	exits 0
	says_line 'done on 1 of 1 host'
	rlctl --segment "$segment" overrides --output tsv --no-headers
	says 'both(3)	alice'
	rlctl --segment "$segment" override both alice none --limit 2 --everywhere
	exits 0
	[ "$(redis-cli -p "$port" --scan --pattern 'rl1:o:*' | wc -l)" = 0 ]
}

@test "a reset empties a key on all hosts, and what they held of it can be lent again at once" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	start_second
	eventually spend
	for _ in $(seq 40); do
		"$RLCTL" --segment "$segment" check api alice >/dev/null || :
		"$RLCTL" --segment "$segment-2" check api alice >/dev/null || :
	done
	rlctl cluster reset api alice
	exits 0
	says_line 'done on 2 of 2 hosts'
	eventually is_empty no_shares alice
	eventually counts_no_shares
	for one in "$segment" "$segment-2"; do
		rlctl --segment "$one" log --json
		says '"reset"'
	done
	eventually spend
}

# of KEY...: every host has counted each, and the store has lent some of it.
all_spend() {
	local key
	for key; do
		"$RLCTL" --segment "$segment" check api "$key" >/dev/null || :
		"$RLCTL" --segment "$segment-2" check api "$key" >/dev/null || :
		"$RLCTL" cluster show api "$key" | grep -q '[1-9][0-9]* lent' || return 1
	done
}

# is_empty COMMAND "KEY..." WHAT...: what the command says. Or each host borrows for the keys once more, and it is reset again: a
# wish may have been under way, and what was given back to a store that stood still is lost.
is_empty() {
	local key one
	"$1" && return
	for key in $2; do
		for one in "$segment" "$segment-2"; do
			for _ in 1 2 3; do "$RLCTL" --segment "$one" check api "$key" >/dev/null || :; done
		done
	done
	shift 2
	"$RLCTL" cluster reset api "$@" --yes
	return 1
}

no_shares_of() {
	local key
	for key; do "$RLCTL" cluster show api "$key" | grep -q ': 0 lent' || return 1; done
}

used_somewhere() {
	local one used
	for one in "$segment" "$segment-2"; do
		used=$("$RLCTL" --segment "$one" get api "$1" --json 2>/dev/null | jq '.limits[0].counted.used')
		if [ "${used:-0}" -gt 0 ]; then return; fi
	done
	return 1
}

none_of_a() {
	no_shares_of a:1 a:2
}

none_at_all() {
	no_shares_of a:1 a:2 b:1
}

@test "a reset of a whole rule, or of a prefix, empties all its keys on all hosts, and gives back what they held" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	start_second
	rlctl cluster reset api
	in_trouble '--yes'
	eventually all_spend a:1 a:2 b:1
	rlctl cluster reset api --match 'a:*' --yes
	exits 0
	says_line 'done on 2 of 2 hosts'
	eventually is_empty none_of_a 'a:1 a:2' --match 'a:*'
	! used_somewhere a:1 || fail_with 'a:1 is used'
	used_somewhere b:1 || fail_with 'b:1 is not'
	! no_shares_of b:1 || fail_with 'b:1 is not lent'
	eventually all_spend a:1 a:2 b:1
	rlctl cluster reset api --yes --json
	exits 0
	conforms cluster
	eventually is_empty none_at_all 'a:1 a:2 b:1'
	! used_somewhere b:1 || fail_with 'b:1 is used'
	eventually all_spend a:1
	rlctl cluster reset api alice --match 'a:*'
	in_trouble 'exclude each other'
	rlctl cluster reset api --match 'a?' --yes
	in_trouble "--match 'a?': expected a prefix and *, or a network"
}

@test "addresses of one network have one counter on all hosts, and are reset as one or by a wider one" {
	sed -i 's/"api": {\(.*\)},$/"api": {"prefixes": [{"v6": 64, \1}]},/' "$dir/rl.json"
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	sed "s/$segment/$segment-2/" "$dir/rl.json" >"$dir/rl2.json"
	mkdir "$dir/state2"
	"$RLD" -c "$dir/rl2.json" --state "$dir/state2" >"$dir/rld2" 2>&1 3>&- &
	pids+=($!)
	eventually has_host "$segment-2 "
	local first
	for network in {2..9}; do # where one daemon is late, the other has all of it
		first=0
		for n in $(seq 30); do
			if "$RLCTL" --segment "$segment" check api "2001:db8:1:$network::$n" >/dev/null; then first=$((first + 1)); fi
			if "$RLCTL" --segment "$segment-2" check api "2001:db8:1:$network:ffff::$n" >/dev/null; then first=$((first + 1)); fi
			sleep 0.02
		done
		((first >= 4 && first <= 10 + 2 * 2)) || fail_with "$first of 10"
		rlctl cluster show api "2001:db8:1:$network::77" --json
		exits 0
		if [ "$(jq '[.limits[0].shares[].host] | unique | length' <<<"$output")" = 2 ]; then break; fi
	done
	[ "$(jq '[.limits[0].shares[].host] | unique | length' <<<"$output")" = 2 ] || fail_with "$output"
	rlctl cluster show api 2001:db8:1:a::77
	says ': 0 lent'
	rlctl cluster reset api --match 2001:db8:1::/48 --yes
	says_line 'done on 2 of 2 hosts'
	eventually is_empty no_network_shares "2001:db8:1:$network::1" --match 2001:db8:1::/48
}

no_network_shares() {
	no_shares_of "2001:db8:1:$network::1"
}

counts_no_shares() {
	curl -s --unix-socket "$dir/m" http://localhost/metrics | grep -q "^rl_cluster_lent{segment=\"$segment\",rule=\"api\"} 0$"
}

no_shares() {
	"$RLCTL" cluster show api alice | grep -q ': 0 lent'
}

@test "a host that was away does what it has missed, and no reset of before its time" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	rlctl cluster reset api alice
	exits 0
	rlctl cluster ban 192.0.2.7 --for 1h
	exits 0
	start_second
	eventually is_banned_on "$segment-2" 192.0.2.7
	! grep -q 'reset' "$dir/rld2" || fail_with "$(cat "$dir/rld2")"
	kill -9 "${pids[-1]}"
	eventually rlctl_says_missing
	"$RLD" -c "$dir/rl2.json" --state "$dir/state2" >"$dir/rld2" 2>&1 3>&- &
	pids+=($!)
	eventually grep -q 'order for all hosts: reset, rule api: done' "$dir/rld2"
	! grep -q 'ban, every' "$dir/rld2" || fail_with 'it did the ban again'
}

is_banned_on() {
	"$RLCTL" --segment "$1" bans | grep -q "$2"
}

# A reset that the dead host has not done; it is named.
rlctl_says_missing() {
	run --separate-stderr "$RLCTL" cluster reset api alice
	[ "$status" -eq 1 ] && [[ $output == 'done on 1 of 2 hosts' && $stderr == *'has not done it yet'* ]]
}

@test "a host that is gone is forgotten, one that is there is not" {
	start_rld "$dir/rl.json"
	eventually has_host "$segment "
	id=$("$RLCTL" cluster hosts --json | jq -r '.hosts[0].id')
	rlctl cluster forget "$id"
	in_trouble "'$id' is there"
	rlctl cluster forget nobody
	exits 1
	complains "no host has the id 'nobody'"
	kill -9 "${pids[1]}"
	redis-cli -p "$port" hset 'rl1:{hosts}' "$id" '1:h s 1 0 own 0' >/dev/null
	rlctl cluster forget "$id" --json
	exits 0
	conforms cluster
	has 'forgotten=true'
}

@test "orders that cannot be are refused before they are given" {
	rlctl cluster ban alice --for 1h --until never
	in_trouble 'give --for or --until, not both'
	rlctl cluster ban 192.0.2.0/33 --for 1h
	in_trouble "'192.0.2.0/33' is no network"
	rlctl cluster ban alice --for 1h --rule none
	in_trouble "no rule 'none'"
	rlctl cluster reset none alice
	in_trouble "no rule 'none'"
	rlctl cluster reset api 'user:*'
	in_trouble 'this is a prefix'
	[ "$(redis-cli -p "$port" exists 'rl1:{orders}')" = 0 ]
	rlctl cluster ban alice --for 1h
	exits 0
	says_line 'done on 0 of 0 hosts'
	head -c 32 /dev/urandom >"$dir/secret2"
	chmod 600 "$dir/secret2"
	redis-cli -p "$port" set 'rl1:{hosts}:check' 2:another >/dev/null
	rlctl cluster ban alice --for 1h
	in_trouble 'the store is in use with another one'
}

@test "mistakes are named" {
	rlctl cluster stauts
	in_trouble "unknown verb 'stauts'; did you mean 'status'?"
	rlctl cluster show api
	in_trouble 'cluster show: missing operand'
	rlctl cluster show nothing alice
	in_trouble "no rule 'nothing'"
	rlctl cluster show own alice
	in_trouble "rule 'own' has no limit of the cluster"
	echo '{"rules": {}}' >"$dir/none.json"
	rlctl cluster status -c "$dir/none.json"
	in_trouble "it has no 'cluster'"
	rlctl_full cluster hosts
	exits 2
}

@test "what a request costs is lent for as a whole, and another host gives back for it what it does not use" {
	cat >"$RL_CONFIG" <<-EOF
		{"segment": {"name": "$segment", "keys": 100},
		 "cluster": {"nodes": ["127.0.0.1:$port"], "secret_file": "$dir/secret"},
		 "rules": {"api": {"limit": "1000/h", "scope": "cluster", "blind": 1}}}
	EOF
	sed "s/$segment/$segment-2/" "$RL_CONFIG" >"$dir/rl2.json"
	start_rld "$RL_CONFIG"
	eventually has_host "$segment"
	"$RLD" -c "$dir/rl2.json" --state "$dir" >"$dir/rld2" 2>&1 3>&- &
	pids+=($!)
	eventually has_host "$segment-2"
	on check api alice --cost 300
	exits 1
	says_line 'denied, until its host has a share'
	eventually "$RLCTL" --segment "$segment" check api alice --cost 300
	eventually "$RLCTL" --segment "$segment-2" check api alice --cost 700
	rlctl cluster show api alice
	says ': 1000 lent'
	rlctl --segment "$segment-2" check api alice --cost 2
	exits 1
}

@test "a blind part follows the number of hosts by default, is nothing at first, and told" {
	cat >"$RL_CONFIG" <<-EOF
		{"segment": {"name": "$segment", "keys": 100},
		 "cluster": {"nodes": ["127.0.0.1:$port"], "secret_file": "$dir/secret"},
		 "rules": {"api": {"limit": "1000/s", "scope": "cluster"}}}
	EOF
	rlctl config show --json
	says '"blind": "auto"'
	start_rld "$RL_CONFIG"
	eventually has_host "$segment"
	has_entry() { redis-cli -p "$port" hget 'rl1:{hosts}:blind' "$(redis-cli -p "$port" hkeys 'rl1:{hosts}')" | grep -q ':0:'; }
	eventually has_entry
	on check api alice
	exits 1
	eventually "$RLCTL" --segment "$segment" check api alice
	on get api alice
	says 'blind        0, by the number of hosts'
	on status
	says 'blind auto'
	rlctl cluster status
	says 'at most 50 above its capacity (1 host, blind auto)'
	sed -i 's|1000/s|1000/h|' "$RL_CONFIG"
	rlctl config show --json
	says '"blind": 10' # of a window that is too long
	sed -i 's|"api": {|&"blind": "auto", |' "$RL_CONFIG"
	rlctl config check
	exits 1
	complains 'is not "auto" for a window longer than 10m'
}
