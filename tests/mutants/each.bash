# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034 # what each_mutant sets is for the function that it calls
# Shared by what goes through the mutants' list. Sourced in the top directory.

# path_of FILE: $path is where a file of libshm is; any other has its path.
path_of() {
	local found=("$1")
	[[ $1 == */* ]] || found=(libshm/*/"$1")
	path=${found[0]}
}

# each_mutant FUNCTION: call it for each line of the list. $name is said of it; $expression breaks
# $source; $file is compiled, which is $source or includes it; $test is to fail, of which
# $filter, if not empty, names what is enough.
each_mutant() {
	local name file source expression test filter path
	while IFS=@ read -r name file expression test <&3; do
		name=${name% }
		[[ -n $name && $name != \#* ]] || continue
		file=${file//[[:space:]]/}
		expression=${expression# }
		expression=${expression% }
		test=${test//[[:space:]]/}
		filter=
		[[ $test != *:* ]] || filter=${test#*:}
		test=${test%:*}
		# What is inline in a header is broken for one file that includes it, and for the test if it
		# does, too: FILE<HEADER.
		path_of "${file#*<}"
		source=$path
		path_of "${file%%<*}"
		file=$path
		"$1"
	done 3<tests/mutants/list
}
