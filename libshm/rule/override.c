/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/override.h"

#include "rule/filter.h"
#include "shared/layout_rows.h"

/*
 * At most half of the slots are in use (geometry.c), so what is looked for is met, or a free slot,
 * within a few steps: of a hundred million at random none goes on for 1,000.
 */
#define STEPS_MAX 1024

#define KIND_MASK 3u
#define LIMIT_SHIFT 2
#define LIMIT_MASK 7u
#define CAPACITY_SHIFT 5

static struct rl_override_slot *
bank_of(const struct rl_segment *s, unsigned bank)
{
	return s->overrides + (size_t)bank * s->geometry.override_slots;
}

static uint64_t
home_of(const struct rl_segment *s, struct rl_hash hash)
{
	return (uint64_t)(((unsigned __int128)hash.b * s->geometry.override_slots) >> 64);
}

static void
take_in(struct rl_override_found *found, uint64_t value)
{
	found->kind = (enum rl_override_kind)(value & KIND_MASK);
	found->capacity[value >> LIMIT_SHIFT & LIMIT_MASK] =
		(uint32_t)(value >> CAPACITY_SHIFT) & RL_CAPACITY_MAX;
}

bool
rl_override_find(const struct rl_segment *s, unsigned bank, struct rl_hash hash,
                 struct rl_budget *budget, struct rl_override_found *found)
{
	const struct rl_override_slot *slots = bank_of(s, bank);
	uint64_t at = home_of(s, hash), held;
	bool is_found = false;

	*found = (struct rl_override_found){0};
	for (unsigned step = 0; step < STEPS_MAX && step < s->geometry.override_slots; step++) {
		if (!rl_budget_take(budget, 1))
			return false;
		held = rl_atomic_load_relaxed(&slots[at].hash);
		if (held == 0)
			break;
		if (held == hash.a) {
			take_in(found, rl_atomic_load_relaxed(&slots[at].value));
			is_found = true;
		}
		at = at + 1 < s->geometry.override_slots ? at + 1 : 0;
	}
	return is_found && found->kind <= RL_OVERRIDE_UNLIMITED;
}

void
rl_override_clear(const struct rl_segment *s, unsigned bank)
{
	struct rl_override_slot *slots = bank_of(s, bank);

	for (uint32_t i = 0; i < s->geometry.override_slots; i++)
		if (rl_atomic_load_relaxed(&slots[i].hash) != 0)
			rl_atomic_store_relaxed(&slots[i].hash, 0);
	rl_filter_clear(&s->override_filter, bank);
}

static bool
put_value(const struct rl_segment *s, unsigned bank, struct rl_hash hash, uint64_t value)
{
	struct rl_override_slot *slots = bank_of(s, bank);
	uint64_t at = home_of(s, hash);

	for (unsigned step = 0; step < STEPS_MAX && step < s->geometry.override_slots; step++) {
		if (rl_atomic_load_relaxed(&slots[at].hash) == 0) {
			rl_atomic_store_relaxed(&slots[at].value, value);
			rl_atomic_store_relaxed(&slots[at].hash, hash.a);
			return true;
		}
		at = at + 1 < s->geometry.override_slots ? at + 1 : 0;
	}
	return false;
}

unsigned
rl_override_slots(const struct rl_override *o, unsigned limits)
{
	unsigned slots = 0;

	if (o->kind != RL_OVERRIDE_CAPACITY)
		return 1;
	for (unsigned i = 0; i < limits; i++)
		slots += o->capacity[i] > 0;
	return slots;
}

bool
rl_override_put(const struct rl_segment *s, unsigned bank, struct rl_hash hash,
                const struct rl_override *o, unsigned limits)
{
	if (o->kind != RL_OVERRIDE_CAPACITY)
		return put_value(s, bank, hash, o->kind);
	for (unsigned i = 0; i < limits; i++) {
		uint64_t value = o->kind | (uint64_t)i << LIMIT_SHIFT |
		                 (uint64_t)o->capacity[i] << CAPACITY_SHIFT;
		if (o->capacity[i] > 0 && !put_value(s, bank, hash, value))
			return false;
	}
	return true;
}
