/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/history.h"

#include "segment/stats.h"

/*
 * A note by a later clock stays; one from the future, which only damage or an odd clock makes, does
 * not.
 */
static bool
is_noted(struct rl_u128 note, uint64_t number, uint32_t entries)
{
	return ((rl_history_number(note) - number) & RL_HISTORY_NUMBER_MASK) <= entries;
}

struct rl_history_counts
rl_history_now(const struct rl_segment *s, int row)
{
	uint64_t full = rl_stats_sum(s, row, RL_COUNT_full_denied) +
	                rl_stats_sum(s, row, RL_COUNT_reserve_denied);

	return (struct rl_history_counts){
		.counts.lo = rl_stats_sum(s, row, RL_COUNT_allowed) & RL_HISTORY_COUNT_MASK,
		.counts.hi = rl_stats_sum(s, row, RL_COUNT_denied) & RL_HISTORY_COUNT_MASK,
		.causes = full << 32 | (uint32_t)rl_stats_sum(s, row, RL_COUNT_banned)};
}

static void
note(struct rl_u128 *at, uint64_t *causes, uint32_t entries, uint64_t number,
     const struct rl_history_counts *now)
{
	uint64_t caused = rl_atomic_load(causes);
	struct rl_u128 seen, counts = now->counts;

	if (!rl_atomic_load16(at, &seen) || is_noted(seen, number, entries))
		return;
	rl_atomic_cas(causes, caused, now->causes);
	counts.lo |= number << RL_HISTORY_COUNT_BITS;
	rl_atomic_cas16(at, seen, counts); /* else another process has just noted it */
}

void
rl_history_note(const struct rl_segment *s, int row, uint64_t now_ns)
{
	struct rl_history_row *h = &s->history[row];
	uint64_t minute = now_ns / RL_MINUTE_NS, quarter = now_ns / RL_QUARTER_NS;
	uint64_t m = minute % RL_MINUTES, q = quarter % RL_QUARTERS;
	struct rl_history_counts now;
	struct rl_u128 seen;

	if (!rl_atomic_load16(&h->minute[m], &seen) || is_noted(seen, minute, RL_MINUTES))
		return;
	now = rl_history_now(s, row);
	note(&h->quarter[q], &h->quarter_causes[q], RL_QUARTERS, quarter, &now);
	note(&h->minute[m], &h->minute_causes[m], RL_MINUTES, minute, &now);
}

void
rl_history_begin(struct rl *rl, int rule, uint64_t now_ns)
{
	int row = rl_rule_row(rule);

	if (rl->segment.is_writable)
		rl_history_note(&rl->segment, row, now_ns);
	/* Not before: another thread that sees it counts what it decides. */
	rl_atomic_own_store(&rl->policies[row].due_ns, (now_ns / RL_MINUTE_NS + 1) * RL_MINUTE_NS);
}

void
rl_history_sweep(struct rl *rl, uint64_t now_ns)
{
	const struct rl_segment *s = &rl->segment;

	if (now_ns < rl_atomic_own_load(&rl->handle->history_due_ns))
		return;
	rl_atomic_own_store(&rl->handle->history_due_ns,
	                    (now_ns / RL_MINUTE_NS + 1) * RL_MINUTE_NS);
	for (int row = 0; row < (int)s->geometry.rules; row++)
		if (rl_atomic_load(&s->rows[row].name_hash) != 0)
			rl_history_note(s, row, now_ns);
}

static void
clear(struct rl_u128 *ring, uint64_t *causes, uint32_t entries)
{
	for (uint32_t i = 0; i < entries; i++) {
		rl_atomic_store(&ring[i].lo, 0);
		rl_atomic_store(&ring[i].hi, 0);
		rl_atomic_store(&causes[i], 0);
	}
}

void
rl_history_clear(const struct rl_segment *s, int row)
{
	struct rl_history_row *h = &s->history[row];

	clear(h->minute, h->minute_causes, RL_MINUTES);
	clear(h->quarter, h->quarter_causes, RL_QUARTERS);
}
