/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was charged to a window is given back in its own sub-bucket, also when that is closed:
 * random histories of charges and refunds, each verdict and number compared with what an exact
 * count of all sub-buckets says. Such a count knows no word, no ring and no rolling.
 */
#include <stdlib.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define SUB_BUCKETS 4096 /* of a history */
#define OPEN 12          /* charges that may be given back still */

struct charged {
	struct rl_charges charges;
	uint64_t epoch;
	uint32_t cost;
};

struct history {
	struct rl *rl;
	int rule;
	uint32_t capacity;
	uint64_t count; /* closed sub-buckets that count */
	bool is_hard;
	uint64_t width_ns, first; /* sub-bucket 0 of `bucket` */
	uint64_t now_ns;
	uint64_t given_late;
	uint32_t bucket[SUB_BUCKETS];
	struct charged open[OPEN];
};

static uint64_t seed = 1;

static uint64_t
below(uint64_t most)
{
	return test_random(&seed) % most;
}

/* What counts at a time: the oldest sub-bucket by its share, unless the window is hard. */
static uint64_t
counts_at(const struct history *h, uint64_t now_ns)
{
	uint64_t epoch = now_ns / h->width_ns - h->first, used = 0, oldest = 0;

	for (uint64_t i = 0; i <= h->count && i <= epoch; i++)
		used += h->bucket[epoch - i];
	if (!h->is_hard && h->count > 0 && epoch >= h->count)
		oldest = h->bucket[epoch - h->count];
	return used - (uint64_t)((unsigned __int128)oldest * (now_ns % h->width_ns) / h->width_ns);
}

static bool
would_admit(const struct history *h, uint64_t now_ns, uint64_t cost)
{
	return counts_at(h, now_ns) + cost <= h->capacity;
}

static void
begin(struct history *h)
{
	struct rl_options options = {.keys = 64, .ring = 64};
	uint32_t parts = 1 + (uint32_t)below(below(4) > 0 ? 4 : 64);
	bool is_fixed = below(8) == 0;
	struct rl_rule rule = {.name = "r"};

	*h = (struct history){.capacity = 1 + (uint32_t)below(below(2) > 0 ? 20 : 100000)};
	h->width_ns = 10 * RL_MILLISECOND + below(RL_SECOND);
	h->count = is_fixed ? 0 : parts;
	h->is_hard = !is_fixed && below(2) > 0;
	h->now_ns = T0;
	h->first = T0 / h->width_ns;
	rule.limit = (struct rl_limit){
		.algorithm = is_fixed ? RL_FIXED_WINDOW : RL_SLIDING_WINDOW,
		.capacity = h->capacity,
		.window_ns = h->width_ns * (is_fixed ? 1 : parts),
		.granularity = is_fixed ? 0 : parts,
		.hard = h->is_hard,
	};
	assert_int_equal(rl_open_private(&options, &h->rl), 0);
	h->rule = rl_define(h->rl, &rule);
	assert_true(h->rule >= 0);
}

static void
pass_time(struct history *h)
{
	switch (below(8)) {
	case 0:
		h->now_ns += below(3 * h->width_ns);
		break;
	case 1:
	case 2:
		h->now_ns += below(h->width_ns / 2);
		break;
	case 3:
		h->now_ns += below(32) == 0 ? 2 * (h->count + 1) * h->width_ns : 0;
		break;
	default:
		break;
	}
}

static void
judge_denial(const struct history *h, const struct rl_result *r, uint32_t cost)
{
	uint64_t used = counts_at(h, h->now_ns), at_ns = h->now_ns + r->retry_after_ns;

	assert_int_equal(r->remaining, used < h->capacity ? h->capacity - used : 0);
	if (at_ns / h->width_ns - h->first >= SUB_BUCKETS)
		return;
	assert_true(would_admit(h, at_ns, cost));
	assert_false(would_admit(h, at_ns - 1, cost));
}

static void
charge(struct history *h)
{
	uint32_t cost = 1 + (uint32_t)below(below(2) > 0 ? h->capacity : h->capacity / 4 + 1);
	struct charged *kept = &h->open[below(OPEN)]; /* one that is lost stays charged */
	struct rl_result r;
	struct rl_item item = {.rule = h->rule,
	                       .key = "k",
	                       .key_len = 1,
	                       .cost = cost < h->capacity ? cost : h->capacity,
	                       .now_ns = h->now_ns};
	struct rl_charges charges;
	bool admits = would_admit(h, h->now_ns, item.cost);

	item.charges = &charges;
	assert_int_equal(rl_check_item(h->rl, &item, &r), admits ? RL_ALLOWED : RL_DENIED);
	if (!admits) {
		judge_denial(h, &r, (uint32_t)item.cost);
		return;
	}
	*kept = (struct charged){charges, h->now_ns / h->width_ns - h->first, (uint32_t)item.cost};
	h->bucket[kept->epoch] += kept->cost;
}

/* Once its sub-bucket has left, nobody can tell whether it was given back. */
static void
give_back(struct history *h)
{
	struct charged *c = &h->open[below(OPEN)];
	uint64_t epoch = h->now_ns / h->width_ns - h->first;
	bool is_left = epoch > c->epoch + h->count;
	int given;

	if (c->cost == 0)
		return;
	given = rl_refund(h->rl, &c->charges);
	assert_true(is_left || given == 1);
	assert_int_equal(rl_refund(h->rl, &c->charges), 0);
	if (!is_left && epoch > c->epoch)
		h->given_late++;
	h->bucket[c->epoch] -= given == 1 ? c->cost : 0;
	c->cost = 0;
}

static void
test_histories(void **state)
{
	uint64_t histories = test_scaled(600);
	struct history *h = malloc(sizeof *h);
	uint64_t given_late = 0;

	(void)state;
	assert_non_null(h);
	for (uint64_t i = 0; i < histories; i++) {
		begin(h);
		for (int step = 0; step < 1000; step++) {
			pass_time(h);
			if (h->now_ns / h->width_ns - h->first >= SUB_BUCKETS)
				break;
			if (below(2) > 0)
				charge(h);
			else
				give_back(h);
		}
		given_late += h->given_late;
		rl_close(h->rl);
	}
	assert_true(given_late > 50 * histories);
	free(h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
