#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIRECTORY: librl-perl of that directory, installed in a Debian of its own with Starman and mod_perl: four
# workers admit exactly 50 of 400, rlctl shows what is counted, and a purge leaves nothing. Exits 77 with the reason where
# it cannot run.
# shellcheck disable=SC2016 # what is quoted is for Perl
set -euo pipefail

debs=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=bindings/common/tests/chroot.bash
. "$here/../../common/tests/chroot.bash"

make_root perl
# Of this machine's updates, too: a package needs the Perl that it was built with.
[ ! -e /etc/apt/sources.list.d/debian.sources ] || cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d"
in_root sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends starman libplack-perl apache2 libapache2-mod-perl2' \
	>"$work/apt.log" 2>&1 || { tail -n 3 "$work/apt.log"; echo 'there is no mirror here'; exit 77; }
cp -r "$here" "$root/root/tests"
chmod 755 "$root/root"
cp "$debs"/librl1_*.deb "$debs"/rl-tools_*.deb "$debs"/librl-perl_*.deb "$root/root/"
install_packages
for test in servers native; do
	in_root perl -w "/root/tests/$test.t" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail 'its tests'; }
done
in_root perl -MRL -e '$rule = RL->open("web")->rule("login", "3/hour"); print 0 + $rule->allow("alice") for 1 .. 5' |
	grep -x 11100 >/dev/null || fail 'not three of five'
in_root rlctl --segment web get login alice | grep 3 >/dev/null || fail 'rlctl does not show it'
purge librl-perl
echo 'librl-perl: installed, exactly 50 of 400 in Starman and mod_perl, purged'
