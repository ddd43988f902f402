#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Rack::Attack's own suite, as Debian's source package has it, on RL::RackAttackStore in place of MemoryStore. It is
# fetched and run, and nothing of it is kept. RACK_ATTACK_SOURCE is a tree that is here already. What may fail, and
# why, is in peers.exceptions. Exits 77 if the archive does not give the source.
set -euo pipefail

cd "$(dirname "$0")/../../.."
top=$PWD
here=$top/bindings/ruby
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The archive that this machine installs from, its sources.
fetch() {
	local apt=(-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o "Dir::Etc::sourcelist=$work/none.list"
		-o "Dir::Etc::sourceparts=$work/parts" -o APT::Sandbox::User=root)
	mkdir -p "$work/lists/partial" "$work/cache" "$work/parts"
	for list in /etc/apt/sources.list.d/*.sources; do
		[ ! -e "$list" ] || sed 's/^Types: .*/Types: deb-src/' "$list" >"$work/parts/${list##*/}"
	done
	sed -n 's/^deb /deb-src /p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null >"$work/parts/more.list" || true
	apt-get "${apt[@]}" update -qq >"$work/log" 2>&1 || true
	(cd "$work" && apt-get "${apt[@]}" source -qq ruby-rack-attack) >>"$work/log" 2>&1 || {
		tail -n 3 "$work/log"
		echo 'the archive does not give the source of ruby-rack-attack'
		exit 77
	}
	source=$(find "$work" -maxdepth 1 -type d -name 'ruby-rack-attack-*')
}

source=${RACK_ATTACK_SOURCE:-}
[ -n "$source" ] || fetch
export LD_LIBRARY_PATH=$top/build RL_PEERS_EXCEPTIONS=$here/tests/peers.exceptions
cd "$source"
mapfile -t specs < <(find spec -name '*_spec.rb' | grep -vE 'redis|memcache|dalli|offline|sqlite' | sort)
[ "${#specs[@]}" -gt 0 ] || { echo "no specs in $source"; exit 1; }
# What the suite loads for its developers alone.
mkdir -p "$work/stubs/bundler"
touch "$work/stubs/bundler/setup.rb" "$work/stubs/byebug.rb" "$work/stubs/pry.rb"
ruby -W0 -I "$work/stubs" -I "$top/build/ruby/lib" -I "$here/lib" -I spec -I "$source" -r "$here/tests/peers.rb" \
	-e 'ARGV.each { |spec| require "./#{spec}" }' "${specs[@]}"
