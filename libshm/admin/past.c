/* SPDX-License-Identifier: BSD-2-Clause */
/* The histories of rule/history.h as spans of time, and the denials of each limit. */
#include <errno.h>

#include "rl_admin.h"
#include "rule/denials.h"
#include "rule/history.h"
#include "segment/stats.h"
#include "shared/lesser.h"

_Static_assert(RL_HISTORY_MINUTES == RL_MINUTES && RL_HISTORY_QUARTERS == RL_QUARTERS, "as kept");

/* From one note to a later one. Of a row that was begun anew in between, nothing. */
static uint64_t
difference(uint64_t later, uint64_t earlier)
{
	uint64_t d = (later - earlier) & RL_HISTORY_COUNT_MASK;

	return d > RL_HISTORY_COUNT_MASK / 2 ? 0 : d;
}

/* They are noted on their own: never more than what was denied. */
static void
fill_causes(uint64_t later, uint64_t earlier, struct rl_history_span *span)
{
	span->banned = rl_lesser_u64((uint32_t)(later - earlier), span->denied);
	span->full = rl_lesser_u64((uint32_t)((later >> 32) - (earlier >> 32)),
	                           span->denied - span->banned);
}

/* Newest first: the note of a span, or else that of the next one, for nothing was decided in it. */
static void
fill(const struct rl_u128 *ring, const uint64_t *causes, uint32_t entries, uint64_t span_ns,
     uint64_t now_ns, struct rl_history_counts later, struct rl_history_span *spans)
{
	uint64_t newest = now_ns / span_ns;

	for (uint32_t back = 0; back < entries; back++) {
		uint64_t number = newest - back, caused;
		struct rl_history_span *span = &spans[entries - 1 - back];
		struct rl_u128 note;

		*span = (struct rl_history_span){0};
		if (number > newest) /* before 1970 */
			continue;
		span->start_ns = number * span_ns;
		if (!rl_atomic_load16(&ring[number % entries], &note) ||
		    rl_history_number(note) != (number & RL_HISTORY_NUMBER_MASK))
			continue;
		caused = rl_atomic_load(&causes[number % entries]);
		span->allowed = difference(later.counts.lo, note.lo);
		span->denied = difference(later.counts.hi, note.hi);
		fill_causes(later.causes, caused, span);
		later = (struct rl_history_counts){note, caused};
	}
}

static int
history(struct rl *rl, int rule, bool is_minutes, uint64_t now_ns, struct rl_history_span *spans)
{
	const struct rl_segment *s = &rl->segment;
	const struct rl_history_row *h;
	struct rl_history_counts now;

	if (!rl_handle_has(rl, rule))
		return -EINVAL;
	if (now_ns > INT64_MAX)
		now_ns = INT64_MAX;
	h = &s->history[rl_rule_row(rule)];
	now = rl_history_now(s, rl_rule_row(rule));
	if (is_minutes)
		fill(h->minute, h->minute_causes, RL_MINUTES, RL_MINUTE_NS, now_ns, now, spans);
	else
		fill(h->quarter, h->quarter_causes, RL_QUARTERS, RL_QUARTER_NS, now_ns, now, spans);
	return is_minutes ? RL_MINUTES : RL_QUARTERS;
}

int
rl_history_minutes(struct rl *rl, int rule, uint64_t now_ns,
                   struct rl_history_span spans[RL_HISTORY_MINUTES])
{
	return history(rl, rule, true, now_ns, spans);
}

int
rl_history_quarters(struct rl *rl, int rule, uint64_t now_ns,
                    struct rl_history_span spans[RL_HISTORY_QUARTERS])
{
	return history(rl, rule, false, now_ns, spans);
}

int
rl_limit_stats(struct rl *rl, int rule, unsigned limit, uint64_t *denied, uint64_t *shadow_denied)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_refs refs;
	int row;

	*denied = *shadow_denied = 0;
	if (!rl_handle_has(rl, rule))
		return -EINVAL;
	rl_rules_now(s, rule, &refs);
	row = limit < refs.count ? refs.limit[limit] : -1;
	if (row < 0 || (uint32_t)row >= s->geometry.limits)
		return -EINVAL;
	rl_denials_of_limit(s, rule, &s->limits[row], denied, shadow_denied);
	return 0;
}
