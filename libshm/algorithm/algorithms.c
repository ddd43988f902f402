/* SPDX-License-Identifier: BSD-2-Clause */
/* Here alone an algorithm's number becomes its row. */
#include "algorithm/ops.h"

static const struct rl_algorithm_ops *const rows[] = {
#define ALGORITHM(number, row, ...) &(row),
#define UNNAMED ALGORITHM
#include "algorithm/rl_algorithms.def"
#undef UNNAMED
#undef ALGORITHM
};

_Static_assert(sizeof rows / sizeof *rows == RL_ALGORITHM_LAST + 1, "each has its row");

const struct rl_algorithm_ops *
rl_ops_of(enum rl_algorithm algorithm)
{
	return rows[algorithm];
}

void
rl_limiter_set(struct rl_limiter *l, enum rl_algorithm algorithm)
{
	l->algorithm = algorithm;
	l->is_shared = false;
	l->own = rl_ops_of(algorithm);
	rl_limiter_use(l, l->own);
}

bool
rl_limiter_share(struct rl_limiter *l)
{
	if (!l->own->shared)
		return false;
	rl_limiter_use(l, l->own->shared);
	l->is_shared = true;
	l->limit_is_capacity = l->own->limit_is_capacity;
	return true;
}

/* Facts about each, without its arithmetic. */
static const struct rl_algorithm_info algorithms[] = {
#define ALGORITHM(number, row, ...) {sizeof(struct rl_algorithm_info), __VA_ARGS__},
#define UNNAMED(number, row) {0},
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
