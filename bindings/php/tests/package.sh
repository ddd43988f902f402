#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIRECTORY: php-rl of that directory, installed in a Debian of its own: enabled for all SAPIs, it counts with
# Symfony and Laravel from where Debian has them; a purge leaves nothing. Exits 77 with the reason where it cannot run.
# shellcheck disable=SC2016 # what is quoted is for PHP and for the inner shell
set -euo pipefail

debs=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=bindings/common/tests/chroot.bash
. "$here/../../common/tests/chroot.bash"

make_root php-cli,php-fpm,php-symfony-rate-limiter,php-illuminate-cache,php-illuminate-routing
cp "$debs"/librl1_*.deb "$debs"/rl-tools_*.deb "$debs"/php-rl_*.deb "$root/root/"
install_packages
in_root php -m | grep -x rl >/dev/null || fail 'it is not enabled in php-cli'
in_root sh -c '"$(ls /usr/sbin/php-fpm* | head -n 1)" -m' | grep -x rl >/dev/null || fail 'it is not enabled in php-fpm'
for test in adapters newer_symfony; do
	sed "s|__DIR__ . '/../src/autoload.php'|'/usr/share/php/Rl/autoload.php'|" "$here/$test.php" >"$root/root/$test.php"
	in_root php "/root/$test.php" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; fail 'its tests'; }
done
grep -qx 'by its interface' "$work/log" || { cat "$work/log"; fail 'the factory of Symfony 7.3'; }
in_root php -r '$rule = (new Rl\Segment("web"))->rule("login", "3/hour"); for ($i = 0; $i < 5; $i++) { echo (int) $rule->allows("alice"); }' |
	grep -x 11100 >/dev/null || fail 'not three of five'
in_root rlctl --segment web get login alice | grep 3 >/dev/null || fail 'rlctl does not show it'
purge php-rl
echo 'php-rl: installed, enabled, used by Symfony and Laravel, purged'
