#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Run the tests of rlctl on the plain build, and on the sanitized one if it is there.
# RLCTL names another binary to run them on.
set -eu

here=$(dirname "$0")
build=$here/../../build

if [ -n "${RLCTL:-}" ]; then
	exec bats "$here"
fi
for rlctl in "$build/rlctl" "$build/v/asan/rlctl"; do
	if [ -x "$rlctl" ]; then
		echo "# $rlctl"
		RLCTL=$rlctl bats "$here"
	fi
done
