#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIR: install node-librl from DIR in a Debian of its own, with that Debian's nodejs, limit four processes with it,
# and purge it. Exits 77 with the reason where it cannot run.
set -euo pipefail

packages=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../../.." && pwd)
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

# What runs there sees processes and memory of its own, and ends with this command.
inside() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare --mount --pid --net --fork --kill-child sh -ec '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --bind /dev "$root/dev"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"' inside "$root" "$@"
}

# The system's own packages come from the mirror that apt uses here.
install_root() {
	"$top/tests/systemd/root.sh" "$root" /bin/sh
	cp /etc/apt/sources.list "$root/etc/apt/" 2>/dev/null || true
	cp -r /etc/apt/sources.list.d /etc/apt/apt.conf.d "$root/etc/apt/" 2>/dev/null || true
	cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	mkdir "$root/root/debs"
	cp "$packages"/*.deb "$root/root/debs"
	chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -ec '
		apt-get update -qq
		cd /root/debs
		apt-get install -y -qq --no-install-recommends ./node-librl_*.deb ./librl1_*.deb ./rl-tools_*.deb' \
		>"$work/apt.log" 2>&1 || { tail -n 30 "$work/apt.log"; fail 'apt install'; }
}

cluster_program() {
	cat <<-'EOF'
	const cluster = require('node:cluster')
	const { open } = require('librl')
	if (cluster.isPrimary) {
	  let sum = 0
	  for (let i = 0; i < 4; i++) cluster.fork().on('message', (allowed) => { sum += allowed })
	  let left = 4
	  cluster.on('exit', () => { if (--left === 0) console.log(`allowed ${sum}`) })
	} else {
	  const limiter = open('web').define('pages', '100/day')
	  let allowed = 0
	  for (let i = 0; i < 100; i++) if (limiter.check('all').allowed) allowed++
	  process.send(allowed, () => process.disconnect())
	}
	EOF
}

test_use() {
	cluster_program >"$root/root/cluster.js"
	cat >"$root/root/module.mjs" <<-EOF
		import { createRequire } from 'node:module'
		const { koa } = createRequire(import.meta.url)('librl/middleware')
		console.log(typeof koa)
	EOF
	inside sh -c 'node /root/cluster.js && rlctl --segment web get all && node /root/module.mjs' >"$work/use.log" 2>&1 ||
		{ cat "$work/use.log"; fail 'node'; }
	grep -qx 'allowed 100' "$work/use.log" || { cat "$work/use.log"; fail 'not 100 of 400'; }
	grep -q 'pages' "$work/use.log" || { cat "$work/use.log"; fail 'rlctl does not show it'; }
	grep -qx 'function' "$work/use.log" || { cat "$work/use.log"; fail 'no ES module'; }
	[ "$(find "$root" -xdev -name librl.node | wc -l)" -eq 1 ] || fail 'more than one addon'
}

install_root
test_use
chroot "$root" dpkg --purge node-librl >"$work/purge.log" 2>&1 || { cat "$work/purge.log"; fail 'purge'; }
[ -z "$(find "$root/usr" -path '*nodejs/librl*')" ] || fail 'something is left'
echo 'installed, used and purged'
