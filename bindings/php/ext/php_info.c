/* SPDX-License-Identifier: BSD-2-Clause */
/* What a segment and a rule are, as arrays. */
#include "php_rl.h"

#include <rl_admin.h>

#include "words.h"

ZEND_METHOD(Rl_Segment, info)
{
	struct handle *handle = THIS(segment_object)->handle;
	struct rl_info info;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!rlp_is_open(handle))
		RETURN_THROWS();
	rlp_now(handle);
	rl_info(handle->s.rl, &info);
	array_init(return_value);
	add_assoc_string(return_value, "name", info.name);
	add_assoc_long(return_value, "layout", info.layout);
	add_assoc_long(return_value, "bytes", rlp_long(info.bytes));
	add_assoc_long(return_value, "keys", rlp_long(info.keys));
	add_assoc_long(return_value, "slots", rlp_long(info.slots));
	add_assoc_long(return_value, "slots_used", rlp_long(rl_fill(handle->s.rl)));
	add_assoc_long(return_value, "ring", info.ring);
	add_assoc_long(return_value, "key_bytes", info.key_bytes);
	add_assoc_long(return_value, "rules", info.rules);
	add_assoc_long(return_value, "rules_used", info.rules_used);
	add_assoc_long(return_value, "bans", info.bans);
	add_assoc_long(return_value, "holders", info.holders);
	add_assoc_string(return_value, "on_full",
	                 rlb_on_full[info.on_full <= RL_FULL_EVICT ? info.on_full : 0]);
	add_assoc_long(return_value, "cells", info.cells);
	add_assoc_long(return_value, "reserves", info.reserves);
	add_assoc_long(return_value, "events", info.events);
	add_assoc_long(return_value, "buffer_ns", rlp_long(info.buffer_ns));
	add_assoc_long(return_value, "created_ns", rlp_long(info.created_ns));
	add_assoc_long(return_value, "generation", rlp_long(info.generation));
	add_assoc_long(return_value, "mode", info.mode);
	add_assoc_bool(return_value, "readonly", info.is_readonly != 0);
}

ZEND_METHOD(Rl_Segment, ruleNames)
{
	struct handle *handle = THIS(segment_object)->handle;
	struct rl_rule_info rule;
	struct rl_info info;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!rlp_is_open(handle))
		RETURN_THROWS();
	rlp_now(handle);
	rl_info(handle->s.rl, &info);
	array_init(return_value);
	for (uint32_t i = 0; i < info.rules; i++)
		if (rl_rule_info(handle->s.rl, (int)i, &rule) == 1 && rule.source != RL_SOURCE_NONE)
			add_next_index_string(return_value, rule.name);
}

static void
limit_array(zval *to, const struct rl_limit *l)
{
	const struct rl_algorithm_info *algorithm = rl_algorithm_info(l->algorithm);

	array_init(to);
	add_assoc_string(to, "algorithm", algorithm ? algorithm->name : "");
	add_assoc_long(to, "capacity", l->capacity);
	add_assoc_long(to, "window_ns", rlp_long(l->window_ns));
	add_assoc_long(to, "granularity", l->granularity);
	add_assoc_bool(to, "hard", l->hard != 0);
	add_assoc_long(to, "burst", l->burst);
	add_assoc_long(to, "undelayed", l->undelayed);
	add_assoc_bool(to, "shadow", l->shadow != 0);
	add_assoc_long(to, "prefix_v4", l->prefix_v4);
	add_assoc_long(to, "prefix_v6", l->prefix_v6);
	add_assoc_long(to, "prefetch", l->prefetch);
	add_assoc_bool(to, "count_denied", l->count_denied != 0);
}

/* The handle of the rule in the segment that has the name now; negative after an exception. */
static int
handle_of(struct rule_object *rule)
{
	int id;

	if (!rlp_is_open(rule->handle))
		return -1;
	rlp_now(rule->handle);
	id = rlb_rule_id(&rule->handle->s, &rule->entry->r);
	if (id < 0)
		rlp_throw(id, "rule %s", rule->entry->r.name);
	return id;
}

ZEND_METHOD(Rl_Rule, limits)
{
	struct rule_object *rule = THIS(rule_object);
	struct rl_rule_info info;
	zval one;
	int id;

	ZEND_PARSE_PARAMETERS_NONE();
	id = handle_of(rule);
	if (id < 0)
		RETURN_THROWS();
	if (rl_rule_info(rule->handle->s.rl, id, &info) != 1) {
		rlp_throw(RL_EREMOVED, "rule %s", rule->entry->r.name);
		RETURN_THROWS();
	}
	array_init(return_value);
	for (unsigned i = 0; i < info.limit_count && i < RL_LIMITS_MAX; i++) {
		limit_array(&one, &info.limits[i]);
		add_next_index_zval(return_value, &one);
	}
}

ZEND_METHOD(Rl_Rule, stats)
{
	struct rule_object *rule = THIS(rule_object);
	uint64_t counters[RL_COUNTERS] = {0};
	int id, error;

	ZEND_PARSE_PARAMETERS_NONE();
	id = handle_of(rule);
	if (id < 0)
		RETURN_THROWS();
	error = rl_stats(rule->handle->s.rl, id, counters, RL_COUNTERS);
	if (error < 0) {
		rlp_throw(error, "rule %s", rule->entry->r.name);
		RETURN_THROWS();
	}
	array_init(return_value);
	for (int i = 0; i < RL_COUNTERS && rl_counter_info(i); i++)
		add_assoc_long(return_value, rl_counter_info(i)->name, rlp_long(counters[i]));
}

ZEND_METHOD(Rl_Rule, name)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_STRING(THIS(rule_object)->entry->r.name);
}

ZEND_METHOD(Rl_Counters, name)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_STRING(THIS(rule_object)->entry->r.name);
}
