#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIR: python3-rl of that directory, installed in a minimal Debian with gunicorn and Flask-Limiter, where four
# workers share a limit; removed, it leaves nothing. Exits 77 with the reason when it cannot run here.
set -euo pipefail

packages=$1
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/support/debian.bash
. "$here/../../../tests/support/debian.bash"
work=$(mktemp -d)
root=$work/root
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

command -v debootstrap >/dev/null || { echo 'without debootstrap'; exit 77; }
unshare --mount true 2>/dev/null || { echo 'without a mount namespace'; exit 77; }
make_debian "$root" "$(this_release)" python3,gunicorn,python3-flask-limiter

inside() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare --mount --pid --fork --kill-child sh -c 'mount -t tmpfs tmpfs "$0/dev/shm" && mount -t proc proc "$0/proc" &&
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 chroot "$0" "$@"' "$root" "$@"
}

files() {
	(cd "$root" && find . -xdev \( -path ./var -o -path ./tmp -o -path ./root -o -path ./proc -o -path ./dev \) -prune -o -print | sort)
}

mkdir "$root/root/test"
cp -r "$here/serving.py" "$here/apps" "$root/root/test/"
cp "$packages"/librl1_*.deb "$packages"/python3-rl_*.deb "$root/root/"
files >"$work/before"
inside sh -c 'dpkg -i /root/librl1_*.deb /root/python3-rl_*.deb' >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; exit 1; }
[ -e "$root/usr/share/doc/python3-rl/examples/app.py" ] || { echo 'no example'; exit 1; }
inside env PYTHONPATH=/root/test RL_WORK=/tmp python3 -c '
from serving import serving, storm
for strategy in ("fixed-window", "moving-window"):
    with serving("gunicorn sync", "app_flask_limiter:app", RL_SEGMENT=strategy, RL_STRATEGY=strategy) as port:
        counts = storm(port)
        assert counts == {200: 50, 429: 350}, counts
with serving("gunicorn preload", "app_wsgi:app", RL_SEGMENT="wsgi") as port:
    counts = storm(port)
    assert counts == {200: 50, 429: 350}, counts
'
inside dpkg --purge python3-rl librl1 >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; exit 1; }
files | diff "$work/before" - || { echo 'files are left'; exit 1; }
echo 'python3-rl: installed, exactly 50 of 400 three times, purged'
