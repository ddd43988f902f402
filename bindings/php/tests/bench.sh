#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a call of PHP costs: see bench.php. Run by tests/run.sh.
set -euo pipefail

here=$(dirname "$0")
exec php -n -d "extension=$RL_EXTENSION" -d extension=mbstring -d extension=apcu -d apc.enable_cli=1 -d error_reporting=24575 "$here/bench.php"
