#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a call from Node costs: bench.js, with a Redis of its own on a unix socket.
set -euo pipefail

top=$(cd "$(dirname "$0")/../../.." && pwd)
out=$top/build/node
work=$(mktemp -d)
server=
clean_up() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	wait
	rm -rf "$work"
}
trap clean_up EXIT

"$top/bindings/node/tests/run.sh" prepare
cp "$top/bindings/node/bench/bench.js" "$out/run/npm"
redis-server --port 0 --unixsocket "$work/redis" --save '' --dir "$work" >"$work/log" &
server=$!
for _ in $(seq 100); do
	[ ! -S "$work/redis" ] || break
	sleep 0.1
done
cd "$out/run/npm"
node bench.js "$out/bench" "$work/redis"
