/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "configure/names.h"
#include "rl.h"
#include "segment/change.h"

#define DEFINE_TRIES 16

/* Last the list: a rule without any is not found. */
static int
put_in_force(struct rl_rows *rows, int id, const struct rl_rule *rule)
{
	const struct rl_segment *s = &rows->rl->segment;
	struct rl_change change;
	int error;

	if (!rl_change_begin(s, &change))
		return -EBUSY;
	error = rl_rows_set_quota(rows, id, rule, RL_BANK_APP);
	for (unsigned i = 0; i < rows->taken.count && error == 0; i++)
		if (!rl_handle_limit(rows->rl, rows->taken.limit[i]))
			error = rl_handle_no_limit(rows->rl, rows->taken.limit[i]);
	if (error == 0)
		error = rl_rules_set_refs(s, id, RL_BANK_APP, &rows->taken);
	rl_change_end(&change);
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

static bool
is_counters(const struct rl_segment *s, int limit)
{
	return (rl_rules_identity(s, limit).hi & RL_SHAPE_ALGORITHM_MASK) == RL_COUNTER;
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
		error = id < 0 ? id : define_limits(&rows, id, rule);
	}
	rl_rows_end(&rows);
	if (error == -EAGAIN)
		return -EBUSY;
	return error < 0 ? error : id;
}

int
rl_define(struct rl *rl, const struct rl_rule *rule)
{
	size_t fault;
	int error = rl_rules_check(&rl->segment, rule, &fault);

	return error < 0 ? error : define(rl, rule);
}

int
rl_define_counters(struct rl *rl, const char *name)
{
	const struct rl_rule space = {.name = name, .limit = {.algorithm = RL_COUNTER}};

	return rl_rules_name_is_valid(name) ? define(rl, &space) : -EINVAL;
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
