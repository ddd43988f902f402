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

static void
note(struct rl_u128 *ring, uint32_t entries, uint64_t number, struct rl_u128 counts)
{
	struct rl_u128 *at = &ring[number % entries], seen;

	if (!rl_atomic_load16(at, &seen) || is_noted(seen, number, entries))
		return;
	counts.lo |= number << RL_HISTORY_COUNT_BITS;
	rl_atomic_cas16(at, seen, counts); /* else another process has just noted it */
}

static struct rl_u128
counts_of(const struct rl_segment *s, int row)
{
	return (struct rl_u128){
		.lo = rl_stats_sum(s, row, RL_COUNT_allowed) & RL_HISTORY_COUNT_MASK,
		.hi = rl_stats_sum(s, row, RL_COUNT_denied) & RL_HISTORY_COUNT_MASK};
}

void
rl_history_note(const struct rl_segment *s, int row, uint64_t now_ns)
{
	struct rl_history_row *h = &s->history[row];
	uint64_t minute = now_ns / RL_MINUTE_NS, quarter = now_ns / RL_QUARTER_NS;
	struct rl_u128 seen, counts;

	if (!rl_atomic_load16(&h->minute[minute % RL_MINUTES], &seen) ||
	    is_noted(seen, minute, RL_MINUTES))
		return;
	counts = counts_of(s, row);
	note(h->quarter, RL_QUARTERS, quarter, counts);
	note(h->minute, RL_MINUTES, minute, counts);
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
clear(struct rl_u128 *ring, uint32_t entries)
{
	for (uint32_t i = 0; i < entries; i++) {
		rl_atomic_store(&ring[i].lo, 0);
		rl_atomic_store(&ring[i].hi, 0);
	}
}

void
rl_history_clear(const struct rl_segment *s, int row)
{
	clear(s->history[row].minute, RL_MINUTES);
	clear(s->history[row].quarter, RL_QUARTERS);
}
