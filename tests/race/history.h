/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HISTORY_H
#define RL_HISTORY_H

/*
 * Histories of a key or two, and the limiter without any concurrency that could have given them, or
 * not. What is told of one key has nothing to do with another: each has an order of its own. For
 * one file of a program, as schedule.h.
 */
#include <string.h>

#include "algorithm/gcra.h"
#include "at.h"
#include "rule/handle.h"
#include "schedule.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WINDOW_NS (10 * RL_SECOND)
#define CAPACITY 2
#define OPERATIONS 3 /* of a worker */
#define KEYS_MAX 2
#define HISTORY (WORKERS * OPERATIONS + KEYS_MAX)

enum kind {
	CHECK,
	PEEK,
	REFUND,
	RESET,
};

struct operation {
	enum kind kind;
	struct rl *rl;
	char key;
	bool is_usual; /* CHECK: nobody wants its charge, so it is decided all in line if that will
	                  do */
	uint64_t now_ns;
	uint32_t cost;
	int of;           /* REFUND: of which operation's charge */
	int began, ended; /* ended 0: killed in it */
	enum rl_verdict verdict;
	uint32_t remaining;
	int did; /* what a refund or a reset returned */
	struct rl_charges charges;
};

static struct operation history[HISTORY];
static int length, instant;
static struct rl *handle[WORKERS]; /* with which a worker asks */
static int rule;
static int keys = 1;     /* "k", and those behind it in the alphabet */
static bool may_be_late; /* a refund may come too late at any time */

/* The limiter without concurrency: its state, and what it says of a request. */
struct counter {
	bool is_there;
	int incarnation;
	uint64_t epoch; /* of a fixed window; of a log, the newest time */
	uint32_t count;
	uint64_t unit_ns[HISTORY * 2]; /* of a log: `count` of them */
	struct rl_level level;         /* of a bucket */
	int charged_to[HISTORY];       /* the incarnation that an operation charged */
	uint64_t charged_epoch[HISTORY];
	uint32_t charged_memory[HISTORY];
};

/* An algorithm without concurrency. */
struct limiter {
	uint32_t (*used)(const struct counter *c, uint64_t now_ns);
	void (*charge)(struct counter *c, int number, uint64_t now_ns, uint32_t cost);
	bool (*refund)(struct counter *c, int of, uint64_t now_ns, uint32_t cost);
};

static const struct limiter *limiter;

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
window_charge(struct counter *c, int number, uint64_t now_ns, uint32_t cost)
{
	uint32_t used = window_used(c, now_ns);

	c->epoch = c->charged_epoch[number] = window_epoch(c, now_ns);
	c->count = used + cost;
}

static bool
window_refund(struct counter *c, int of, uint64_t now_ns, uint32_t cost)
{
	(void)now_ns;
	if (c->charged_epoch[of] != c->epoch || c->count < cost)
		return false;
	c->count -= cost;
	return true;
}

static const struct limiter window = {window_used, window_charge, window_refund};

/* A log: each unit's time. */
static uint32_t
log_used(const struct counter *c, uint64_t now_ns)
{
	uint64_t at = c->is_there && c->epoch > now_ns ? c->epoch : now_ns;
	uint32_t used = 0;

	for (uint32_t i = 0; c->is_there && i < c->count; i++)
		used += c->unit_ns[i] + WINDOW_NS > at;
	return used;
}

static void
log_charge(struct counter *c, int number, uint64_t now_ns, uint32_t cost)
{
	if (!c->is_there)
		c->count = 0;
	if (!c->is_there || c->epoch < now_ns)
		c->epoch = now_ns;
	c->charged_epoch[number] = c->epoch;
	for (uint32_t i = 0; i < cost; i++)
		c->unit_ns[c->count++] = c->epoch;
}

/* While it is of the newest time. */
static bool
log_refund(struct counter *c, int of, uint64_t now_ns, uint32_t cost)
{
	(void)now_ns;
	if (c->charged_epoch[of] != c->epoch)
		return false;
	c->count -= cost;
	return true;
}

static const struct limiter log_of_times = {log_used, log_charge, log_refund};

/* A bucket: the arithmetic itself, which unit/decide/test_refunds and test_algorithms judge. */
static struct rl_gcra
gcra(void)
{
	return rl_gcra_make(WINDOW_NS, CAPACITY, CAPACITY);
}

static struct rl_level
level_of(const struct counter *c)
{
	return c->is_there ? c->level : (struct rl_level){0};
}

static uint32_t
bucket_used(const struct counter *c, uint64_t now_ns)
{
	struct rl_gcra g = gcra();
	struct rl_level level = level_of(c);

	return CAPACITY - rl_gcra_remaining(&g, &level, now_ns);
}

static void
bucket_charge(struct counter *c, int number, uint64_t now_ns, uint32_t cost)
{
	struct rl_gcra g = gcra();
	struct rl_level level = level_of(c);
	struct rl_gcra_charge charge = {.memory = 0};

	assert_true(rl_gcra_take(&g, &level, now_ns, cost, &charge));
	c->level = charge.after;
	c->charged_epoch[number] = charge.after.ns;
	c->charged_memory[number] = charge.memory;
}

static bool
bucket_refund(struct counter *c, int of, uint64_t now_ns, uint32_t cost)
{
	struct rl_gcra g = gcra();
	struct rl_level next;

	if (!rl_gcra_give(&g, &c->level, c->charged_epoch[of], c->charged_memory[of], now_ns, cost,
	                  &next))
		return false;
	c->level = next;
	return true;
}

static const struct limiter bucket = {bucket_used, bucket_charge, bucket_refund};

static enum rl_verdict
counter_check(struct counter *c, const struct operation *o, int number, uint32_t *remaining)
{
	uint32_t used = limiter->used(c, o->now_ns);

	*remaining = CAPACITY - used;
	if (used + o->cost > CAPACITY)
		return RL_DENIED;
	if (o->kind == PEEK)
		return RL_ALLOWED;
	limiter->charge(c, number, o->now_ns, o->cost);
	if (!c->is_there)
		c->incarnation++;
	c->is_there = true;
	c->charged_to[number] = c->incarnation;
	*remaining -= o->cost;
	return RL_ALLOWED;
}

static int
counter_refund(struct counter *c, const struct operation *o)
{
	return c->is_there && c->charged_to[o->of] == c->incarnation &&
	       limiter->refund(c, o->of, o->now_ns, history[o->of].cost);
}

static bool
agrees(struct counter *c, const struct operation *o)
{
	uint32_t remaining;
	int did = c->is_there;

	switch (o->kind) {
	case CHECK:
	case PEEK:
		return (counter_check(c, o, (int)(o - history), &remaining) == o->verdict &&
		        remaining == o->remaining) ||
		       o->ended == 0;
	case REFUND:
		return (may_be_late && o->ended > 0 && o->did == 0) ||
		       counter_refund(c, o) == o->did || o->ended == 0;
	default:
		c->is_there = false;
		return did == o->did || o->ended == 0;
	}
}

#define ORDER_STATE struct counter
#include "order.h"

static const char *const kind_names[] = {"check", "peek", "refund", "reset"};

static void
show_history(void)
{
	for (int i = 0; i < length; i++) {
		const struct operation *o = &history[i];
		print_message("%d: %s %c at %d of %u, from %d to %d: verdict %d, remaining %u, "
		              "did %d, of %d\n",
		              i, kind_names[o->kind], o->key, (int)((o->now_ns - T0) / RL_SECOND),
		              o->cost, o->began, o->ended, (int)o->verdict, o->remaining, o->did,
		              o->of);
	}
}

static void
do_operation(struct operation *o)
{
	struct rl_result r;

	o->began = ++instant;
	switch (o->kind) {
	case CHECK:
		o->verdict = test_check_at(o->rl, rule, &o->key, 1, o->cost, o->now_ns, &r,
		                           o->is_usual ? NULL : &o->charges);
		o->remaining = r.remaining;
		break;
	case PEEK:
		o->verdict = o->is_usual ? at_peek(o->rl, rule, &o->key, 1, o->now_ns, &r)
		                         : test_check_at(o->rl, rule, &o->key, 1, 0, o->now_ns, &r,
		                                         &o->charges);
		o->remaining = r.remaining;
		break;
	case REFUND:
		o->did = at_refund(o->rl, &history[o->of].charges, o->now_ns);
		break;
	default:
		o->did = rl_reset(o->rl, rule, &o->key, 1);
	}
	o->ended = ++instant;
}

static bool keeps_charges; /* who judges needs to know what each was charged to */

/* The next operation of a worker, whose last charge was `last`; returns what that is then. */
static int
operate_on(int worker, char key, int last, uint64_t what)
{
	struct operation *o = &history[length++];

	*o = (struct operation){
		.kind = CHECK, .rl = handle[worker], .key = key, .cost = 1, .of = last};
	o->now_ns = T0 + passed_ns;
	if (what == 0)
		o->kind = PEEK;
	else if (what == 1)
		o->kind = RESET;
	else if (what <= 3 && last >= 0)
		o->kind = REFUND;
	else if (what == 4)
		o->cost = 2;
	o->is_usual = (what >= 6 && !keeps_charges) || (what == 0 && length % 2 == 0);
	if (o->kind == REFUND)
		o->key = history[last].key;
	do_operation(o);
	return o->kind == CHECK && o->verdict == RL_ALLOWED && !o->is_usual ? (int)(o - history)
	                                                                    : -1;
}

static int
operate(int worker, int last, uint64_t what)
{
	uint64_t key = keys > 1 ? test_below(&seed, (uint64_t)keys) : 0;

	return operate_on(worker, (char)('k' + key), last, what);
}

static void
judge(uint64_t run)
{
	for (int key = 'k'; key < 'k' + keys; key++) {
		unsigned others = 0;
		for (int i = 0; i < length; i++)
			others |= (unsigned)(history[i].key != key) << i;
		if (!has_order((struct counter){0}, others)) {
			show_history();
			fail_msg("run %llu: no order of these of %c", (unsigned long long)run, key);
		}
	}
}

#endif
