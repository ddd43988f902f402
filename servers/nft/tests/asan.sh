#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# rl-nft and the library with sanitizers: what reads bans, and what writes transactions.
set -eu

top=$(cd "$(dirname "$0")/../../.." && pwd)
export RL_NFT="$top/build/nft/asan/rl-nft" RL_LIBRARY="$top/build/v/asan"
exec python3 -W ignore::ResourceWarning "$top/servers/nft/tests/test_nft.py" Spans Bans.test_others_change_the_table \
	Bans.test_never_who_is_exempt_or_this_host Bans.test_which_bans Bans.test_remove
