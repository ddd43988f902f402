/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PHP_RL_HANDLE_H
#define PHP_RL_HANDLE_H

/* A segment as a process has it open, and the rules in it. */

#include <php.h>

#include "segment.h"

ZEND_BEGIN_MODULE_GLOBALS(rl)
HashTable handles;
ZEND_END_MODULE_GLOBALS(rl)
ZEND_EXTERN_MODULE_GLOBALS(rl)
#define RL_G(v) ZEND_MODULE_GLOBALS_ACCESSOR(rl, v)

enum on_error {
	ON_ERROR_THROW,
	ON_ERROR_ALLOW,
	ON_ERROR_DENY
};

/* A rule or a space as this process has it, remembered over requests. */
struct rule_entry {
	struct rule_entry *next;
	struct rlb_rule r;
};

/*
 * A segment as this process has it open. The table of the process has one reference, and each
 * object one: a private segment has no place in the table, and goes with its last object.
 */
struct handle {
	struct rlb_segment s;
	struct rule_entry *rules;
	unsigned references;
	int warned;      /* the trouble that was warned of last */
	bool is_warning; /* a handler of errors runs in the middle of a call: it may not close */
};

struct handle *rlp_handle_open(const char *name, const struct rl_options *options, int *error);
struct handle *rlp_handle_private(const struct rl_options *options, int *error);
void rlp_handle_keep(struct handle *handle);
void rlp_handle_drop(struct handle *handle);
void rlp_handle_look(struct handle *handle);
void rlp_handle_free(zval *value); /* of the table */

static inline uint64_t
rlp_now(struct handle *handle)
{
	uint64_t now_ns = rl_now(handle->s.rl);

	if (UNEXPECTED(now_ns >= handle->s.look_ns)) {
		rlp_handle_look(handle);
		now_ns = rl_now(handle->s.rl);
	}
	return now_ns;
}

/* Is it open? If not, it throws. */
bool rlp_is_open(struct handle *handle);

#endif
