#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages: built, looked at by lintian, and in a booted Debian installed, started, upgraded
# under a worker that goes on counting, also to another layout, and purged, which leaves nothing. Each adapter's tests/package.sh, given
# the directory of the packages, installs its own and uses it.
# Exits 77 with the reason when it cannot run here.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/support/container.bash
. "$top/tests/support/container.bash"

needs_container dpkg-buildpackage dh lintian
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
trap 'exit 1' INT TERM

build() {
	mkdir "$work/rl"
	(cd "$top" && tar -c --exclude=./build --exclude=./.git --exclude=./debian/rl-tools --exclude=./debian/tmp .) |
		tar -x -C "$work/rl"
	(cd "$work/rl" && DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -us -uc -b -j2) >"$work/build.log" 2>&1 ||
		{ tail -n 40 "$work/build.log"; fail 'dpkg-buildpackage'; }
	make -C "$work/rl" -j2 build/v/older/rlctl build/v/older/rld build/v/older/librl.so.1 >"$work/build.log" 2>&1 ||
		{ tail -n 40 "$work/build.log"; fail 'a library of another layout'; }
}

# Who publishes the packages is their maintainer: the address here is none.
lint() {
	lintian --allow-root --fail-on error,warning \
		--suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$work"/rl_*.changes || fail 'lintian'
}

# repack FILE VERSION DIRECTORY [BUILD]: the same package, as a later version; with programs and library of that build.
repack() {
	local tree=$work/tree file
	rm -rf "$tree"
	dpkg-deb --raw-extract "$1" "$tree"
	sed -i -E "s/^Version: .*/Version: $2/; s/librl1 \(= [^)]*\)/librl1 (= $2)/" "$tree/DEBIAN/control"
	for file in ${4:+"$tree"/usr/bin/rlctl "$tree"/usr/sbin/rld "$tree"/usr/lib/*/librl.so.1}; do
		[ ! -e "$file" ] || cp "$4/${file##*/}" "$(readlink -f "$file")"
	done
	dpkg-deb --root-owner-group --build "$tree" "$root/root/$3" >/dev/null
}

boot() {
	"$top/tests/systemd/root.sh" "$root" "$work"/rl/build/rlctl "$work"/rl/build/rld
	mkdir "$root/root/first" "$root/root/later" "$root/root/other"
	cp "$work"/{librl1,librl-dev,rl-tools}_*.deb "$root/root/first"
	for package in "$root"/root/first/*.deb; do
		repack "$package" 0.9.0+later later
		repack "$package" 0.9.0+other other "$work/rl/build/v/older"
	done
	gcc -std=c11 -D_GNU_SOURCE -I"$top/include" -o "$root/root/worker" "$here/worker.c" "$work/rl/build/librl.so.1"
	boot_container rl-package-test "$work/boot.log"
}

# All files but those that any installation of any package touches, and what runs writes.
files() {
	(cd "$root" && find . -xdev \( -path ./run -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/lib/systemd \
		-o -path ./var/tmp -o -path ./var/log -o -path ./var/cache -o -path ./dev -o -path ./proc -o -path ./sys \
		-o -path './etc/*-' -o -path ./root \) -prune -o -print | sort)
}

used() {
	in_container rlctl --segment web get login "$1" --json | grep -m 1 -o '"used": [0-9]*' | grep -o '[0-9]*'
}

denied() {
	in_container rlctl --segment web stats --json | grep -m 1 -o '"denied": [0-9]*' | grep -o '[0-9]*'
}

denies_more_than() {
	[ "$(denied)" -gt "$1" ]
}

pid_of() {
	in_container systemctl show --property MainPID --value "$1"
}

# Processes may end while they are looked at.
runs() {
	in_container sh -c 'cat /proc/[0-9]*/comm 2>/dev/null; true' | grep -x "$1" >/dev/null
}

test_install() {
	begin 'installed, nothing runs without a configuration'
	in_container sh -c 'dpkg -i /root/first/*.deb' >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail 'dpkg -i'; }
	! in_container systemctl --quiet is-active rld || fail 'rld runs'
	in_container id rl >/dev/null || fail 'no user'
	[ "$(in_container stat -c '%U %G %a' /dev/shm/rl)" = 'root rl 3771' ] || fail 'no directory for segments'
	cat >"$root/etc/rl/rl.json" <<-EOF
		{"segment": {"name": "web", "keys": 1000},
		 "rules": {"login": {"algorithm": "fixed_window", "window": "31d", "capacity": 5}}}
	EOF
	in_container systemctl --quiet enable --now rld
	in_container systemctl --quiet is-active rld || fail 'rld does not run'
	runs rld || fail 'rld is not seen'
}

test_upgrade() {
	begin 'upgraded under a worker: the same worker, the same counters, another rld'
	in_container systemd-run --quiet --unit worker --property User=rl /usr/local/bin/worker web
	in_container rlctl --segment web check login bob >/dev/null
	eventually denies_more_than 0
	[ "$(used alice) $(used bob)" = '5 1' ] || fail 'the worker did not spend what there is'
	local worker rld before
	worker=$(pid_of worker)
	rld=$(pid_of rld)
	in_container sh -c 'dpkg -i /root/later/*.deb' >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail 'dpkg -i, later'; }
	in_container systemctl --quiet is-active rld || fail 'rld does not run'
	[ "$(pid_of rld)" -ne "$rld" ] || fail 'the old rld still runs'
	[ "$(pid_of worker)" -eq "$worker" ] || fail 'the worker was disturbed'
	[ "$(used alice) $(used bob)" = '5 1' ] || fail "counters changed: $(used alice) $(used bob)"
	before=$(denied)
	eventually denies_more_than "$before"
	in_container systemctl restart worker
	eventually denies_more_than "$((before + 2))"
	[ "$(used alice)" = 5 ] || fail 'a worker with the new library counts anew'
}

test_upgrade_of_layout() {
	begin 'upgraded to another layout: the same worker, counters carried over, and found by the next worker'
	local worker rld
	worker=$(pid_of worker)
	rld=$(pid_of rld)
	in_container sh -c 'dpkg -i /root/other/*.deb' >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail 'dpkg -i, other'; }
	[ "$(used alice) $(used bob)" = '5 1' ] || fail "counters are lost: $(used alice) $(used bob)"
	[ "$(in_container stat -c '%U' /dev/shm/rl/rl.web)" = rl ] || fail 'the segment is not of its user any more'
	[ "$(pid_of worker)" -eq "$worker" ] || fail 'the worker was disturbed'
	eventually in_container systemctl --quiet is-active rld
	[ "$(pid_of rld)" -ne "$rld" ] || fail 'the old rld still runs'
	in_container systemctl restart worker
	eventually denies_more_than 0
	[ "$(used alice)" = 5 ] || fail 'a worker with the new library counts anew'
}

test_purge() {
	begin 'purged, nothing is left but the user'
	in_container systemctl stop worker
	echo '{}' >"$root/etc/rl/mine.json" # nothing that rl has made, and so none of its business
	in_container dpkg --purge rl-tools librl-dev librl1 >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail 'dpkg --purge'; }
	[ "$(ls -A "$root/etc/rl")" = mine.json ] || fail 'another file than those of rl is gone, or one of rl is left'
	rm -r "$root/etc/rl"
	files | diff "$work/before" - || fail 'files are left'
	[ -z "$(in_container find /dev/shm /run -name 'rl[.d]*')" ] || fail 'something is left in memory'
	in_container test ! -e /dev/shm/rl || fail 'the directory for segments is left'
	[ -z "$(in_container systemctl list-units --all --plain --no-legend 'rld*')" ] || fail 'a unit is left'
	! runs rld || fail 'rld still runs'
}

begin 'dpkg-buildpackage'
build
begin 'lintian'
lint
begin 'boot'
boot
install -m 755 "$root/root/worker" "$root/usr/local/bin/worker"
files >"$work/before"
test_install
test_upgrade
test_upgrade_of_layout
test_purge
for script in "$top"/servers/*/tests/package.sh "$top"/bindings/*/tests/package.sh; do
	[ -e "$script" ] || continue
	begin "${script#"$top"/}"
	"$script" "$work" || fail "$script"
done
begin 'done'
