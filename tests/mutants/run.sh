#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Break the code in one place at a time, as tests/mutants/list says, and see that the test
# named there fails: a test that cannot fail shows nothing. Needs the objects of `make check`.
# run.sh [PART PARTS]: only the lines of that part, 0 the first.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
part=${1:-0}
parts=${2:-1}
work=build/mutants/$part-$parts
export RL_TEST_SEGMENT=mutant-$$
export RL_STORM_SECONDS=4
export RL_TEST_RLD=$work/rld TMPDIR=$work
trap 'rm -rf "/dev/shm/rl.$RL_TEST_SEGMENT"' EXIT
cx16=
[[ $(gcc -dumpmachine) != x86_64* ]] || cx16=-mcx16
passed=0
failed=0
line=0
rm -rf "$work"
mkdir -p "$work"

verdict() {
	if [[ $1 == caught ]]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	printf '%-8s %s\n' "$1" "$2"
}

# path_of FILE: where a file of libshm is; any other has its path.
path_of() {
	[[ $1 == */* ]] && echo "$1" || echo libshm/*/"$1"
}

# compile FILE [FLAG...]: the mutant of FILE, which is in $work/src.
compile() {
	local file=$1
	shift
	# shellcheck disable=SC2086 # none or one
	gcc -std=c11 -D_GNU_SOURCE -O1 -w $cx16 "$@" "-I$work/src" "-I${file%%/*}" -Iinclude -Ilibshm -Iconfig \
		'-DRL_VERSION="mutant"' \
		-c -o "$work/mutant.o" "$work/src/${file#*/}"
}

# link_rld FILE: a daemon, with sanitizers, in which the mutant is in FILE's place.
link_rld() {
	local part parts=()
	for part in build/v/asan/o/rld/*.o; do
		[[ $part == "build/v/asan/o/${1%.c}.o" ]] || parts+=("$part")
	done
	gcc -fsanitize=address,undefined -o "$work/rld" "${parts[@]}" "$work/mutant.o" \
		build/v/asan/libconfig.a build/v/asan/librl.a -ljansson -lmicrohttpd -lsystemd
}

# survives FILE TEST: build the mutant of FILE and run TEST on it.
survives() {
	local variant=build flags=() part parts=()
	case $2 in
	unit/test_watch | unit/test_probe | unit/test_clients) # of the daemon
		for part in watch probe clients log; do
			[[ $1 == "rld/$part.c" ]] || parts+=("build/o/rld/$part.o")
		done
		;;
	cli/*) # a program, and the tests of it whose name matches
		compile "$1" -DRL_ATOMIC_C11 -fsanitize=address,undefined -fno-sanitize-recover=all &&
			link_rld "$1" || return 0
		TMPDIR=/tmp RLCTL=$PWD/build/rlctl RLD=$PWD/$work/rld timeout 60 bats \
			--filter "$RL_TEST_FILTER" "tests/$2.bats" >"$work/log" 2>&1
		return
		;;
	fuzz/test_rld) # of a program: the test is as it is
		compile "$1" -DRL_ATOMIC_C11 -fsanitize=address,undefined -fno-sanitize-recover=all &&
			link_rld "$1" && cp "build/tests/$2" "$work/test" || return 0
		passes
		return
		;;
	race/test_processes | race/test_threads) ;;
	race/*) # which choose what comes after what
		variant=build/v/hook
		flags=(-DRL_ATOMIC_C11 -DRL_ATOMIC_HOOK)
		;;
	esac
	# The linker takes from the library only what the mutant's object lacks.
	compile "$1" "${flags[@]}" &&
		gcc -o "$work/test" "$variant/o/tests/$2.o" $variant/o/tests/support/*.o "$work/mutant.o" "${parts[@]}" "$variant/libconfig.a" "$variant/librl.a" \
			-lcmocka -ljansson -lpthread || return 0
	# Tests of races need a chance: what passes is tried again, and told, for one that needs it
	# often needs luck.
	for tries in 1 2 3; do
		rm -rf "/dev/shm/rl.$RL_TEST_SEGMENT"
		passes || return 1
	done
}

# passes: does $work/test pass? What it has failed once it need not go on with: nobody reads on.
passes() {
	local status
	set +o pipefail
	(ulimit -c 0; timeout 60 stdbuf -oL "$work/test" 2>&1 </dev/null; echo "status $?") 2>/dev/null |
		grep -m 1 -E '^\[  FAILED  \]|^status ' >"$work/log" || true
	set -o pipefail
	status=$(cat "$work/log")
	[[ $status == 'status 0' ]]
}

while IFS=@ read -r name file expression test; do
	name=${name% }
	file=${file//[[:space:]]/}
	expression=${expression# }
	expression=${expression% }
	test=${test//[[:space:]]/}
	export RL_TEST_FILTER=
	[[ $test != *:* ]] || RL_TEST_FILTER=${test#*:}
	test=${test%:*}
	[[ -n $name && $name != \#* ]] || continue
	line=$((line + 1))
	((line % parts == part)) || continue
	# What is inline in a header is broken for one file that includes it: FILE<HEADER.
	source=$(path_of "${file#*<}")
	file=$(path_of "${file%%<*}")
	tries=1
	rm -rf "$work/src"
	mutant=$work/src/${source#*/}
	mkdir -p "${mutant%/*}" "$work/src/$(dirname "${file#*/}")"
	cp "$file" "$work/src/${file#*/}"
	sed "$expression" "$source" >"$mutant"
	if cmp -s "$source" "$mutant"; then
		verdict stale "$name: $source has no such line"
	elif survives "$file" "$test"; then
		verdict SURVIVED "$name ($test)"
	else
		[[ $tries -eq 1 ]] || name+=", at try $tries"
		verdict caught "$name"
	fi
done <"$here/list"
echo "$passed passed, $failed failed"
[[ $failed -eq 0 && $passed -gt 0 ]]
