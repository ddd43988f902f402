/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/carry.h"

#include "algorithm/in_flight.h"
#include "algorithm/log.h"

#define ENTRY_GEN_SHIFT 28
#define ENTRY_GEN_MASK (UINT64_C(0xff) << ENTRY_GEN_SHIFT)

static struct rl_log
log_of(const struct rl_limiter *l, const struct rl_view *v)
{
	const struct rl_view own = rl_limiter_view_alone(l, v);

	return rl_log_unpack(own.word, l->ring_entries);
}

/* Units older than the newest time that a decision may ask for. */
static uint32_t
older_units(const struct rl_limiter *l, const struct rl_log *log)
{
	return rl_lesser(log->units - log->pending, rl_log_capacity(l->ring_entries));
}

static struct rl_in_flight
in_flight_of(const struct rl_limiter *l, const struct rl_view *v)
{
	return rl_in_flight_unpack(v->word, false, v->gen, l->ring_entries);
}

uint32_t
rl_carry_entries(const struct rl_limiter *l, const struct rl_view *v)
{
	struct rl_log log;

	if (rl_limiter_has_window(l))
		return l->window.count > 1 ? l->window.count : 0;
	if (l->algorithm == RL_IN_FLIGHT)
		return in_flight_of(l, v).used;
	if (l->algorithm != RL_SLIDING_LOG)
		return 0;
	log = log_of(l, v);
	return older_units(l, &log);
}

static bool
window_entry(const struct rl_view *v, uint8_t gen, uint32_t i, uint64_t *value)
{
	uint64_t entry = rl_atomic_load(&v->ring[i]);

	*value = (entry & ~ENTRY_GEN_MASK) | (uint64_t)gen << ENTRY_GEN_SHIFT;
	return (entry & ENTRY_GEN_MASK) == (uint64_t)v->gen << ENTRY_GEN_SHIFT;
}

/* Number i + 1 is the oldest but i. */
static void
log_entry(const struct rl_limiter *from, const struct rl_limiter *to, const struct rl_view *v,
          uint32_t i, uint32_t *place, uint64_t *value)
{
	struct rl_log log = log_of(from, v);
	uint32_t back = log.pending + older_units(from, &log) - 1 - i;

	*place = (i + 1) % to->ring_entries;
	*value = rl_log_time(&log, v->ring, from->ring_entries, back);
}

bool
rl_carry_entry(const struct rl_limiter *from, const struct rl_limiter *to, const struct rl_view *v,
               uint8_t gen, uint32_t i, uint32_t *place, uint64_t *value)
{
	*place = i;
	if (i >= to->ring_entries) /* damage: no table has a shorter ring than the one before it */
		return false;
	if (rl_limiter_has_window(from))
		return window_entry(v, gen, i, value);
	if (from->algorithm == RL_SLIDING_LOG) {
		log_entry(from, to, v, i, place, value);
		return true;
	}
	*value = rl_atomic_load(&v->ring[i]);
	return true;
}

static struct rl_u128
log_word(const struct rl_limiter *l, const struct rl_view *v, uint64_t slot_bits)
{
	struct rl_log log = log_of(l, v);

	log.units = log.pending + older_units(l, &log);
	if (l->is_shared)
		slot_bits |= v->word.hi & RL_STATE_SHARE_MASK;
	return rl_log_pack(log, slot_bits);
}

struct rl_u128
rl_carry_word(const struct rl_limiter *l, const struct rl_view *v, uint64_t slot_bits)
{
	struct rl_u128 word = v->word;

	if (l->algorithm == RL_SLIDING_LOG)
		return log_word(l, v, slot_bits);
	word.hi = (word.hi & ~RL_STATE_SLOT_MASK) | slot_bits;
	return word;
}
