/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules and spaces of counters: defining, finding and remembering them. */
#include <errno.h>

#include "php_object.h"
#include "php_rl.h"
#include "php_value.h"

#include "limit.h"

static zend_object_handlers rlp_rule_handlers;

zend_object *
rlp_rule_create(zend_class_entry *ce)
{
	struct rule_object *rule = zend_object_alloc(sizeof *rule, ce);

	zend_object_std_init(&rule->std, ce);
	object_properties_init(&rule->std, ce);
	rule->std.handlers = &rlp_rule_handlers;
	return &rule->std;
}

bool
rlp_rule_object(zval *to, zend_class_entry *ce, struct segment_object *segment,
                struct rule_entry *entry)
{
	struct rule_object *rule;

	if (!entry)
		return false;
	object_init_ex(to, ce);
	rule = OBJECT(rule_object, Z_OBJ_P(to));
	rule->handle = segment->handle;
	rule->entry = entry;
	rule->on_error = segment->on_error;
	rlp_handle_keep(rule->handle);
	return true;
}

/* All fields but `limits`. */
static bool
take_fields(HashTable *fields, struct rlb_limit *l)
{
	char why[RLB_TEXT_SIZE];
	struct rlb_value v;
	zend_string *name;
	zval *value;

	ZEND_HASH_FOREACH_STR_KEY_VAL(fields, name, value)
	{
		if (name && zend_string_equals_literal(name, "limits"))
			continue;
		v = rlp_value(value);
		if (name && rlb_limit_set(l, ZSTR_VAL(name), ZSTR_LEN(name), &v, why) == 0)
			continue;
		zend_value_error("%s", name ? why : "a limit has fields with names alone");
		return false;
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

static bool
finish(struct rlb_limit *l, uint32_t ring, struct rl_limit *to)
{
	char why[RLB_TEXT_SIZE];

	if (rlb_limit_finish(l, ring, why) < 0) {
		zend_value_error("%s", why);
		return false;
	}
	*to = l->limit;
	return true;
}

static bool
take_each(struct rlb_rule *r, HashTable *limits, const struct rlb_limit *base, uint32_t ring)
{
	size_t i = 0;
	zval *fields;

	ZEND_HASH_FOREACH_VAL(limits, fields)
	{
		struct rlb_limit l = *base;

		ZVAL_DEREF(fields);
		if (Z_TYPE_P(fields) != IS_ARRAY) {
			zend_value_error("limits: expected an array of arrays");
			return false;
		}
		if (i < RL_LIMITS_MAX &&
		    (!take_fields(Z_ARRVAL_P(fields), &l) ||
		     !finish(&l, ring, i == 0 ? &r->rule.limit : &r->more[i - 1])))
			return false;
		i++;
	}
	ZEND_HASH_FOREACH_END();
	r->rule.more_count = i - 1;
	return true;
}

/* "5/min", or fields, with `limits` or not. */
static bool
take_definition(struct rlb_rule *r, zval *limit, uint32_t ring)
{
	struct rlb_limit base = {0};
	struct rlb_value v = rlp_value(limit);
	char why[RLB_TEXT_SIZE];
	zval *limits;

	if (Z_TYPE_P(limit) == IS_STRING) {
		if (rlb_limit_set(&base, "limit", 5, &v, why) == 0)
			return finish(&base, ring, &r->rule.limit);
		zend_value_error("%s", why);
		return false;
	}
	if (!take_fields(Z_ARRVAL_P(limit), &base))
		return false;
	limits = zend_hash_str_find_deref(Z_ARRVAL_P(limit), ZEND_STRL("limits"));
	if (!limits)
		return finish(&base, ring, &r->rule.limit);
	if (Z_TYPE_P(limits) == IS_ARRAY && zend_hash_num_elements(Z_ARRVAL_P(limits)) > 0)
		return take_each(r, Z_ARRVAL_P(limits), &base, ring);
	zend_value_error("limits: expected an array of 1 to %d limits", RL_LIMITS_MAX);
	return false;
}

static bool
take_name(struct rlb_rule *r, zend_string *name)
{
	if (ZSTR_LEN(name) > RL_NAME_MAX || strlen(ZSTR_VAL(name)) != ZSTR_LEN(name)) {
		zend_value_error("name: it is too long; at most %d bytes are allowed", RL_NAME_MAX);
		return false;
	}
	memcpy(r->name, ZSTR_VAL(name), ZSTR_LEN(name) + 1);
	return true;
}

static bool
is_same_definition(const struct rlb_rule *a, const struct rlb_rule *b)
{
	return a->kind == b->kind && a->rule.flags == b->rule.flags &&
	       a->rule.more_count == b->rule.more_count &&
	       memcmp(&a->rule.limit, &b->rule.limit, sizeof a->rule.limit) == 0 &&
	       memcmp(a->more, b->more, a->rule.more_count * sizeof a->more[0]) == 0;
}

static struct rule_entry *
entry_of(struct handle *handle, const struct rlb_rule *r)
{
	for (struct rule_entry *entry = handle->rules; entry; entry = entry->next)
		if (strcmp(entry->r.name, r->name) == 0 &&
		    (entry->r.kind == RLB_SPACE) == (r->kind == RLB_SPACE))
			return entry;
	return NULL;
}

/*
 * What rl_rule_check() says, if it finds something: what is no rule anywhere is a wrong argument.
 */
static void
throw_definition(struct handle *handle, struct rlb_rule *r, int error)
{
	struct rl_options options = {.ring = handle->s.ring};
	char text[RL_RULE_TEXT_SIZE];
	int wrong = 0;

	r->rule.name = r->name;
	r->rule.more = r->more;
	if (r->kind == RLB_DEFINED)
		wrong = rl_rule_check(&r->rule, &options, text, sizeof text);
	if (wrong == -EINVAL)
		zend_value_error("%s", text);
	else if (wrong < 0)
		rlp_throw_text(wrong, text);
	else
		rlp_throw(error, "%s %s", r->kind == RLB_SPACE ? "counters" : "rule", r->name);
}

/*
 * In place of what was remembered, if it can be; the structure's pointers into itself are made
 * anew.
 */
static struct rule_entry *
remember(struct handle *handle, struct rule_entry *entry, struct rlb_rule *r)
{
	if (!entry) {
		entry = pecalloc(1, sizeof *entry, 1);
		entry->next = handle->rules;
		handle->rules = entry;
	}
	entry->r = *r;
	entry->r.rule.name = entry->r.name;
	entry->r.rule.more = entry->r.rule.more_count > 0 ? entry->r.more : NULL;
	return entry;
}

static struct rule_entry *
renew(struct handle *handle, struct rule_entry *entry, struct rlb_rule *r)
{
	int id = r->rule.more_count >= RL_LIMITS_MAX ? -EINVAL : rlb_rule_renew(&handle->s, r);

	if (id >= 0)
		return remember(handle, entry, r);
	throw_definition(handle, r, id);
	return NULL;
}

struct rule_entry *
rlp_rule_define(struct handle *handle, zend_string *name, zval *limit, bool keep)
{
	struct rlb_rule r = {.kind = RLB_DEFINED};
	struct rule_entry *entry;

	if (!take_name(&r, name) || !take_definition(&r, limit, handle->s.ring))
		return NULL;
	r.rule.flags = keep ? RL_DEFINE_KEEP : 0;
	entry = entry_of(handle, &r);
	if (entry && is_same_definition(&entry->r, &r) && rlb_rule_id(&handle->s, &entry->r) >= 0)
		return entry;
	return renew(handle, entry, &r);
}

struct rule_entry *
rlp_rule_find(struct handle *handle, zend_string *name, enum rlb_rule_kind kind)
{
	struct rlb_rule r = {.kind = kind};
	struct rule_entry *entry;

	if (!take_name(&r, name))
		return NULL;
	entry = entry_of(handle, &r);
	if (entry && rlb_rule_id(&handle->s, &entry->r) >= 0)
		return entry;
	return renew(handle, entry, &r);
}

static void
rule_free(zend_object *object)
{
	rlp_handle_drop(OBJECT(rule_object, object)->handle);
	zend_object_std_dtor(object);
}

void
rlp_rule_init(void)
{
	memcpy(&rlp_rule_handlers, &std_object_handlers, sizeof rlp_rule_handlers);
	rlp_rule_handlers.offset = XtOffsetOf(struct rule_object, std);
	rlp_rule_handlers.free_obj = rule_free;
	rlp_rule_handlers.clone_obj = NULL;
}
