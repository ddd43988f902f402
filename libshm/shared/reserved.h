/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RESERVED_H
#define RL_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is an array of words, kept for later versions of a public structure, as this version wants it? */
#define RL_IS_RESERVED(words) rl_are_zero(words, sizeof(words) / sizeof((words)[0]))

static inline bool
rl_are_zero(const uint64_t *words, size_t count)
{
	uint64_t any = 0;

	for (size_t i = 0; i < count; i++)
		any |= words[i];
	return any == 0;
}

#endif
