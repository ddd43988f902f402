/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LIMIT_CHECK_H
#define RL_LIMIT_CHECK_H

/* Whether a limit can be, and in words why not. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rl.h"

#define RL_FIELD_SIZE 32

/* The sentence that is to be written; none if there is no room for any. */
struct rl_sentence {
	char *to;
	size_t size;
	char field[RL_FIELD_SIZE]; /* "limit", "more[2]" */
};

/* Of a later version of this library, or never set. */
#define RL_RESERVED_TEXT "not 0: this version of the library knows nothing that stands there"

/* "limit.burst: ...", of a member, or of the whole if it is "". */
void rl_say(const struct rl_sentence *s, const char *member, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * 0 if that limit can be, in a segment with `ring` entries a key; -EINVAL, and the sentence says
 * why, or RL_ERING. The sentence may be NULL.
 */
int rl_limit_check(const struct rl_limit *limit, uint32_t ring, const struct rl_sentence *s);

/* An algorithm that there is has one of these flags. */
bool rl_limit_has(const struct rl_limit *limit, unsigned flags);

/* False after a sentence. */
bool rl_limit_check_capacity(const struct rl_limit *limit, const struct rl_sentence *s);
bool rl_limit_check_algorithm(const struct rl_limit *limit, const struct rl_sentence *s);

#endif
