/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "model/limit.h"
#include "same_config.h"
#include "show/show.h"

static bool
same_limit(const struct rl_limit *a, const struct rl_limit *b)
{
	return !limit_difference(a, b, 0);
}

static bool
same_override(const struct rl_override *a, const struct rl_override *b)
{
	return a->kind == b->kind && a->pattern.match == b->pattern.match &&
	       a->pattern.key_len == b->pattern.key_len &&
	       memcmp(a->pattern.key, b->pattern.key, a->pattern.key_len) == 0 &&
	       memcmp(a->capacity, b->capacity, sizeof(a->capacity)) == 0;
}

static bool
same_rule(const struct rl_config_rule *a, const struct rl_config_rule *b)
{
	if (strcmp(a->rule.name, b->rule.name) != 0 || a->rule.more_count != b->rule.more_count ||
	    a->override_count != b->override_count)
		return false;
	for (size_t i = 0; i < config_limit_count(&a->rule); i++)
		if (!same_limit(config_limit(&a->rule, i), config_limit(&b->rule, i)))
			return false;
	for (size_t i = 0; i < a->override_count; i++)
		if (!same_override(&a->overrides[i], &b->overrides[i]))
			return false;
	return true;
}

static bool
same_options(const struct rl_options *a, const struct rl_options *b)
{
	return a->keys == b->keys && a->ring == b->ring && a->key_bytes == b->key_bytes &&
	       a->rules == b->rules && a->overrides == b->overrides && a->bans == b->bans &&
	       a->on_full == b->on_full && a->buffer_ns == b->buffer_ns && a->mode == b->mode &&
	       a->group == b->group && a->flags == b->flags;
}

bool
same_config(const struct config *a, const struct config *b)
{
	struct rl_options first = config_options(a), second = config_options(b);

	if (strcmp(a->name, b->name) != 0 || a->gc_interval_ns != b->gc_interval_ns ||
	    a->rule_count != b->rule_count || !same_options(&first, &second))
		return false;
	for (size_t i = 0; i < a->rule_count; i++)
		if (!same_rule(&a->rules[i], &b->rules[i]))
			return false;
	return true;
}
