#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # what each_mutant sets
# Break the code in one place at a time, as tests/mutants/list says, and see that the test
# named there fails: a test that cannot fail shows nothing. Needs the objects of `make check`.
#   run.sh               all
#   run.sh PART PARTS    only the lines of that part, 0 the first
#   run.sh --named GLOB  only those of such a name
# Told is which test has failed first: the list may name it, where others before it take long.
set -euo pipefail

cd "$(dirname "$0")/../.."
# shellcheck source=tests/mutants/each.bash
. tests/mutants/each.bash
part=0
parts=1
wanted='*'
if [[ ${1:-} == --named ]]; then
	wanted=$2
elif [[ $# -eq 2 ]]; then
	part=$1
	parts=$2
fi
export RL_TEST_SEGMENT=mutant-$$
export RL_STORM_SECONDS=4
# What fails may leave files: in a directory of its own, whose name is short enough for a socket's.
work=$(mktemp -d)
export TMPDIR=$work/tmp RL_TEST_RLD=$work/rld
trap 'end_left; rm -rf "$work"' EXIT
cx16=
[[ $(gcc -dumpmachine) != x86_64* ]] || cx16=-mcx16
passed=0
failed=0
skipped=0 # the test needs what is not here
UNBUILT=200 # what the mutant's test is made of is not there, or no compiler takes the mutant
cli_needs=(build/{,v/older/}{rlctl,tests/cli/{fill,worker}} build/{rl-replay,rld}) # all that a script starts
bad=()
line=0

verdict() {
	if [[ $1 == caught ]]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		bad+=("$1: $2")
	fi
	printf '%-8s %s\n' "$1" "$2"
}

# object SOURCE OBJECT [FLAG...]: compile with what is mutated, which is in $work/src.
object() {
	# shellcheck disable=SC2086 # none or one
	gcc -std=c11 -D_GNU_SOURCE -O1 -w $cx16 "${@:3}" "-I$work/src" "-I${file%%/*}" "-I${file%/*}" -Iinclude -Ilibshm -Iconfig \
		'-DRL_VERSION="mutant"' \
		-c -o "$2" "$1" 2>>"$work/errors"
}

# compile [FLAG...]: the mutant of $file.
compile() {
	object "$work/src/${file#*/}" "$work/mutant.o" "$@"
}

# compile_test [FLAG...]: the test's own object, if it has of a header what is mutated in it.
compile_test() {
	test_object=$variant/o/tests/$test.o
	[[ $source != "$file" ]] && grep -qsF " $source" "${test_object%.o}.d" || return 0
	test_object=$work/test.o
	object "tests/$test.c" "$test_object" "$@" -Itests -Itests/support -Irld
}

# link FLAG...: what is missing is told.
link() {
	gcc "$@" 2>>"$work/errors"
}

# there FILE...: programs that a test starts beside the mutant.
there() {
	ls -- "$@" >/dev/null 2>>"$work/errors"
}

# link_rld: a daemon, with sanitizers, in which the mutant is in $file's place.
link_rld() {
	local object objects=()
	for object in rld/*.c rld/*/*.c; do
		[[ $object == "$file" ]] || objects+=("build/v/asan/o/${object%.c}.o")
	done
	link -fsanitize=address,undefined -o "$work/rld" "${objects[@]}" "$work/mutant.o" \
		build/v/asan/libconfig.a build/v/asan/librl-parts.a -ljansson -lmicrohttpd -lsystemd \
		-lhiredis -lssl -lcrypto
}

# link_rlctl: the tools, with the mutant in $file's place.
link_rlctl() {
	local object objects=() libs=(build/libconfig.a build/librl.a -ljansson)
	case $file in
	rlctl/replay/cmd_replay.c) ;;
	rlctl/replay/*)
		for object in rlctl/replay/*.c rlctl/config/version_config.c; do
			[[ $object == "$file" || $object == */cmd_replay.c ]] || objects+=("build/o/${object%.c}.o")
		done
		cp build/rlctl "$work/rlctl"
		link -o "$work/rl-replay" "${objects[@]}" "$work/mutant.o" build/libbase.a "${libs[@]}" -lz -lzstd -llzma
		return
		;;
	esac
	for object in rlctl/*.c rlctl/*/*.c rld/store/*.c rld/cluster/{secret,script,rules,seal,order}.c; do
		[[ $object == "$file" || $object == rlctl/replay/* && $object != */cmd_replay.c && $object != */replay_options.c ]] ||
			objects+=("build/o/${object%.c}.o")
	done
	cp build/rl-replay "$work/rl-replay"
	link -o "$work/rlctl" "${objects[@]}" "$work/mutant.o" "${libs[@]}" -lncursesw -ltinfo -lhiredis -lssl -lcrypto
}

# survives: build the mutant and run $test on it. Not so if it is caught, or if $UNBUILT.
survives() {
	local variant=build flags=() object objects=() test_object
	case $test in
	unit/rld/test_watch | unit/rld/test_probe | unit/rld/test_sweeper | unit/rld/test_mover | unit/rld/test_clients | unit/rld/test_host | unit/rld/test_openmetrics | \
		unit/rld/test_page_key | unit/rld/test_counters_text) # of the daemon
		for object in base/{clock,log} loop/{limited,mover,sweeper,watch} serve/{clients,host,openmetrics,page_key,probe} \
			keep/counters_{read,write}; do
			[[ $file == "rld/$object.c" ]] || objects+=("build/o/rld/$object.o")
		done
		;;
	unit/bindings/test_dictionaries | unit/servers/test_directive) # of what bindings and servers have in common
		for object in servers/common/directive bindings/common/{values,limit,options,text,words}; do
			[[ $file == "$object.c" ]] || objects+=("build/o/$object.o")
		done
		;;
	cluster/test_shares) # which is the store
		for object in rld/cluster/{host_shares,rule_shares,keys,leases,policy,identity}.c rld/store/value.c tests/cluster/reference.c; do
			[[ $object == "$file" ]] || objects+=("build/o/${object%.c}.o")
		done
		;;
	cluster/test_orders) # which is the store, too
		for object in rld/cluster/{orders,order,seal,secret}.c rld/store/value.c; do
			[[ $object == "$file" ]] || objects+=("build/o/${object%.c}.o")
		done
		;;
	cluster/*) # with the store's client and all that borrows
		for object in rld/store/*.c rld/cluster/*.c tests/cluster/*.c; do
			[[ $object == "$file" || $object == tests/cluster/test_* || $object == tests/cluster/bench.c ]] || objects+=("build/o/${object%.c}.o")
		done
		;;
	adapters/*) # with the core that the test is of
		[[ $file == "tests/${test/test_/}.c" ]] || objects+=("build/o/tests/${test/test_/}.o")
		;;
	cli/replay* | cli/ban | cli/check | cli/full | cli/doctor | cli/config | cli/log | cli/list | cli/upgrade) # the tool, and the tests of it whose name matches
		there "${cli_needs[@]}" && compile && link_rlctl || return $UNBUILT
		RLCTL=$work/rlctl timeout 60 bats --filter "$filter" "tests/$test.bats" >"$work/log" 2>&1
		return
		;;
	cli/*) # the daemon, and its tests likewise; or the tool beside the daemon as it is
		if [[ $file == rlctl/* ]]; then
			there "${cli_needs[@]}" && compile -Irld && link_rlctl || return $UNBUILT
			RLCTL=$work/rlctl RLD=$PWD/build/rld timeout 60 bats --filter "$filter" "tests/$test.bats" >"$work/log" 2>&1
			return
		fi
		there "${cli_needs[@]}" && compile -DRL_ATOMIC_C11 -fsanitize=address,undefined -fno-sanitize-recover=all &&
			link_rld || return $UNBUILT
		RLCTL=$PWD/build/rlctl RLD=$work/rld timeout 60 bats \
			--filter "$filter" "tests/$test.bats" >"$work/log" 2>&1
		return
		;;
	fuzz/test_rld) # of a program: the test is as it is
		there "build/tests/$test" && compile -DRL_ATOMIC_C11 -fsanitize=address,undefined -fno-sanitize-recover=all &&
			link_rld && cp "build/tests/$test" "$work/test" || return $UNBUILT
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
	compile "${flags[@]}" && compile_test "${flags[@]}" &&
		link -fno-lto -fno-use-linker-plugin -o "$work/test" "$test_object" $variant/o/tests/support/*.o "$work/mutant.o" \
			"${objects[@]}" build/libconfig.a "$variant/librl-parts.a" \
			-lcmocka -ljansson -lpthread -lhiredis -lssl -lcrypto -lm || return $UNBUILT
	# Tests of races need a chance: what passes is tried again, and told, for one that needs it
	# often needs luck.
	for tries in 1 2 3; do
		end_left
		passes || return 1
	done
}

# end_left: a test that failed may have left children, which wait for what does not come, and
# segments, which the next is not to find: one of the test's name, or several with a number behind it.
end_left() {
	{
		find /proc -maxdepth 2 -name exe -lname "$work/*" 2>/dev/null
		grep -lsF "$work/" /proc/[0-9]*/cmdline
	} | sed 's|^/proc/\([0-9]*\)/.*|\1|' | xargs -r kill -KILL 2>/dev/null || true
	rm -rf "/dev/shm/rl.$RL_TEST_SEGMENT" "/dev/shm/rl.$RL_TEST_SEGMENT"-*
}

# passes: does $work/test pass? What it has failed once it need not go on with: nobody reads on.
passes() {
	local status
	set +o pipefail
	(ulimit -c 0; RL_TEST_FILTER=$filter timeout 60 stdbuf -oL "$work/test" 2>&1 </dev/null; echo "status $?") 2>/dev/null |
		sed -un "/^\[  SKIPPED \]/w $work/skipped"$'\n''/^\[  FAILED  \]\|^status /{p;q}' >"$work/log" || true
	set -o pipefail
	status=$(cat "$work/log")
	[[ $status == 'status 0' ]]
}

# caught_by: the test that failed, if the log says it.
caught_by() {
	sed -nE 's/^(\[  FAILED  \]|not ok [0-9]+) //p' "$work/log" 2>/dev/null | head -n 1
}

play() {
	local mutant tries=1 status=0
	# shellcheck disable=SC2053 # a glob
	[[ $name == $wanted ]] || return 0
	line=$((line + 1))
	((line % parts == part)) || return 0
	rm -rf "$work/src" "$work/skipped" "$work/errors" "$TMPDIR"
	mutant=$work/src/${source#*/}
	mkdir -p "$TMPDIR" "${mutant%/*}" "$work/src/$(dirname "${file#*/}")"
	cp "$file" "$work/src/${file#*/}"
	sed "$expression" "$source" >"$mutant"
	if cmp -s "$source" "$mutant"; then
		verdict stale "$name: $source has no such line"
		return 0
	fi
	survives || status=$?
	if [[ $status -eq $UNBUILT ]]; then
		verdict UNBUILT "$name ($test): $(grep -m 1 -E 'error|cannot|No such' "$work/errors")"
	elif [[ $status -ne 0 ]]; then
		[[ $tries -eq 1 ]] || name+=", at try $tries"
		verdict caught "$name: $(caught_by)"
	elif [[ -s $work/skipped ]] || grep -q '^ok .* # skip' "$work/log"; then
		skipped=$((skipped + 1))
		echo "[  SKIPPED ] ${name// /.}"
	else
		verdict SURVIVED "$name ($test)"
	fi
	end_left
}

each_mutant play
[[ $failed -eq 0 ]] || printf '%s\n' "${bad[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 && $passed -gt 0 ]]
