/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_VALUES_H
#define RLB_VALUES_H

/*
 * Values of a language, and how the structures of rl.h are read from and shown as dictionaries of
 * it. Which fields there are is librl's to say: rl_fields.h. A binding turns a value of its
 * language into a struct rlb_value, or one into a value of its language, and knows no field.
 */

#include <rl_fields.h>

#pragma GCC visibility push(hidden)

#define RLB_TEXT_SIZE 256

enum rlb_kind {
	RLB_INTEGER,
	RLB_REAL,
	RLB_WORDS,
	RLB_FLAG,
	RLB_NS,    /* a duration */
	RLB_OTHER, /* of no use for any field */
};

struct rlb_value {
	enum rlb_kind kind;
	int64_t integer; /* RLB_INTEGER; RLB_FLAG: 0 or 1 */
	uint64_t ns;     /* RLB_NS; RL_NEVER_NS has no end */
	double real;
	const char *words; /* of what is read, not ended by a NUL; what is shown is */
	size_t len;
};

/* Is called with each field of a structure that is shown; `name` is the member's. */
typedef void rlb_show(void *to, const char *name, const struct rlb_value *value);

/*
 * Store a field. 0, or -EINVAL: `text` is then a sentence that begins with `name` and says what is
 * expected. Only what has no room in the structure, or is of another kind, is refused.
 */
int rlb_field_set(const struct rl_field *field, const char *name, void *to,
                  const struct rlb_value *value, char text[RLB_TEXT_SIZE]);

/* A duration as number of seconds or text. 0, or -EINVAL. */
int rlb_value_ns(const struct rlb_value *value, uint64_t *ns);

/* Show all fields of the structure at `from`; of a result, those of a decision. */
void rlb_fields_show(enum rl_structure of, const void *from, rlb_show *show, void *to);

/* Show one. */
void rlb_field_show(const struct rl_field *field, const void *from, rlb_show *show, void *to);

#pragma GCC visibility pop

#endif
