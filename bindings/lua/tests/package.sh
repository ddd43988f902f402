#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIRECTORY: lua-rl installed in a Debian of its own, with each Lua, HAProxy and nginx of Debian: all find it
# where they look, and limit as the README says; a purge leaves nothing. Exits 77 with the reason where it cannot run.
# shellcheck disable=SC2016 # backquotes are the README's
set -euo pipefail

debs=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../../.." && pwd)
# shellcheck source=tests/support/debian.bash
. "$top/tests/support/debian.bash"
work=$(mktemp -d)
root=$work/root
servers=

in_root() {
	chroot "$root" env -i DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# start_in_root COMMAND...: in the background; its own process, to be ended by $!.
start_in_root() {
	exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

clean_up() {
	# shellcheck disable=SC2086 # one word for each
	[ -z "$servers" ] || kill $servers 2>/dev/null || true
	wait
	for at in proc dev/shm; do
		! mountpoint -q "$root/$at" || umount "$root/$at"
	done
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

fail() {
	echo "FAILED: $*"
	exit 1
}

[ "$(id -u)" -eq 0 ] || { echo 'only root installs packages'; exit 77; }
command -v debootstrap >/dev/null || { echo 'there is no debootstrap'; exit 77; }

make_root() {
	make_debian "$root" "$(this_release)" lua5.1,lua5.2,lua5.3,lua5.4,luajit2,haproxy,nginx-light,libnginx-mod-http-lua,curl
	mount -t proc proc "$root/proc"
	mkdir -p "$root/dev/shm"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
}

# block LANGUAGE NUMBER: of the README
block() {
	awk -v fence="\`\`\`$1" -v number="$2" '
		$0 == "```" { inside = 0 }
		inside { print }
		$0 == fence && ++count == number { inside = 1 }
	' "$top/bindings/lua/README.md"
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# limits PORT HOW_MANY OF: a server answers 200 so many times. One process asks, so that a limit by the minute is not over before it.
limits() {
	local found
	for _ in $(seq 600); do
		in_root curl -s -o /dev/null "http://127.0.0.1:$1/" && break
		sleep 0.1
	done
	found=$(in_root curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$1/#[1-$3]" | grep -c 200)
	[ "$found" -eq "$(($2 - 1))" ] || fail "$found of $3 were answered 200, one before"
}

make_root
(cd "$root" && find usr -name '*rl*' | sort) >"$work/before"
cp "$debs"/librl1_*.deb "$debs"/lua-rl_*.deb "$root/root/"
in_root sh -c 'dpkg -i /root/*.deb' >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail 'dpkg -i'; }

block lua 1 >"$root/root/first.lua"
for lua in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
	found=$(in_root $lua /root/first.lua | cut -c 1-3 | tr '\n' ' ')
	[ "$found" = 'yes yes yes yes yes no, no, ' ] || [ "$found" = 'no, no, no, no, no, no, no, ' ] || fail "$lua: $found"
done
[ "$(in_root luajit -e 'print((require("rl.ffi").private():define("r", "1/s"):check("a")))')" = true ] || fail 'rl.ffi'

port=$(free_port)
block lua 3 >"$root/etc/haproxy/rl.lua"
block haproxy 1 | sed "s/127.0.0.1:8081/127.0.0.1:$port/" >"$root/etc/haproxy/haproxy.cfg"
in_root haproxy -c -f /etc/haproxy/haproxy.cfg >"$work/haproxy.log" 2>&1 || { cat "$work/haproxy.log"; fail 'haproxy -c'; }
start_in_root haproxy -db -f /etc/haproxy/haproxy.cfg >>"$work/haproxy.log" 2>&1 &
servers="$servers $!"
limits "$port" 100 130

port=$(free_port)
block nginx 1 | sed "s/127.0.0.1:8080/127.0.0.1:$port/" >"$root/etc/nginx/conf.d/rl.conf"
rm -f "$root/etc/nginx/sites-enabled/default"
start_in_root nginx -g 'daemon off;' >"$work/nginx.log" 2>&1 &
servers="$servers $!"
limits "$port" 50 70
in_root luajit -e 'package.path = "/usr/share/lua-rl/?.lua;" .. package.path
	ngx = {shared = {store = {flush_all = function() end}}}
	assert(require "resty.limit.req")' || fail 'the names of lua-resty-limit-traffic'

# shellcheck disable=SC2086 # one word for each
kill $servers
wait
servers=
in_root dpkg --purge lua-rl librl1 >"$work/purge.log" 2>&1 || { cat "$work/purge.log"; fail 'purge'; }
rm -f "$root"/root/*.deb
(cd "$root" && find usr -name '*rl*' | sort) | diff "$work/before" - || fail 'files are left'
echo 'lua-rl: installed, used by five Luas, HAProxy and nginx, purged'
