#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Whether the mutants' list is up to date, without compiling: each line still changes the file that it
# names, with each of its commands, its test is there, and no two have one name.
set -euo pipefail

cd "$(dirname "$0")/../.."
# shellcheck source=tests/mutants/each.bash
. tests/mutants/each.bash
stale=0
count=0
names=
declare -A text # of each file that was read; a process for each mutant is enough
any=[^$'\n']

complain() {
	# shellcheck disable=SC2154 # by each_mutant
	echo "stale: $name: $*"
	stale=$((stale + 1))
}

# read_in FILE: so that its text is known.
read_in() {
	[[ -n ${text[$1]-} ]] || text[$1]=$(<"$1")
}

# has_test: a program of that name has a test as the filter says.
has_test() {
	local pattern=${filter//\?/$any}
	pattern="(cmocka_unit_test$any*[( ]|OPERATION\(\")${pattern//\*/$any*}[\",)]"
	# shellcheck disable=SC2154
	local in=tests/$test.c
	[[ $test != cli/* ]] || in=tests/$test.bats pattern="@test $any*$filter"
	[[ -e $in ]] && read_in "$in" && [[ ${text[$in]} =~ $pattern ]]
}

# each_matters: of several commands in the expression, none can be left out.
each_matters() {
	local commands=() rest=$expression i whole others
	while [[ $rest == *'; s/'* ]]; do
		commands+=(-e "${rest%%; s/*}")
		rest=s/${rest#*; s/}
	done
	commands+=(-e "$rest")
	whole=$(sed "${commands[@]}" "$source")
	for ((i = 0; i < ${#commands[@]}; i += 2)); do
		others=$(sed -e '' "${commands[@]:0:i}" "${commands[@]:i+2}" "$source")
		[[ $others != "$whole" ]] || complain "nothing comes of ${commands[i + 1]}"
	done
}

look_at() {
	count=$((count + 1))
	names+=$name$'\n'
	# shellcheck disable=SC2154
	if [[ ! -e $source || ! -e $file ]]; then
		complain "no ${source} or no ${file}"
	else
		read_in "$source"
		[[ $(sed "$expression" "$source") != "${text[$source]}" ]] || complain "$source has no such line"
		[[ $expression != *'; s/'* ]] || each_matters
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
