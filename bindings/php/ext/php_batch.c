/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several requests in one call: Segment::checkAll() and checkMany(). An item is [rule, key, cost?,
 * capacities?].
 */
#include <errno.h>

#include "php_object.h"
#include "php_rl.h"
#include "php_value.h"

#include "words.h"

struct batch {
	size_t count;
	struct rule_object **rules;
	struct key *keys;
	struct rl_item *items;
	struct rl_result *results;
	struct kept **kept;
};

static void
batch_free(struct batch *b)
{
	efree(b->rules);
	efree(b->keys);
	efree(b->items);
	efree(b->results);
	efree(b->kept);
}

static void
batch_make(struct batch *b, size_t count)
{
	b->count = count;
	b->rules = safe_emalloc(count + 1, sizeof *b->rules, 0);
	b->keys = safe_emalloc(count + 1, sizeof *b->keys, 0);
	b->items = safe_emalloc(count + 1, sizeof *b->items, 0);
	b->results = safe_emalloc(count + 1, sizeof *b->results, 0);
	b->kept = ecalloc(count + 1, sizeof *b->kept);
}

static bool
take_capacity(zval *array, const char *name, uint32_t *to, bool *is_there)
{
	zval *value = zend_hash_str_find_deref(Z_ARRVAL_P(array), name, strlen(name));

	*is_there = value != NULL;
	if (!value)
		return true;
	if (Z_TYPE_P(value) != IS_LONG || Z_LVAL_P(value) < 0 ||
	    Z_LVAL_P(value) > (zend_long)UINT32_MAX)
		return false;
	*to = (uint32_t)Z_LVAL_P(value);
	return true;
}

static bool
take_tier(zval *array, struct rl_item *item)
{
	bool has_capacity, has_burst, has_undelayed;

	if (Z_TYPE_P(array) != IS_ARRAY ||
	    !take_capacity(array, "capacity", &item->capacity, &has_capacity) ||
	    !take_capacity(array, "burst", &item->burst, &has_burst) ||
	    !take_capacity(array, "undelayed", &item->undelayed, &has_undelayed))
		return false;
	item->flags |= (has_burst ? RL_ITEM_BURST : 0) | (has_undelayed ? RL_ITEM_UNDELAYED : 0);
	return true;
}

static zval *
element(zval *item, zend_ulong index)
{
	zval *value = zend_hash_index_find(Z_ARRVAL_P(item), index);

	if (value)
		ZVAL_DEREF(value);
	return value;
}

static bool
take_item(struct batch *b, size_t i, zval *value, struct handle *handle)
{
	zval *rule, *key, *cost, *tier;

	if (Z_TYPE_P(value) != IS_ARRAY)
		return false;
	rule = element(value, 0);
	key = element(value, 1);
	cost = element(value, 2);
	tier = element(value, 3);
	if (!rule || Z_TYPE_P(rule) != IS_OBJECT || Z_OBJCE_P(rule) != rlp_rule_ce || !key ||
	    Z_TYPE_P(key) != IS_STRING)
		return false;
	b->rules[i] = OBJECT(rule_object, Z_OBJ_P(rule));
	rlp_key(&b->keys[i], Z_STR_P(key));
	b->items[i] = (struct rl_item){.key = b->keys[i].bytes,
	                               .key_len = b->keys[i].len,
	                               .cost = 1,
	                               .flags = RL_ITEM_SLEEPS};
	if (cost && (Z_TYPE_P(cost) != IS_LONG || Z_LVAL_P(cost) < 0))
		return false;
	if (cost)
		b->items[i].cost = (uint64_t)Z_LVAL_P(cost);
	return b->rules[i]->handle == handle && (!tier || take_tier(tier, &b->items[i]));
}

static bool
take_handles(struct batch *b, bool keep, uint64_t now_ns)
{
	for (size_t i = 0; i < b->count; i++) {
		int id = rlb_rule_id(&b->rules[i]->handle->s, &b->rules[i]->entry->r);

		if (id < 0) {
			rlp_throw(id, "rule %s", b->rules[i]->entry->r.name);
			return false;
		}
		b->items[i].rule = id;
		b->items[i].now_ns = now_ns;
	}
	for (size_t i = 0; keep && i < b->count; i++) {
		b->kept[i] = rlp_kept_new();
		b->items[i].charges = &b->kept[i]->charges;
	}
	return true;
}

static bool
take_items(struct batch *b, HashTable *items, struct handle *handle, bool keep, uint64_t now_ns)
{
	size_t i = 0;
	zval *value;

	ZEND_HASH_FOREACH_VAL(items, value)
	{
		ZVAL_DEREF(value);
		if (!take_item(b, i++, value, handle)) {
			zend_argument_value_error(1,
			                          "must have items of [rule of this segment, key, "
			                          "cost, [\"capacity\" => ...]]; "
			                          "number %zu is none",
			                          i - 1);
			return false;
		}
	}
	ZEND_HASH_FOREACH_END();
	return take_handles(b, keep, now_ns);
}

static void
results_of(zval *to, struct batch *b, uint64_t now_ns)
{
	zval one;

	array_init(to);
	for (size_t i = 0; i < b->count; i++) {
		rlp_result_object(&one, b->rules[i], &b->results[i], now_ns, b->kept[i]);
		add_next_index_zval(to, &one);
	}
}

static bool
take_now(struct handle *handle, zend_long now, bool is_null, uint64_t *to)
{
	*to = is_null ? rlp_now(handle) : (uint64_t)now;
	if (is_null || now >= 0)
		return true;
	zend_argument_value_error(2, "must be nanoseconds since 1970");
	return false;
}

static void
all_of(zval *return_value, struct batch *b, struct handle *handle, uint64_t now_ns)
{
	size_t decided = b->count;
	enum rl_verdict verdict;
	zval results;

	for (size_t i = 0; i < b->count; i++)
		rlb_undecided(&b->results[i], -EINVAL);
	verdict = rl_check_all(handle->s.rl, b->items, b->count, b->results, &decided);
	array_init(return_value);
	add_assoc_string(return_value, "verdict", rlb_verdict((int)verdict));
	if (decided < b->count)
		add_assoc_long(return_value, "decided", (zend_long)decided);
	else
		add_assoc_null(return_value, "decided");
	results_of(&results, b, now_ns);
	add_assoc_zval(return_value, "results", &results);
}

ZEND_METHOD(Rl_Segment, checkAll)
{
	struct handle *handle = THIS(segment_object)->handle;
	bool is_null = true, keep = false;
	zend_long now = 0;
	HashTable *items;
	uint64_t now_ns;
	struct batch b;

	ZEND_PARSE_PARAMETERS_START(1, 3)
	Z_PARAM_ARRAY_HT(items)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG_OR_NULL(now, is_null)
	Z_PARAM_BOOL(keep)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_is_open(handle) || !take_now(handle, now, is_null, &now_ns))
		RETURN_THROWS();
	if (zend_hash_num_elements(items) < 1 || zend_hash_num_elements(items) > RL_ITEMS_MAX) {
		zend_argument_value_error(1, "must have 1 to %d items", RL_ITEMS_MAX);
		RETURN_THROWS();
	}
	batch_make(&b, zend_hash_num_elements(items));
	if (take_items(&b, items, handle, keep, now_ns))
		all_of(return_value, &b, handle, now_ns);
	batch_free(&b);
}

ZEND_METHOD(Rl_Segment, checkMany)
{
	struct handle *handle = THIS(segment_object)->handle;
	bool is_null = true;
	zend_long now = 0;
	HashTable *items;
	uint64_t now_ns;
	struct batch b;

	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_ARRAY_HT(items)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG_OR_NULL(now, is_null)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_is_open(handle) || !take_now(handle, now, is_null, &now_ns))
		RETURN_THROWS();
	batch_make(&b, zend_hash_num_elements(items));
	if (take_items(&b, items, handle, false, now_ns)) {
		rl_check_many(handle->s.rl, b.items, b.count, b.results);
		results_of(return_value, &b, now_ns);
	}
	batch_free(&b);
}
