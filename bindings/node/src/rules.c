/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include "about.h"

#include <stdio.h>

struct definition {
	char name[NAME_SIZE];
	struct rl_limit limits[RL_LIMITS_MAX + 1]; /* one too many is librl's to refuse */
	struct rl_rule rule;
};

static bool
read_limits(struct call *c, size_t arg, struct rl *rl, struct definition *d)
{
	struct rl_info info;
	uint32_t count;

	if (napi_get_array_length(c->env, c->argv[arg], &count) != napi_ok || count == 0 ||
	    count > RL_LIMITS_MAX + 1) {
		throw_range(c->env, "limits", "from 1 to 8 are allowed");
		return false;
	}
	rl_info(rl, &info);
	for (uint32_t i = 0; i < count; i++)
		if (!read_limit(c->env, array_of(c->env, c->argv[arg], i), info.ring,
		                &d->limits[i]))
			return false;
	d->rule.limit = d->limits[0];
	d->rule.more = d->limits + 1;
	d->rule.more_count = count - 1;
	return true;
}

/* The error of a definition, with the field at fault where librl tells it. */
static napi_value
throw_definition(napi_env env, struct rl *rl, int rc, const struct definition *d)
{
	char what[NAME_SIZE + 32], why[RL_RULE_TEXT_SIZE] = "";
	struct rl_info info;
	struct rl_options options = {0};

	rl_info(rl, &info);
	options.ring = info.ring;
	if (rc == -EINVAL || rc == RL_ERING)
		rl_rule_check(&d->rule, &options, why, sizeof why);
	snprintf(what, sizeof what, "define %s", d->name);
	return throw_rl(env, rc, what, why);
}

/* define(segment, name, limits, keep) -> handle */
NATIVE(define)
{
	struct call c;
	struct used_segment *used;
	struct definition d = {0};
	bool keep = false;
	int rc;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !call_name(&c, 1, "a rule's name", d.name, sizeof d.name) ||
	    !read_limits(&c, 2, used->handle->s.rl, &d))
		return NULL;
	napi_get_value_bool(env, c.argv[3], &keep);
	d.rule.name = d.name;
	d.rule.flags = keep ? RL_DEFINE_KEEP : 0;
	rc = rl_define(used->handle->s.rl, &d.rule);
	return rc < 0 ? throw_definition(env, used->handle->s.rl, rc, &d) : number(env, rc);
}

static napi_value
by_name(napi_env env, napi_callback_info info, const char *verb,
        int (*call)(struct rl *, const char *))
{
	struct call c;
	struct used_segment *used;
	char name[NAME_SIZE], what[NAME_SIZE + 32];

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !call_name(&c, 1, "a name", name, sizeof name))
		return NULL;
	snprintf(what, sizeof what, "%s %s", verb, name);
	return number_or_throw(env, call(used->handle->s.rl, name), what);
}

/* defineCounters(segment, name) -> handle */
NATIVE(defineCounters)
{
	return by_name(env, info, "define counters", rl_define_counters);
}

/* find(segment, name) -> handle */
NATIVE(find)
{
	return by_name(env, info, "find", rl_find);
}

/* forget(segment, name) -> 1 forgotten, 0 no application has defined it */
NATIVE(forget)
{
	return by_name(env, info, "forget", rl_forget);
}

/* ruleInfo(segment, handle) -> object, or undefined: there is no such rule */
NATIVE(ruleInfo)
{
	struct call c;
	struct used_segment *used;
	struct shown shown = {.env = env};
	struct rl_rule_info rule;
	int32_t id;
	napi_value to, limits;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !call_i32(&c, 1, &id) || rl_rule_info(used->handle->s.rl, id, &rule) != 1)
		return NULL;
	napi_create_object(env, &to);
	set_text(env, to, "name", rule.name);
	set_text(env, to, "source", rlb_sources[rule.source]);
	set_bool(env, to, "hasOverrides", rule.has_overrides);
	napi_create_array(env, &limits);
	for (uint32_t i = 0; i < rule.limit_count && i < RL_LIMITS_MAX; i++) {
		napi_create_object(env, &shown.object);
		rlb_fields_show(RL_OF_LIMIT, &rule.limits[i], show_value, &shown);
		napi_set_element(env, limits, i, shown.object);
	}
	napi_set_named_property(env, to, "limits", limits);
	return to;
}
