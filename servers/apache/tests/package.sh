#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIRECTORY: the packages in it, installed in a Debian of their own: apt takes them, a2enmod knows the
# module, five lines of configuration limit a site, and a purge leaves nothing. Exits 77 where it cannot run.
set -euo pipefail

debs=$(cd "$1" && pwd)
# shellcheck source=tests/support/debian.bash
. "$(dirname "$0")/../../../tests/support/debian.bash"
work=$(mktemp -d)
root=$work/root

in_root() {
	chroot "$root" env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

clean_up() {
	[ ! -e "$root/run/apache2/apache2.pid" ] || in_root apache2ctl stop >"$work/stop.log" 2>&1 || true
	for at in proc dev/shm; do
		! mountpoint -q "$root/$at" || umount "$root/$at"
	done
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

[ "$(id -u)" -eq 0 ] || { echo 'only root installs packages'; exit 77; }
command -v debootstrap >/dev/null || { echo 'there is no debootstrap'; exit 77; }

# A root with Apache, and nothing of it started.
make_root() {
	make_debian "$root" "$(this_release)" apache2,curl
	mount -t proc proc "$root/proc"
	mkdir -p "$root/dev/shm"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
}

# A port that nobody has, on this host alone.
listen() {
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	echo "Listen 127.0.0.1:$port" >"$root/etc/apache2/ports.conf"
	echo 'ServerName localhost' >>"$root/etc/apache2/ports.conf"
	sed -i "s/<VirtualHost .*>/<VirtualHost *:$port>/" "$root/etc/apache2/sites-available/000-default.conf"
}

# status [HOW_MANY]
status() {
	in_root curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$port/#[1-${1:-1}]"
}

make_root
listen
(cd "$root/etc/apache2" && find . | sort) >"$work/before"
cp "$debs"/librl1_*.deb "$debs"/libapache2-mod-rl_*.deb "$root/root/"
in_root sh -c 'apt-get install -y --no-install-recommends /root/librl1_*.deb /root/libapache2-mod-rl_*.deb' >"$work/apt.log" 2>&1 ||
	{ cat "$work/apt.log"; fail 'apt-get install'; }
[ -e "$root/etc/apache2/mods-enabled/rl.load" ] || fail 'the module is not enabled'
in_root a2dismod -q rl >"$work/a2.log"
in_root a2enmod -q rl >>"$work/a2.log"
[ -e "$root/etc/apache2/mods-enabled/rl.conf" ] || fail 'a2enmod does not know it'

# As the README says: five lines.
cat >>"$root/etc/apache2/sites-available/000-default.conf" <<-'EOF'
	RLRule site 10/h
	<Location "/">
	    RLLimit site
	</Location>
EOF
in_root apache2ctl configtest >"$work/test.log" 2>&1 || { cat "$work/test.log"; fail 'configtest'; }
in_root apache2ctl start >"$work/start.log" 2>&1 || { cat "$work/start.log"; fail 'start'; }
for _ in $(seq 600); do
	in_root curl -s -o /dev/null "http://127.0.0.1:$port/robots.txt" && break
	sleep 0.1
done
found=$(status 15 | sort | uniq -c | tr -s ' \n' ' ')
[ "$found" = ' 9 200 6 429 ' ] || [ "$found" = ' 10 200 5 429 ' ] || fail "requests: $found"
[ "$(status)" = 429 ] || fail 'it is limited no more'
in_root apache2ctl graceful >"$work/graceful.log" 2>&1 || fail 'graceful'
sleep 1
[ "$(status)" = 429 ] || fail 'a reload has forgotten the counts'
in_root apache2ctl stop >"$work/stop.log" 2>&1 || fail 'stop'

in_root apt-get purge -y libapache2-mod-rl librl1 >"$work/purge.log" 2>&1 || { cat "$work/purge.log"; fail 'purge'; }
(cd "$root/etc/apache2" && find . | sort) | diff "$work/before" - || fail 'files are left'
in_root apache2ctl configtest >"$work/test.log" 2>&1 && fail 'the site still knows RLLimit'
grep -q 'RLRule' "$work/test.log" || fail 'configtest fails for another reason'
[ ! -e "$root/usr/lib/apache2/modules/mod_rl.so" ] || fail 'the module is left'
echo 'mod_rl: installed, used, purged'
