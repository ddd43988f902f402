/* SPDX-License-Identifier: BSD-2-Clause */
/* Many requests at once, each for itself: while one is decided, the others are being fetched. */
#include "decide/check.h"

/* Of so many items, made ready as far as there is room; how many items that are. */
static size_t
make(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
     struct rl_request part[RL_ITEMS_MAX], unsigned first[RL_ITEMS_MAX + 1],
     struct rl_result *results)
{
	unsigned parts = 0;

	for (size_t i = 0; i < count; i++) {
		first[i] = parts;
		parts += rl_request_make(rl, &items[i], NULL, now_ns, &part[parts],
		                         RL_ITEMS_MAX - parts, &results[i]);
		if (results[i].error == -EOVERFLOW)
			return i;
	}
	first[count] = parts;
	return count;
}

void
rl_check_many_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                 struct rl_result *results)
{
	struct rl_request part[RL_ITEMS_MAX];
	unsigned first[RL_ITEMS_MAX + 1];

	while (count > 0) {
		size_t made = make(rl, items, count < RL_ITEMS_MAX ? count : RL_ITEMS_MAX, now_ns,
		                   part, first, results);
		for (size_t i = 0; i < made; i++)
			rl_check_made(rl, &items[i], now_ns, &part[first[i]],
			              first[i + 1] - first[i], &results[i]);
		items += made;
		results += made;
		count -= made;
	}
}

void
rl_check_many(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results)
{
	rl_check_many_at(rl, items, count, rl_segment_now(&rl->segment), results);
}
