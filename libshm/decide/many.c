/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many requests at once, each for itself. A table larger than the caches is waited for; so the
 * requests go through in stages: the tags of all are on their way before the first is looked at,
 * and the states of all before the first is decided. What is not usual is decided on its own.
 */
#include "decide/check.h"
#include "decide/usual.h"

#define AT_ONCE 32 /* more lines than a core fetches at a time, and less than a cache has */

struct staged {
	struct rl_usual usual;
	uint64_t now_ns;
	bool is_usual;
	bool is_found; /* is_usual, and the key has its slot */
};

static void
fetch_tags(const struct rl *rl, const struct rl_item *items, size_t count, struct staged *staged,
           uint64_t *clock_ns)
{
	for (size_t i = 0; i < count; i++) {
		const struct rl_item *item = &items[i];
		struct rl_policy_look look;

		if (item->now_ns == 0 && *clock_ns == 0) /* it is read once */
			*clock_ns = rl_segment_now(&rl->segment);
		staged[i].now_ns = item->now_ns > 0 ? item->now_ns : *clock_ns;
		staged[i].is_usual =
			!item->charges && !rl_request_has_own(item) &&
			rl_usual_make(rl, item->rule, item->key, item->key_len, item->cost,
		                      staged[i].now_ns, &look, &staged[i].usual);
		if (staged[i].is_usual)
			rl_table_prefetch_tags(&rl->segment.table, &staged[i].usual.candidates);
	}
}

static void
fetch_states(const struct rl *rl, size_t count, struct staged *staged)
{
	for (size_t i = 0; i < count; i++) {
		struct staged *s = &staged[i];

		s->is_found = s->is_usual && rl_usual_find(rl, s->now_ns, &s->usual);
		if (s->is_found)
			rl_table_prefetch_state(&rl->segment.table, s->usual.slot);
	}
}

static void
decide(struct rl *rl, const struct rl_item *item, struct rl_result *result, struct staged *s)
{
	/* A key that had no slot may have been given one since, by an earlier request. */
	if (!s->is_found || rl_usual_decide(rl, 0, item->rule, item->key, item->key_len, item->cost,
	                                    s->now_ns, result, &s->usual) == RL_AGAIN)
		rl_check_one(rl, item->rule, item, NULL, s->now_ns, result);
}

void
rl_check_many(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results)
{
	struct staged staged[AT_ONCE];
	uint64_t clock_ns = 0;

	rl = rl_here_known(rl);
	while (count > 0) {
		size_t n = count < AT_ONCE ? count : AT_ONCE;

		fetch_tags(rl, items, n, staged, &clock_ns);
		fetch_states(rl, n, staged);
		for (size_t i = 0; i < n; i++)
			decide(rl, &items[i], &results[i], &staged[i]);
		items += n;
		results += n;
		count -= n;
	}
}
