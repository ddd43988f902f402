#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# limited.sh SEGMENT RULE KEY COMMAND...: run the command if the rule allows it for the key. Exits 75
# (try again later) and says when, if not; without an answer the command is run, and the reason said.
set -u

if [ $# -lt 4 ]; then
	echo "usage: limited.sh SEGMENT RULE KEY COMMAND..." >&2
	exit 64
fi
segment=$1 rule=$2 key=$3
shift 3

answer=$("${RLCTL:-rlctl}" --segment "$segment" check "$rule" "$key")
case $? in
0) ;;
1)
	echo "limited.sh: $rule: $key: $(printf '%s\n' "$answer" | head -n 1)" >&2
	exit 75
	;;
*) echo "limited.sh: unlimited: no answer" >&2 ;;
esac
exec "$@"
