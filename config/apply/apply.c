/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of a configuration into a segment, and what stands in it. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "apply/apply.h"
#include "apply/changes.h"
#include "model/limit.h"
#include "model/option.h"
#include "read/report.h"
#include "read/source.h"
#include "text/duration.h"
#include "text/error_text.h"

#define ANEW                                                                                 \
	"a segment keeps what it was created with: end what uses it and 'rlctl unlink' it, " \
	"so that it is created anew"

struct application {
	struct rl *rl;
	const struct config *config;
	struct rl_info info;
	struct report *report;
};

static void
warn_segment(const struct application *a, enum segment_id id, const char *has)
{
	report_value(a->report, CONFIG_WARNING, a->config->source->segment[id],
	             "the running segment has %s; %s", has,
	             id == SEGMENT_keys || id == SEGMENT_ring ? CONFIG_RESIZE : ANEW);
}

/* Less than the wish, or much more: sizes are rounded up when a segment is created. */
static bool
has_other_size(uint64_t has, uint64_t wish)
{
	return has < wish || has > 2 * wish + (wish > 0 ? 64 : 0);
}

static bool
has_other(const struct application *a, const struct rl_field *field, const struct rl_options *has)
{
	uint64_t is = option_number(field, has), wish = option_number(field, &a->config->options);

	if (field->marks & RL_FIELD_RESERVE && has->on_full != RL_FULL_RESERVE)
		return false;
	if (field->offset == offsetof(struct rl_options, keys) && is >= wish &&
	    is <= a->config->keys_most)
		return false;
	return field->kind == RL_FIELD_COUNT ? has_other_size(is, wish) : is != wish;
}

static void
compare_option(const struct application *a, enum segment_id id, const struct rl_field *field,
               const struct rl_options *has)
{
	char text[100];

	if (!a->config->source->segment[id] || !has_other(a, field, has))
		return;
	snprintf(text, sizeof(text),
	         id == SEGMENT_group                  ? "the group number %s"
	         : field->words || id == SEGMENT_mode ? "\"%s\""
	                                              : "%s",
	         option_format(field, has).text);
	warn_segment(a, id, text);
}

static void
compare_segment(const struct application *a)
{
	bool wants_huge = (a->config->options.flags & RL_OPEN_HUGE_PAGES) != 0;
	const struct rl_field *field;
	struct rl_options has;

	rl_info_options(&a->info, &has);
	for (int id = 0; (field = rl_field(RL_OF_OPTIONS, (size_t)id)); id++)
		compare_option(a, (enum segment_id)id, field, &has);
	if (a->config->source->segment[SEGMENT_HUGE_PAGES] && !a->info.huge_pages == wants_huge)
		warn_segment(a, SEGMENT_HUGE_PAGES, a->info.huge_pages ? "true" : "false");
}

/* The rule at fault, for outcome->rule is below the number of rules. */
static uint32_t
fault_token(const struct config *config, const struct rl_config_outcome *outcome)
{
	const struct rl_config_rule *rule = &config->rules[outcome->rule];

	if (outcome->override < rule->override_count)
		return config->source->overrides[outcome->rule][outcome->override];
	return config->source->rules[outcome->rule];
}

/* Ring entries that a limit of the rule takes, or one of its overrides of a log. */
static uint32_t
entries_of(const struct rl_config_rule *rule, size_t override)
{
	uint32_t most = 0;

	for (size_t i = 0; i < config_limit_count(&rule->rule); i++) {
		const struct rl_limit *limit = config_limit(&rule->rule, i);
		uint32_t entries = limit_entries(limit);

		if (override < rule->override_count)
			entries = limit_entries_for(limit, rule->overrides[override].capacity[i]);
		most = entries > most ? entries : most;
	}
	return most;
}

static void
report_rule_fault(const struct application *a, const struct rl_config_outcome *outcome, int error)
{
	uint32_t token = fault_token(a->config, outcome);
	const struct rl_config_rule *rule = &a->config->rules[outcome->rule];
	uint32_t entries = entries_of(rule, outcome->override);

	if (error == RL_ERING)
		report_name(a->report, CONFIG_ERROR, token,
		            "needs a ring of %" PRIu32 ", the segment has %" PRIu32
		            "; a smaller \"granularity\", or capacity of a log, fits; 'rlctl "
		            "resize --ring %" PRIu32 "' gives it one, and no count is lost",
		            entries, a->info.ring, entries);
	else if (error == -EINVAL && outcome->override < rule->override_count)
		report_name(a->report, CONFIG_ERROR, token,
		            "means the same keys as another override of the rule, or none");
	else
		report_name(a->report, CONFIG_ERROR, token, "%s", error_text(error).text);
}

/* Of what there is too little, and how much of it is wanted. */
static void
report_no_room(const struct application *a, uint64_t needed, uint32_t room, const char *what)
{
	report_value(a->report, CONFIG_ERROR, 0,
	             "no room for %" PRIu64 " %s, the segment holds %" PRIu32 "; " ANEW, needed,
	             what, room);
}

static void
report_fault(const struct application *a, const struct rl_config_outcome *outcome, int error)
{
	if (error == RL_ERULES)
		report_no_room(a, outcome->needed, a->info.rules,
		               "rules, those of applications and of earlier files among them");
	else if (error == RL_ELIMITS)
		report_no_room(a, outcome->needed, a->info.limits,
		               "limits, those of applications and those in force until now among "
		               "them");
	else if (error == RL_EOVERRIDES)
		report_no_room(a, outcome->needed, a->info.overrides, "overrides");
	else if (outcome->rule < a->config->rule_count)
		report_rule_fault(a, outcome, error);
	else
		report_value(a->report, CONFIG_ERROR, 0, "segment \"%s\": %s", a->info.name,
		             error_text(error).text);
}

/* The rules before, to tell what has changed. */
struct past {
	struct before *rules;
	unsigned *effects;
	struct rule_name *removed;
};

static int
look(const struct application *a, struct past *past)
{
	size_t count = a->config->rule_count;

	past->rules = calloc(count + 1, sizeof(*past->rules));
	past->effects = calloc(count + 1, sizeof(*past->effects));
	past->removed = changes_removed(a->rl, a->config);
	if (!past->rules || !past->effects || !past->removed)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		past->rules[i] = changes_look(a->rl, &a->config->rules[i]);
	return 0;
}

static void
report_changes(const struct application *a, const struct past *past, config_sink *sink, void *arg)
{
	for (size_t i = 0; i < a->config->rule_count; i++)
		changes_report(&a->config->rules[i], &past->rules[i], past->effects[i], sink, arg);
	changes_report_removed(past->removed, sink, arg);
}

/* The segment's places for rules, with the file's: those in force until now, or defined by an
 * application, keep theirs. Looked at beforehand, for a dry run does not see all of it. */
static size_t
count_names(const struct application *a)
{
	size_t names = a->config->rule_count;

	for (uint32_t id = 0; id < a->info.rules; id++) {
		struct rl_rule_info rule;

		names += rl_rule_info(a->rl, (int)id, &rule) == 1 &&
		         rule.source != RL_SOURCE_NONE && !config_has_rule(a->config, rule.name);
	}
	return names;
}

static int
configure(const struct application *a, unsigned flags, struct rl_config_outcome *outcome,
          config_sink *sink, void *arg)
{
	const struct config *config = a->config;
	struct past past;
	int error = look(a, &past);

	*outcome = (struct rl_config_outcome){.rule = config->rule_count, .needed = count_names(a)};
	if (error == 0 && outcome->needed > a->info.rules)
		error = RL_ERULES;
	if (error == 0)
		error = rl_configure(a->rl, config->rules, config->rule_count, flags, past.effects,
		                     outcome);
	if (error < 0)
		report_fault(a, outcome, error);
	else
		report_changes(a, &past, sink, arg);
	free(past.rules);
	free(past.effects);
	free(past.removed);
	return error;
}

/* A segment of our own, as large as the file wants it but for its keys. */
static int
open_own(const struct config *config, struct rl **rl)
{
	struct rl_options options = config_options(config);

	options.keys = 1;
	options.flags &= RL_OPEN_CLUSTER;
	return rl_open_private(&options, rl);
}

void
apply_try(struct report *report, const struct config *config)
{
	struct application a = {.config = config, .report = report};
	struct rl_config_outcome outcome = {.rule = config->rule_count};
	int error = open_own(config, &a.rl);

	if (error < 0) {
		report_value(report, CONFIG_ERROR, 0, "%s", error_text(error).text);
		return;
	}
	rl_info(a.rl, &a.info);
	error = rl_configure(a.rl, config->rules, config->rule_count, 0, NULL, &outcome);
	if (error < 0)
		report_fault(&a, &outcome, error);
	rl_close(a.rl);
}

int
config_apply(struct rl *rl, const struct config *config, unsigned flags,
             struct rl_config_outcome *outcome, config_sink *sink, void *arg)
{
	struct report report = {
		.path = config->path,
		.text = config->source->text,
		.len = (uint32_t)config->source->len,
		.tokens = &config->source->tokens,
	};
	struct application a = {.rl = rl, .config = config, .report = &report};
	int error;

	*outcome = (struct rl_config_outcome){.rule = config->rule_count};
	rl_info(rl, &a.info);
	compare_segment(&a);
	error = configure(&a, flags, outcome, sink, arg);
	report_flush(&report, sink, arg);
	return error;
}

int
config_difference(const struct config *from, const struct config *to, config_sink *sink, void *arg)
{
	struct rl_config_outcome outcome;
	struct rl *rl;
	int error = open_own(to, &rl);

	if (error < 0)
		return error;
	error = rl_configure(rl, from->rules, from->rule_count, 0, NULL, NULL);
	if (error == 0)
		error = config_apply(rl, to, RL_CONFIGURE_DRY, &outcome, sink, arg);
	rl_close(rl);
	return error;
}
