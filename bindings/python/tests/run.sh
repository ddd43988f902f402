#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh FILE [ARGUMENT...]: pytest on one file of tests, with the package as it was built. Exits 77 where all of it
# is skipped. RL_PYTHON_BUILD is another build than build/python.
set -eu

build=$(realpath "${RL_PYTHON_BUILD:-build/python}")
top=$(realpath .)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPATH="$build:$top/bindings/python/tests" PYTHONDONTWRITEBYTECODE=1 RL_TOP="$top" RL_WORK="$work"
export LD_LIBRARY_PATH="$top/build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
unset DJANGO_SETTINGS_MODULE
file=$1
shift
status=0
LD_PRELOAD="${RL_PRELOAD:-}" "${PYTHON:-/usr/bin/python3}" -m pytest -q -p no:cacheprovider -W error::ResourceWarning --import-mode=append \
	--basetemp="$work/pytest" -rs "$file" "$@" >"$work/log" 2>&1 || status=$?
cat "$work/log"
if [ "$status" -eq 0 ] && ! grep -q ' passed' "$work/log"; then
	sed -n 's/^SKIPPED [^:]*:[0-9]*: //p' "$work/log" | tail -n 1
	exit 77
fi
exit "$status"
