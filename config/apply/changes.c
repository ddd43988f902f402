/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/changes.h"
#include "model/auto_ban.h"
#include "model/limit.h"
#include "text/duration.h"

struct reporter {
	const char *name; /* of the rule */
	size_t *notes;    /* how many there were */
	config_sink *sink;
	void *arg;
};

static void note(const struct reporter *reporter, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void
note(const struct reporter *reporter, const char *format, ...)
{
	char text[320];
	va_list arguments;
	int used = snprintf(text, sizeof(text), "%s: ", reporter->name);

	va_start(arguments, format);
	vsnprintf(text + used, sizeof(text) - (size_t)used, format, arguments);
	va_end(arguments);
	reporter->sink(CONFIG_NOTE, text, reporter->arg);
	(*reporter->notes)++;
}

static bool
override_equal(const struct rl_override *a, const struct rl_override *b)
{
	return a->kind == b->kind && (a->kind != RL_OVERRIDE_CAPACITY ||
	                              memcmp(a->capacity, b->capacity, sizeof(a->capacity)) == 0);
}

static void
look_at_overrides(struct rl *rl, int id, const struct rl_config_rule *rule, struct before *before)
{
	uint64_t had = id < 0 ? 0 : rl_override_count(rl, id), found = 0;

	if (had == 0)
		before->overrides_new = rule->override_count;
	for (size_t i = 0; had > 0 && i < rule->override_count; i++) {
		struct rl_override old;

		if (rl_override_info(rl, id, &rule->overrides[i].pattern, &old) != 1) {
			before->overrides_new++;
			continue;
		}
		found++;
		before->overrides_changed += !override_equal(&old, &rule->overrides[i]);
	}
	before->overrides_gone = had > found ? had - found : 0;
}

struct before
changes_look(struct rl *rl, const struct rl_config_rule *rule)
{
	struct before before = {0};
	int id = rl_find(rl, rule->rule.name);

	if (id >= 0 && rl_rule_info(rl, id, &before.info) != 1)
		before.info.limit_count = 0;
	if (before.info.source == RL_SOURCE_NONE)
		before.info.limit_count = 0;
	look_at_overrides(rl, id, rule, &before);
	return before;
}

/* "limit 2: " where there are several. */
struct label {
	char text[32];
};

static struct label
label_of(size_t i, size_t count)
{
	struct label label = {""};

	if (count > 1)
		snprintf(label.text, sizeof(label.text), "limit %zu: ", i + 1);
	return label;
}

/* What a field says, as a file does. */
struct field_text {
	char text[40];
};

static struct field_text
text_of(const struct rl_field *field, const struct rl_limit *limit)
{
	uint64_t value = rl_field_get(field, limit);
	struct field_text out;

	if (field->words)
		snprintf(out.text, sizeof out.text, "\"%s\"",
		         value <= field->most ? field->words[value] : "unknown");
	else if (field->kind == RL_FIELD_FLAG)
		snprintf(out.text, sizeof out.text, "%s", value ? "true" : "false");
	else if (field->kind == RL_FIELD_DURATION)
		snprintf(out.text, sizeof out.text, "%s", duration_format(value).text);
	else
		snprintf(out.text, sizeof out.text, "%" PRIu64, value);
	return out;
}

/* A bucket whose burst is its capacity has both changed. */
static bool
goes_with_capacity(const struct rl_field *field, const struct rl_limit *old,
                   const struct rl_limit *new)
{
	return field->offset == offsetof(struct rl_limit, burst) &&
	       old->capacity != new->capacity &&
	       old->burst == old->capacity &&new->burst == new->capacity;
}

static void
report_quota(const struct reporter *reporter, const char *label, const struct rl_limit *old,
             const struct rl_limit *new)
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++)
		if (!(field->marks & RL_FIELD_SHAPE) &&
		    rl_field_get(field, old) != rl_field_get(field, new) &&
		    !goes_with_capacity(field, old, new))
			note(reporter, "%s%s %s, was %s", label, field->word,
			     text_of(field, new).text, text_of(field, old).text);
}

/* Which old limits' counters go on as which new ones'. */
struct match {
	int old[RL_LIMITS_MAX]; /* by new limit; -1: none */
	unsigned used;          /* bits by old limit */
};

static struct match
match_limits(const struct rl_rule *rule, const struct rl_rule_info *old)
{
	struct match match = {.used = 0};

	for (size_t i = 0; i < config_limit_count(rule); i++) {
		match.old[i] = -1;
		for (unsigned j = 0; j < old->limit_count && match.old[i] < 0; j++)
			if (!(match.used & 1U << j) &&
			    !limit_difference(&old->limits[j], config_limit(rule, i),
			                      RL_FIELD_SHAPE))
				match.old[i] = (int)j;
		if (match.old[i] >= 0)
			match.used |= 1U << match.old[i];
	}
	return match;
}

/* One that takes no old one's counters begins anew in the place of one, or besides. */
static void
report_limits(const struct reporter *reporter, const struct rl_rule *rule,
              const struct rl_rule_info *old)
{
	size_t count = config_limit_count(rule), most = count;
	struct match match = match_limits(rule, old);

	if (old->limit_count > most)
		most = old->limit_count;
	for (size_t i = 0; i < count; i++) {
		struct label label = label_of(i, most);

		if (match.old[i] >= 0) {
			report_quota(reporter, label.text, &old->limits[match.old[i]],
			             config_limit(rule, i));
		} else if (i < old->limit_count && !(match.used & 1U << i)) {
			match.used |= 1U << i;
			note(reporter, "%sstarts anew, its %s has changed", label.text,
			     limit_difference(&old->limits[i], config_limit(rule, i),
			                      RL_FIELD_SHAPE)
			             ->word);
		} else {
			note(reporter, "%snew", label.text);
		}
	}
	for (size_t i = 0; i < old->limit_count; i++)
		if (!(match.used & 1U << i))
			note(reporter, "what was limit %zu is dropped", i + 1);
}

static void
report_overrides(const struct reporter *reporter, const struct before *before)
{
	if (before->overrides_new + before->overrides_changed + before->overrides_gone > 0)
		note(reporter,
		     "overrides: %" PRIu64 " new, %" PRIu64 " changed, %" PRIu64 " removed",
		     before->overrides_new, before->overrides_changed, before->overrides_gone);
}

static void
report_new(const struct reporter *reporter, const struct rl_rule *rule)
{
	const char *more = rule->more_count > 0 ? " and further limits" : "";

	if (rule->limit.algorithm == RL_IN_FLIGHT)
		note(reporter, "new, %" PRIu32 " at once%s", rule->limit.capacity, more);
	else
		note(reporter, "new, %" PRIu32 " per %s%s", rule->limit.capacity,
		     duration_format(rule->limit.window_ns).text, more);
}

/* What is the same in all that was looked at can still stand in another order. */
static void
report_rule(const struct reporter *reporter, const struct rl_rule *rule,
            const struct before *before)
{
	size_t notes = *reporter->notes;

	if (before->info.limit_count == 0) {
		report_new(reporter, rule);
		return;
	}
	report_limits(reporter, rule, &before->info);
	if (*reporter->notes == notes)
		note(reporter, "its limits stand in another order");
}

void
changes_report(const struct rl_config_rule *rule, const struct before *before, unsigned effects,
               config_sink *sink, void *arg)
{
	const unsigned on_limits =
		RL_EFFECT_NEW | RL_EFFECT_CHANGED | RL_EFFECT_ANEW | RL_EFFECT_DROPPED;
	size_t notes = 0;
	struct reporter reporter = {rule->rule.name, &notes, sink, arg};

	if (effects & RL_EFFECT_ADOPTED)
		note(&reporter, "configured from now on; an application had defined it");
	if (effects & on_limits)
		report_rule(&reporter, &rule->rule, before);
	if (effects & RL_EFFECT_AUTO_BAN)
		note(&reporter, "%s",
		     rule->ban.after > 0 ? auto_ban_format(&rule->ban).text
		                         : "bans nobody any more");
	if (effects)
		report_overrides(&reporter, before);
}

struct rule_name *
changes_removed(struct rl *rl, const struct config *config)
{
	struct rl_info info;
	struct rule_name *names;
	size_t count = 0;

	rl_info(rl, &info);
	names = calloc(info.rules + 1, sizeof(*names));
	for (uint32_t id = 0; names && id < info.rules; id++) {
		struct rl_rule_info rule;

		if (rl_rule_info(rl, (int)id, &rule) == 1 &&
		    rule.source == RL_SOURCE_CONFIGURATION && !config_has_rule(config, rule.name))
			memcpy(names[count++].text, rule.name, sizeof(rule.name));
	}
	return names;
}

void
changes_report_removed(const struct rule_name *names, config_sink *sink, void *arg)
{
	size_t notes = 0;

	for (; names->text[0]; names++) {
		struct reporter reporter = {names->text, &notes, sink, arg};

		note(&reporter, "removed from the configuration");
	}
}
