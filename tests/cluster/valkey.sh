#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of clusters on Valkey in place of Redis: Debian's own where it has one, else that of its backports, unpacked
# into a temporary directory. Exits 77 with the reason where none can be had.
set -euo pipefail

cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

skip() {
	echo "$*"
	exit 77
}

# backports: apt's options for the backports of this release, from where its packages come.
backports() {
	local codename mirror
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# shellcheck disable=SC2016 # the words are apt's
	mirror=$(apt-get indextargets --format '$(COMPONENT) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "main" { print $2; exit }')
	echo "deb $mirror $codename-backports main" >"$work/sources.list"
	mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
	options=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists"
		-o "Dir::Cache=$work/cache")
	apt-get "${options[@]}" update -qq >/dev/null 2>&1
}

fetch() {
	(cd "$work" && apt-get "${options[@]}" download -qq valkey-server valkey-tools >/dev/null 2>&1)
}

command -v apt-get >/dev/null || skip 'there is no apt-get'
options=()
fetch || { backports && fetch; } || skip 'no Valkey can be had here'
for package in "$work"/*.deb; do
	dpkg-deb -x "$package" "$work/root"
done
for name in server cli; do
	ln -s "valkey-$name" "$work/root/usr/bin/redis-$name"
done
PATH=$work/root/usr/bin:$PATH
redis-server --version

for test in take store lone hosts; do
	echo "cluster/test_$test"
	"build/tests/cluster/test_$test" >"$work/log" 2>&1 || { tail -n 40 "$work/log" && exit 1; }
done
tests/cli/run.sh build/rlctl tests/cli/cluster.bats
