/* SPDX-License-Identifier: BSD-2-Clause */
/* Bans, exemptions, and resets of many keys. */
#include "php_object.h"
#include "php_rl.h"
#include "php_value.h"

#include <rl_admin.h>

#include "text.h"
#include "words.h"

static bool
take_pattern(struct rl_pattern *pattern, struct key *key, zend_string *text, zend_string *match)
{
	int number = match ? rlb_word(rlb_matches, ZSTR_VAL(match), ZSTR_LEN(match)) : RL_MATCH_KEY;

	if (number < 0) {
		zend_value_error("match: \"key\", \"prefix\" or \"network\", got \"%s\"",
		                 ZSTR_VAL(match));
		return false;
	}
	rlp_key(key, text);
	*pattern = (struct rl_pattern){(enum rl_match)number, key->bytes, key->len};
	return true;
}

/*
 * The handle of the rule, or RL_ANY_RULE without one. A rule of another segment, or one that is
 * gone, throws.
 */
static bool
take_rule(zend_object *rule, struct handle *handle, int *id)
{
	struct rule_object *of = rule ? OBJECT(rule_object, rule) : NULL;

	*id = RL_ANY_RULE;
	if (!of)
		return true;
	if (of->handle != handle) {
		zend_argument_value_error(2, "must be a rule of this segment");
		return false;
	}
	*id = rlb_rule_id(&handle->s, &of->entry->r);
	if (*id < 0)
		rlp_throw(*id, "rule %s", of->entry->r.name);
	return *id >= 0;
}

struct until {
	double seconds;
	zend_long ns;
	bool no_seconds, no_ns;
};

static bool
take_until(const struct until *u, struct handle *handle, uint64_t *ns)
{
	uint64_t span;

	*ns = RL_NEVER_NS;
	if (!u->no_seconds && !u->no_ns) {
		zend_value_error("for or until, and not both");
		return false;
	}
	if (!u->no_ns) {
		*ns = u->ns == ZEND_LONG_MAX ? RL_NEVER_NS : (uint64_t)u->ns;
		if (u->ns < 0)
			zend_argument_value_error(5, "must be nanoseconds since 1970");
		return u->ns >= 0;
	}
	if (u->no_seconds)
		return true;
	if (!rlp_seconds(u->seconds, false, 4, &span))
		return false;
	*ns = span == RL_NEVER_NS ? span : rlp_now(handle) + span;
	return true;
}

typedef int (*set_fn)(struct rl *, int, const struct rl_pattern *, uint64_t);

static void
set_exception(INTERNAL_FUNCTION_PARAMETERS, set_fn set)
{
	struct handle *handle = THIS(segment_object)->handle;
	struct until until = {0, 0, true, true};
	zend_string *text, *match = NULL;
	zend_object *rule = NULL;
	struct rl_pattern pattern;
	uint64_t until_ns;
	struct key key;
	int id, error;

	ZEND_PARSE_PARAMETERS_START(1, 5)
	Z_PARAM_STR(text)
	Z_PARAM_OPTIONAL
	Z_PARAM_OBJ_OF_CLASS_OR_NULL(rule, rlp_rule_ce)
	Z_PARAM_STR(match)
	Z_PARAM_DOUBLE_OR_NULL(until.seconds, until.no_seconds)
	Z_PARAM_LONG_OR_NULL(until.ns, until.no_ns)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_is_open(handle) || !take_pattern(&pattern, &key, text, match) ||
	    !take_until(&until, handle, &until_ns))
		RETURN_THROWS();
	rlp_now(handle); /* in the segment that has the name now */
	if (!take_rule(rule, handle, &id))
		RETURN_THROWS();
	error = set(handle->s.rl, id, &pattern, until_ns);
	if (error < 0)
		rlp_throw(error, "key \"%s\"", ZSTR_VAL(text));
}

ZEND_METHOD(Rl_Segment, ban)
{
	set_exception(INTERNAL_FUNCTION_PARAM_PASSTHRU, rl_ban);
}

ZEND_METHOD(Rl_Segment, allow)
{
	set_exception(INTERNAL_FUNCTION_PARAM_PASSTHRU, rl_allow);
}

ZEND_METHOD(Rl_Segment, unban)
{
	struct handle *handle = THIS(segment_object)->handle;
	zend_string *text, *match = NULL;
	zend_object *rule = NULL;
	struct rl_pattern pattern;
	struct key key;
	int id, done;

	ZEND_PARSE_PARAMETERS_START(1, 3)
	Z_PARAM_STR(text)
	Z_PARAM_OPTIONAL
	Z_PARAM_OBJ_OF_CLASS_OR_NULL(rule, rlp_rule_ce)
	Z_PARAM_STR(match)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_is_open(handle) || !take_pattern(&pattern, &key, text, match))
		RETURN_THROWS();
	rlp_now(handle);
	if (!take_rule(rule, handle, &id))
		RETURN_THROWS();
	done = rl_unban(handle->s.rl, id, &pattern);
	if (done < 0)
		rlp_throw(done, "key \"%s\"", ZSTR_VAL(text));
	RETURN_BOOL(done > 0);
}

ZEND_METHOD(Rl_Segment, resetMatching)
{
	struct handle *handle = THIS(segment_object)->handle;
	struct rl_reset_counts counts = {0};
	zend_string *text = NULL, *match = NULL;
	struct rl_pattern pattern;
	zval *rule = NULL;
	struct key key;
	int id, error;

	ZEND_PARSE_PARAMETERS_START(0, 3)
	Z_PARAM_OPTIONAL
	Z_PARAM_STR_OR_NULL(text)
	Z_PARAM_OBJECT_OR_NULL(rule)
	Z_PARAM_STR(match)
	ZEND_PARSE_PARAMETERS_END();
	if (rule && Z_OBJCE_P(rule) != rlp_rule_ce && Z_OBJCE_P(rule) != rlp_counters_ce) {
		zend_argument_type_error(2, "must be of type Rl\\Rule|Rl\\Counters|null, %s given",
		                         ZSTR_VAL(Z_OBJCE_P(rule)->name));
		RETURN_THROWS();
	}
	if (!rlp_is_open(handle) || (text && !take_pattern(&pattern, &key, text, match)))
		RETURN_THROWS();
	rlp_now(handle);
	if (!take_rule(rule ? Z_OBJ_P(rule) : NULL, handle, &id))
		RETURN_THROWS();
	error = rl_reset_matching(handle->s.rl, id, text ? &pattern : NULL, &counts);
	if (error < 0) {
		rlp_throw(error, "resetMatching");
		RETURN_THROWS();
	}
	array_init(return_value);
	add_assoc_long(return_value, "forgotten", (zend_long)counts.forgotten);
	add_assoc_long(return_value, "unknown", (zend_long)counts.unknown);
}

struct walk {
	struct rl *rl;
	zval *list;
};

/* What is read of a segment is bytes that somebody has written: names may be any. */
static int
visit_ban(const struct rl_ban_info *ban, void *arg)
{
	struct walk *walk = arg;
	struct rl_rule_info rule;
	zval one;

	array_init(&one);
	if (ban->rule >= 0 && rl_rule_info(walk->rl, ban->rule, &rule) == 1)
		add_assoc_string(&one, "rule", rule.name);
	else
		add_assoc_null(&one, "rule");
	add_assoc_bool(&one, "allow", ban->is_exemption != 0);
	add_assoc_string(&one, "match", rlb_match((int)ban->pattern.match));
	if (ban->pattern.key)
		add_assoc_stringl(&one, "key", ban->pattern.key, ban->pattern.key_len);
	else
		add_assoc_null(&one, "key");
	add_assoc_long(&one, "until_ns", rlp_long(ban->until_ns));
	add_next_index_zval(walk->list, &one);
	return 0;
}

ZEND_METHOD(Rl_Segment, bans)
{
	struct handle *handle = THIS(segment_object)->handle;
	struct walk walk = {.list = return_value};
	bool is_null = true;
	zend_long now = 0;

	ZEND_PARSE_PARAMETERS_START(0, 1)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG_OR_NULL(now, is_null)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_is_open(handle))
		RETURN_THROWS();
	if (is_null)
		now = rlp_long(rlp_now(handle));
	if (now < 0) {
		zend_argument_value_error(1, "must be nanoseconds since 1970");
		RETURN_THROWS();
	}
	array_init(return_value);
	walk.rl = handle->s.rl;
	rl_bans_walk(handle->s.rl, (uint64_t)now, visit_ban, &walk);
}
