/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "configure/keep.h"
#include "configure/names.h"
#include "move/follow.h"
#include "rl.h"
#include "segment/change.h"
#include "segment/event.h"
#include "segment/stats.h"

#define DEFINE_TRIES 16
#define COMPILE_TRIES 16

static int
compile_one(struct rl *rl, int limit)
{
	for (int tries = 0; tries < COMPILE_TRIES; tries++)
		if (rl_handle_limit(rl, limit)) /* or it has just started anew */
			return 0;
	return rl_handle_no_limit(rl, limit);
}

/* For this process: a decision is to allocate nothing. */
static int
compile(struct rl *rl, const struct rl_refs *refs)
{
	int error = 0;

	for (unsigned i = 0; i < refs->count && error == 0; i++)
		error = refs->limit[i] < 0 ? -EAGAIN : compile_one(rl, refs->limit[i]);
	return error;
}

/*
 * Last the list: a rule without any is not found. Where none stands there may be a claim, and so
 * the definer makes one of its own: then what its quotas are is the claimer's alone (keep.c).
 */
static int
replace(struct rl_rows *rows, int id, const struct rl_rule *rule)
{
	const struct rl_segment *s = &rows->rl->segment;
	enum rl_defined was = rl_keep_compare(s, id, rule);
	int error;

	if (was == RL_DEFINED_NOT)
		return rl_keep_define(rows, id, rule);
	error = rl_rows_set_quota(rows, id, rule, RL_BANK_APP);
	if (error == 0)
		error = rl_rules_set_refs(s, id, RL_BANK_APP, &rows->taken);
	if (error == 0 && was == RL_DEFINED_OTHER)
		rl_stats_add(s, id, RL_COUNT_redefined);
	return error;
}

static int
put_in_force(struct rl_rows *rows, int id, const struct rl_rule *rule)
{
	const struct rl_segment *s = &rows->rl->segment;
	struct rl_change change;
	enum rl_defined was;
	int error = compile(rows->rl, &rows->taken);

	if (error < 0)
		return error;
	if (!rl_change_begin(s, &change))
		return -EBUSY;
	was = rl_keep_compare(s, id, rule);
	if (rule->flags & RL_DEFINE_KEEP)
		error = rl_keep_define(rows, id, rule);
	else
		error = replace(rows, id, rule);
	rl_change_end(&change);
	if (error == 0 && was != RL_DEFINED_SO)
		rl_event_report_change(s, RL_EVENT_DEFINED, id, NULL, 0, 0);
	return error;
}

/* -EAGAIN: a row was given to another rule or limit meanwhile. */
static int
define_limits(struct rl_rows *rows, int id, const struct rl_rule *rule)
{
	struct rl *rl = rows->rl;
	int error = rl_rows_take(rows, id, rule);

	if (error == 0)
		error = put_in_force(rows, id, rule);
	if (error < 0)
		return error;
	return rl_rows_hold(&rl->segment, id, rule, &rows->taken) && rl_names_hold(&rl->segment, id)
	               ? 0
	               : -EAGAIN;
}

/* The same, unless the rule is defined. */
static int
define_first(struct rl_rows *rows, int id, const struct rl_rule *rule)
{
	struct rl_refs refs;

	switch (rl_keep_compare(&rows->rl->segment, id, rule)) {
	case RL_DEFINED_OTHER:
		return RL_EDEFINED;
	case RL_DEFINED_SO:
		rl_rules_limits(&rows->rl->segment, id, rule, &refs);
		return compile(rows->rl, &refs);
	default:
		return define_limits(rows, id, rule);
	}
}

static bool
is_counters(const struct rl_segment *s, int limit)
{
	return rl_identity_algorithm(rl_rules_identity(s, limit)) == RL_COUNTER;
}

/* Is the name, as applications have defined it or as it is configured, of the other kind? */
static bool
is_other(const struct rl_segment *s, const struct rl_rule *rule)
{
	bool is_mine = rule->limit.algorithm == RL_COUNTER;
	int id = rl_rules_seek(s, rule->name);
	struct rl_refs own, now;

	if (id < 0)
		return false;
	rl_rules_refs(s, rl_rule_row(id), RL_BANK_APP, &own);
	rl_rules_now(s, id, &now);
	return (own.count > 0 && is_counters(s, own.limit[0]) != is_mine) ||
	       (is_mine && now.count > 0 && !is_counters(s, now.limit[0]));
}

/* Nothing is undone on failure: rows without references to them are nobody's limits. */
static int
define(struct rl *rl, const struct rl_rule *rule)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_rows rows = {.rl = rl};
	int id, error;

	if (!s->is_writable)
		return -EROFS;
	if (is_other(s, rule))
		return -EEXIST;
	error = id = -EAGAIN;
	for (int tries = 0; error == -EAGAIN && tries < DEFINE_TRIES; tries++) {
		id = rl_names_take(&rows, rule->name);
		if (id < 0)
			error = id;
		else if (rule->flags & RL_DEFINE_KEEP)
			error = define_first(&rows, id, rule);
		else
			error = define_limits(&rows, id, rule);
	}
	rl_rows_end(&rows);
	if (error == -EAGAIN)
		return -EBUSY;
	return error < 0 ? error : id;
}

/* For those who may give the segment a longer ring: no definition does. */
static void
ask_for_ring(const struct rl_segment *s, uint64_t ring)
{
	uint64_t *at = &s->header->ring_asked, asked = rl_atomic_load(at);

	while (s->is_writable && ring > asked && ring <= RL_RING_MAX &&
	       !rl_atomic_cas(at, asked, ring))
		asked = rl_atomic_load(at);
}

/* As it is in force, by whom ever. */
static void
fill_needs(struct rl *rl, int id, unsigned *needs)
{
	struct rl_refs refs = {.count = 0};

	*needs = 0;
	if (id >= 0)
		rl_rules_now(&rl->segment, id, &refs);
	for (unsigned i = 0; i < refs.count; i++)
		*needs |= rl_compiled_needs(rl_handle_limit(rl, refs.limit[i]));
}

int
rl_define(struct rl *rl, const struct rl_rule *rule)
{
	size_t fault;
	int error;

	rl = rl_here(rl);
	error = rl_rules_check(&rl->segment, rule, &fault);
	if (error == RL_ERING)
		ask_for_ring(&rl->segment, rl_rule_ring(rule));
	if (error == 0)
		error = define(rl, rule);
	if (rule->needs)
		fill_needs(rl, error, rule->needs);
	return error;
}

int
rl_define_counters(struct rl *rl, const char *name)
{
	const struct rl_rule space = {.name = name, .limit = {.algorithm = RL_COUNTER}};

	return rl_rules_name_is_valid(name) ? define(rl_here(rl), &space) : -EINVAL;
}

int
rl_find(struct rl *rl, const char *name)
{
	const struct rl_segment *s = &rl->segment;
	int id = rl_rules_seek(s, name);
	struct rl_refs refs;

	if (id < 0)
		return id;
	return rl_rules_now(s, id, &refs) == RL_BANKS ? -ENOENT : id;
}
