#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh RLCTL [FILE...]: run the tests of the command line on one build of rlctl.
set -eu

RLCTL=$1
export RLCTL
shift
[ $# -gt 0 ] || set -- "$(dirname "$0")"
exec bats "$@"
