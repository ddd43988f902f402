#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Without the extension: the classes load, with each call that the extension has; the first segment says what to do; off Linux
# RL_OFF=1 allows everything, with one warning, and on Linux it is not asked. run.sh off runs it.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
PHP=${PHP:-php}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*"
	exit 1
}
off() {
	"$PHP" -n -d display_errors=stderr "$here/off.php" "$@" 2>"$work/err"
}

"$PHP" -n -d "extension=$RL_EXTENSION" "$here/off.php" calls >"$work/extension"
off calls >"$work/off" || fail "$(cat "$work/err")"
diff "$work/extension" "$work/off" || fail 'the calls are others'
[ "$(wc -l <"$work/off")" -gt 60 ] || fail 'few calls'

off Darwin | grep -qE '^ENOSYS rl: .* this is Darwin\. Remedy: run it in a container, or set RL_OFF=1' || fail 'what to do on Darwin'
off Linux | grep -qE '^ENOSYS rl: the extension rl is not loaded. Remedy: apt install php-rl' || fail 'what to do on Linux'
[ "$(RL_OFF=1 off Darwin)" = 'true true true true true allowed allowed 0 0 login ok' ] || fail "RL_OFF=1: $(cat "$work/err")"
[ "$(grep -c 'nothing is limited' "$work/err")" = 1 ] || fail "one warning: $(cat "$work/err")"
RL_OFF=1 off Linux | grep -q 'is not loaded' || fail 'RL_OFF on Linux'
echo "$(wc -l <"$work/off") lines of calls, the same without the extension"
