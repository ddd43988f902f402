#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the accuracy tool expects of each algorithm, on less traffic than its tables are made of.
set -eu

exec "$(dirname "$0")/../../build/tests/accuracy/accuracy" --check
