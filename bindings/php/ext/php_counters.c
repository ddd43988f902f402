/* SPDX-License-Identifier: BSD-2-Clause */
/* Rl\Counters: counters by key, each with a lifetime. */
#include "php_object.h"
#include "php_rl.h"
#include "php_value.h"

/* What a call is told. */
struct call {
	struct rule_object *space;
	struct key key;
	struct rl_counter_item item;
};

struct number {
	zend_long value;
	bool is_null;
};

/* `arg` is the place of `now` among the arguments. */
static bool
begin(struct call *c, zval *self, zend_string *key, struct number now, uint32_t arg)
{
	c->space = OBJECT(rule_object, Z_OBJ_P(self));
	if (!rlp_is_open(c->space->handle))
		return false;
	if (!now.is_null && now.value < 0) {
		zend_argument_value_error(arg, "must be nanoseconds since 1970");
		return false;
	}
	rlp_key(&c->key, key);
	c->item.key = c->key.bytes;
	c->item.key_len = c->key.len;
	c->item.now_ns = now.is_null ? rlp_now(c->space->handle) : (uint64_t)now.value;
	c->item.space = rlb_rule_id(&c->space->handle->s, &c->space->entry->r);
	if (c->item.space >= 0)
		return true;
	rlp_throw(c->item.space, "counters %s", c->space->entry->r.name);
	return false;
}

static bool
done_or_throw(struct call *c, int done)
{
	if (done < 0)
		rlp_throw(done, "counters %s", c->space->entry->r.name);
	return done >= 0;
}

static int
apply(struct call *c, enum rl_counter_op op, struct rl_count *count)
{
	return rl_counter_apply(c->space->handle->s.rl, op, &c->item, count);
}

static void
answer(zval *return_value, struct call *c, enum rl_counter_op op)
{
	struct rl_count count = {0};
	int done = apply(c, op, &count);

	if (!done_or_throw(c, done))
		return;
	array_init_size(return_value, 4);
	add_assoc_bool(return_value, "done", done > 0);
	add_assoc_long(return_value, "value", (zend_long)count.value);
	add_assoc_long(return_value, "expires_after_ns", rlp_long(count.expires_after_ns));
	add_assoc_bool(return_value, "is_new", count.is_new != 0);
}

ZEND_METHOD(Rl_Counters, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

ZEND_METHOD(Rl_Counters, add)
{
	struct number now = {0, true};
	bool is_endless = true;
	zend_long amount = 1;
	double lifetime = 0;
	zend_string *key;
	struct call c = {0};

	ZEND_PARSE_PARAMETERS_START(1, 4)
	Z_PARAM_STR(key)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(amount)
	Z_PARAM_DOUBLE_OR_NULL(lifetime, is_endless)
	Z_PARAM_LONG_OR_NULL(now.value, now.is_null)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_seconds(lifetime, is_endless, 3, &c.item.lifetime_ns) ||
	    !begin(&c, ZEND_THIS, key, now, 4))
		RETURN_THROWS();
	c.item.amount = amount;
	answer(return_value, &c, RL_COUNTER_ADD);
}

ZEND_METHOD(Rl_Counters, get)
{
	struct number now = {0, true};
	zend_string *key;
	struct call c = {0};

	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_STR(key)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG_OR_NULL(now.value, now.is_null)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(&c, ZEND_THIS, key, now, 2))
		RETURN_THROWS();
	answer(return_value, &c, RL_COUNTER_GET);
}

static void
set(INTERNAL_FUNCTION_PARAMETERS, enum rl_counter_op op)
{
	struct number now = {0, true};
	bool is_endless = true;
	double lifetime = 0;
	zend_string *key;
	zend_long value;
	struct call c = {0};

	ZEND_PARSE_PARAMETERS_START(2, 4)
	Z_PARAM_STR(key)
	Z_PARAM_LONG(value)
	Z_PARAM_OPTIONAL
	Z_PARAM_DOUBLE_OR_NULL(lifetime, is_endless)
	Z_PARAM_LONG_OR_NULL(now.value, now.is_null)
	ZEND_PARSE_PARAMETERS_END();
	if (value < 0) {
		zend_argument_value_error(2, "must be from 0");
		RETURN_THROWS();
	}
	if (!rlp_seconds(lifetime, is_endless, 3, &c.item.lifetime_ns) ||
	    !begin(&c, ZEND_THIS, key, now, 4))
		RETURN_THROWS();
	c.item.amount = value;
	answer(return_value, &c, op);
}

ZEND_METHOD(Rl_Counters, set)
{
	set(INTERNAL_FUNCTION_PARAM_PASSTHRU, RL_COUNTER_SET);
}

ZEND_METHOD(Rl_Counters, setNew)
{
	set(INTERNAL_FUNCTION_PARAM_PASSTHRU, RL_COUNTER_SET_NEW);
}

ZEND_METHOD(Rl_Counters, touch)
{
	struct number now = {0, true};
	bool is_endless = true;
	double lifetime = 0;
	zend_string *key;
	struct call c = {0};

	ZEND_PARSE_PARAMETERS_START(2, 3)
	Z_PARAM_STR(key)
	Z_PARAM_DOUBLE_OR_NULL(lifetime, is_endless)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG_OR_NULL(now.value, now.is_null)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_seconds(lifetime, is_endless, 2, &c.item.lifetime_ns) ||
	    !begin(&c, ZEND_THIS, key, now, 3))
		RETURN_THROWS();
	answer(return_value, &c, RL_COUNTER_TOUCH);
}

ZEND_METHOD(Rl_Counters, drop)
{
	struct number now = {0, true};
	zend_string *key;
	struct call c = {0};
	int done;

	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_STR(key)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG_OR_NULL(now.value, now.is_null)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(&c, ZEND_THIS, key, now, 2))
		RETURN_THROWS();
	done = apply(&c, RL_COUNTER_DROP, NULL);
	if (done_or_throw(&c, done))
		RETURN_BOOL(done > 0);
}
