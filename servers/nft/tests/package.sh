#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIRECTORY: rl-nft and what it needs, installed in a booted Debian: nothing runs until it is enabled; then its
# unit, with one capability, has the kernel drop who is banned, and a removal leaves no table. Exits 77 with the reason where
# it cannot run.
set -euo pipefail

debs=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../../.." && pwd)
# shellcheck source=tests/support/container.bash
. "$top/tests/support/container.bash"
# shellcheck source=tests/support/debian.bash
. "$top/tests/support/debian.bash"
needs_container debootstrap
work=$(mktemp -d)
root=$work/root

clean_up() {
	local status=$?
	[ "$status" -eq 0 ] || [ -z "$container" ] ||
		in_container journalctl --no-pager --lines 40 --output cat || true
	stop_container
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# Packages come in before it is booted, for the booted one has no network.
make_root() {
	make_debian "$root" "$(this_release)" systemd,systemd-sysv,dbus,nftables
	mkdir -p "$root/root/debs" "$root/etc/rl"
	cp "$debs"/librl1_*.deb "$debs"/rl-tools_*.deb "$debs"/rl-nft_*.deb "$root/root/debs"
	chroot "$root" sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /root/debs/*.deb' \
		>"$work/apt.log" 2>&1 || { cat "$work/apt.log"; fail 'apt-get install'; }
	echo '{"segment": {"name": "default"}, "rules": {"login": {"limit": "5/min"}}}' >"$root/etc/rl/rl.json"
}

has() {
	in_container nft get element inet rl v4 "{ $1 }"
}

make_root
boot_container rl-nft "$work/boot.log"
in_container nft list ruleset >"$work/before" || { echo 'no nftables in a container here'; exit 77; }
! grep -q 'table inet rl' "$work/before" || fail 'it runs, and nobody has enabled it'
in_container systemctl --quiet enable --now rld.service rl-nft.service
in_container rlctl ban 192.0.2.1 --for 1h >/dev/null
eventually has 192.0.2.1
pid=$(in_container systemctl show --property MainPID --value rl-nft.service)
in_container grep -qx 'CapEff:.0000000000001000' "/proc/$pid/status" || fail 'it has other capabilities than CAP_NET_ADMIN'
in_container nft flush ruleset
eventually has 192.0.2.1
in_container systemctl stop rl-nft.service
has 192.0.2.1 >/dev/null || fail 'a ban went with the service'
in_container systemctl start rl-nft.service
in_container dpkg --purge rl-nft >/dev/null
! in_container nft list ruleset | grep -q 'inet rl' || fail 'a purge leaves the table'
echo 'as its package promises'
