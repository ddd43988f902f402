/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration is put into force all at once: written whole into the bank that nobody reads
 * (see enum rl_bank), then `generation` is one more. Configurers take turns by a lock that the
 * kernel drops with its holder; one that dies half way leaves a bank that the next writes anew.
 */
#include <errno.h>
#include <string.h>

#include "configure/job.h"
#include "configure/lock.h"
#include "move/follow.h"
#include "rule/auto_ban.h"
#include "rule/override.h"
#include "segment/change.h"
#include "segment/event.h"

static int
configure_locked(struct rl_job *j, unsigned flags, unsigned *effects)
{
	uint64_t *generation = &j->s->header->generation;
	struct rl_change change;
	int error;

	j->generation = rl_atomic_load(generation);
	j->bank = (unsigned)((j->generation + 1) % 2);
	j->outcome->generation = j->generation;
	error = rl_job_check_rows(j);
	if (error < 0)
		return error;
	rl_job_report_effects(j, effects);
	if (flags & RL_CONFIGURE_DRY)
		return 0;
	if (!j->outcome->is_changed)
		return 0;
	error = rl_job_write(j);
	if (error < 0)
		return error;
	j->outcome->rule = j->count;
	if (!rl_change_begin(j->s, &change))
		return -EBUSY;
	rl_atomic_fence(); /* all of the bank before its generation: partner in rl_policy_load() */
	rl_atomic_store(generation, j->generation + 1);
	rl_change_end(&change);
	j->outcome->generation = j->generation + 1;
	rl_event_report_change(j->s, RL_EVENT_CONFIGURED, RL_ANY_RULE, NULL, 0, j->generation + 1);
	return 0;
}

int
rl_configure(struct rl *rl, const struct rl_config_rule *rules, size_t count, unsigned flags,
             unsigned *effects, struct rl_config_outcome *outcome)
{
	struct rl_config_outcome unused;
	struct rl_job j = {.rl = rl_here(rl),
	                   .s = &rl_here(rl)->segment,
	                   .rules = rules,
	                   .count = count,
	                   .outcome = outcome ? outcome : &unused,
	                   .rows = {.rl = rl_here(rl), .is_configuring = true}};
	struct rl_lock lock;
	int error;

	*j.outcome = (struct rl_config_outcome){.rule = count};
	if ((flags & ~(unsigned)RL_CONFIGURE_DRY) || (!rules && count > 0))
		return -EINVAL;
	error = rl_job_check(&j);
	if (error == 0 && !rl->segment.is_writable && !(flags & RL_CONFIGURE_DRY))
		error = -EROFS;
	if (error < 0)
		return error;
	if (flags & RL_CONFIGURE_DRY)
		return configure_locked(&j, flags, effects);
	error = rl_lock_take(rl, &lock);
	if (error < 0)
		return error;
	error = configure_locked(&j, flags, effects);
	rl_lock_drop(&lock);
	return error;
}

int
rl_override_info(struct rl *rl, int rule, const struct rl_pattern *pattern,
                 struct rl_override *override)
{
	const struct rl_segment *s = &rl->segment;
	unsigned bank = (unsigned)(rl_atomic_load(&s->header->generation) % 2);
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_override_found found;
	struct rl_normal_pattern normal;

	if (!rl_handle_has(rl, rule) || rl_normal_pattern_of(pattern, &normal) < 0)
		return -EINVAL;
	if (!(rl_atomic_load(&rl_rules_at(s, rule)->flags) & (uint64_t)RL_ROW_OVERRIDES << bank) ||
	    !rl_override_find(s, bank, rl_normal_pattern_hash_in(s, rule, &normal), &budget,
	                      &found))
		return 0;
	*override = (struct rl_override){.pattern = *pattern, .kind = found.kind};
	memcpy(override->capacity, found.capacity, sizeof found.capacity);
	return 1;
}

int
rl_auto_ban_info(struct rl *rl, int rule, struct rl_auto_ban *ban)
{
	const struct rl_segment *s = &rl->segment;

	if (!rl_handle_has(rl, rule))
		return -EINVAL;
	rl_auto_ban_get(s, rl_atomic_load(&s->header->generation) % 2, rl_rule_row(rule), ban);
	return ban->after > 0;
}

uint64_t
rl_override_count(struct rl *rl, int rule)
{
	const struct rl_segment *s = &rl->segment;
	unsigned bank = (unsigned)(rl_atomic_load(&s->header->generation) % 2);

	return rl_handle_has(rl, rule) ? rl_atomic_load(&rl_rules_at(s, rule)->override_count[bank])
	                               : 0;
}
