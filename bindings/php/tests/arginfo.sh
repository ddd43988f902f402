#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# arginfo.sh FILE: write rl_arginfo.h, made of ext/rl.stub.php by PHP's own gen_stub.php, with Debian's php-parser.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "/usr/lib/php/$(php-config --phpapi)/build/gen_stub.php" "$here/ext/rl.stub.php" "$work"
# shellcheck disable=SC2016 # the words are those of the file
version=$(sed -n 's/^ *\$version = "\(.*\)";/\1/p' "$work/gen_stub.php")
mkdir -p "$work/PHP-Parser-$version/lib"
ln -s /usr/share/php/PhpParser "$work/PHP-Parser-$version/lib/PhpParser"
php -n -d extension=tokenizer "$work/gen_stub.php" "$work/rl.stub.php" >"$work/log" || { cat "$work/log"; exit 1; }
{
	printf '/* SPDX-License-Identifier: BSD-2-Clause */\n/* clang-format off */\n'
	cat "$work/rl_arginfo.h"
} >"$1"
