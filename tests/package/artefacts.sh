#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# artefacts.sh [CODENAME...]: in a root of each of these releases of Debian (this machine's) without a compiler pip installs the wheel
# that fits, gem the built gem and npm the package, and their five lines run: one limit, which all count. A gem is of one version
# of Ruby, and another refuses it by that name. The wheel for arm64 runs in an emulator, with Debian's Python of that machine; the one
# for musl asks for nothing that musl has not, for no Python on musl is in Debian. Exits 77 with the reason when it cannot run here.
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
this=$(. /etc/os-release && echo "$VERSION_CODENAME")

five_python='import platform, rl, sys
login = rl.Segment(sys.argv[1]).rule("login", "3/hour")
print(platform.machine(), *[login.allows("alice") for attempt in range(2)])'

musl() {
	local so=$work/musl/rl/_rl.abi3.so
	/usr/bin/python3 -m zipfile -e "$top"/build/python/dist/rl_shm-*-musllinux_*.whl "$work/musl"
	[ "$(readelf -d "$so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')" = libc.so ] || fail 'it is linked with another libc'
	comm -23 <(nm -D --undefined-only "$so" | awk '$1 == "U" { print $2 }' | grep -v '^_\?Py' | sort) \
		<(nm -D --defined-only /lib/ld-musl-*.so.1 | awk '{ print $3 }' | sort) >"$work/unknown"
	[ ! -s "$work/unknown" ] || { cat "$work/unknown"; fail 'musl has not all that it asks for'; }
}

# Without telling dpkg of another architecture.
arm64() {
	local apt=$work/apt there=$work/arm64 libs told
	local options=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$apt" -o Dir::State::Lists="$apt/lists"
		-o Dir::Cache="$apt" -o Dir::State::Status=/dev/null)
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$there"
	(cd "$apt" && apt-get "${options[@]}" update -qq && apt-get "${options[@]}" download -qq libc6 libgcc-s1 zlib1g libexpat1 libffi8 libssl3 \
		python3.11-minimal libpython3.11-minimal libpython3.11-stdlib) >"$work/log" 2>&1 || { tail -n 5 "$work/log"; fail 'Python for arm64'; }
	for deb in "$apt"/*.deb; do
		dpkg-deb -x "$deb" "$there"
	done
	/usr/bin/python3 -m zipfile -e "$top"/build/python/dist/rl_shm-*_aarch64.whl "$work/wheel"
	libs=$there/lib/aarch64-linux-gnu:$there/usr/lib/aarch64-linux-gnu
	told=$(QEMU_LD_PREFIX=$there PYTHONHOME=$there/usr PYTHONPATH=$work/wheel qemu-aarch64-static -E LD_LIBRARY_PATH="$libs" \
		"$there/usr/bin/python3.11" -c "$five_python
rl.unlink(sys.argv[1])" "artefacts-$$")
	[ "$told" = 'aarch64 True True' ] || fail "five lines on arm64: $told"
}

# Whether the release has the Ruby that the gem was built with.
is_ruby() {
	in_root "gem install --local --no-document /root/rl-*.gem" >"$work/log" 2>&1 && return
	grep -E 'requires Ruby version ~> [0-9.]+' "$work/log" >/dev/null || { cat "$work/log"; fail 'gem install'; }
	return 1
}

# of_release CODENAME
of_release() {
	local ruby=true want=''
	begin "$1: a root without a compiler"
	make_root "$1" ca-certificates
	try 'apt-get update && apt-get install -y --no-install-recommends python3-pip ruby nodejs npm && ! command -v gcc cc'
	cp "$top"/build/python/dist/*.whl "$top"/build/ruby-gem/rl-*-*.gem "$top"/build/node/librl-*.tgz "$root/root/"
	begin "$1: installed"
	try 'pip install --break-system-packages --no-index --find-links /root rl-shm'
	if is_ruby; then
		ruby='ruby -r rl -e "login = RL.open(%q(web)).rule(%q(login), %q(3/hour)); puts (1..2).map { login.allow?(%q(alice)) }.join(%q( ))"'
		want='true false'
	elif [ "$1" = "$this" ]; then
		fail 'the gem is of another Ruby'
	fi
	try 'cd /root && npm install --offline --no-audit --no-fund --foreground-scripts ./librl-*.tgz'
	begin "$1: five lines"
	echo "$five_python" >"$root/root/five.py"
	in_root "cd /root
		python3 five.py web
		$ruby
		node -e 'console.log(require(\"librl\").open(\"web\").define(\"login\", \"3/hour\").check(\"alice\", 2).allowed)'" >"$work/out" 2>"$work/log" ||
		{ cat "$work/log"; fail 'five lines'; }
	printf '%s\n' "$(uname -m) True True" ${want:+"$want"} false | diff "$work/out" - || fail 'one limit of all'
	rm -rf --one-file-system "$root"
}

begin 'wheels, a gem and a package of npm'
make -s -C "$top" wheels-python gem-ruby node-package >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail 'make'; }
begin 'the wheel for musl'
musl
begin 'the wheel for arm64, in an emulator'
arm64
for codename in "${@:-$this}"; do
	of_release "$codename"
done
