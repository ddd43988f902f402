#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh core|lent|npm|pm2|types|asan|source|package [FILE...]: one part of the tests of librl for Node. What cannot run here exits
# 77, and its last line says why.
set -euo pipefail

part=$1
shift
top=$(cd "$(dirname "$0")/../../.." && pwd)
here=$top/bindings/node/tests
out=$top/build/node
export RL_TEST_RLCTL=$top/build/rlctl RL_TEST_TABLE=$top/bindings/table.json RL_TEST_TOP=$top
export NO_UPDATE_NOTIFIER=1 npm_config_update_notifier=false

fail() {
	echo "FAILED: $*"
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

# A directory for a part: the package as npm would install it, and the tests beside it.
lay_out() {
	local dir=$1
	mkdir -p "$dir/node_modules"
	rm -rf "$dir"/{node_modules/librl,core,npm_tests,programs,types}
	cp -r "$out/package" "$dir/node_modules/librl"
	cp -r "$here"/{support.js,core,lent,npm_tests,programs,types} "$dir"
	cp "$here/types/usage.ts" "$dir/types/usage.mts"
	touch "$dir/.laid"
}

# The libraries that the stores are for, as the lock file has them. Without a network they are what was there before.
install_locked() {
	local dir=$1
	command -v npm >/dev/null || skip 'without npm no library that the stores are for'
	if ! cmp -s "$here/npm/package-lock.json" "$dir/.installed"; then
		rm -rf "$dir/node_modules" "$dir/.installed"
		mkdir -p "$dir"
		cp "$here"/npm/package*.json "$dir"
		(cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1 --loglevel=error >"$dir/npm.log" 2>&1) || {
			tail -n 5 "$dir/npm.log"
			skip 'npm cannot install express, fastify and the others: there is no network, or no registry'
		}
		cp "$here/npm/package-lock.json" "$dir/.installed"
	fi
}

# Several parts want them at once: the first one installs, and lays out what is new.
enter_npm() {
	local dir=$out/run/npm
	mkdir -p "$dir"
	exec 9>"$out/run/npm.lock"
	flock 9
	install_locked "$dir"
	if [ ! -e "$dir/.laid" ] || [ -n "$(find "$here" "$out/package/.done" -newer "$dir/.laid")" ]; then
		lay_out "$dir"
	fi
	flock -u 9
	exec 9>&-
	cd "$dir"
}

# The tests named, or all of a folder.
run_tests() {
	local folder=$1
	shift
	if [ $# -gt 0 ]; then node --test "$@"; else node --test "$folder"/*.test.js; fi
}

run_core() {
	lay_out "$out/run/core"
	cd "$out/run/core"
	run_tests core "$@"
}

# Beside a store and rld.
run_lent() {
	lay_out "$out/run/lent"
	cd "$out/run/lent"
	"$top/tests/support/lent.py" node --test lent/*.test.js
}

# For the bench.
run_prepare() {
	enter_npm
}

run_npm() {
	enter_npm
	run_tests npm_tests "$@"
}

run_pm2() {
	enter_npm
	run_tests npm_tests npm_tests/pm2.pm2.js
}

# The types, as CommonJS and as ES modules see them.
run_types() {
	enter_npm
	node_modules/.bin/tsc --noEmit --strict --module node16 --target es2022 --types node types/usage.ts types/usage.mts
}

# What Node itself leaks at its end hides leaks of the addon; for those there is core/memory.test.js.
run_asan() {
	lay_out "$out/run/asan"
	cd "$out/run/asan"
	install -m 644 "$out/asan/librl.node" node_modules/librl/librl.node
	export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1:abort_on_error=1 RL_TEST_CALLS=20000
	LD_PRELOAD=$(gcc -print-file-name=libasan.so)
	run_tests core "$@"
}

# Each addon of the package loads, with its libc, on its machine: one that has no Node is given the names of its calls.
loads() {
	local file=$1 cc=$2
	shift 2
	"${cc%-gcc}-nm" -D --undefined-only "$file" 2>/dev/null | awk '$2 ~ /^napi_/ { print "int " $2 "(void) { return 9; }" }' >"$work/calls.c" ||
		nm -D --undefined-only "$file" | awk '$2 ~ /^napi_/ { print "int " $2 "(void) { return 9; }" }' >"$work/calls.c"
	"$cc" -rdynamic -o "$work/load" "$here/programs/load.c" "$work/calls.c" -ldl
	"$@" "$work/load" "$file" || fail "$file does not load"
}

run_package() {
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	tar -xzf "$out"/librl-*.tgz -C "$work"
	cd "$work/package/prebuilds"
	for kind in *; do
		case $kind in
		linux-*-glibc) [ "$kind" != linux-arm64-glibc ] || [ "$(uname -m)" = aarch64 ] ||
			loads "$kind/librl.node" aarch64-linux-gnu-gcc qemu-aarch64-static -L /usr/aarch64-linux-gnu ;;
		linux-*-musl) loads "$kind/librl.node" musl-gcc ;;
		*) fail "what is $kind" ;;
		esac
		echo "ok $kind"
	done
	[ -e "linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')-glibc" ] || fail 'nothing is built for this machine'
}

program() {
	cat <<-EOF
	const rl = require('librl')
	const name = 'node-package-$$'
	const limiter = rl.open(name).define('r', '2/min')
	const said = [1, 2, 3].map(() => limiter.check('a').allowed).join()
	rl.unlink(name)
	if (said !== 'true,true,false') throw new Error(said)
	import('librl/middleware').then(({ koa }) => import('librl').then(({ open }) => console.log(typeof koa, typeof open, said)))
	EOF
}

# As a user does: npm installs the packed package without a network, and builds it from its sources.
run_source() {
	command -v npm >/dev/null || skip 'without npm no package is installed'
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cd "$work"
	echo '{"private": true}' >package.json
	program >program.js
	npm install --offline --no-audit --no-fund --loglevel=error "$out"/librl-*.tgz
	[ "$(node program.js)" = 'function function true,true,false' ] || fail 'the prebuilt addon'
	rm -r node_modules/librl/prebuilds
	! node program.js 2>said || fail 'it ran without an addon'
	grep -q 'npm rebuild librl' said || fail "the remedy is not said: $(cat said)"
	CFLAGS=-O0 CXXFLAGS=-O0 npm rebuild --offline --foreground-scripts librl >build.log 2>&1 || { tail -n 30 build.log; fail 'npm rebuild'; }
	[ -e node_modules/librl/build/Release/rl.node ] || fail 'nothing was built'
	[ "$(node program.js)" = 'function function true,true,false' ] || fail 'the addon of the sources'
	tail -n 3 build.log
}

"run_$part" "$@"
