/* SPDX-License-Identifier: BSD-2-Clause */
/* What a segment and a rule are, as arrays. */
#include "php_object.h"
#include "php_rl.h"
#include "php_value.h"

#include "about.h"

ZEND_METHOD(Rl_Segment, info)
{
	struct handle *handle = THIS(segment_object)->handle;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!rlp_is_open(handle))
		RETURN_THROWS();
	rlp_now(handle);
	array_init(return_value);
	rlb_info_show(handle->s.rl, rlp_show, return_value);
}

ZEND_METHOD(Rl_Segment, ruleNames)
{
	struct handle *handle = THIS(segment_object)->handle;
	struct rl_rule_info rule;
	uint32_t row = 0;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!rlp_is_open(handle))
		RETURN_THROWS();
	rlp_now(handle);
	array_init(return_value);
	while (rlb_next_rule(handle->s.rl, &row, &rule))
		add_next_index_string(return_value, rule.name);
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
		array_init(&one);
		rlb_fields_show(RL_OF_LIMIT, &info.limits[i], rlp_show, &one);
		add_next_index_zval(return_value, &one);
	}
}

ZEND_METHOD(Rl_Rule, stats)
{
	struct rule_object *rule = THIS(rule_object);
	int id, error;

	ZEND_PARSE_PARAMETERS_NONE();
	id = handle_of(rule);
	if (id < 0)
		RETURN_THROWS();
	array_init(return_value);
	error = rlb_stats_show(rule->handle->s.rl, id, rlp_show, return_value);
	if (error < 0)
		rlp_throw(error, "rule %s", rule->entry->r.name);
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
