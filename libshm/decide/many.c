/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many requests at once, each for itself. A table larger than the caches is waited for; so the
 * requests go through in stages: the tags of all are on their way before the first is looked at,
 * and the states of all before the first is decided. What is not plain is decided on its own.
 */
#include "decide/check.h"
#include "decide/plain.h"
#include "move/follow.h"

#define AT_ONCE 32 /* more lines than a core fetches at a time, and less than a cache has */

struct staged {
	struct rl_plain plain;
	struct rl_slot slot;
	bool is_plain;
	bool is_found; /* is_plain, and the key has its slot */
};

static void
fetch_tags(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
           struct rl_result *results, struct staged *staged)
{
	for (size_t i = 0; i < count; i++) {
		staged[i].is_plain =
			rl_plain_make(rl, &items[i], now_ns, &results[i], 0, &staged[i].plain);
		if (staged[i].is_plain)
			rl_table_prefetch_tags(&rl->segment.table, &staged[i].plain.candidates);
	}
}

static void
fetch_states(const struct rl *rl, size_t count, struct staged *staged)
{
	const struct rl_table *table = &rl->segment.table;

	for (size_t i = 0; i < count; i++) {
		struct staged *s = &staged[i];

		s->is_found = s->is_plain && rl_table_find(table, &s->plain.candidates, &s->slot);
		if (s->is_found) {
			rl_table_prefetch_state(table, s->slot);
			rl_tell_expect(rl, s->slot, s->plain.ask.now_ns);
		}
	}
}

static void
decide(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
       struct rl_result *results, const struct staged *staged)
{
	for (size_t i = 0; i < count; i++) {
		const struct staged *s = &staged[i];

		/* A key that had no slot may have been given one since, by an earlier request. */
		if (!s->is_found ||
		    rl_plain_decide(rl, &items[i], &s->plain, true, s->slot, 0) == RL_AGAIN)
			rl_check_any(rl, &items[i], NULL, now_ns, &results[i]);
	}
}

void
rl_check_many_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                 struct rl_result *results)
{
	struct staged staged[AT_ONCE];

	rl = rl_here_known(rl);
	while (count > 0) {
		size_t n = count < AT_ONCE ? count : AT_ONCE;

		fetch_tags(rl, items, n, now_ns, results, staged);
		fetch_states(rl, n, staged);
		decide(rl, items, n, now_ns, results, staged);
		items += n;
		results += n;
		count -= n;
	}
}

void
rl_check_many(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results)
{
	rl_check_many_at(rl, items, count, rl_segment_now(&rl->segment), results);
}
