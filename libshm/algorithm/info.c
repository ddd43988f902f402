/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts about each algorithm, without its arithmetic. */
#include "rl.h"

static const struct rl_algorithm_info algorithms[] = {
#define ALGORITHM(number, row, ...) [number] = {sizeof(struct rl_algorithm_info), __VA_ARGS__},
#define UNNAMED(number, row)
#include "algorithm/rl_algorithms.def"
#undef UNNAMED
#undef ALGORITHM
};

const struct rl_algorithm_info *
rl_algorithm_info(enum rl_algorithm algorithm)
{
	unsigned number = (unsigned)algorithm;

	if (number >= sizeof(algorithms) / sizeof(algorithms[0]) || !algorithms[number].name)
		return NULL;
	return &algorithms[number];
}
