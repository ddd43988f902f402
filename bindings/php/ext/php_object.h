/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PHP_RL_OBJECT_H
#define PHP_RL_OBJECT_H

/* Objects of the classes. */

#include "php_handle.h"

struct segment_object {
	struct handle *handle;
	enum on_error on_error;
	zend_object std;
};

/* Of a Rule and of Counters. */
struct rule_object {
	struct handle *handle;
	struct rule_entry *entry;
	enum on_error on_error;
	zend_object std;
};

bool rlp_rule_object(zval *to, zend_class_entry *ce, struct segment_object *segment,
                     struct rule_entry *entry);
struct rule_entry *rlp_rule_define(struct handle *handle, zend_string *name, zval *limit,
                                   bool keep);
struct rule_entry *rlp_rule_find(struct handle *handle, zend_string *name, enum rlb_rule_kind kind);

struct kept {
	struct rl_charges charges;
	struct rl_hold holds[RL_LIMITS_MAX];
	size_t hold_count;
	pid_t process; /* a child of fork has a copy, and its parent still holds */
};
struct kept *rlp_kept_new(void);
void rlp_result_object(zval *to, struct rule_object *rule, const struct rl_result *result,
                       uint64_t now_ns, struct kept *kept);
bool rlp_passes(const struct rule_entry *entry, enum on_error on_error,
                const struct rl_result *result);

/* Of Segment's constructor. */
/* False after an exception. */
bool rlp_options(zval *array, struct rl_options *options, enum on_error *on_error);

#endif
