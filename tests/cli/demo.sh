#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The demo says by its exit whether the limit held; here also, that it shows what it promises.
set -eu

build=$(dirname "$0")/../../build
out=$(mktemp)
trap 'rm -f "$out"' EXIT

"$build/../examples/demo.sh" "$build" >"$out" || {
	cat "$out"
	exit 1
}
cat "$out"
for line in '^worker 4   admitted ' '^killed worker 2' '^HTTP/1.0 429 ' '^Retry-After: ' \
	'100/100 .* limited .* client  127.0.0.1' 'requests were admitted, by a limit of 100'; do
	grep -q -- "$line" "$out" || {
		echo "not shown: $line"
		exit 1
	}
done
