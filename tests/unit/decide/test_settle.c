/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request has really cost counts: what was charged beyond it goes back into the request's
 * own sub-bucket, also when that is closed, and what it cost beyond its charge counts from then on.
 * Random histories of charges, settlements and refunds, each verdict and number compared with what
 * an exact count of all sub-buckets says. Such a count knows no word, no ring and no rolling. Now
 * and then the segment is resized, and its key moves with the next call or later.
 */
#include <rl_admin.h>
#include <stdlib.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define SUB_BUCKETS 4096 /* of a world */
#define RESIZES 5000     /* steps between them, on the average */
#define OPEN 12          /* charges that may be settled still */

struct charged {
	struct rl_charges charges;
	uint64_t epoch;
	uint32_t cost;
	unsigned table;
};

/* One key of a segment, and its histories: each ends when nothing counts any more. */
struct world {
	struct rl *rl;
	int rule;
	unsigned table; /* how often the segment was resized */
	uint32_t capacity, most;
	uint64_t count; /* closed sub-buckets that count */
	bool is_hard;
	uint64_t width_ns, first; /* sub-bucket 0 of `bucket` */
	uint64_t now_ns;
	uint64_t histories, given_late, owed, lost, given_moving;
	uint32_t bucket[SUB_BUCKETS];
	struct charged open[OPEN];
};

static uint64_t seed = 1;

static uint64_t
below(uint64_t most)
{
	return test_random(&seed) % most;
}

static uint64_t
epoch_of(const struct world *w)
{
	return w->now_ns / w->width_ns - w->first;
}

/* What counts at a time: the oldest sub-bucket by its share, unless the window is hard. */
static uint64_t
counts_at(const struct world *w, uint64_t now_ns)
{
	uint64_t epoch = now_ns / w->width_ns - w->first, used = 0, oldest = 0;

	for (uint64_t i = 0; i <= w->count && i <= epoch; i++)
		used += w->bucket[epoch - i];
	if (!w->is_hard && w->count > 0 && epoch >= w->count)
		oldest = w->bucket[epoch - w->count];
	return used - (uint64_t)((unsigned __int128)oldest * (now_ns % w->width_ns) / w->width_ns);
}

static bool
would_admit(const struct world *w, uint64_t now_ns, uint64_t cost)
{
	return counts_at(w, now_ns) + cost <= w->capacity;
}

static void
begin(struct world *w, struct rl *rl)
{
	uint32_t parts = 1 + (uint32_t)below(below(4) > 0 ? 4 : 64);
	bool is_fixed = below(8) == 0;
	struct rl_rule rule = {.name = "r"};

	*w = (struct world){.rl = rl, .capacity = 1 + (uint32_t)below(below(2) > 0 ? 20 : 100000)};
	w->width_ns = 10 * RL_MILLISECOND + below(RL_SECOND);
	w->count = is_fixed ? 0 : parts;
	w->is_hard = !is_fixed && below(2) > 0;
	w->most = w->is_hard || is_fixed ? RL_CAPACITY_MAX : RL_CAPACITY_MAX / 2;
	w->now_ns = T0;
	w->first = T0 / w->width_ns;
	rule.limit = (struct rl_limit){
		.algorithm = is_fixed ? RL_FIXED_WINDOW : RL_SLIDING_WINDOW,
		.capacity = w->capacity,
		.window_ns = w->width_ns * (is_fixed ? 1 : parts),
		.granularity = is_fixed ? 0 : parts,
		.hard = w->is_hard,
	};
	w->rule = rl_define(w->rl, &rule);
	assert_true(w->rule >= 0);
}

static void
pass_time(struct world *w)
{
	switch (below(8)) {
	case 0:
		w->now_ns += below(3 * w->width_ns);
		break;
	case 1:
	case 2:
		w->now_ns += below(w->width_ns / 2);
		break;
	case 3:
		if (below(4) > 0)
			break;
		w->histories++;
		w->now_ns += (w->count + 2) * w->width_ns;
		break;
	default:
		break;
	}
}

static void
judge_denial(const struct world *w, const struct rl_result *r, uint32_t cost)
{
	uint64_t used = counts_at(w, w->now_ns), at_ns = w->now_ns + r->retry_after_ns;

	assert_int_equal(r->used, used);
	assert_int_equal(r->remaining, used < w->capacity ? w->capacity - used : 0);
	if (at_ns / w->width_ns - w->first >= SUB_BUCKETS)
		return;
	assert_true(would_admit(w, at_ns, cost));
	assert_false(would_admit(w, at_ns - 1, cost));
}

static void
charge(struct world *w)
{
	uint32_t cost = 1 + (uint32_t)below(below(2) > 0 ? w->capacity : w->capacity / 4 + 1);
	struct charged *kept = &w->open[below(OPEN)]; /* one that is lost stays charged */
	struct rl_result r;
	struct rl_item item = {.rule = w->rule,
	                       .key = "k",
	                       .key_len = 1,
	                       .cost = cost < w->capacity ? cost : w->capacity,
	                       .now_ns = w->now_ns};
	struct rl_charges charges;
	bool admits = would_admit(w, w->now_ns, item.cost);

	item.charges = &charges;
	assert_int_equal(rl_check_item(w->rl, &item, &r), admits ? RL_ALLOWED : RL_DENIED);
	if (!admits) {
		judge_denial(w, &r, (uint32_t)item.cost);
		return;
	}
	*kept = (struct charged){charges, epoch_of(w), (uint32_t)item.cost, w->table};
	w->bucket[kept->epoch] += kept->cost;
}

/*
 * Once its sub-bucket has left, or its key has moved to another table, nobody can tell whether it
 * was given back.
 */
static void
settle_down(struct world *w, struct charged *c, uint32_t actual, int given)
{
	bool is_left = epoch_of(w) > c->epoch + w->count;

	assert_true(is_left || c->table != w->table || given == (c->cost > actual));
	w->given_moving += given == 1 && c->table != w->table;
	if (!is_left && epoch_of(w) > c->epoch)
		w->given_late += given == 1;
	w->bucket[c->epoch] -= given == 1 ? c->cost - actual : 0;
}

/* As much as can be counted. */
static void
settle_up(struct world *w, const struct charged *c, uint32_t actual, int owed)
{
	uint64_t used = counts_at(w, w->now_ns), more = actual - c->cost;
	uint64_t room = used < w->most ? w->most - used : 0;

	w->lost += more > room;
	more = more < room ? more : room;
	w->owed += more > 0;
	assert_int_equal(owed, more > 0);
	w->bucket[epoch_of(w)] += (uint32_t)more;
}

static uint32_t
some_actual(const struct world *w, uint32_t cost)
{
	switch (below(8)) {
	case 0:
		return cost + 1 + (uint32_t)below(w->capacity);
	case 1:
		return below(16) > 0 ? cost + 1 : (uint32_t)below((uint64_t)RL_CAPACITY_MAX + 1);
	case 2:
	case 3:
		return 0;
	default:
		return (uint32_t)below(cost + UINT64_C(1));
	}
}

static void
settle(struct world *w)
{
	struct charged *c = &w->open[below(OPEN)];
	bool is_refund = below(4) == 0;
	uint32_t actual = is_refund ? 0 : some_actual(w, c->cost);
	int done;

	if (c->cost == 0)
		return;
	done = is_refund ? at_refund(w->rl, &c->charges, w->now_ns)
	                 : at_settle(w->rl, &c->charges, actual, w->now_ns);
	if (actual > c->cost)
		settle_up(w, c, actual, done);
	else
		settle_down(w, c, actual, done);
	assert_int_equal(at_refund(w->rl, &c->charges, w->now_ns), 0);
	if (!is_refund)
		assert_int_equal(at_settle(w->rl, &c->charges, 0, w->now_ns), RL_ESETTLED);
	c->cost = 0;
}

/* Once all of an earlier one is over. */
static void
resize(struct world *w)
{
	struct rl_resize to = {.keys = 20 + (uint32_t)below(400)};
	struct rl_moving moving = {0};

	if (w->table > 0) {
		assert_true(rl_move_slots_at(w->rl, 0, UINT64_MAX, w->now_ns, &moving) >= 0);
		assert_int_equal(moving.left, 0);
		assert_true(rl_move_end(w->rl) >= 0);
	}
	assert_int_equal(rl_resize(w->rl, &to, 0), 0);
	w->table++;
}

static void
step(struct world *w)
{
	pass_time(w);
	if (below(RESIZES) == 0)
		resize(w);
	if (epoch_of(w) >= SUB_BUCKETS)
		return;
	if (below(2) > 0)
		charge(w);
	else
		settle(w);
}

/* A segment for many worlds: each has a shape of its own, so none sees another's counter. */
static void
test_histories(void **state)
{
	const struct rl_options options = {.keys = 64, .ring = 64};
	uint64_t wanted = test_scaled(1000000), histories = 0, given_late = 0, owed = 0, lost = 0;
	uint64_t tables = 0, given_moving = 0;
	struct world *w = malloc(sizeof *w);
	struct rl *rl;

	assert_non_null(w);
	while (histories < wanted) {
		assert_int_equal(rl_open(test_segment_name(), &options, &rl), 0);
		begin(w, rl);
		while (epoch_of(w) < SUB_BUCKETS - 1)
			step(w);
		histories += w->histories;
		given_late += w->given_late;
		owed += w->owed;
		lost += w->lost;
		tables += w->table;
		given_moving += w->given_moving;
		rl_close(rl);
		test_unlink(state);
	}
	assert_true(tables > histories / 400 && given_moving > 0);
	assert_true(given_late > histories / 10 && owed > histories && lost > histories / 1000);
	free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_histories, test_unlink)};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
