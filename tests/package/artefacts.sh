#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a root without a compiler pip installs the wheel, gem the built gem and npm the package, and their five lines run: one
# limit, which all three count. Exits 77 with the reason when it cannot run here.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/support/container.bash
. "$top/tests/support/container.bash"
# shellcheck source=tests/support/root.bash
. "$top/tests/support/root.bash"

needs_container make debootstrap
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")

begin 'a wheel, a gem and a package of npm'
make -s -C "$top" wheel-python gem-ruby node-package >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail 'make'; }
begin "$codename: a root without a compiler"
make_root "$codename" ca-certificates
try 'apt-get update && apt-get install -y --no-install-recommends python3-pip ruby nodejs npm && ! command -v gcc cc'
cp "$top"/build/python/dist/*.whl "$top"/build/ruby-gem/rl-*-*.gem "$top"/build/node/librl-*.tgz "$root/root/"
begin 'installed'
try 'pip install --break-system-packages --no-index /root/rl_shm-*.whl'
try 'gem install --local --no-document /root/rl-*.gem'
try 'cd /root && npm install --offline --no-audit --no-fund --foreground-scripts ./librl-*.tgz'
begin 'five lines'
in_root 'cd /root
	python3 -c "
import rl
login = rl.Segment(\"web\").rule(\"login\", \"3/hour\")
print(*[login.allows(\"alice\") for attempt in range(2)])"
	ruby -r rl -e "login = RL.open(%q(web)).rule(%q(login), %q(3/hour)); puts (1..2).map { login.allow?(%q(alice)) }.join(%q( ))"
	node -e "console.log(require(\"librl\").open(\"web\").define(\"login\", \"3/hour\").check(\"alice\").allowed)"' >"$work/out" 2>"$work/log" ||
	{ cat "$work/log"; fail 'five lines'; }
diff "$work/out" - <<-END || fail 'one limit of three'
	True True
	true false
	false
END
