#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The module and the library with sanitizers, loaded into interpreters that have none.
set -eu

top=$(cd "$(dirname "$0")/../../.." && pwd)
RL_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
export RL_PRELOAD RL_LUA_BUILD="$top/build/lua/asan" RL_LUA_LIBRARY="$top/build/v/asan"
exec python3 "$top/bindings/lua/tests/test_api.py"
