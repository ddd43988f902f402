/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forgets all keys of a rule at once: each of its limits gets the next incarnation.
 *
 * The incarnation is part of the hash of every key, so from then on all keys are others, and have
 * counted nothing. What is left behind in the table is told by its tags (RL_TAG_INCARNATIONS). It
 * is shown to nobody, and freed by a sweep or by who needs room.
 *
 *	change begins         what processes have kept of the rule is in force no more (change.h)
 *	A(i) --> A(i+1), new  one CAS16 for each limit that is in force
 *	change ends
 *
 * A decision that was under way charges the old key, as if it had come before. All others see the
 * new incarnation: those that begin after the first step read the rule anew. A process that is
 * killed midway has reset some limits of the rule and not the others, as if it had reset those
 * alone.
 *
 * That the rule's row is given away meanwhile does no harm. An identity is loaded first, then whose
 * the rule's row is. If that was the rule's then, a later owner of the row takes no limit of it up
 * without another incarnation, and this CAS16 fails.
 *
 * Two things are used up. Of one row, the incarnations that tags can tell apart: who finds none
 * free reads all slots, which frees those left behind. And the memory of all processes, each of
 * which compiles the limit anew (handle.c): hence RL_RENEWALS_EACH, after as many as
 * RL_RENEWALS_AT_ONCE, of all limits together. It is a bucket in one word, as in gcra.h: the time
 * at which all is paid for.
 */
#include "reset/renew.h"

#include "segment/change.h"
#include "segment/event.h"
#include "segment/stats.h"

#define TRIES 16

static bool
take_renewal(const struct rl_segment *s)
{
	const uint64_t most_ns = (RL_RENEWALS_AT_ONCE - 1) * RL_RENEWALS_EACH;
	uint64_t *word = &s->header->renewals_ns, now_ns = rl_segment_now(s);

	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t held = rl_atomic_load(word), from = held > now_ns ? held : now_ns;
		if (from - now_ns > most_ns)
			return false;
		if (rl_atomic_cas(word, held, from + RL_RENEWALS_EACH))
			return true;
	}
	return false;
}

static bool
renew_limit(const struct rl_segment *s, int rule, int limit)
{
	struct rl_limit_row *row = &s->limits[limit];

	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_u128 held = rl_rules_identity(s, limit);

		rl_atomic_fence(); /* first the limit's row, then whose the rule's is */
		if (rl_rules_of_identity(s, held.lo) != rl_rule_row(rule) || !rl_rules_has(s, rule))
			return true; /* it is not the rule's any more */
		if (!rl_rules_may_renew(row, held) || !take_renewal(s))
			return false;
		if (rl_atomic_cas16(&row->identity, held, rl_identity_next(held, held)))
			return true;
	}
	return false;
}

bool
rl_renew_rule(struct rl *rl, int rule)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_change change;
	struct rl_refs refs;
	bool is_done = true;

	if (!rl_change_begin(s, &change))
		return false;
	rl_rules_now(s, rule, &refs);
	for (unsigned i = 0; i < refs.count && is_done; i++)
		is_done = renew_limit(s, rule, refs.limit[i]);
	rl_change_end(&change);
	if (is_done) {
		rl_stats_add(s, rule, RL_COUNT_renewed);
		rl_event_report_change(s, RL_EVENT_RESET, rule, NULL, 0, 0);
	}
	return is_done;
}
