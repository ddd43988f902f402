#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Three hosts, here three segments with an rld each, one limit over a Redis Cluster of three masters and three replicas,
# all on the loopback and in a directory of its own; a master is killed in the middle.
#
#	examples/demo-cluster.sh [BUILD]
set -eu
build=${1:-build}
dir=$(mktemp -d /tmp/rl-demo-XXXXXX)
name=rl-demo-$$
pids=()

clean() {
	for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || :; done
	wait 2>/dev/null || :
	for host in 1 2 3; do "$build/rlctl" --segment "$name-$host" unlink --yes >/dev/null 2>&1 || :; done
	rm -rf "$dir"
}
trap clean EXIT

# wait_for COMMAND...: until it says yes.
wait_for() {
	for _ in $(seq 300); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	echo "demo: '$*' never said yes" >&2
	exit 1
}

is_whole() {
	[ "$(for p in "${ports[@]}"; do redis-cli -p "$p" cluster info; done | grep -c cluster_state:ok)" = 6 ]
}

# The master that has the key of the limit.
holder() {
	for p in "${ports[@]}"; do
		if redis-cli -p "$p" role | head -1 | grep -q master &&
			redis-cli -p "$p" keys 'rl1:*' | grep -qv hosts; then
			echo "$p"
			return
		fi
	done
}

# Ports of the loopback that nobody has, each with that of the cluster's bus.
base=$((20000 + $$ % 400 * 6))
ports=()
for i in 0 1 2 3 4 5; do ports+=($((base + i))); done

for port in "${ports[@]}"; do
	mkdir "$dir/$port"
	redis-server --port "$port" --bind 127.0.0.1 --dir "$dir/$port" --save '' --cluster-enabled yes \
		--cluster-node-timeout 1000 --cluster-replica-validity-factor 0 --repl-diskless-sync-delay 0 \
		--maxmemory-policy noeviction >"$dir/$port/log" 2>&1 &
	pids+=($!)
done
for port in "${ports[@]}"; do wait_for redis-cli -p "$port" ping; done
# A node that is late by a second misses a handshake, and then redis-cli waits for it without end.
join() {
	for _ in 1 2 3 4 5; do
		if timeout 60 redis-cli --cluster create "${ports[@]/#/127.0.0.1:}" --cluster-replicas 1 --cluster-yes >"$dir/create"; then return; fi
		for port in "${ports[@]}"; do redis-cli -p "$port" cluster reset hard >/dev/null; done
	done
	return 1
}
join
wait_for is_whole

head -c 32 /dev/urandom >"$dir/secret"
chmod 600 "$dir/secret"
for host in 1 2 3; do
	cat >"$dir/$host.json" <<-END
	{"segment": {"name": "$name-$host", "keys": 1000},
	 "cluster": {"nodes": ["127.0.0.1:${ports[0]}", "127.0.0.1:${ports[4]}"],
	             "secret_file": "$dir/secret", "lease": "5s"},
	 "rules": {"api": {"limit": "60/2s", "granularity": 8, "hard": true, "scope": "cluster", "blind": 2, "away": "closed"}}}
	END
	"$build/rld" -c "$dir/$host.json" 2>"$dir/rld-$host" &
	pids+=($!)
done
for host in 1 2 3; do wait_for "$build/rlctl" --segment "$name-$host" status; done

echo "one limit, 60 in 2 s, on three hosts; each is asked 400 times a second"
"$build/hosts" 10 api "$name-1" "$name-2" "$name-3" &
load=$!
sleep 4
master=$(holder)
for i in 0 1 2 3 4 5; do
	[ "${ports[$i]}" = "${master:-0}" ] || continue
	echo "the master that has the key, 127.0.0.1:$master, is killed"
	kill -9 "${pids[$i]}"
done
wait "$load"
