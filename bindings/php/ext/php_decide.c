/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of one rule: Rl\Rule. */
#include <errno.h>

#include "php_object.h"
#include "php_rl.h"
#include "php_value.h"
#include <zend_exceptions.h>
#include <zend_generators.h>

/* What is asked. */
struct ask {
	struct rule_object *rule;
	struct key key;
	struct rl_item item;
	struct kept *kept;
};

/* An optional number: null is absent. */
struct number {
	zend_long value;
	bool is_null;
};
#define ABSENT          \
	{               \
		0, true \
	}
#define RLP_PARAM_NUMBER(n) Z_PARAM_LONG_OR_NULL((n).value, (n).is_null)

static bool
take_u32(struct number n, uint32_t arg, uint32_t *to)
{
	if (n.is_null)
		return true;
	if (n.value < 0 || n.value > (zend_long)UINT32_MAX) {
		zend_argument_value_error(arg, "must be from 0 to %" PRIu32, UINT32_MAX);
		return false;
	}
	*to = (uint32_t)n.value;
	return true;
}

static bool
take_now(struct handle *handle, struct number now, uint32_t arg, uint64_t *to)
{
	if (now.is_null) {
		*to = rlp_now(handle);
		return true;
	}
	*to = (uint64_t)now.value;
	if (now.value >= 0)
		return true;
	zend_argument_value_error(arg, "must be nanoseconds since 1970");
	return false;
}

/* The key and the cost. */
static bool
begin(struct ask *a, zval *self, zend_string *key, zend_long cost)
{
	a->rule = OBJECT(rule_object, Z_OBJ_P(self));
	a->kept = NULL;
	if (!rlp_is_open(a->rule->handle))
		return false;
	if (UNEXPECTED(cost < 0)) {
		zend_argument_value_error(2, "must be from 0");
		return false;
	}
	rlp_key(&a->key, key);
	a->item = (struct rl_item){.key = a->key.bytes,
	                           .key_len = a->key.len,
	                           .cost = (uint64_t)cost,
	                           .flags = RL_ITEM_SLEEPS};
	return true;
}

/* A capacity, a burst and an undelayed of the request's own; arguments from number `arg` on. */
static bool
take_tier(struct ask *a, struct number capacity, struct number burst, struct number undelayed,
          uint32_t arg)
{
	a->item.flags |= burst.is_null ? 0 : RL_ITEM_BURST;
	a->item.flags |= undelayed.is_null ? 0 : RL_ITEM_UNDELAYED;
	return take_u32(capacity, arg, &a->item.capacity) &&
	       take_u32(burst, arg + 1, &a->item.burst) &&
	       take_u32(undelayed, arg + 2, &a->item.undelayed);
}

static void
keep_charges(struct ask *a)
{
	a->kept = rlp_kept_new();
	a->item.charges = &a->kept->charges;
}

static void
check(struct ask *a, struct rl_result *result)
{
	rlb_check(&a->rule->handle->s, &a->rule->entry->r, &a->item, result);
}

static void
decide(struct ask *a, enum rl_how how, uint64_t max_wait_ns, struct rl_result *result)
{
	rlb_decide(&a->rule->handle->s, &a->rule->entry->r, &a->item, how, max_wait_ns, result);
}

static int
handle_of(struct ask *a)
{
	return rlb_rule_id(&a->rule->handle->s, &a->rule->entry->r);
}

static void
answer(zval *return_value, struct ask *a, const struct rl_result *result)
{
	rlp_result_object(return_value, a->rule, result, a->item.now_ns, a->kept);
}

ZEND_METHOD(Rl_Rule, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

ZEND_METHOD(Rl_Rule, allows)
{
	struct rl_result result;
	zend_string *key;
	zend_long cost = 1;
	struct ask a;

	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_STR(key)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(cost)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(&a, ZEND_THIS, key, cost))
		RETURN_THROWS();
	a.item.now_ns = rlp_now(a.rule->handle);
	check(&a, &result);
	RETURN_BOOL(rlp_passes(a.rule->entry, a.rule->on_error, &result));
}

ZEND_METHOD(Rl_Rule, check)
{
	struct number capacity = ABSENT, burst = ABSENT, undelayed = ABSENT, now = ABSENT;
	struct rl_result result;
	zend_string *key;
	zend_long cost = 1;
	bool keep = false;
	struct ask a;

	ZEND_PARSE_PARAMETERS_START(1, 7)
	Z_PARAM_STR(key)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(cost)
	RLP_PARAM_NUMBER(capacity)
	RLP_PARAM_NUMBER(burst)
	RLP_PARAM_NUMBER(undelayed)
	RLP_PARAM_NUMBER(now)
	Z_PARAM_BOOL(keep)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(&a, ZEND_THIS, key, cost) || !take_tier(&a, capacity, burst, undelayed, 3) ||
	    !take_now(a.rule->handle, now, 6, &a.item.now_ns))
		RETURN_THROWS();
	if (keep)
		keep_charges(&a);
	check(&a, &result);
	answer(return_value, &a, &result);
}

ZEND_METHOD(Rl_Rule, peek)
{
	struct number now = ABSENT;
	struct rl_result result;
	zend_string *key;
	struct ask a;

	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_STR(key)
	Z_PARAM_OPTIONAL
	RLP_PARAM_NUMBER(now)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(&a, ZEND_THIS, key, 1) || !take_now(a.rule->handle, now, 2, &a.item.now_ns))
		RETURN_THROWS();
	decide(&a, RL_PEEK, 0, &result);
	answer(return_value, &a, &result);
}

ZEND_METHOD(Rl_Rule, reserve)
{
	struct number capacity = ABSENT, burst = ABSENT, undelayed = ABSENT, now = ABSENT;
	bool waits_for_ever = true;
	struct rl_result result;
	uint64_t max_wait_ns;
	zend_string *key;
	zend_long cost = 1;
	double max_wait = 0;
	struct ask a;

	ZEND_PARSE_PARAMETERS_START(1, 7)
	Z_PARAM_STR(key)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(cost)
	Z_PARAM_DOUBLE_OR_NULL(max_wait, waits_for_ever)
	RLP_PARAM_NUMBER(capacity)
	RLP_PARAM_NUMBER(burst)
	RLP_PARAM_NUMBER(undelayed)
	RLP_PARAM_NUMBER(now)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(&a, ZEND_THIS, key, cost) ||
	    !rlp_seconds(max_wait, waits_for_ever, 3, &max_wait_ns) ||
	    !take_tier(&a, capacity, burst, undelayed, 4) ||
	    !take_now(a.rule->handle, now, 7, &a.item.now_ns))
		RETURN_THROWS();
	keep_charges(&a);
	decide(&a, RL_RESERVE, max_wait_ns, &result);
	answer(return_value, &a, &result);
}

ZEND_METHOD(Rl_Rule, checkLimits)
{
	struct rl_result result, results[RL_LIMITS_MAX];
	struct number now = ABSENT;
	zend_string *key;
	zend_long cost = 1;
	size_t count = 0;
	zval all, each, one;
	struct ask a;

	ZEND_PARSE_PARAMETERS_START(1, 3)
	Z_PARAM_STR(key)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(cost)
	RLP_PARAM_NUMBER(now)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(&a, ZEND_THIS, key, cost) || !take_now(a.rule->handle, now, 3, &a.item.now_ns))
		RETURN_THROWS();
	a.item.rule = handle_of(&a);
	if (a.item.rule < 0)
		rlb_undecided(&result, a.item.rule);
	else
		rl_check_limits(a.rule->handle->s.rl, &a.item, &result, &count, results);
	array_init(return_value);
	answer(&all, &a, &result);
	add_assoc_zval(return_value, "result", &all);
	array_init(&each);
	for (size_t i = 0; i < count; i++) {
		answer(&one, &a, &results[i]);
		add_next_index_zval(&each, &one);
	}
	add_assoc_zval(return_value, "limits", &each);
}

static void
throw_denied(zval *result, const struct rule_entry *entry)
{
	zend_object *exception = zend_throw_exception_ex(
		rlp_denied_ce, 0, "%s: there is no unit left", entry->r.name);

	zend_update_property(rlp_denied_ce, exception, ZEND_STRL("result"), result);
}

/*
 * What has not begun cannot be held: the body of a generator runs after the call, when its units
 * are given back.
 */
static void
refuse_generator(zval *returned, uint32_t argument)
{
	if (Z_TYPE_P(returned) != IS_OBJECT || Z_OBJCE_P(returned) != zend_ce_generator)
		return;
	zval_ptr_dtor(returned);
	ZVAL_NULL(returned);
	zend_argument_type_error(argument,
	                         "must not return a Generator: its body would run after the "
	                         "units are given back");
}

/*
 * Call within what is charged. Units in flight go with the result, however that ends: its object
 * gives them back.
 */
static void
call_within(zval *self, zend_string *key, zend_long cost, zend_fcall_info *info,
            zend_fcall_info_cache *cache, bool is_told)
{
	struct rl_result result;
	zval held;
	struct ask a;

	if (!begin(&a, self, key, cost))
		return;
	a.item.now_ns = rlp_now(a.rule->handle);
	keep_charges(&a);
	check(&a, &result);
	answer(&held, &a, &result);
	if (rlp_passes(a.rule->entry, a.rule->on_error, &result)) {
		info->params = is_told ? &held : NULL;
		info->param_count = is_told;
		zend_call_function(info, cache);
		refuse_generator(info->retval, is_told ? 3 : 2);
	} else if (!EG(exception)) {
		throw_denied(&held, a.rule->entry);
	}
	zval_ptr_dtor(&held);
}

ZEND_METHOD(Rl_Rule, hold)
{
	zend_fcall_info_cache cache;
	zend_fcall_info info;
	zend_long units = 1;
	zend_string *key;

	ZEND_PARSE_PARAMETERS_START(2, 3)
	Z_PARAM_STR(key)
	Z_PARAM_FUNC(info, cache)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(units)
	ZEND_PARSE_PARAMETERS_END();
	if (units < 0) {
		zend_argument_value_error(3, "must be from 0");
		RETURN_THROWS();
	}
	info.retval = return_value;
	call_within(ZEND_THIS, key, units, &info, &cache, false);
}

ZEND_METHOD(Rl_Rule, spend)
{
	zend_fcall_info_cache cache;
	zend_fcall_info info;
	zend_long estimate;
	zend_string *key;

	ZEND_PARSE_PARAMETERS_START(3, 3)
	Z_PARAM_STR(key)
	Z_PARAM_LONG(estimate)
	Z_PARAM_FUNC(info, cache)
	ZEND_PARSE_PARAMETERS_END();
	if (estimate < 0) {
		zend_argument_value_error(2, "must be from 0");
		RETURN_THROWS();
	}
	info.retval = return_value;
	call_within(ZEND_THIS, key, estimate, &info, &cache, true);
}

ZEND_METHOD(Rl_Rule, refund)
{
	struct number capacity = ABSENT, now = ABSENT, absent = ABSENT;
	zend_string *key;
	zend_long cost = 1;
	struct ask a;
	int done;

	ZEND_PARSE_PARAMETERS_START(1, 4)
	Z_PARAM_STR(key)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(cost)
	RLP_PARAM_NUMBER(capacity)
	RLP_PARAM_NUMBER(now)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(&a, ZEND_THIS, key, cost) || !take_tier(&a, capacity, absent, absent, 3) ||
	    !take_now(a.rule->handle, now, 4, &a.item.now_ns))
		RETURN_THROWS();
	a.item.rule = handle_of(&a);
	done = a.item.rule < 0 ? a.item.rule : rl_refund_key(a.rule->handle->s.rl, &a.item);
	if (done < 0)
		rlp_throw(done, "refund: rule %s", a.rule->entry->r.name);
	RETURN_LONG(done);
}

static void
reset(INTERNAL_FUNCTION_PARAMETERS)
{
	zend_string *key;
	struct ask a;
	int id, done;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(&a, ZEND_THIS, key, 1))
		RETURN_THROWS();
	rlp_now(a.rule->handle);
	id = handle_of(&a);
	done = id < 0 ? id : rl_reset(a.rule->handle->s.rl, id, a.key.bytes, a.key.len);
	if (done < 0)
		rlp_throw(done, "reset: %s", a.rule->entry->r.name);
	RETURN_BOOL(done > 0);
}

ZEND_METHOD(Rl_Rule, reset)
{
	reset(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

ZEND_METHOD(Rl_Counters, reset)
{
	reset(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}
