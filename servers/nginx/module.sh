#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# module.sh SOURCE OUT: the modules for the nginx that is installed, from its own source, with the flags that `nginx -V` tells.
# `make nginx-module NGINX=SOURCE` runs it. SOURCE is left as it is. RL_NGINX: another program than `nginx`.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "nginx-module: $*" >&2
	exit 1
}

# What a module has to share with the program that loads it, of a file: sizes, and a bit for each part of nginx.
signature() {
	LC_ALL=C grep -aoE '[0-9]+,[0-9]+,[0-9]+,[01]{20,}' "$1" | head -n 1
}

{ [ $# -eq 2 ] && [ -n "$1" ]; } || fail 'which source? make nginx-module NGINX=path/to/nginx-1.22.1'
source=$1
out=$2
{ [ -f "$source/configure" ] && [ -f "$source/src/core/nginx.h" ]; } || fail "$source: no source of nginx, which has configure and src/core/nginx.h"
nginx=$(command -v "${RL_NGINX:-nginx}") || fail "${RL_NGINX:-nginx}: there is no such program; RL_NGINX names another"
told=$("$nginx" -V 2>&1) || fail "$nginx -V: $told"

wanted=$(sed -nE 's|^nginx version: .*/([0-9.]+).*|\1|p' <<<"$told")
has=$(sed -nE 's/^#define NGINX_VERSION +"(.*)"/\1/p' "$source/src/core/nginx.h")
[ "$wanted" = "$has" ] || fail "$source is nginx $has, and $nginx is $wanted: it loads modules of its own version only"

# Modules beside nginx do not belong to it, and may need what is not here; stream is one of ours.
compile="-I$top/include"
link="-L$work/lib"
with=()
given=()
eval "given=($(sed -n 's/^configure arguments: *//p' <<<"$told"))"
for argument in "${given[@]}"; do
	case $argument in
	--with-cc-opt=*) compile="${argument#*=} $compile" ;;
	--with-ld-opt=*) link="${argument#*=} $link" ;;
	--with-stream=dynamic) ;;
	--add-module=* | --add-dynamic-module=* | --with-*=dynamic) echo "nginx-module: without $argument" ;;
	*) with+=("$argument") ;;
	esac
done
[[ " ${with[*]} " == *' --with-stream '* ]] || with+=(--with-stream=dynamic)

mkdir -p "$work/lib" "$out"
ln -s "$top/build/librl.so.1" "$work/lib/librl.so"
cp -r "$source" "$work/nginx"
cd "$work/nginx"
log=$out/nginx-module.log
{ ./configure "${with[@]}" --with-cc-opt="$compile" --with-ld-opt="$link" --add-dynamic-module="$top/servers/nginx" &&
	make -j"$(nproc)" modules; } >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "see $log"; }
for module in http stream; do
	made=objs/ngx_${module}_rl_module.so
	[ "$(signature "$made")" = "$(signature "$nginx")" ] ||
		fail "$nginx was built with other flags than it tells: it has $(signature "$nginx"), the module $(signature "$made"); it would refuse it"
	install -m 644 "$made" "$out/"
done
echo "nginx-module: $out/ngx_http_rl_module.so and $out/ngx_stream_rl_module.so, for $nginx $wanted"
