#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIRECTORY: postgresql-rl of that directory, installed in a Debian of its own with PostgreSQL: the extension can
# be created, two sessions have one limit, rlctl shows it, and a purge leaves nothing. Exits 77 with the reason where it
# cannot run.
set -euo pipefail

debs=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=bindings/common/tests/chroot.bash
. "$here/../../../bindings/common/tests/chroot.bash"

make_root postgresql
cp "$debs"/librl1_*.deb "$debs"/rl-tools_*.deb "$debs"/postgresql-rl_*.deb "$root/root/"
install_packages
cluster=$(in_root pg_lsclusters -h | awk '{ print $1, $2; exit }')
in_root usermod -a -G rl postgres
printf "rl.group = 'rl'\nrl.rules = 'login limit=3/hour'\n" >>"$root/etc/postgresql/${cluster/ //}/postgresql.conf"
# shellcheck disable=SC2086 # a version and a name
in_root pg_ctlcluster $cluster start || fail 'it does not start'
sql() {
	in_root setpriv --reuid postgres --regid postgres --clear-groups psql -X -A -t -c "$1" postgres
}
# shellcheck disable=SC2086
stop() {
	in_root pg_ctlcluster $cluster stop -m immediate
}
trap 'stop || true; clean_up' EXIT
sql 'CREATE EXTENSION rl' >/dev/null || fail 'CREATE EXTENSION'
[ "$(sql "SELECT rl_check('login', 'alice', 2)")" = t ] || fail 'the first session'
[ "$(sql "SELECT rl_check('login', 'alice', 2)")" = f ] || fail 'the second session'
in_root rlctl --segment postgresql get login alice | grep 2 >/dev/null || fail 'rlctl does not show it'
stop
purge postgresql-rl
echo 'postgresql-rl: installed, created, one limit of two sessions, purged'
