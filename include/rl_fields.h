/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FIELDS_H
#define RL_FIELDS_H

/*
 * What the structures of rl.h are made of, for who reads or shows them by name: bindings, modules
 * of servers, tools. A field that a later library adds is taken and shown by all of them alike. All
 * calls are pure, and any thread may make them.
 */

#include <rl.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum rl_structure {
	RL_OF_LIMIT = 0,   /* struct rl_limit: rl_limit_fields.def */
	RL_OF_OPTIONS = 1, /* struct rl_options: rl_option_fields.def */
	RL_OF_RESULT = 2,  /* struct rl_result: rl_result_fields.def */
};

enum rl_field_kind {
	RL_FIELD_COUNT = 0,    /* a number from 0 */
	RL_FIELD_FLAG = 1,     /* 0 or 1; with `words`, files say it by a word */
	RL_FIELD_DURATION = 2, /* nanoseconds, or RL_NEVER_NS */
	RL_FIELD_WORD = 3,     /* a number of an enum, which has a word */
	RL_FIELD_ERROR = 4,    /* 0 or a negative error number */
	RL_FIELD_OTHER = 5,    /* a number that each reader says in a way of its own */
};

/* Combined with |. */
enum rl_field_mark {
	RL_FIELD_SHAPE = 1,        /* of a limit: who changes it starts the limit's counters anew */
	RL_FIELD_CLUSTER = 2,      /* of a limit: means something with RL_SCOPE_CLUSTER alone */
	RL_FIELD_AT_LEAST = 4,     /* of options: a segment that has more suffices */
	RL_FIELD_NOT_IN_FILES = 8, /* rl.json does not take it: see `why` */
	RL_FIELD_NOT_IN_DIRECTIVES = 16, /* nginx's and Apache's directives do not */
	RL_FIELD_NOT_IN_BINDINGS = 32,   /* bindings do not take it; they show it */
	RL_FIELD_HOST = 128,             /* of a limit: means nothing with RL_SCOPE_CLUSTER */
	RL_FIELD_NETWORK = 64,  /* of a limit: counts networks; of a rule all limits do or none */
	RL_FIELD_POWER = 256,   /* of options: a power of two */
	RL_FIELD_RESERVE = 512, /* of options: means something with RL_FULL_RESERVE alone */
};

struct rl_field {
	size_t size;      /* of this struct in the library: later ones have more at its end */
	const char *name; /* the member: "window_ns" */
	const char *word; /* in rl.json(5) and directives: "window" */
	enum rl_field_kind kind;
	unsigned marks; /* of enum rl_field_mark */
	unsigned needs; /* of a limit: flags of enum rl_algorithm_flag. An algorithm that has none
	                   of them has no use for the field; 0: all have one */
	unsigned offset, bytes; /* where it is in its structure */
	uint64_t least, most;   /* bounds of what is said, but for a 0, see `zero` */
	uint64_t usual;         /* of options: what a 0 stands for, if it is a number */
	uint64_t none;          /* of options: asks for none at all; 0: nothing does */
	const char *const
		*words;   /* by number, most + 1 of them, NULL for one that is none, and a NULL; or
	                             NULL */
	const char *unit; /* "cost", "ns", "" */
	const char *zero; /* what a 0 stands for, for people; NULL: 0 is not allowed */
	const char *why;  /* for what reason the marked ones do not take it; "" */
	const char *text; /* one sentence for people */
	const char *former; /* of options: a word of before, which stands for `usual` until the next
	                       release; NULL: none */
};

/* Field number `i` of a structure, in the order in which people are told; NULL past the last. */
const struct rl_field *rl_field(enum rl_structure of, size_t i);

/* The field of that name or word of `len` bytes; NULL: there is none. */
const struct rl_field *rl_field_find(enum rl_structure of, const char *name, size_t len);

/* What it is in the structure at `from`. Of RL_FIELD_ERROR it is an int64_t. */
uint64_t rl_field_get(const struct rl_field *field, const void *from);

/*
 * Store a number in the structure at `to`. 0, or -EINVAL: it has no room there. Bounds are for
 * rl_rule_check() and rl_open() to judge.
 */
int rl_field_set(const struct rl_field *field, void *to, uint64_t value);

/*
 * The number of a word of `len` bytes, of a field with `words`. 0; 1: it is `former`, and whoever
 * takes it warns of that; -EINVAL: it is none.
 */
int rl_field_number(const struct rl_field *field, const char *word, size_t len, uint64_t *number);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
