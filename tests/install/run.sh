#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Install into a directory that has other things in it, use what was installed as a stranger
# does, and uninstall: the directory is as it was.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
root=$(mktemp -d)
segment=install-test-$$
trap 'rm -rf "$root" "$root".* "/dev/shm/rl.$segment"' EXIT
prefix=$root/opt/rl

fail() {
	echo "FAILED: $*"
	exit 1
}

run_make() {
	make -s -C "$top" DESTDIR="$root" PREFIX=/opt/rl "$@"
}

# Every path below the root, what kind it is, and what is in it.
tree() {
	(cd "$root" && find . -type f -exec sha256sum {} + | sort -k 2 && find . ! -type f -printf '%y %p %l\n' | sort)
}

# A prefix as a system has it: directories that rl shares with others, and others' files.
furnish() {
	mkdir -p "$prefix"/{bin,sbin,include,lib/{pkgconfig,systemd/system,sysusers.d,tmpfiles.d}} \
		"$prefix"/share/{doc,man/man{1,3,5,7,8},zsh/site-functions,bash-completion/completions,fish/vendor_completions.d}
	echo theirs | tee "$prefix/bin/rlogin" "$prefix/lib/librlog.so.0" "$prefix/include/rl_other.h" >/dev/null
}

program() {
	cat <<-EOF
	#include <rl.h>
	#include <rl_admin.h>
	#include <rl_http.h>
	#include <stdio.h>
	int main(void)
	{
		struct rl *rl;
		struct rl_rule rule = {};
		rule.name = "login";
		rule.limit.capacity = 2;
		rule.limit.window_ns = 3600 * RL_SECOND;
		if (rl_open("$segment", NULL, &rl) < 0)
			return 1;
		int login = rl_define(rl, &rule);
		printf("%d\n", (int)rl_check(rl, login, "alice", 5, 1, NULL));
		rl_close(rl);
		return 0;
	}
	EOF
}

# C shared, C++ shared and C static; the third request is denied, whoever asks.
links() {
	export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
	program >"$root.c"
	cp "$root.c" "$root.cc"
	local flags static
	flags=$(pkg-config --cflags --libs rl)
	static=$(pkg-config --static --cflags --libs rl)
	# shellcheck disable=SC2086 # words
	{
		gcc -std=gnu11 -o "$root.1" "$root.c" $flags
		g++ -o "$root.2" "$root.cc" $flags
		gcc -std=gnu11 -static -o "$root.3" "$root.c" $static
	}
	[ "$(LD_LIBRARY_PATH=$prefix/lib "$root.1")" = 0 ] || fail 'C'
	[ "$(LD_LIBRARY_PATH=$prefix/lib "$root.2")" = 0 ] || fail 'C++'
	[ "$("$root.3")" = 1 ] || fail 'C, static: the limit of 2 was not the same for all'
	readelf -d "$root.1" | grep 'librl.so.1' >/dev/null || fail 'C: not linked to librl.so.1'
}

# A program of the version before is not run with other structures: the loader names what it lacks.
is_refused() {
	mkdir "$root.old"
	echo 'int rl_check(void) { return 0; }' >"$root.old/librl.c"
	echo 'int rl_check(void); int main(void) { return rl_check(); }' >"$root.old/program.c"
	gcc -shared -fPIC -Wl,-soname,librl.so.0 -o "$root.old/librl.so.0" "$root.old/librl.c"
	gcc -o "$root.old/program" "$root.old/program.c" "$root.old/librl.so.0"
	LD_LIBRARY_PATH=$root.old "$root.old/program" || fail 'the program of the version before'
	! LD_LIBRARY_PATH=$prefix/lib "$root.old/program" 2>"$root.old/said" || fail 'ran with another ABI'
	grep -q 'librl\.so\.0: cannot open' "$root.old/said" || fail "refused without a name: $(cat "$root.old/said")"
}

furnish
tree >"$root.before"
run_make install
links
is_refused

version=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --modversion rl)
[ "$(readlink -f "$prefix/lib/librl.so")" = "$(readlink -f "$prefix/lib/librl.so.$version")" ] || fail 'symbolic links'
"$prefix/bin/rlctl" --version | grep -F "$version" >/dev/null || fail 'rlctl --version'
printf '%s\n' '0 alice' '1 alice' | "$prefix/bin/rlctl" replay --limit 1/min - 2>/dev/null | grep -qx 'denied  *1' || fail 'rl-replay beside rlctl'
"$prefix/sbin/rld" --version | grep -F "$version" >/dev/null || fail 'rld --version'
grep -q '^ExecStart=/opt/rl/sbin/rld ' "$prefix/lib/systemd/system/rld.service" || fail 'ExecStart'
grep -q '^ExecReload=/opt/rl/bin/rlctl ' "$prefix/lib/systemd/system/rld@.service" || fail 'ExecReload'
"$prefix/bin/rlctl" config check -c "$prefix/share/doc/rl/examples/rl.json" || fail 'the example configuration'
for page in rl.7 rl.3 rl_check.3 rl_check_item.3 rl.json.5 rld.8 rlctl.1 rl-replay.1; do
	mandoc -T utf8 "$prefix/share/man/man${page##*.}/$page" >/dev/null || fail "no page $page"
done
bash -n "$prefix/share/bash-completion/completions/rl-replay" || fail 'completion for bash'

run_make uninstall
tree | diff "$root.before" - || fail 'uninstall did not leave things as they were'
