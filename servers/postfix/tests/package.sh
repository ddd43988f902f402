#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIRECTORY: rl-postfix and what it needs, installed in a booted Debian with Postfix: nothing runs until it is
# enabled; then systemd's socket starts it for a confined Postfix, a user's mail is limited, and a purge leaves nothing.
# Exits 77 with the reason where it cannot run.
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
	make_debian "$root" "$(this_release)" systemd,systemd-sysv,dbus,postfix,python3-minimal,libpython3-stdlib
	mkdir "$root/root/debs"
	cp "$debs"/librl1_*.deb "$debs"/rl-tools_*.deb "$debs"/rl-postfix_*.deb "$root/root/debs"
	chroot "$root" sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /root/debs/*.deb' \
		>"$work/apt.log" 2>&1 || { cat "$work/apt.log"; fail 'apt-get install'; }
}

configure() {
	mkdir -p "$root/etc/rl"
	echo '{"segment": {"name": "mail"}, "rules": {"messages": {"limit": "5/day"}}}' \
		>"$root/etc/rl/rl.json"
	sed 's/"recipients"/"messages"/; s/, *"cost": "recipient_count"//' "$root/usr/share/doc/rl-postfix/examples/policyd.json" |
		python3 -c 'import json, sys; s = json.load(sys.stdin); s["checks"] = s["checks"][:1]; json.dump(s, sys.stdout)' \
			>"$root/etc/rl/policyd.json"
	cat >"$root/etc/postfix/main.cf" <<-'EOF'
		compatibility_level = 3.6
		myhostname = mail.test.invalid
		inet_interfaces = 127.0.0.1
		inet_protocols = ipv4
		mydestination =
		alias_maps =
		default_transport = discard:
		mynetworks = 127.0.0.0/8
		smtpd_authorized_xclient_hosts = 127.0.0.0/8
		smtpd_relay_restrictions = permit_mynetworks, reject
		smtpd_data_restrictions = check_policy_service unix:private/rl-policyd
	EOF
	cat >"$root/root/send.py" <<-'EOF'
		import smtplib, sys
		smtp = smtplib.SMTP("127.0.0.1", 25, timeout=60)
		smtp.ehlo()
		smtp.docmd("XCLIENT", "LOGIN=" + sys.argv[1])
		smtp.ehlo()
		codes = []
		for i in range(8):
		    smtp.mail("a@test.invalid")
		    smtp.rcpt("b@elsewhere.invalid")
		    code = smtp.docmd("DATA")[0]
		    if code == 354:
		        smtp.send(b"Subject: t\r\n\r\nt\r\n.\r\n")
		        code = smtp.getreply()[0]
		    codes.append(code)
		    smtp.rset()
		print(*codes)
	EOF
}

make_root
boot_container rl-postfix-test "$work/boot.log"
! in_container systemctl --quiet is-active rl-policyd.socket || fail 'it listens without being enabled'
! in_container systemctl --quiet is-enabled rl-policyd.socket || fail 'it is enabled'
configure
in_container systemctl --quiet enable --now rld rl-policyd.socket
in_container systemctl restart postfix
sends() {
	[ "$(in_container python3 /root/send.py "$1" 2>/dev/null)" = "$2" ]
}
eventually in_container python3 -c 'import socket; socket.create_connection(("127.0.0.1", 25))'
sends alice '250 250 250 250 250 450 450 450' || fail 'the limit of five'
in_container systemctl --quiet is-active rl-policyd.service || fail 'the socket has not started it'
in_container rlctl --segment mail get messages alice | grep 5 >/dev/null || fail 'rlctl does not know it'
in_container systemctl reload rl-policyd || fail 'reload'
in_container systemctl kill --signal KILL rl-policyd.service
sends alice '450 450 450 450 450 450 450 450' || fail 'killed, it has forgotten'
in_container systemctl restart postfix rl-policyd.service
eventually in_container python3 -c 'import socket; socket.create_connection(("127.0.0.1", 25))'
sends bob '250 250 250 250 250 450 450 450' || fail 'after a restart'
in_container sh -c 'apt-get purge -y rl-postfix' >"$work/purge.log" 2>&1 || { cat "$work/purge.log"; fail 'purge'; }
for left in /usr/sbin/rl-policyd /lib/systemd/system/rl-policyd.socket /var/spool/postfix/private/rl-policyd; do
	[ ! -e "$root$left" ] || fail "$left is left"
done
echo 'rl-postfix: installed, started by its socket, used, purged'
