/* SPDX-License-Identifier: BSD-2-Clause */
/* A configuration written into the other bank. */
#include <errno.h>

#include "configure/job.h"
#include "configure/names.h"
#include "rule/auto_ban.h"
#include "rule/filter.h"
#include "rule/fingerprint.h"
#include "rule/override.h"

#define WRITE_TRIES 16

static int
clear_row(const struct rl_job *j, int id)
{
	struct rl_row *row = &j->s->rows[id];
	int error = rl_rules_clear_refs(j->s, id, (enum rl_bank)j->bank);

	if (error == 0)
		error = rl_rules_set_flags(j->s, rl_rules_handle(j->s, id),
		                           (uint64_t)RL_ROW_OVERRIDES << j->bank, false);
	rl_lengths_clear(&row->overrides[j->bank]);
	rl_auto_ban_put(j->s, j->bank, id, &(struct rl_auto_ban){0});
	rl_atomic_store(&row->override_count[j->bank], 0);
	rl_atomic_store(&row->override_slots[j->bank], 0);
	return error;
}

static int
clear_bank(const struct rl_job *j)
{
	int error = 0;

	for (uint32_t id = 0; id < j->s->geometry.rules && error == 0; id++)
		error = clear_row(j, (int)id);
	rl_override_clear(j->s, j->bank);
	return error;
}

static int
write_overrides(const struct rl_job *j, int id, const struct rl_config_rule *rule)
{
	unsigned limits = (unsigned)rule->rule.more_count + 1;
	struct rl_row *row = &j->s->rows[rl_rule_row(id)];
	struct rl_normal_pattern normal;
	uint64_t slots = 0;

	for (size_t o = 0; o < rule->override_count; o++) {
		const struct rl_override *override = &rule->overrides[o];
		struct rl_hash hash;
		int error;

		rl_normal_pattern_of(&override->pattern, &normal);
		hash = rl_normal_pattern_hash_in(j->s, id, &normal);
		error = rl_lengths_add(&row->overrides[j->bank], &normal);
		if (error < 0)
			return error;
		if (!rl_filter_add(&j->s->override_filter, j->bank,
		                   rl_fingerprint_of(j->s, &normal)))
			return -EBUSY;
		if (!rl_override_put(j->s, j->bank, hash, override, limits))
			return RL_EOVERRIDES;
		slots += rl_override_slots(override, limits);
	}
	rl_atomic_store(&row->override_slots[j->bank], slots);
	rl_atomic_store(&row->override_count[j->bank], rule->override_count);
	return rl_rules_set_flags(j->s, id, (uint64_t)RL_ROW_OVERRIDES << j->bank,
	                          rule->override_count > 0);
}

static int
write_rule(struct rl_job *j, size_t i)
{
	const struct rl_config_rule *rule = &j->rules[i];
	int id = rl_names_take(&j->rows, rule->rule.name), error;

	if (id < 0)
		return rl_job_fault(j, i, rule->override_count, id);
	error = rl_rows_take(&j->rows, id, &rule->rule);
	if (error == 0)
		error = rl_rows_set_quota(&j->rows, id, &rule->rule, (enum rl_bank)j->bank);
	if (error == 0)
		error = rl_rules_set_refs(j->s, id, (enum rl_bank)j->bank, &j->rows.taken);
	j->outcome->rule = i;
	j->outcome->override = rule->override_count;
	if (error == 0)
		rl_auto_ban_put(j->s, j->bank, rl_rule_row(id), &rule->ban);
	return error < 0 ? error : write_overrides(j, id, rule);
}

/* Rules that fall back to what applications define. */
static int
restart_dropped(struct rl_job *j)
{
	struct rl_refs was, is;
	int error = 0;

	for (uint32_t row = 0; row < j->s->geometry.rules && error == 0; row++) {
		int id = rl_rules_handle(j->s, (int)row);
		rl_rules_refs(j->s, (int)row, (enum rl_bank)j->bank, &is);
		if (is.count == 0 && rl_job_current(j, id, &was) < RL_BANK_APP)
			error = rl_rows_restart_own(&j->rows, id);
	}
	return error;
}

/* Are all rows that the bank refers to its own, and will stay so? */
static bool
holds(const struct rl_job *j)
{
	struct rl_refs refs;

	for (size_t i = 0; i < j->count; i++) {
		int id = rl_rules_seek(j->s, j->rules[i].rule.name);
		if (id < 0)
			return false;
		rl_rules_refs(j->s, rl_rule_row(id), (enum rl_bank)j->bank, &refs);
		if (!rl_rows_hold(j->s, id, &j->rules[i].rule, &refs))
			return false;
	}
	return true;
}

/* Rules of the configuration that have a row keep it, in force or not. */
static void
keep_rows(struct rl_job *j)
{
	for (size_t i = 0; i < j->count; i++) {
		int id = rl_rules_seek(j->s, j->rules[i].rule.name);
		if (id >= 0)
			rl_row_set_add(&j->rows.wanted, rl_rule_row(id));
	}
}

static int
write_once(struct rl_job *j)
{
	int error;

	keep_rows(j);
	rl_atomic_fence(); /* not before the generation in force was: partner in rl_policy_load() */
	error = clear_bank(j);
	for (size_t i = 0; i < j->count && error == 0; i++)
		error = write_rule(j, i);
	if (error == 0)
		error = restart_dropped(j);
	if (error == 0 && !holds(j))
		error = -EAGAIN;
	return error;
}

int
rl_job_write(struct rl_job *j)
{
	int error = -EAGAIN;

	for (int tries = 0; error == -EAGAIN && tries < WRITE_TRIES; tries++)
		error = write_once(j);
	return error == -EAGAIN ? -EBUSY : error;
}
