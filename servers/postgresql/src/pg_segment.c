/* SPDX-License-Identifier: BSD-2-Clause */
/* The segment and its rules, as a backend has them. */
#include "rl_pg.h"

#include <grp.h>
#include <utils/memutils.h>

#include "limit.h"
#include "options.h"

#define BLANK " \t\r\n"

static struct rlb_segment segment;
static bool is_open;

struct rule {
	struct rule *next;
	struct rlb_rule r;
};

static struct rule *rules;
static MemoryContext memory; /* of the rules */
static bool is_stale;        /* they are of another rl.rules */

struct rlb_segment *
rlpg_segment(int *error)
{
	struct rl_options options = rlb_options;
	struct group *group = NULL;

	*error = 0;
	if (!is_open && rlpg_group[0] != '\0') {
		group = getgrnam(rlpg_group);
		if (!group) {
			*error = -EPERM;
			return NULL;
		}
		options.flags |= RL_OPEN_GROUP;
		options.group = group->gr_gid;
	}
	if (!is_open)
		*error = rlb_open_later(&segment, rlpg_segment_name, &options);
	is_open = *error == 0;
	if (!is_open)
		return NULL;
	if (rlb_ready(&segment))
		return &segment;
	*error = segment.trouble < 0 ? segment.trouble : -ENOENT;
	return NULL;
}

void
rlpg_close(void)
{
	if (is_open)
		rlb_close(&segment);
	is_open = false;
}

/* A number, true or false, or words. */
static struct rlb_value
value_of(const char *text)
{
	struct rlb_value v = {.kind = RLB_WORDS, .words = text, .len = strlen(text)};
	char *end;

	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return (struct rlb_value){.kind = RLB_FLAG, .integer = text[0] == 't'};
	errno = 0;
	v.integer = strtoll(text, &end, 10);
	if (errno == 0 && end > text && *end == '\0')
		v.kind = RLB_INTEGER;
	return v;
}

static bool
take_fields(char *words, struct rlb_limit *limit, char *why)
{
	char *rest, *field, *value;

	for (field = strtok_r(words, BLANK, &rest); field; field = strtok_r(NULL, BLANK, &rest)) {
		struct rlb_value v;

		value = strchr(field, '=');
		if (!value) {
			snprintf(why, RLB_TEXT_SIZE,
			         "%.64s: a field has a value, as in limit=100/min", field);
			return false;
		}
		*value = '\0';
		v = value_of(value + 1);
		if (rlb_limit_set(limit, field, strlen(field), &v, why) < 0)
			return false;
	}
	return rlb_limit_finish(limit, RLB_RING, why) == 0;
}

/* The next rule of a text, which is cut up. 1, 0: there is none, -1: it is none, and why. */
static int
next_rule(char **text, struct rlb_rule *r, char *why)
{
	struct rlb_limit limit = {0};
	char *words, *name;

	do {
		words = strsep(text, ";");
		name = words ? words + strspn(words, BLANK) : NULL;
	} while (name && *name == '\0');
	if (!name)
		return 0;
	words = name + strcspn(name, BLANK);
	if (*words != '\0')
		*words++ = '\0';
	*r = (struct rlb_rule){.kind = RLB_DEFINED};
	if (strlcpy(r->name, name, sizeof r->name) >= sizeof r->name) {
		snprintf(why, RLB_TEXT_SIZE, "%.64s: the name is too long", name);
		return -1;
	}
	if (!take_fields(words, &limit, why))
		return -1;
	r->rule.name = r->name;
	r->rule.limit = limit.limit;
	return rl_rule_check(&r->rule, &rlb_options, why, RLB_TEXT_SIZE) < 0 ? -1 : 1;
}

bool
rlpg_rules_check(const char *text, char *why, size_t size)
{
	char *copy = pstrdup(text), *rest = copy, reason[RLB_TEXT_SIZE];
	struct rlb_rule rule;
	int found;

	while ((found = next_rule(&rest, &rule, reason)) > 0)
		;
	pfree(copy);
	if (found < 0)
		snprintf(why, size, "rule %s: %s", rule.name, reason);
	return found == 0;
}

void
rlpg_rules_changed(void)
{
	is_stale = true;
}

/* As rl.rules has it; or as somebody else has defined or configured it. */
static void
describe(const char *name, struct rlb_rule *r)
{
	char *copy = pstrdup(rlpg_rules), *rest = copy, why[RLB_TEXT_SIZE];
	int found;

	while ((found = next_rule(&rest, r, why)) > 0 && strcmp(r->name, name) != 0)
		;
	pfree(copy);
	if (found > 0)
		return;
	*r = (struct rlb_rule){.kind = RLB_FOUND};
	strlcpy(r->name, name, sizeof r->name);
}

struct rlb_rule *
rlpg_rule(const char *name)
{
	struct rule *rule;

	if (!memory)
		memory = AllocSetContextCreate(TopMemoryContext, "rl", ALLOCSET_SMALL_SIZES);
	if (is_stale) {
		MemoryContextReset(memory);
		rules = NULL;
		is_stale = false;
	}
	for (rule = rules; rule; rule = rule->next)
		if (strcmp(rule->r.name, name) == 0)
			return &rule->r;
	if (strlen(name) > RL_NAME_MAX)
		return NULL;
	rule = MemoryContextAllocZero(memory, sizeof *rule);
	describe(name, &rule->r);
	rule->r.epoch = segment.epoch - 1; /* of no segment yet */
	rule->next = rules;
	rules = rule;
	return &rule->r;
}

struct rlb_segment *
rlpg_decide(const char *name, struct rl_item *item, enum rl_how how, struct rl_result *result)
{
	struct rlb_rule *rule = rlpg_rule(name);
	struct rlb_segment *s;
	int error;

	s = rlpg_segment(&error);
	if (!s || !rule)
		rlb_undecided(result, s ? -EINVAL : error);
	else
		rlb_decide(s, rule, item, how, RL_NEVER_NS, result);
	return s;
}
