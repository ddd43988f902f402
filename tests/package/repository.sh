#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# repository.sh CODENAME...: in a root of each of these releases of Debian without a compiler, apt installs the packages of
# `make debs`, what README and pages show in five lines runs, and each example of the seats' READMEs; a later version takes their
# place, and a purge leaves nothing.
# For another release than this machine's the packages are built in a root of that release first, and there the extension of its
# PostgreSQL and the modules for its nginx pass their tests with the real server.
# RL_DEBS: a repository of that release, where there is one already. Exits 77 with the reason when it cannot run here.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/support/container.bash
. "$top/tests/support/container.bash"
# shellcheck source=tests/support/root.bash
. "$top/tests/support/root.bash"

needs_container make debootstrap dpkg-scanpackages
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM
this=$(. /etc/os-release && echo "$VERSION_CODENAME")
packages="librl1 rl-tools python3-rl ruby-rl php-rl librl-perl lua-rl node-librl libnginx-mod-http-rl libnginx-mod-stream-rl libapache2-mod-rl"
packages+=" rl-postfix"
# What the examples are written for.
around="lua5.4 php-cli apache2 nginx ruby perl nodejs python3 python3-pytest python3-limits python3-fastapi python3-aiohttp ruby-minitest"
around+=" curl ruby-rack-attack ruby-activesupport php-mbstring php-symfony-rate-limiter php-illuminate-cache libplack-perl haproxy libnginx-mod-http-lua"

# packages_of CODENAME: into $work/debs, as a repository.
packages_of() {
	rm -rf "$work/debs"
	if [ -n "${RL_DEBS:-}" ]; then
		cp -r "$RL_DEBS" "$work/debs"
		return
	fi
	if [ "$1" = "$this" ]; then
		make -s -C "$top" debs >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail 'make debs'; }
		cp -r "$top/build/debs" "$work/debs"
		return
	fi
	local test
	make_root "$1" make build-essential
	make -s -C "$top" dist >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail 'make dist'; }
	tar -x -C "$root" -f "$top"/build/dist/rl-*.tar.gz
	try 'mv /rl-* /rl && apt-get update && cd /rl && make debs'
	begin "$1: its PostgreSQL and nginx, of other versions than here"
	try 'apt-get install -y --no-install-recommends postgresql nginx libnginx-mod-stream curl python3'
	try 'cd /rl && make build-postgresql build-nginx build/rlctl build/rld'
	for test in servers/postgresql/tests/test_postgresql.py servers/postgresql/tests/readme.py servers/nginx/tests/test_module.py; do
		try "cd /rl && python3 $test"
	done
	mv "$root/rl/build/debs" "$work/debs"
	rm -rf --one-file-system "$root"
}

# later: each package once more, as a later version.
later() {
	local file
	for file in "$work"/debs/*.deb; do
		dpkg-deb --raw-extract "$file" "$work/tree"
		sed -i -E 's/^Version: (.*)/Version: \1+later/; s/(librl1 \(= [^)]*)\)/\1+later)/' "$work/tree/DEBIAN/control"
		dpkg-deb --root-owner-group --build "$work/tree" "$root/debs" >/dev/null
		rm -rf "$work/tree"
	done
	(cd "$root/debs" && rm Packages.gz Release && dpkg-scanpackages --multiversion . >Packages 2>"$work/log")
}

# Names of files, but for those of apt, dpkg and the log, which any installation leaves; php's notes of modules are php-common's.
files() {
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./var/cache \
		-o -path ./var/log -o -path ./var/lib/php -o -path ./debs -o -path ./tmp -o -path ./run -o -path './etc/*-' \) -prune -o -path '*rl*' -print |
		grep -E '/(rl|librl|mod_rl|.*[-_]rl)([-_./]|$)' | sort)
}

# The first lines that the pages show, as they stand there.
shown() {
	awk -v fence="\`\`\`$1" '$0 == "```" { inside = 0 } inside { print } $0 == fence && !count++ { inside = 1 }' "$2"
}

runs() {
	shown python "$top/README.md" >"$root/root/five.py"
	shown js "$top/README.md" >"$root/root/five.js"
	try 'cd /root && ! command -v gcc && python3 five.py >python.out && grep -cx yes python.out | grep -qx 5'
	try 'cd /root && node five.js >node.out && grep -cx true node.out | grep -qx 3'
	try "rlctl --version && php -r 'exit(extension_loaded(\"rl\") ? 0 : 1);'"
	cp "$top"/debian/tests/languages "$top"/debian/tests/servers "$root/root/"
	try '/root/languages && /root/servers'
}

# Each by the test that its seat has for it, with what is installed in place of what was built. Node's are npm's, but for the five lines.
# shellcheck disable=SC2016 # the root's shell
readmes() {
	local test
	mkdir "$root/rl"
	tar -C "$top" --exclude=node_modules -c bindings servers debian/control | tar -x -C "$root/rl"
	try 'cd /rl && mkdir -p build/nginx && ln -s /usr/bin/rlctl /usr/sbin/rld build && ln -s /usr/lib/nginx/modules/ngx_*_rl_module.so build/nginx &&
		rm -r bindings/php/src && ln -s /usr/share/php/Rl bindings/php/src'
	for test in 'RL_TOP=/rl python3 -m pytest -q -p no:cacheprovider bindings/python/tests/test_readme.py' \
		'ruby -W1 bindings/ruby/tests/readme.rb' \
		'php -d error_reporting=24575 bindings/php/tests/readme.php' \
		'perl -w bindings/perl/tests/readme.t' \
		'RL_LUA_BUILD=/usr/lib/$(uname -m)-linux-gnu/lua python3 bindings/lua/tests/readme.py Readme.test_{first_block,calls,nginx,haproxy}' \
		'python3 servers/nginx/tests/test_readme.py' \
		'RL_BUILD=/rl/build RL_APACHE_BUILD=/usr/lib/apache2/modules python3 servers/apache/tests/test_readme.py' \
		'RL_POLICYD=/usr/sbin/rl-policyd python3 servers/postfix/tests/readme.py'; do
		try "cd /rl && export RLCTL=/usr/bin/rlctl && $test"
	done
	rm -r "$root/rl"
}

for codename in "$@"; do
	begin "$codename: packages"
	packages_of "$codename"
	begin "$codename: a root without a compiler, and apt"
	make_root "$codename" ca-certificates
	cp -r "$work/debs" "$root/debs"
	try 'echo "deb [trusted=yes] file:/debs ./" >/etc/apt/sources.list.d/rl.list && apt-get update'
	before=$(files)
	try "apt-get install -y --no-install-recommends $packages $around"
	begin "$codename: five lines"
	runs
	begin "$codename: each README"
	readmes
	begin "$codename: a later version"
	later
	try "apt-get update && apt-get upgrade -y"
	try "dpkg-query -W -f '\${Version}\\n' librl1 rl-tools python3-rl | grep -c later | grep -qx 3"
	runs
	begin "$codename: purged"
	try "apt-get purge -y $packages"
	[ "$(files)" = "$before" ] || { diff <(echo "$before") <(files) || true; fail 'a purge leaves files'; }
	rm -rf --one-file-system "$root"
done
