#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh: build the library and its unit tests for arm64, and run them in an emulator.
#
# It shows that the library compiles there, that its 16-byte compare-and-swap needs no lock of
# libatomic's (a lock of that kind is of one process alone), and that the arithmetic holds. It
# does not show that the order of accesses does: the emulator runs on this machine's order,
# which on x86-64 is stronger. For that see tests/relacy.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$top/build/arm64
triple=aarch64-linux-gnu
flags=(-std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -DRL_ATOMIC_C11
	-I"$top/include" -I"$top/libshm" -I"$top/tests/support" -I"$out/root/usr/include")

# libcmocka for arm64, without telling dpkg of another architecture.
fetch_cmocka() {
	local apt=$out/apt
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$out/root"
	local options=(-o APT::Architecture=arm64 -o APT::Architectures=arm64
		-o Dir::State="$apt" -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt"
		-o Dir::State::Status=/dev/null)
	apt-get "${options[@]}" update -qq
	(cd "$apt" && apt-get "${options[@]}" download -qq libcmocka0 libcmocka-dev)
	for deb in "$apt"/*.deb; do
		dpkg-deb -x "$deb" "$out/root"
	done
}

# True of what tests tools or examples, which needs jansson or their own sources, or other builds of this machine.
is_of_tools() {
	local header
	while read -r header; do
		[[ ! -e $top/config/$header ]] || return 0
	done < <(sed -n 's/^#include "\(.*\)"$/\1/p' "$1")
	grep -q -e /rld/ -e /examples/ -e /bindings/ -e /servers/ -e build/v/ "$1"
}

build_library() {
	local objects=()
	for source in "$top"/libshm/*/*.c "$top"/tests/support/*.c; do
		local object
		is_of_tools "$source" && continue
		object=$out/$(basename "$(dirname "$source")")-$(basename "$source" .c).o
		"$triple-gcc" "${flags[@]}" -c -o "$object" "$source"
		objects+=("$object")
	done
	rm -f "$out/librl.a"
	"$triple-ar" rcs "$out/librl.a" "${objects[@]}"
	if "$triple-nm" "$out/librl.a" | grep -E 'U (__atomic_|__sync_)'; then
		echo "arm64: needs libatomic, whose locks are of one process" >&2
		exit 1
	fi
}

run_test() {
	local name
	name=$(basename "$1" .c)
	"$triple-gcc" "${flags[@]}" -o "$out/$name" "$1" "$out/librl.a" \
		-L"$out/root/usr/lib/$triple" -lcmocka -lpthread
	QEMU_LD_PREFIX=/usr/$triple timeout 600 qemu-aarch64-static \
		-E LD_LIBRARY_PATH="$out/root/usr/lib/$triple" "$out/$name" >"$out/$name.log" 2>&1
}

mkdir -p "$out"
[[ -d $out/root/usr/lib ]] || fetch_cmocka
build_library
failed=0
for source in "$top"/tests/unit/*/test_*.c; do
	is_of_tools "$source" && continue
	if run_test "$source"; then
		echo "ok    $(basename "$source" .c)"
	else
		echo "FAIL  $(basename "$source" .c), see $out/$(basename "$source" .c).log"
		failed=1
	fi
done
exit $failed
