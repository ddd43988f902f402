#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh CODENAME...: in a root of each of these releases of Debian, with its own compilers, make demo ends well, and
# make check passes. Exits 77 with the reason when it cannot run here.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/support/container.bash
. "$top/tests/support/container.bash"
# shellcheck source=tests/support/root.bash
. "$top/tests/support/root.bash"

needs_container make
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM

for codename in "$@"; do
	begin "$codename: a root"
	make_root "$codename" make gcc libc6-dev
	mkdir "$root/rl"
	(cd "$top" && tar -c --exclude=./build .) | tar -x -C "$root/rl"
	begin "$codename: make demo"
	in_root 'cd /rl && make demo' >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail 'make demo'; }
	begin "$codename: make check"
	in_root 'cd /rl && make check' >"$work/log" 2>&1 || { grep -A 60 '^FAIL' "$work/log" || tail -n 40 "$work/log"; fail 'make check'; }
	tail -n 1 "$work/log"
	rm -rf --one-file-system "$root"
done
