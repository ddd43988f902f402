#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# alone.sh COMMAND: run a test's command with a memory and a network of its own, as far as who runs it may make them, and say
# what a test that passes has left in the memory.
#
# Tests look for segments in /dev/shm: what others left there, a test that was killed among them, is taken for a test's own once
# a process has the number in its name again; and on a machine on which rl is installed programs make their segments in
# /dev/shm/rl. The network is a loopback and nothing else: a port that a test has found free is nobody else's by the time its
# server has started. A command that begins with RL_TEST_NETWORK=shared has the machine's, for what it fetches.
set -u

memory='mount -t tmpfs -o mode=1777 tmpfs /dev/shm'
network='ip link set lo up'

# shellcheck disable=SC2016 # the shell's own
run='sh -c "$1"; status=$?; [ "$status" -ne 0 ] || find /dev/shm -mindepth 1 -printf "left in %p\n"; exit "$status"'
own=(sh -c "$1")
if unshare --mount sh -c "$memory" 2>/dev/null; then
	own=(unshare --mount sh -c "$memory && { $run; }" - "$1")
fi
if [[ $1 != RL_TEST_NETWORK=shared\ * ]] && unshare --net sh -c "$network" 2>/dev/null; then
	own=(unshare --net sh -c "$network"' && exec "$@"' - "${own[@]}")
fi
exec "${own[@]}"
