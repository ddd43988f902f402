#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Boot a Debian with systemd in a container, install rld there as a package would, and see its
# units do what they say: start, limit, reload, survive, stop, and leave nothing behind.
# Exits 77 with the reason when it cannot run here.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
build=$(cd "$top/build" && pwd)
root=$build/systemd-root
segment=/dev/shm/rl/rl.web
protected=
# shellcheck source=tests/support/container.bash
. "$top/tests/support/container.bash"

needs_container promtool

clean_up() {
	local status=$?
	[ "$status" -eq 0 ] || show_journal
	stop_container
	[ -z "$protected" ] || echo "$protected" >/proc/sys/fs/protected_regular
	rm -rf "$root"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

boot() {
	boot_container rl-test "$build/systemd.log"
}

as() {
	local user=$1
	shift
	in_container setpriv --reuid "$user" --regid "$user" --init-groups "$@"
}

show_journal() {
	[ -z "$container" ] || in_container journalctl --no-pager --lines 40 --output short-monotonic --unit 'rld*' || true
}

# As a package does it; what is left to the administrator is the configuration.
install_rl() {
	install -D -m 755 "$build/rld" "$root/usr/sbin/rld"
	install -D -m 755 "$build/rlctl" "$root/usr/bin/rlctl"
	install -D -m 644 -t "$root/usr/lib/systemd/system" "$top"/systemd/rld.service \
		"$top/systemd/rld@.service" "$top"/systemd/rld-metrics.socket "$top"/systemd/rld-metrics.service
	install -D -m 644 "$top/systemd/rl.sysusers" "$root/usr/lib/sysusers.d/rl.conf"
	install -D -m 644 "$top/systemd/rl.tmpfiles" "$root/usr/lib/tmpfiles.d/rl.conf"
	mkdir -p "$root/etc/rl"
	configure 5
	chroot "$root" systemd-sysusers 2>/dev/null
	systemctl --quiet --root "$root" enable rld.service
}

remove_rl() {
	in_container systemctl --quiet disable --now rld.service
	in_container rlctl --segment web unlink --yes >/dev/null
	in_container rm -r /usr/sbin/rld /usr/bin/rlctl /usr/lib/systemd/system/rld.service \
		/usr/lib/systemd/system/rld@.service /usr/lib/systemd/system/rld-metrics.socket \
		/usr/lib/systemd/system/rld-metrics.service /usr/lib/sysusers.d/rl.conf \
		/usr/lib/tmpfiles.d/rl.conf /etc/rl /var/lib/rl
	in_container rmdir /dev/shm/rl
	in_container systemctl daemon-reload
	in_container systemctl reset-failed
}

configure() {
	cat >"$root/etc/rl/rl.json" <<-EOF
		{
			"segment": {"name": "web", "keys": 10000, "mode": "0660", "group": "rl"},
			"rules": {"login": {"algorithm": "fixed_window", "window": "31d", "capacity": $1}}
		}
	EOF
}

# One request of a worker process; the verdict is its exit status, and what it said is kept.
said=
request() {
	said=$(as "$1" rlctl --segment web check login "$2" 2>&1)
}

# So many requests of a key are admitted, and no more.
admits() {
	local user=$1 key=$2 admitted
	for ((admitted = 0; admitted <= $3; admitted++)); do
		request "$user" "$key" || break
	done
	[ "$admitted" -eq "$3" ] || fail "$key: $admitted requests were admitted, not $3: $said"
	local status=0
	request "$user" "$key" || status=$?
	[ "$status" -eq 1 ] || fail "$key: not denied, but exit status $status: $said"
}

main_pid() {
	in_container systemctl show --property MainPID --value rld.service
}

property() {
	in_container systemctl show --property "$1" --value "${2:-rld.service}"
}

is() {
	local value
	value=$(property "$1" "${3:-rld.service}")
	[ "$value" = "$2" ] || fail "${3:-rld.service}: $1 is '$value', not '$2'"
}

logged() {
	in_container journalctl --no-pager --output cat --unit "${2:-rld.service}" | grep -F -- "$1" >/dev/null ||
		fail "not in the journal: $1"
}

has_restarted() {
	[ "$(main_pid)" -ne 0 ] && [ "$(main_pid)" -ne "$1" ] && in_container systemctl --quiet is-active rld
}

# All files that are to stay the same; copies of the user database that useradd keeps are not, and what systemd
# notes of a first boot.
names() {
	(cd "$root" && find . -xdev \( -path ./run -o -path ./tmp -o -path ./var/lib/systemd -o \
		-path ./var/tmp -o -path ./var/log -o -path ./dev -o -path ./proc -o -path ./sys -o \
		-path './etc/*-' -o -name .updated \) -prune -o -print | sort)
}

test_units() {
	begin 'the units are good, and exposed to little'
	in_container systemd-analyze verify --man=no --recursive-errors=yes rld.service rld@a.service
	in_container systemd-analyze security --no-pager --threshold=10 rld.service >/dev/null
}

test_boot() {
	begin 'started at boot, it has made the segment for its group'
	is ActiveState active
	is SubState running
	property StatusText | grep -E '^0 keys, fill 0\.0 %, 0 decisions/s$' >/dev/null || fail 'no status'
	[ "$(in_container stat -c '%U %G %a' $segment)" = 'rl rl 660' ] || fail 'owner or mode'
	logged "sweeping segment 'web'"
	[ "$(in_container grep -c '^Cap[A-Z][a-z]*:.0*$' "/proc/$(main_pid)/status")" -eq 5 ] || fail 'it has capabilities'
}

test_workers() {
	begin 'workers of other users share a limit, strangers are kept out'
	for user in one two one two; do
		request $user alice || fail "$user is not admitted: $said"
	done
	admits one alice 1
	admits two alice 0
	local status=0
	request stranger alice || status=$?
	[ "$status" -eq 2 ] || fail "a stranger got exit status $status: $said"
}

test_directory() {
	begin 'nobody takes a name first: segments are made where strangers cannot write'
	[ "$(in_container stat -c '%U %G %a' /dev/shm/rl)" = 'root rl 3771' ] || fail 'the directory'
	as stranger sh -c ': >/dev/shm/rl.mail; chmod 600 /dev/shm/rl.mail'
	sed 's/"web"/"mail"/' "$root/etc/rl/rl.json" >"$root/etc/rl/mail.json"
	in_container systemctl start rld@mail
	in_container test -s /dev/shm/rl/rl.mail || fail 'not made there'
	! as stranger touch /dev/shm/rl/rl.other 2>/dev/null || fail 'a stranger may write there'
	! as stranger flock --nonblock /dev/shm/rl true 2>/dev/null || fail 'a stranger may lock it'
	in_container systemctl stop rld@mail
	in_container rlctl --segment mail unlink --yes >/dev/null
	in_container rm /etc/rl/mail.json /dev/shm/rl.mail
}

test_metrics() {
	begin 'metrics over the socket are such as Prometheus wants'
	local text
	text=$(in_container curl --silent --fail --unix-socket /run/rld/metrics.sock http://localhost/metrics)
	promtool check metrics <<<"$text"
	grep -qxF 'rl_allowed_total{segment="web",rule="login"} 5' <<<"$text" || fail "$text"
	! grep -qF alice <<<"$text" || fail 'the name of a key is among the metrics'
}

test_metrics_socket() {
	begin 'a scraper on the loopback reaches rld, which has no network; nothing of it stays enabled'
	local text
	in_container systemd-analyze verify --man=no --recursive-errors=yes rld-metrics.socket rld-metrics.service
	in_container systemctl --quiet enable --now rld-metrics.socket
	is ActiveState inactive rld-metrics.service
	text=$(in_container curl --silent --fail --max-time 10 http://127.0.0.1:9778/metrics)
	promtool check metrics <<<"$text"
	grep -qxF 'rl_allowed_total{segment="web",rule="login"} 5' <<<"$text" || fail "$text"
	is ActiveState active rld-metrics.service
	text=$(in_container curl --silent --max-time 10 --output /dev/null --write-out '%{http_code}' http://127.0.0.1:9778/)
	[ "$text" = 404 ] || fail "the status page is served unasked: $text"
	in_container systemctl stop rld
	! in_container curl --silent --fail --max-time 10 http://127.0.0.1:9778/metrics || fail 'metrics of nobody'
	in_container systemctl start rld
	in_container curl --silent --fail --max-time 10 --output /dev/null http://127.0.0.1:9778/metrics || fail 'not again'
	in_container systemctl --quiet disable --now rld-metrics.socket
	in_container systemctl stop rld-metrics.service
	[ "$(in_container systemctl is-enabled rld-metrics.socket)" = disabled ] || fail 'it is enabled'
	! in_container curl --silent --max-time 10 http://127.0.0.1:9778/metrics || fail 'somebody listens still'
}

textfile=/var/lib/node-exporter/rl.prom

test_textfile() {
	begin 'a textfile collector finds the metrics in its directory, as long as rld runs'
	local dropin=/etc/systemd/system/rld.service.d/textfile.conf
	in_container install -d -o rl -g rl "${textfile%/*}"
	printf '[Service]\nReadWritePaths=%s\n' "${textfile%/*}" >"$root$dropin"
	printf 'RLD_OPTIONS=--metrics-textfile %s --status-page\n' $textfile >"$root/etc/default/rld"
	in_container systemctl daemon-reload
	in_container systemctl restart rld
	in_container cat $textfile | promtool check metrics
	in_container grep -qxF 'rl_allowed_total{segment="web",rule="login"} 5' $textfile || fail 'not there'
	[ "$(in_container stat -c %a $textfile)" = 644 ] || fail 'who collects cannot read it'
	in_container curl --silent --fail --unix-socket /run/rld/metrics.sock http://localhost/ | grep -q '<title>' ||
		fail 'no status page'
	in_container systemctl stop rld
	in_container test ! -e $textfile || fail 'it stays, and lies'
	in_container rm -r $dropin /etc/default/rld "${textfile%/*}"
	in_container systemctl daemon-reload
	in_container systemctl start rld
}

test_reload() {
	begin 'a good file is in force when reload returns, a bad one fails it'
	configure 7
	in_container systemctl reload rld
	admits one alice 2
	configure '"many"'
	! in_container systemctl reload rld 2>/dev/null || fail 'reload took a bad file'
	is ActiveState active
	logged 'rl.json:3:'
	! request two alice || fail "the bad file has changed the limit: $said"
	in_container rm /etc/rl/rl.json
	! in_container systemctl reload rld 2>/dev/null || fail 'reload took no file'
	configure 7
	in_container systemctl reload rld
	is ActiveState active
}

test_signal_reload() {
	begin 'SIGHUP does the same'
	configure 8
	in_container systemctl kill --signal HUP rld
	eventually request one alice
	admits one alice 0
}

test_watchdog() {
	begin 'stopped, it is noticed and started again; workers are limited meanwhile'
	local before
	before=$(main_pid)
	in_container systemctl kill --kill-whom main --signal STOP rld
	admits one bob 8
	eventually has_restarted "$before"
	logged 'watchdog'
	admits two bob 0
	admits one carol 8
}

test_kill() {
	begin 'killed, it is started again, and no count is lost'
	local before
	before=$(main_pid)
	in_container systemctl kill --kill-whom main --signal KILL rld
	eventually has_restarted "$before"
	admits one bob 0
}

test_second() {
	begin 'a second one is told who is there'
	local status=0 text
	text=$(as rl timeout 120 rld --config /etc/rl/rl.json 2>&1) || status=$?
	[ "$status" -eq 1 ] || fail "exit status $status"
	grep -qE "process $(main_pid)\b" <<<"$text" || fail "$text"
}

test_stop() {
	begin 'stopped and started, and no count is lost'
	in_container systemctl stop rld
	is Result success
	in_container rlctl --segment web status | grep 'no sweeper' >/dev/null || fail 'it has not signed off'
	in_container test -e $segment || fail 'the segment is gone'
	in_container test ! -e /run/rld || fail '/run/rld is left'
	admits two carol 0
	in_container systemctl start rld
	admits one carol 0
}

test_remove_ipc() {
	begin 'a member of the group logs out: what is its own goes, the segment stays'
	in_container systemd-run --quiet --wait --property PAMName=login --uid one \
		sh -c 'touch /dev/shm/own; rlctl --segment web check login dave' >/dev/null
	eventually in_container test ! -e /dev/shm/own
	in_container test -e $segment || fail 'the segment went, too'
}

test_full() {
	begin 'no room in /dev/shm is said, and nothing is left'
	sed 's/"web"/"big"/; s/10000/1000000000/' "$root/etc/rl/rl.json" >"$root/etc/rl/big.json"
	! in_container systemctl start rld@big 2>/dev/null || fail 'it started'
	is Result exit-code rld@big
	is ExecMainStatus 1 rld@big
	logged "segment 'big' needs" rld@big
	in_container sh -c '! ls -d /dev/shm/rl.big /dev/shm/rl/rl.big 2>/dev/null' || fail 'a segment was left'
	in_container rm /etc/rl/big.json
	in_container systemctl reset-failed rld@big
}

test_several() {
	begin 'a second segment has its own service'
	sed 's/"web"/"api"/' "$root/etc/rl/rl.json" >"$root/etc/rl/api.json"
	in_container systemctl start rld@api
	is StatusText '0 keys, fill 0.0 %, 0 decisions/s' rld@api
	in_container curl --silent --fail --unix-socket /run/rld-api/metrics.sock http://localhost/metrics |
		grep -xF 'rl_rules{segment="api"} 1' >/dev/null || fail 'metrics'
	in_container systemctl stop rld@api
	in_container rlctl --segment api unlink --yes >/dev/null
	in_container rm /etc/rl/api.json
	is ActiveState active
}

test_geometry() {
	begin 'a file that asks for more keys gets them, and no count is lost'
	sed -i 's/10000/20000/' "$root/etc/rl/rl.json"
	in_container systemctl restart rld
	logged 'has room for 2000'
	admits two carol 0
	begin 'a file that asks for another segment is refused, and says what to do'
	sed -i 's/"mode"/"key_bytes": 200, "mode"/' "$root/etc/rl/rl.json"
	! in_container systemctl restart rld 2>/dev/null || fail 'it started'
	is ExecMainStatus 1
	is NRestarts 0
	logged "rlctl unlink"
	admits two carol 0
	configure 8
	in_container systemctl start rld
	admits two carol 0
}

test_reboot() {
	begin 'the machine is started again'
	stop_container
	boot
	is ActiveState active
	admits two alice 8
}

test_counters() {
	begin 'asked for, counters outlive a reboot'
	printf 'RLD_OPTIONS=--counters-file /var/lib/rl/rld.counters\n' >"$root/etc/default/rld"
	in_container systemctl restart rld
	request two erin || fail "not admitted: $said"
	stop_container
	boot
	is ActiveState active
	logged '/var/lib/rl/rld.counters: 2 counters restored, 0 are over'
	admits two alice 0
	admits one erin 7
	in_container rm /etc/default/rld
}

test_removal() {
	begin 'uninstalled, it leaves nothing behind'
	remove_rl
	in_container sh -c '! ls -d /dev/shm/rl.* /run/rld* 2>/dev/null' || fail 'in /dev/shm or /run'
	[ -z "$(in_container systemctl list-units --all --no-legend 'rld*')" ] || fail 'a unit'
	names | diff "$build/systemd-names" - || fail 'files'
}

begin 'a root to boot'
"$here/root.sh" "$build/debian" "$build/rld" "$build/rlctl"
rm -rf "$root" && mkdir "$root"
cp -a "$build/debian/." "$root"
for user in one two stranger; do
	chroot "$root" useradd --no-create-home "$user"
done
# A test is not to wait long: for the watchdog, and for who logged out to log in again.
mkdir -p "$root/etc/systemd/system/rld.service.d" "$root/etc/systemd/logind.conf.d"
printf '[Service]\nWatchdogSec=2s\n' >"$root/etc/systemd/system/rld.service.d/sooner.conf"
printf '[Login]\nUserStopDelaySec=0\n' >"$root/etc/systemd/logind.conf.d/sooner.conf"
names >"$build/systemd-names"
install_rl
for user in one two; do
	chroot "$root" usermod --append --groups rl $user
done

# As Debian has it, in all that follows.
protected=$(cat /proc/sys/fs/protected_regular)
echo 2 >/proc/sys/fs/protected_regular
boot
test_units
test_boot
test_workers
test_directory
test_metrics
test_metrics_socket
test_textfile
test_reload
test_signal_reload
test_watchdog
test_kill
test_second
test_stop
test_remove_ipc
test_full
test_several
test_geometry
test_reboot
test_counters
test_removal
begin 'all of it works'
