/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is there an order? Workers charge, give back, forget and ask after one key, under chosen
 * schedules of the real code. What each was told, and between which instants it asked, is a
 * history. It must be one that a limiter without any concurrency could have given, asked in some
 * order that contradicts no instant (Herlihy and Wing, 1990; searched as Wing and Gong did,
 * 1993). An operation whose worker was killed may have taken effect, or not.
 */
#include <string.h>

#include "handle.h"
#include "schedule.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WINDOW_NS (10 * RL_SECOND)
#define CAPACITY 2
#define OPERATIONS 3 /* of a worker */
#define HISTORY (WORKERS * OPERATIONS)
#define RUNS 50000

enum kind {
	CHECK,
	PEEK,
	REFUND,
	RESET,
};

struct operation {
	enum kind kind;
	uint64_t now_ns;
	uint32_t cost;
	int of;           /* REFUND: of which operation's charge */
	int began, ended; /* ended 0: killed in it */
	enum rl_verdict verdict;
	uint32_t remaining;
	int did; /* what a refund or a reset returned */
	struct rl_result result;
};

static struct operation history[HISTORY];
static int length, instant;
static struct rl *rl;
static int rule;

/* The limiter without concurrency: its state, and what it says of a request. */
struct counter {
	bool is_there;
	int incarnation;
	uint64_t epoch; /* of a fixed window */
	uint32_t count;
	uint64_t empty_at_ns;    /* of a token bucket: when all tokens are back */
	int charged_to[HISTORY]; /* the incarnation that an operation charged */
	uint64_t charged_epoch[HISTORY];
};

static uint32_t (*limiter_used)(const struct counter *c, uint64_t now_ns);
static void (*limiter_charge)(struct counter *c, uint64_t now_ns, uint32_t cost);

static uint64_t
window_epoch(const struct counter *c, uint64_t now_ns)
{
	uint64_t epoch = now_ns / WINDOW_NS;

	return c->is_there && c->epoch > epoch ? c->epoch : epoch;
}

static uint32_t
window_used(const struct counter *c, uint64_t now_ns)
{
	return c->is_there && c->epoch == window_epoch(c, now_ns) ? c->count : 0;
}

static void
window_charge(struct counter *c, uint64_t now_ns, uint32_t cost)
{
	uint32_t used = window_used(c, now_ns);

	c->epoch = window_epoch(c, now_ns);
	c->count = used + cost;
}

#define TOKEN_NS (WINDOW_NS / CAPACITY)

static uint32_t
tokens_used(const struct counter *c, uint64_t now_ns)
{
	uint64_t used;

	if (!c->is_there || c->empty_at_ns <= now_ns)
		return 0;
	used = (c->empty_at_ns - now_ns + TOKEN_NS - 1) / TOKEN_NS;
	return used < CAPACITY ? (uint32_t)used : CAPACITY;
}

static void
tokens_charge(struct counter *c, uint64_t now_ns, uint32_t cost)
{
	bool is_full = !c->is_there || c->empty_at_ns < now_ns;

	c->empty_at_ns = (is_full ? now_ns : c->empty_at_ns) + cost * TOKEN_NS;
}

static enum rl_verdict
counter_check(struct counter *c, const struct operation *o, int number, uint32_t *remaining)
{
	uint32_t used = limiter_used(c, o->now_ns);

	*remaining = CAPACITY - used;
	if (used + o->cost > CAPACITY)
		return RL_DENIED;
	if (o->kind == PEEK)
		return RL_ALLOWED;
	limiter_charge(c, o->now_ns, o->cost);
	if (!c->is_there)
		c->incarnation++;
	c->is_there = true;
	c->charged_to[number] = c->incarnation;
	c->charged_epoch[number] = c->epoch;
	*remaining -= o->cost;
	return RL_ALLOWED;
}

/* Fixed window only. */
static int
counter_refund(struct counter *c, const struct operation *o)
{
	uint32_t cost = history[o->of].cost;

	if (!c->is_there || c->charged_to[o->of] != c->incarnation ||
	    c->charged_epoch[o->of] != c->epoch || c->count < cost)
		return 0;
	c->count -= cost;
	return 1;
}

/* Let the counter do operation `number`; true if it says what the worker was told. */
static bool
agrees(struct counter *c, int number)
{
	const struct operation *o = &history[number];
	uint32_t remaining;
	int did = c->is_there;

	switch (o->kind) {
	case CHECK:
	case PEEK:
		return (counter_check(c, o, number, &remaining) == o->verdict &&
		        remaining == o->remaining) ||
		       o->ended == 0;
	case REFUND:
		return counter_refund(c, o) == o->did || o->ended == 0;
	default:
		c->is_there = false;
		return did == o->did || o->ended == 0;
	}
}

/* Can what is not in `done` yet follow, from that counter on? */
static bool
has_order(struct counter c, unsigned done)
{
	int first_end = INT32_MAX;

	for (int i = 0; i < length; i++)
		if (!(done & 1u << i) && history[i].ended > 0 && history[i].ended < first_end)
			first_end = history[i].ended;
	if (first_end == INT32_MAX)
		return true; /* all that is left has never ended, and need not have begun */
	for (int i = 0; i < length; i++) {
		struct counter next = c;
		if (!(done & 1u << i) && history[i].began < first_end && agrees(&next, i) &&
		    has_order(next, done | 1u << i))
			return true;
	}
	return false;
}

static const char *const kind_names[] = {"check", "peek", "refund", "reset"};

static void
show_history(void)
{
	for (int i = 0; i < length; i++) {
		const struct operation *o = &history[i];
		print_message("%d: %s at %d of %u, from %d to %d: verdict %d, remaining %u, "
		              "did %d, of %d\n",
		              i, kind_names[o->kind], (int)((o->now_ns - T0) / RL_SECOND), o->cost,
		              o->began, o->ended, (int)o->verdict, o->remaining, o->did, o->of);
	}
}

static void
do_operation(struct operation *o)
{
	o->began = ++instant;
	switch (o->kind) {
	case CHECK:
	case PEEK:
		o->verdict = rl_check_at(rl, rule, "k", 1, o->kind == CHECK ? o->cost : 0,
		                         o->now_ns, &o->result);
		o->remaining = o->result.remaining;
		break;
	case REFUND:
		o->did = rl_refund_at(rl, &history[o->of].result, o->now_ns);
		break;
	default:
		o->did = rl_reset(rl, rule, "k", 1);
	}
	o->ended = ++instant;
}

static bool has_refunds;

static void
work(int worker)
{
	int last = -1; /* the worker's last charge */

	(void)worker;
	for (int i = 0; i < OPERATIONS; i++) {
		struct operation *o = &history[length++];
		uint64_t what = test_below(&seed, 8);

		*o = (struct operation){.kind = CHECK, .cost = 1, .of = last};
		o->now_ns = T0 + test_below(&seed, 4) / 3 * WINDOW_NS;
		if (what == 0)
			o->kind = PEEK;
		else if (what == 1)
			o->kind = RESET;
		else if (what <= 3 && last >= 0 && has_refunds)
			o->kind = REFUND;
		else if (what == 4)
			o->cost = 2;
		if (what == 5)
			rl_sweep_at(rl, T0); /* nothing is stale: it may not show */
		do_operation(o);
		last = o->kind == CHECK && o->verdict == RL_ALLOWED ? (int)(o - history) : -1;
	}
}

static void
start(void)
{
	const struct rl_segment *s = &rl->segment;

	memset(s->table.bucket, 0,
	       s->bytes - (size_t)((unsigned char *)s->table.bucket - (unsigned char *)s->header));
	length = instant = 0;
}

static void
play(enum rl_algorithm algorithm, uint64_t first)
{
	const struct rl_options o = {.keys = 12, .bans = 1, .rules = 2};
	int longest = 0;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r",
	                                       .limit = {.algorithm = algorithm,
	                                                 .capacity = CAPACITY,
	                                                 .window_ns = WINDOW_NS}});
	for (uint64_t run = first; run < first + RUNS; run++) {
		seed = run;
		start();
		run_schedule(work);
		longest = length > longest ? length : longest;
		if (!has_order((struct counter){0}, 0)) {
			show_history();
			fail_msg("run %llu: no order of these", (unsigned long long)run);
		}
	}
	assert_int_equal(longest, HISTORY);
	rl_close(rl);
}

static void
test_fixed_window(void **state)
{
	(void)state;
	limiter_used = window_used;
	limiter_charge = window_charge;
	has_refunds = true;
	kills = false;
	play(RL_FIXED_WINDOW, 1);
	kills = true;
	play(RL_FIXED_WINDOW, RUNS);
}

static void
test_token_bucket(void **state)
{
	(void)state;
	limiter_used = tokens_used;
	limiter_charge = tokens_charge;
	has_refunds = false;
	kills = false;
	play(RL_TOKEN_BUCKET, 1);
	kills = true;
	play(RL_TOKEN_BUCKET, RUNS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_window),
		cmocka_unit_test(test_token_bucket),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
