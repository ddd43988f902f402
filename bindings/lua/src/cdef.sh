#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# cdef.sh CC INCLUDE: what rl.h and rl_flight.h declare, as LuaJIT's ffi.cdef() reads it. Types of the C library that
# LuaJIT does not know are written out.
set -eu

echo '#include <rl_flight.h>' | $1 -E -I"$2" - |
	awk '/^# [0-9]+ "/ { ours = $3 ~ /\/rl(_flight)?\.h"$/; next } ours && !/^#/ && NF' |
	sed -e 's/\bmode_t\b/unsigned int/g; s/\b[ug]id_t\b/unsigned int/g; s/\bpid_t\b/int/g; s/\benum rl_verdict \([a-z]\)/int \1/' |
	{ printf -- '-- Made from rl.h and rl_flight.h.\nreturn [[\n'; cat; printf ']]\n'; }
