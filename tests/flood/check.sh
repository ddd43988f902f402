#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A full table: users beside attackers at a reduced scale, and random requests beside an exact log, with
# and without kills. That log finds what `on_full: allow` does not count.
set -eu

here=$(dirname "$0")/../../build/tests/flood

# finds ARGUMENT...: the exact log says that too much was admitted.
finds() {
	status=0
	said=$("$here/exact" --on-full allow "$@") || status=$?
	printf 'allow: %s\n' "$(echo "$said" | tail -n 1)"
	[ "$status" -eq 1 ]
}

finds --requests 100000
finds --kills 1
"$here/exact" --requests 2000000
"$here/exact" --kills 4
"$here/flood" --reduced --check --on-full reserve
