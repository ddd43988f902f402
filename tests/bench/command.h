/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_COMMAND_H
#define BENCH_COMMAND_H

/* A program that is run to its end, its output thrown away, and what it took. */

#include <limits.h>

#include "bench.h"

struct command {
	const char *argv[8];
};

struct usage {
	double cpu_ns;  /* its own and the kernel's: who else runs does not change it */
	uint64_t bytes; /* of memory, at most at once */
};

/* Dies if it fails. */
struct usage command_run(const struct command *command);

/* The rlctl that was built beside this program. */
const char *command_rlctl(void);

#endif
