/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration is put into force all at once: written whole into the bank that nobody reads
 * (see enum rl_bank), then `generation` is one more. Configurers take turns by a lock that the
 * kernel drops with its holder; one that dies half way leaves a bank that the next writes anew.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/in_flight.h"
#include "algorithm/log.h"
#include "configure/lock.h"
#include "configure/names.h"
#include "move/follow.h"
#include "rl_admin.h"
#include "rule/auto_ban.h"
#include "rule/filter.h"
#include "rule/handle.h"
#include "rule/override.h"
#include "rule/print.h"
#include "segment/change.h"
#include "segment/event.h"

#define WRITE_TRIES 16

/* One rl_configure(). */
struct job {
	struct rl *rl;
	const struct rl_segment *s;
	const struct rl_config_rule *rules;
	size_t count;
	uint64_t generation; /* in force while we work */
	unsigned bank;       /* where we write */
	struct rl_config_outcome *outcome;
	struct rl_rows rows;
};

static int
fault(struct job *j, size_t rule, size_t override, int error)
{
	j->outcome->rule = rule;
	j->outcome->override = override;
	return error;
}

/* Checks that need not read the segment's rows. */

static int
compare_names(const void *a, const void *b)
{
	const struct rl_config_rule *const *x = a, *const *y = b;
	int order = strcmp((*x)->rule.name, (*y)->rule.name);

	return order != 0 ? order : *x < *y ? -1 : 1;
}

/* The later one of two of the same name is at fault. */
static int
check_names(struct job *j)
{
	const struct rl_config_rule **sorted = calloc(j->count + 1, sizeof *sorted);
	int error = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < j->count; i++)
		sorted[i] = &j->rules[i];
	qsort(sorted, j->count, sizeof *sorted, compare_names);
	for (size_t i = 1; i < j->count && error == 0; i++)
		if (strcmp(sorted[i - 1]->rule.name, sorted[i]->rule.name) == 0)
			error = fault(j, (size_t)(sorted[i] - j->rules), sorted[i]->override_count,
			              -EINVAL);
	free(sorted);
	return error;
}

static int
check_override(const struct job *j, const struct rl_config_rule *rule, const struct rl_override *o)
{
	unsigned limits = (unsigned)rule->rule.more_count + 1;
	struct rl_normal_pattern normal;
	int error = rl_normal_pattern_of(&o->pattern, &normal);

	if (error < 0 || (unsigned)o->kind > RL_OVERRIDE_UNLIMITED)
		return error < 0 ? error : -EINVAL;
	for (unsigned i = 0; o->kind == RL_OVERRIDE_CAPACITY && i < RL_LIMITS_MAX; i++) {
		if (o->capacity[i] > RL_CAPACITY_MAX || (i >= limits && o->capacity[i] > 0))
			return -EINVAL;
		if (i < limits && rl_rules_limit(&rule->rule, i).algorithm == RL_SLIDING_LOG &&
		    o->capacity[i] > rl_log_capacity(j->s->geometry.ring))
			return RL_ERING;
		if (i < limits && rl_rules_limit(&rule->rule, i).algorithm == RL_IN_FLIGHT &&
		    o->capacity[i] > RL_IN_FLIGHT_MAX)
			return -EINVAL;
	}
	return rl_override_slots(o, limits) > 0 ? 0 : -EINVAL;
}

struct seen {
	uint64_t hash;
	size_t at;
};

static int
compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* No pattern twice, however written; the later one is at fault. All were checked. */
static int
check_patterns(struct job *j, size_t i)
{
	const struct rl_config_rule *rule = &j->rules[i];
	struct seen *seen = calloc(rule->override_count + 1, sizeof *seen);
	struct rl_normal_pattern normal;
	int error = 0;

	if (!seen)
		return -ENOMEM;
	for (size_t o = 0; o < rule->override_count; o++) {
		rl_normal_pattern_of(&rule->overrides[o].pattern, &normal);
		seen[o] =
			(struct seen){.hash = rl_normal_pattern_hash(j->s, 0, &normal).a, .at = o};
	}
	qsort(seen, rule->override_count, sizeof *seen, compare_seen);
	for (size_t o = 1; o < rule->override_count && error == 0; o++)
		if (seen[o - 1].hash == seen[o].hash)
			error = fault(j, i, seen[o].at, -EINVAL);
	free(seen);
	return error;
}

static int
check_rule(struct job *j, size_t i, uint64_t *slots)
{
	const struct rl_config_rule *rule = &j->rules[i];
	size_t limit;
	int error = rl_rules_check(j->s, &rule->rule, &limit);

	if (error == 0)
		error = rl_auto_ban_check(&rule->ban);
	if (error < 0)
		return fault(j, i, rule->override_count, error);
	for (size_t o = 0; o < rule->override_count; o++) {
		error = check_override(j, rule, &rule->overrides[o]);
		if (error < 0)
			return fault(j, i, o, error);
		*slots +=
			rl_override_slots(&rule->overrides[o], (unsigned)rule->rule.more_count + 1);
	}
	return check_patterns(j, i);
}

static int
check_all(struct job *j)
{
	uint64_t slots = 0, room = j->s->geometry.override_slots / RL_SLOTS_PER_ENTRY;
	int error = 0;

	for (size_t i = 0; i < j->count && error == 0; i++)
		error = check_rule(j, i, &slots);
	if (error == 0)
		error = check_names(j);
	if (error == 0 && slots > room) {
		j->outcome->needed = slots;
		error = RL_EOVERRIDES;
	}
	return error;
}

/* A rule as it will be, against the rule as it is. */

/* The rule's limits as they are in force, or none. */
static enum rl_bank
current(const struct job *j, int id, struct rl_refs *refs)
{
	refs->count = 0;
	return id < 0 ? RL_BANKS : rl_rules_list(j->s, id, j->generation, refs);
}

static bool
has_ref(const struct rl_refs *refs, int limit)
{
	for (unsigned i = 0; i < refs->count; i++)
		if (refs->limit[i] == limit)
			return true;
	return false;
}

static unsigned
effect_on_limits(const struct job *j, const struct rl_rule *rule, enum rl_bank bank,
                 const struct rl_refs *was, const struct rl_refs *is)
{
	unsigned effect = 0;

	for (unsigned i = 0; i < is->count; i++) {
		struct rl_limit l = rl_rules_limit(rule, i);

		if (is->limit[i] < 0 || !has_ref(was, is->limit[i])) {
			effect |= RL_EFFECT_ANEW;
			continue;
		}
		if (!rl_rules_has_quota(j->s, is->limit[i], bank, &l))
			effect |= RL_EFFECT_CHANGED;
	}
	for (unsigned i = 0; i < was->count; i++)
		if (!has_ref(is, was->limit[i]))
			effect |= RL_EFFECT_DROPPED;
	if (effect == 0 && !rl_u128_equal(rl_refs_pack(was), rl_refs_pack(is)))
		effect |= RL_EFFECT_CHANGED; /* their order */
	return effect;
}

/* Does the override stand as it is in the bank in force? */
static bool
stands(const struct job *j, int id, const struct rl_override *o)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_override_found found;
	struct rl_normal_pattern normal;

	rl_normal_pattern_of(&o->pattern, &normal);
	if (!rl_override_find(j->s, (unsigned)(j->generation % 2),
	                      rl_normal_pattern_hash(j->s, rl_pattern_scope(id), &normal), &budget,
	                      &found))
		return false;
	return found.kind == o->kind &&
	       (o->kind != RL_OVERRIDE_CAPACITY ||
	        memcmp(found.capacity, o->capacity, sizeof found.capacity) == 0);
}

static bool
has_same_overrides(const struct job *j, int id, const struct rl_config_rule *rule)
{
	if (rl_atomic_load(&rl_rules_at(j->s, id)->override_count[j->generation % 2]) !=
	    rule->override_count)
		return false;
	for (size_t o = 0; o < rule->override_count; o++)
		if (!stands(j, id, &rule->overrides[o]))
			return false;
	return true;
}

static unsigned
effect_on_bans(const struct job *j, int id, enum rl_bank bank, const struct rl_auto_ban *is)
{
	struct rl_auto_ban was = {0};

	if (bank < RL_BANK_APP)
		rl_auto_ban_get(j->s, bank, rl_rule_row(id), &was);
	if (was.after == 0 && is->after == 0)
		return 0;
	return was.after != is->after || was.longer != is->longer ||
	                       was.within_ns != is->within_ns || was.for_ns != is->for_ns ||
	                       was.at_most_ns != is->at_most_ns
	               ? RL_EFFECT_AUTO_BAN
	               : 0;
}

static unsigned
effect_of(const struct job *j, const struct rl_config_rule *rule)
{
	int id = rl_rules_seek(j->s, rule->rule.name);
	struct rl_refs was, is;
	enum rl_bank bank = current(j, id, &was);
	unsigned effect;

	if (bank == RL_BANKS)
		return RL_EFFECT_NEW;
	rl_rules_limits(j->s, id, &rule->rule, &is);
	effect = effect_on_limits(j, &rule->rule, bank, &was, &is) |
	         effect_on_bans(j, id, bank, &rule->ban);
	if (bank == RL_BANK_APP)
		return effect | RL_EFFECT_ADOPTED |
		       (rule->override_count > 0 ? RL_EFFECT_OVERRIDES : 0u);
	return effect | (has_same_overrides(j, id, rule) ? 0u : RL_EFFECT_OVERRIDES);
}

/* How many rules were configured, and are not among the new ones. */
static unsigned
count_removed(const struct job *j)
{
	unsigned configured = 0;
	struct rl_refs refs;

	for (uint32_t row = 0; row < j->s->geometry.rules; row++)
		configured += current(j, rl_rules_handle(j->s, (int)row), &refs) < RL_BANK_APP;
	for (size_t i = 0; i < j->count; i++)
		configured -=
			current(j, rl_rules_seek(j->s, j->rules[i].rule.name), &refs) < RL_BANK_APP;
	return configured;
}

static void
tell_effects(struct job *j, unsigned *effects)
{
	j->outcome->removed = count_removed(j);
	j->outcome->is_changed = j->outcome->removed > 0;
	for (size_t i = 0; i < j->count; i++) {
		unsigned effect = effect_of(j, &j->rules[i]);
		j->outcome->is_changed |= effect != 0;
		if (effects)
			effects[i] = effect;
	}
}

/* How many limits of the rule have no row that is kept for them. */
static unsigned
new_limits(const struct job *j, int id, const struct rl_rule *rule, const struct rl_row_set *kept)
{
	struct rl_refs refs;
	unsigned count = 0;

	if (id < 0)
		return (unsigned)rule->more_count + 1;
	rl_rules_limits(j->s, id, rule, &refs);
	for (unsigned i = 0; i < refs.count; i++)
		count += refs.limit[i] < 0 || !rl_row_set_has(kept, refs.limit[i]);
	return count;
}

static int
no_room(struct job *j, size_t rule, uint64_t needed, int error)
{
	j->outcome->needed = needed;
	return fault(j, rule, j->rules[rule].override_count, error);
}

/* Are there rows for all that is new? The first rule for which there is none is at fault. */
static int
check_rows(struct job *j)
{
	const struct rl_geometry *g = &j->s->geometry;
	struct rl_row_set kept, names;
	uint64_t rules = rl_names_kept(j->s, &names), limits = rl_rows_kept(j->s, &kept);
	size_t no_rule = j->count, no_limit = j->count;

	for (size_t i = 0; i < j->count; i++) {
		int id = rl_rules_seek(j->s, j->rules[i].rule.name);
		rules += id < 0 || !rl_row_set_has(&names, rl_rule_row(id));
		limits += new_limits(j, id, &j->rules[i].rule, &kept);
		if (no_rule == j->count && rules > g->rules)
			no_rule = i;
		if (no_limit == j->count && limits > g->limits)
			no_limit = i;
	}
	if (no_rule < j->count)
		return no_room(j, no_rule, rules, RL_ERULES);
	return no_limit < j->count ? no_room(j, no_limit, limits, RL_ELIMITS) : 0;
}

/* Writing the other bank. */

static int
clear_row(const struct job *j, int id)
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
clear_bank(const struct job *j)
{
	int error = 0;

	for (uint32_t id = 0; id < j->s->geometry.rules && error == 0; id++)
		error = clear_row(j, (int)id);
	rl_override_clear(j->s, j->bank);
	return error;
}

static int
write_overrides(const struct job *j, int id, const struct rl_config_rule *rule)
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
		hash = rl_normal_pattern_hash(j->s, rl_pattern_scope(id), &normal);
		error = rl_lengths_add(&row->overrides[j->bank], &normal);
		if (error < 0)
			return error;
		if (!rl_filter_add(&j->s->override_filter, j->bank, rl_print_of(j->s, &normal)))
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
write_rule(struct job *j, size_t i)
{
	const struct rl_config_rule *rule = &j->rules[i];
	int id = rl_names_take(&j->rows, rule->rule.name), error;

	if (id < 0)
		return fault(j, i, rule->override_count, id);
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
restart_dropped(struct job *j)
{
	struct rl_refs was, is;
	int error = 0;

	for (uint32_t row = 0; row < j->s->geometry.rules && error == 0; row++) {
		int id = rl_rules_handle(j->s, (int)row);
		rl_rules_refs(j->s, (int)row, (enum rl_bank)j->bank, &is);
		if (is.count == 0 && current(j, id, &was) < RL_BANK_APP)
			error = rl_rows_restart_own(&j->rows, id);
	}
	return error;
}

/* Are all rows that the bank refers to its own, and will stay so? */
static bool
holds(const struct job *j)
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
keep_rows(struct job *j)
{
	for (size_t i = 0; i < j->count; i++) {
		int id = rl_rules_seek(j->s, j->rules[i].rule.name);
		if (id >= 0)
			rl_row_set_add(&j->rows.wanted, rl_rule_row(id));
	}
}

static int
write_once(struct job *j)
{
	int error;

	keep_rows(j);
	rl_atomic_fence(); /* not before the generation in force was: partner as below */
	error = clear_bank(j);
	for (size_t i = 0; i < j->count && error == 0; i++)
		error = write_rule(j, i);
	if (error == 0)
		error = restart_dropped(j);
	if (error == 0 && !holds(j))
		error = -EAGAIN;
	return error;
}

/* rl_define() takes no lock: it may have been given a row meanwhile that this plan counted on. */
static int
write_bank(struct job *j)
{
	int error = -EAGAIN;

	for (int tries = 0; error == -EAGAIN && tries < WRITE_TRIES; tries++)
		error = write_once(j);
	return error == -EAGAIN ? -EBUSY : error;
}

static int
configure_locked(struct job *j, unsigned flags, unsigned *effects)
{
	uint64_t *generation = &j->s->header->generation;
	struct rl_change change;
	int error;

	j->generation = rl_atomic_load(generation);
	j->bank = (unsigned)((j->generation + 1) % 2);
	j->outcome->generation = j->generation;
	error = check_rows(j);
	if (error < 0)
		return error;
	tell_effects(j, effects);
	if (flags & RL_CONFIGURE_DRY)
		return 0;
	if (!j->outcome->is_changed)
		return 0;
	error = write_bank(j);
	if (error < 0)
		return error;
	j->outcome->rule = j->count;
	if (!rl_change_begin(j->s, &change))
		return -EBUSY;
	rl_atomic_fence(); /* all of the bank before its generation: partner in rl_policy_load() */
	rl_atomic_store(generation, j->generation + 1);
	rl_change_end(&change);
	j->outcome->generation = j->generation + 1;
	rl_event_tell_change(j->s, RL_EVENT_CONFIGURED, RL_ANY_RULE, NULL, 0, j->generation + 1);
	return 0;
}

int
rl_configure(struct rl *rl, const struct rl_config_rule *rules, size_t count, unsigned flags,
             unsigned *effects, struct rl_config_outcome *outcome)
{
	struct rl_config_outcome unused;
	struct job j = {.rl = rl_here(rl),
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
	error = check_all(&j);
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
	    !rl_override_find(s, bank, rl_normal_pattern_hash(s, rl_pattern_scope(rule), &normal),
	                      &budget, &found))
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
