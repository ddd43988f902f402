#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# source.sh: what `make php-source` packs builds as PIE builds it, with no librl in sight; what its composer.json says is so, and it
# counts in the segment of everybody else.
set -euo pipefail

top=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

fail() {
	echo "FAILED: $*"
	exit 1
}

make -s -C "$top" php-source
tar -x -C "$work" -f "$top"/build/php-source/rl-php-*.tar.gz
cd "$work"/rl-php-*
{ phpize && PKG_CONFIG_LIBDIR=$work/none ./configure --quiet CFLAGS=-O0 && env -u MAKEFLAGS make -j2; } >"$work/log" 2>&1 || { tail -n 20 "$work/log"; fail 'it does not build'; }
! readelf -d modules/rl.so | grep -F librl.so || fail 'it needs a librl'
segment=php-source-$$
on() {
	php -n -d extension="$PWD/modules/rl.so" -r "$1" "$segment"
}
# shellcheck disable=SC2016 # PHP's
on '
$said = json_decode(file_get_contents("composer.json"), true, 512, JSON_THROW_ON_ERROR);
$is = ["type" => $said["type"], "name" => $said["php-ext"]["extension-name"], "os" => $said["php-ext"]["os-families"],
    "zts" => $said["php-ext"]["support-zts"], "nts" => $said["php-ext"]["support-nts"], "version" => trim(file_get_contents("VERSION"))];
$rl = new ReflectionExtension("rl");
$want = ["type" => "php-ext", "name" => $rl->getName(), "os" => [strtolower(PHP_OS_FAMILY)], "zts" => false, "nts" => !PHP_ZTS, "version" => $rl->getVersion()];
if ($is !== $want) {
    var_dump($is, $want);
    exit(1);
}' || fail 'composer.json'
# shellcheck disable=SC2016 # PHP's
[ "$(on '$login = (new Rl\Segment($argv[1]))->rule("login", "3/hour"); foreach ([1, 2] as $_) echo (int) $login->allows("alice");')" = 11 ] || fail 'it does not count'
"$top/build/rlctl" --segment "$segment" get login alice | grep -w 2 >/dev/null || fail 'it counts elsewhere'
"$top/build/rlctl" --segment "$segment" unlink --yes >/dev/null
