#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIR: install the packages of nginx's modules from DIR in a Debian of their own, limit a site by five lines of
# configuration, and purge them. Exits 77 with the reason where it cannot run.
set -euo pipefail

packages=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo 'not root'; exit 77; }
command -v debootstrap >/dev/null || { echo 'there is no debootstrap'; exit 77; }
unshare --mount --pid --fork true 2>/dev/null || { echo 'no namespaces may be made here'; exit 77; }

work=$(mktemp -d)
root=$work/root
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAILED: $*"
	exit 1
}

# What runs there sees processes, memory and a loopback network of its own, and ends with this command.
inside() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare --mount --pid --net --fork --kill-child sh -ec '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --bind /dev "$root/dev"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		ip link set lo up 2>/dev/null || true
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"' \
		inside "$root" "$@"
}

# The system's own packages come from the mirror that apt uses here, while the network is there.
install_root() {
	"$top/tests/systemd/root.sh" "$root" "$(command -v nginx || echo /usr/sbin/nginx)"
	cp /etc/apt/sources.list "$root/etc/apt/" 2>/dev/null || true
	cp -r /etc/apt/sources.list.d /etc/apt/apt.conf.d "$root/etc/apt/" 2>/dev/null || true
	cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	mkdir "$root/debs"
	cp "$packages"/*.deb "$root/debs"
	chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -ec '
		apt-get update -qq
		cd /debs
		apt-get install -y -qq --no-install-recommends ./libnginx-mod-http-rl_*.deb ./libnginx-mod-stream-rl_*.deb \
			./librl1_*.deb ./rl-tools_*.deb nginx curl' >"$work/apt.log" 2>&1 || { tail -n 30 "$work/apt.log"; fail 'apt install'; }
}

configure_site() {
	cat >"$root/etc/nginx/conf.d/limit.conf" <<-EOF
		rl_rule site 5/h;
		server {
		    listen 127.0.0.1:8080;
		    rl_limit site;
		}
	EOF
	echo 'stream { rl_rule ssh 3/min; server { listen 127.0.0.1:2222; rl_limit ssh; return ok; } }' >>"$root/etc/nginx/nginx.conf"
	rm -f "$root/etc/nginx/sites-enabled/default"
}

# Five of seven are allowed; a restart keeps the counts; rlctl tells the same.
test_use() {
	# shellcheck disable=SC2016 # the inner shell's
	inside sh -c '
		nginx -t || exit 1
		nginx || exit 1
		ask() { for i in $(seq "$1"); do curl -s -o /dev/null -w "%{http_code} " http://127.0.0.1:8080/; done; }
		ask 4
		nginx -s stop
		while [ -e /run/nginx.pid ]; do sleep 0.1; done
		nginx
		ask 3
		rlctl --segment nginx peek --rule site 127.0.0.1 >/dev/null 2>&1 || rlctl --segment nginx peek site 127.0.0.1 >/dev/null
		echo "rlctl $?"
		nginx -s stop' >"$work/use.log" 2>"$work/use.err" || { cat "$work"/use.*; fail 'nginx'; }
	grep -q '^200 200 200 200 200 429 429 rlctl 1$' "$work/use.log" || { cat "$work/use.log"; fail 'not five of seven'; }
}

test_purge() {
	chroot "$root" dpkg --purge libnginx-mod-http-rl libnginx-mod-stream-rl >"$work/purge.log" 2>&1 || { cat "$work/purge.log"; fail 'purge'; }
	[ -z "$(find "$root/etc/nginx" "$root/usr/lib/nginx" "$root/usr/share/nginx" -name '*rl*' ! -name '*perl*')" ] || fail 'something is left'
}

install_root
[ -L "$root/etc/nginx/modules-enabled/50-mod-http-rl.conf" ] || fail 'the module for http is not enabled'
configure_site
test_use
rm "$root/etc/nginx/conf.d/limit.conf"
test_purge
echo "installed, used and purged"
