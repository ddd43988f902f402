#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Whether the mutants' list is up to date, without compiling: each line still changes the file that it
# names, its test is there, and no two have one name.
set -euo pipefail

cd "$(dirname "$0")/../.."
# shellcheck source=tests/mutants/each.bash
. tests/mutants/each.bash
stale=0
count=0
names=

complain() {
	# shellcheck disable=SC2154 # by each_mutant
	echo "stale: $name: $*"
	stale=$((stale + 1))
}

# has_test: a program of that name has a test as the filter says.
has_test() {
	local pattern=${filter//\?/.}
	# shellcheck disable=SC2154
	case $test in
	cli/*) grep -qE "^@test .*$filter" "tests/$test.bats" ;;
	*) [[ -e tests/$test.c ]] &&
		grep -qE "(cmocka_unit_test.*[( ]|OPERATION\(\")${pattern//\*/.*}[\",)]" "tests/$test.c" ;;
	esac
}

look_at() {
	count=$((count + 1))
	names+=$name$'\n'
	# shellcheck disable=SC2154
	if [[ ! -e $source || ! -e $file ]]; then
		complain "no ${source} or no ${file}"
	elif sed "$expression" "$source" | cmp -s "$source" -; then
		complain "$source has no such line"
	fi
	[[ -n $filter || $test == cli/* ]] || filter='*'
	has_test || complain "no such test in $test"
}

each_mutant look_at
while read -r name; do
	[[ -z $name ]] || complain 'another has this name'
done < <(sort <<<"$names" | uniq -d)
echo "$count mutants, $stale stale"
[[ $stale -eq 0 && $count -gt 0 ]]
