/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_MEMORY_LIMIT_H
#define RL_MEMORY_LIMIT_H

/*
 * How much memory the kernel would still give this process. All of a segment is taken when it is
 * made, on account of who makes it: should the control group not have as much, the kernel ends the
 * creator without a word. So it is looked up first.
 *
 *	left = limit - what is in use + what the kernel can take back + swap, the least of: the
 *	process's control group (v2 or v1) and each above it that can be seen, and the machine
 *
 * Files of the page cache are taken back, and so are not counted as used. What cannot be read
 * bounds nothing. Others may take the memory meanwhile: this is a courtesy, not a promise.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rl_admin.h"

struct rl_memory {
	uint64_t left;        /* UINT64_MAX: without bounds, as far as can be seen */
	char by[RL_PATH_MAX]; /* the file that says so; "" if none does */
};

/* `root` is put before the name of each file: "" but in tests. */
void rl_memory_read(const char *root, struct rl_memory *memory);

/* Can a file of so many bytes be made, and what the kernel needs to keep track of it? */
bool rl_memory_has(const struct rl_memory *memory, uint64_t bytes);

#endif
