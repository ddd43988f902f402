/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several limits for one request, and several requests at once.
 *
 * All or nothing: first every limit is only looked at, so that a request which is denied anyway
 * writes nothing. If all allow it, they are charged in order; should one deny it by then,
 * because others were quicker, the charges before it are given back. Meanwhile another request
 * may be denied by a charge that is being given back; none is admitted beyond a limit.
 */
#include "request.h"
#include "rl.h"

struct ready {
	struct rl_request rq;
	bool is_open; /* not answered yet */
};

static void
make_all(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
         struct ready *ready, struct rl_result *results)
{
	for (size_t i = 0; i < count; i++)
		ready[i].is_open =
			rl_request_make(rl, &items[i], now_ns, &ready[i].rq, &results[i]);
}

/* Look at all; the first that does not allow, or count. */
static size_t
look_at_all(const struct rl_item *items, size_t count, struct ready *ready,
            struct rl_result *results)
{
	size_t first = count;

	for (size_t i = 0; i < count; i++) {
		if (ready[i].is_open)
			rl_request_look(&ready[i].rq, items[i].cost, &results[i]);
		if (results[i].verdict != RL_ALLOWED && first == count)
			first = i;
	}
	return first;
}

static void
give_back(struct rl *rl, size_t count, uint64_t now_ns, struct rl_result *results)
{
	for (size_t i = 0; i < count; i++)
		rl_refund_at(rl, &results[i], now_ns);
}

/* Charge all; the first that does not allow, those before it being given back, or count. */
static size_t
spend_all(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
          struct ready *ready, struct rl_result *results)
{
	for (size_t i = 0; i < count; i++) {
		if (!ready[i].is_open || items[i].cost == 0)
			continue;
		if (rl_request_spend(&ready[i].rq, items[i].cost, &results[i]) != RL_ALLOWED) {
			give_back(rl, i, now_ns, results);
			return i;
		}
	}
	return count;
}

enum rl_verdict
rl_check_all_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                struct rl_result *results, size_t *decided)
{
	struct rl_result unused[RL_ITEMS_MAX];
	struct ready ready[RL_ITEMS_MAX];
	size_t first, ignored;

	decided = decided ? decided : &ignored;
	*decided = 0;
	if (count > RL_ITEMS_MAX)
		return RL_UNDECIDED;
	results = results ? results : unused;
	make_all(rl, items, count, now_ns, ready, results);
	first = look_at_all(items, count, ready, results);
	if (first < count)
		rl_request_count(rl, items[first].rule, results[first].verdict);
	else
		first = spend_all(rl, items, count, now_ns, ready, results);
	*decided = first;
	return first < count ? results[first].verdict : RL_ALLOWED;
}

enum rl_verdict
rl_check_all(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results,
             size_t *decided)
{
	return rl_check_all_at(rl, items, count, rl_now(rl), results, decided);
}

void
rl_check_many_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                 struct rl_result *results)
{
	struct ready ready[RL_ITEMS_MAX];

	while (count > 0) {
		size_t batch = count < RL_ITEMS_MAX ? count : RL_ITEMS_MAX;
		make_all(rl, items, batch, now_ns, ready, results);
		for (size_t i = 0; i < batch; i++)
			rl_request_finish(&ready[i].rq, ready[i].is_open, items[i].cost,
			                  &results[i]);
		items += batch;
		results += batch;
		count -= batch;
	}
}

void
rl_check_many(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results)
{
	rl_check_many_at(rl, items, count, rl_now(rl), results);
}
