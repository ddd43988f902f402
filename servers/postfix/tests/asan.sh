#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# rl-policyd and the library with sanitizers.
set -eu

top=$(cd "$(dirname "$0")/../../.." && pwd)
export RL_POLICYD="$top/build/postfix/asan/rl-policyd" RL_LIBRARY="$top/build/v/asan"
exec python3 -W ignore::ResourceWarning "$top/servers/postfix/tests/test_policyd.py"
