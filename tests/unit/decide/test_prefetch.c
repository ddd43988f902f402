/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Units that a process prefetches. Each handle has a store of its own, so handles of one segment
 * stand for processes here; one whose store is emptied is a process that was killed.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "at.h"
#include "audit.h"
#include "decide/prefetch.h"
#include "testing.h"

#define ITEM(of, price, tier) \
	((struct rl_item){    \
		.rule = (of), .key = "k", .key_len = 1, .cost = (price), .capacity = (tier)})
#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WINDOW (8 * RL_SECOND)
#define PREFETCH 10
#define CAPACITY 20000 /* more than a reserve for 1,024 CPUs */
#define HANDLES 4

static struct rl *handle[HANDLES];
static int rule;

static struct rl *
attach(void)
{
	struct rl *rl;

	assert_int_equal(
		rl_open(test_segment_name(), &(struct rl_options){.keys = 1000, .ring = 64}, &rl),
		0);
	return rl;
}

static int
define(uint32_t capacity, uint16_t prefetch)
{
	return rl_define(handle[0], &(struct rl_rule){.name = "r",
	                                              .limit = {.algorithm = RL_FIXED_WINDOW,
	                                                        .capacity = capacity,
	                                                        .window_ns = WINDOW,
	                                                        .prefetch = prefetch}});
}

static int
begin(void **state)
{
	(void)state;
	for (int i = 0; i < HANDLES; i++)
		handle[i] = attach();
	rule = define(CAPACITY, PREFETCH);
	assert_true(rule >= 0);
	return 0;
}

static int
end(void **state)
{
	for (int i = 0; i < HANDLES; i++)
		rl_close(handle[i]);
	return test_unlink(state);
}

static bool
ask_at(int i, uint64_t cost, uint64_t now_ns)
{
	return at_check(handle[i], rule, "k", 1, cost, now_ns, NULL) == RL_ALLOWED;
}

static bool
ask(int i)
{
	return ask_at(i, 1, T0);
}

static uint32_t
used(void)
{
	struct rl_result r;

	at_peek(handle[0], rule, "k", 1, T0, &r);
	return r.limit - r.remaining;
}

/* A key has its slot and its sub-bucket first; what follows prefetches units. */
static void
take(int i)
{
	assert_true(ask(0) && ask(i));
}

/* How much all admit, if they ask one after the other until none is allowed. */
static uint32_t
drain(uint64_t now_ns)
{
	uint32_t admitted = 0;
	int denied = 0;

	for (int i = 0; denied < HANDLES; i = (i + 1) % HANDLES) {
		bool is_allowed = ask_at(i, 1, now_ns);
		admitted += is_allowed;
		denied = is_allowed ? 0 : denied + 1;
	}
	return admitted;
}

static void
test_taken_and_spent(void **state)
{
	(void)state;
	take(1);
	assert_int_equal(used(), 1 + PREFETCH);
	for (int i = 1; i < PREFETCH; i++)
		assert_true(ask(1));
	assert_int_equal(used(), 1 + PREFETCH);
	assert_true(ask(1));
	assert_int_equal(used(), 1 + 2 * PREFETCH);
	assert_int_equal(test_counter(handle[0], rule, RL_COUNT_allowed), 2 + PREFETCH);
}

/* It is counted in the key's own sub-bucket, of which nothing can be spent at its time. */
static void
test_a_late_request_takes_none(void **state)
{
	(void)state;
	assert_true(ask_at(0, 1, T0 + WINDOW) && ask(1));
	assert_int_equal(used(), 2);
}

static void
test_as_exact_as_without_at_the_end(void **state)
{
	(void)state;
	assert_int_equal(drain(T0), CAPACITY);
	assert_int_equal(test_counter(handle[0], rule, RL_COUNT_allowed), CAPACITY);
	assert_int_equal(test_counter(handle[0], rule, RL_COUNT_denied), HANDLES);
}

/* Who has taken and does not spend. */
static void
test_idle_processes_cost_so_much(void **state)
{
	uint32_t admitted = HANDLES;

	(void)state;
	assert_true(ask(0));
	for (int i = 1; i < HANDLES; i++)
		take(i);
	admitted += HANDLES - 1;
	while (ask(0))
		admitted++;
	assert_int_equal(admitted, CAPACITY - (HANDLES - 1) * (PREFETCH - 1));
	assert_int_equal(drain(T0), (HANDLES - 1) * (PREFETCH - 1));
}

static void
test_given_back(void **state)
{
	(void)state;
	take(1);
	assert_int_equal(rl_prefetch_return(handle[1]), PREFETCH - 1);
	assert_int_equal(used(), 2);
	assert_int_equal(rl_prefetch_return(handle[1]), 0);
	assert_true(ask(1));
	assert_int_equal(used(), 2 + PREFETCH);
	rl_close(handle[1]);
	assert_int_equal(used(), 3);
	handle[1] = attach();
}

static void
test_a_child_inherits_none(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	take(1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (rl_prefetch_return(handle[1]) != 0 || !ask(1) || used() != 1 + 2 * PREFETCH)
			_exit(1);
		_exit(rl_prefetch_return(handle[1]) == PREFETCH - 1 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(used(), 2 + PREFETCH);
	assert_int_equal(rl_prefetch_return(handle[1]), PREFETCH - 1);
	assert_int_equal(used(), 3);
}

/* What it held is lost until the window is over, and no more than that. */
static void
test_a_killed_process(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	assert_true(ask(0));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (ask(1))
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(used(), 1 + PREFETCH);
	assert_int_equal(drain(T0), CAPACITY - 1 - PREFETCH);
	assert_int_equal(drain(T0 + WINDOW), CAPACITY);
}

static void
test_a_ban_holds_at_once(void **state)
{
	const struct rl_pattern k = {.key = "k", .key_len = 1}, other = {.key = "o", .key_len = 1};
	const int scopes[] = {rule, RL_ANY_RULE};
	struct rl_result r;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		take(1);
		assert_int_equal(rl_ban(handle[2], scopes[i], &k, RL_NEVER_NS), 0);
		assert_int_equal(at_check(handle[1], rule, "k", 1, 1, T0, &r), RL_DENIED);
		assert_int_equal(r.reason, RL_BY_BAN);
		assert_int_equal(rl_unban(handle[2], scopes[i], &k), 1);
		assert_true(ask(1));
		/* By now the length is known, and another ban of it says nothing new. */
		assert_int_equal(rl_ban(handle[2], scopes[i], &other, RL_NEVER_NS), 0);
		assert_true(ask(1));
		assert_int_equal(rl_ban(handle[2], scopes[i], &k, RL_NEVER_NS), 0);
		assert_int_equal(at_check(handle[1], rule, "k", 1, 1, T0, &r), RL_DENIED);
		assert_int_equal(rl_unban(handle[2], scopes[i], &k), 1);
	}
}

/* Units are taken where others are banned, too. */
static void
test_beside_a_ban(void **state)
{
	const struct rl_pattern other = {.key = "o", .key_len = 1};

	(void)state;
	assert_int_equal(rl_ban(handle[2], rule, &other, RL_NEVER_NS), 0);
	take(1);
	assert_int_equal(used(), 1 + PREFETCH);
	for (int i = 1; i < PREFETCH; i++)
		assert_true(ask(1));
	assert_int_equal(used(), 1 + PREFETCH);
	assert_int_equal(test_counter(handle[0], rule, RL_COUNT_allowed), 1 + PREFETCH);
}

static void
test_a_reset_ends_them(void **state)
{
	uint32_t admitted = 0;

	(void)state;
	take(1);
	assert_int_equal(rl_reset(handle[2], rule, "k", 1), 1);
	while (ask(2))
		admitted++;
	assert_int_equal(admitted, CAPACITY);
	assert_false(ask(1));
}

static void
test_a_changed_capacity_ends_them(void **state)
{
	(void)state;
	take(1);
	for (int i = 0; i < 10 * PREFETCH; i++)
		assert_true(ask(2));
	assert_int_equal(define(16 * PREFETCH / 2, PREFETCH / 2), rule);
	assert_false(ask(1));
	assert_int_equal(define(CAPACITY, PREFETCH), rule);
	take(1);
	assert_int_equal(define(12, 0), rule);
	assert_false(ask(1));
}

static void
test_a_sub_bucket_ends_them(void **state)
{
	uint32_t admitted = 0;

	(void)state;
	take(1);
	while (ask_at(2, 1, T0 + WINDOW))
		admitted++;
	assert_int_equal(admitted, CAPACITY);
	assert_false(ask_at(1, 1, T0 + WINDOW));
	assert_int_equal(rl_prefetch_return(handle[1]), 0);
}

static void
test_a_refund_of_what_was_spent(void **state)
{
	struct rl_charges c;
	struct rl_result r;

	(void)state;
	take(1);
	assert_int_equal(test_check_at(handle[1], rule, "k", 1, 3, T0, &r, &c), RL_ALLOWED);
	assert_int_equal(c.count, 1);
	assert_int_equal(c.charge[0].cost, 3);
	assert_int_equal(r.limit, CAPACITY);
	assert_int_equal(r.remaining, CAPACITY - 1 - PREFETCH);
	assert_true(r.reset_after_ns > 0 && r.reset_after_ns <= WINDOW);
	assert_int_equal(at_refund(handle[1], &c, T0), 1);
	assert_int_equal(used(), 1 + PREFETCH - 3);
	/* The request that took units is given back, and they are not. */
	assert_int_equal(rl_prefetch_return(handle[1]), PREFETCH - 1 - 3);
	assert_int_equal(test_check_at(handle[1], rule, "k", 1, 2, T0, NULL, &c), RL_ALLOWED);
	assert_int_equal(c.charge[0].cost, 2);
	assert_int_equal(at_refund(handle[1], &c, T0), 1);
	assert_int_equal(rl_prefetch_return(handle[1]), PREFETCH - 2);
	assert_int_equal(used(), 2);
}

/* No cost finds units that are too few for it: they are filled up, or it is charged exactly. */
/* Where each CPU's process could not take as many, nobody takes any. */
static void
test_none_near_the_end(void **state)
{
	uint32_t reserve = handle[0]->segment.geometry.stripes * PREFETCH;
	struct rl_item item = ITEM(rule, CAPACITY - PREFETCH - reserve, CAPACITY);

	(void)state;
	assert_int_equal(at_check_item(handle[0], &item, T0, NULL), RL_ALLOWED);
	assert_true(ask(1));
	assert_int_equal(rl_prefetch_return(handle[1]), PREFETCH - 1);
	assert_true(ask(1) && ask(1));
	assert_int_equal(used(), CAPACITY - PREFETCH - reserve + 3);
	assert_int_equal(rl_prefetch_return(handle[1]), 0);
}

static void
test_costs(void **state)
{
	(void)state;
	take(1);
	assert_true(ask_at(1, PREFETCH, T0));
	assert_int_equal(used(), 1 + 1 + PREFETCH);
	assert_int_equal(rl_prefetch_return(handle[1]), 0);
	assert_true(ask_at(1, PREFETCH + 1, T0));
	assert_int_equal(used(), 1 + 1 + PREFETCH + PREFETCH + 1);
	assert_false(ask_at(1, CAPACITY + 1, T0));
	assert_int_equal(at_check(handle[1], rule, "k", 1, CAPACITY + 1, T0, NULL), RL_NEVER);
}

static void
test_what_takes_none(void **state)
{
	struct rl_item item = ITEM(rule, 1, CAPACITY), both[2] = {ITEM(rule, 1, 0)};
	int plain = test_rule(handle[0], "plain", 100, WINDOW, 0, false);

	(void)state;
	take(1);
	assert_int_equal(rl_prefetch_return(handle[1]), PREFETCH - 1);
	assert_int_equal(at_check_item(handle[1], &item, T0, NULL), RL_ALLOWED);
	assert_int_equal(used(), 3);
	both[1] = ITEM(plain, 1, 0);
	assert_int_equal(at_check_all(handle[1], both, 2, T0, NULL, NULL), RL_ALLOWED);
	assert_int_equal(used(), 4);
	assert_int_equal(at_peek(handle[1], rule, "k", 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(used(), 4);
}

static void
test_what_is_refused(void **state)
{
	static const struct {
		struct rl_limit limit;
		int error;
	} all[] = {
		{{.capacity = 1600, .window_ns = WINDOW, .prefetch = 100}, 0},
		{{.capacity = 1599, .window_ns = WINDOW, .prefetch = 100}, -EINVAL},
		{{.capacity = 9600, .window_ns = WINDOW, .granularity = 6, .prefetch = 100}, 0},
		{{.capacity = 9599, .window_ns = WINDOW, .granularity = 6, .prefetch = 100},
	         -EINVAL},
		{{.capacity = RL_CAPACITY_MAX, .window_ns = WINDOW, .prefetch = RL_PREFETCH_MAX},
	         0},
		{{.capacity = RL_CAPACITY_MAX,
	          .window_ns = WINDOW,
	          .prefetch = RL_PREFETCH_MAX + 1},
	         -EINVAL},
		{{.capacity = 1600, .window_ns = WINDOW, .prefetch = 100, .shadow = 1}, -EINVAL},
		{{.algorithm = RL_SLIDING_LOG, .capacity = 30, .window_ns = WINDOW, .prefetch = 1},
	         -EINVAL},
		{{.algorithm = RL_TOKEN_BUCKET,
	          .capacity = 1600,
	          .window_ns = WINDOW,
	          .prefetch = 1},
	         -EINVAL},
		{{.algorithm = RL_LEAKY_BUCKET,
	          .capacity = 1600,
	          .window_ns = WINDOW,
	          .prefetch = 1},
	         -EINVAL},
	};
	struct rl_rule several = {
		.name = "several", .limit = all[0].limit, .more = &all[2].limit, .more_count = 1};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		const struct rl_rule one = {.name = "one", .limit = all[i].limit};
		int made = rl_define(handle[0], &one);
		assert_int_equal(made < 0 ? made : 0, all[i].error);
	}
	assert_int_equal(rl_define(handle[0], &several), -EINVAL);
}

static void
test_told(void **state)
{
	struct rl_rule_info info;

	(void)state;
	assert_int_equal(rl_rule_info(handle[0], 0, &info), 1);
	assert_int_equal(info.limits[0].prefetch, PREFETCH);
	assert_int_equal(define(CAPACITY, 0), rule);
	assert_int_equal(rl_rule_info(handle[0], 0, &info), 1);
	assert_int_equal(info.limits[0].prefetch, 0);
}

/* A configuration sets it, changes it, and knows that it is as it was. */
static void
test_configured(void **state)
{
	struct rl_config_rule c = test_config_rule("c", CAPACITY, WINDOW);
	struct rl_config_outcome outcome;
	unsigned effects;

	(void)state;
	c.rule.limit.prefetch = 3;
	assert_int_equal(rl_configure(handle[0], &c, 1, 0, &effects, NULL), 0);
	assert_int_equal(rl_configure(handle[0], &c, 1, 0, &effects, &outcome), 0);
	assert_int_equal(effects, 0);
	assert_false(outcome.is_changed);
	rule = rl_find(handle[0], "c");
	take(1);
	assert_int_equal(rl_prefetch_return(handle[1]), 2);
	c.rule.limit.prefetch = 4;
	assert_int_equal(rl_configure(handle[0], &c, 1, 0, &effects, NULL), 0);
	assert_int_equal(effects, RL_EFFECT_CHANGED);
	assert_true(ask(1));
	assert_int_equal(rl_prefetch_return(handle[1]), 3);
	c.rule.limit.prefetch = 0;
	assert_int_equal(rl_configure(handle[0], &c, 1, 0, &effects, NULL), 0);
	assert_true(ask(1));
	assert_int_equal(rl_prefetch_return(handle[1]), 0);
}

static void
test_a_handle_that_reads(void **state)
{
	const struct rl_options o = {.flags = RL_OPEN_READONLY};
	struct rl *rl;

	(void)state;
	take(1);
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_UNDECIDED);
	assert_int_equal(at_peek(rl, rule, "k", 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(rl_prefetch_return(rl), -EROFS);
	rl_close(rl);
}

/* More keys than a store has entries: what is given back is what was not admitted, key by key. */
static void
test_many_keys(void **state)
{
	enum {
		KEYS = 300
	};
	uint32_t admitted[KEYS] = {0};
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < 30000; i++) {
		uint64_t key = test_below(&seed, test_below(&seed, 2) ? KEYS : 5), cost;
		cost = 1 + test_below(&seed, PREFETCH + 2);
		if (at_check(handle[i % HANDLES], rule, &key, sizeof key, cost, T0, NULL) ==
		    RL_ALLOWED)
			admitted[key] += (uint32_t)cost;
	}
	for (int i = 0; i < HANDLES; i++)
		rl_prefetch_return(handle[i]);
	for (uint64_t key = 0; key < KEYS; key++) {
		struct rl_result r;
		at_peek(handle[0], rule, &key, sizeof key, T0, &r);
		assert_true(admitted[key] <= CAPACITY);
		assert_int_equal(r.limit - r.remaining, admitted[key]);
	}
}

/* A history of one key, and beside it what was admitted, told from nothing but the answers. */

#define PARTS_MAX 4
#define EPOCHS 4000

static struct story {
	uint64_t seed, now_ns, width_ns;
	uint32_t parts; /* closed sub-buckets that count */
	uint32_t capacity;
	uint16_t prefetch;
	uint32_t admitted[EPOCHS]; /* in each sub-bucket since T0 */
	struct rl_charges last;
} y;

static uint64_t
epoch_at(uint64_t now_ns)
{
	return (now_ns - T0) / y.width_ns;
}

static void
define_story(void)
{
	const struct rl_limit limit = {.algorithm =
	                                       y.parts > 0 ? RL_SLIDING_WINDOW : RL_FIXED_WINDOW,
	                               .capacity = y.capacity,
	                               .window_ns = (y.parts ? y.parts : 1) * y.width_ns,
	                               .granularity = y.parts,
	                               .hard = y.parts > 0,
	                               .prefetch = y.prefetch};

	rule = rl_define(handle[0], &(struct rl_rule){.name = "story", .limit = limit});
	assert_true(rule >= 0);
}

/* Never more than the capacity, as it is at that moment, in the window of any admission. */
static void
judge(uint64_t epoch, uint64_t run)
{
	uint64_t sum = 0;

	for (uint64_t x = epoch >= y.parts ? epoch - y.parts : 0; x <= epoch; x++)
		sum += y.admitted[x];
	if (sum > y.capacity)
		fail_msg("run %d: %d admitted of %u", (int)run, (int)sum, y.capacity);
}

static void
request(int i, uint64_t run)
{
	uint64_t cost = test_below(&y.seed, 8) ? 1 : 1 + test_below(&y.seed, y.prefetch + 3), e;

	if (test_check_at(handle[i], rule, "k", 1, cost, y.now_ns, NULL, &y.last) != RL_ALLOWED)
		return;
	assert_int_equal(y.last.count, 1);
	e = y.last.charge[0].epoch - T0 / y.width_ns;
	assert_int_equal(e, epoch_at(y.now_ns));
	y.admitted[e] += (uint32_t)cost;
	judge(e, run);
}

static void
refund(int i)
{
	uint64_t e = y.last.count ? y.last.charge[0].epoch - T0 / y.width_ns : 0;
	uint32_t cost = y.last.count ? y.last.charge[0].cost : 0;

	if (at_refund(handle[i], &y.last, y.now_ns) == 1)
		y.admitted[e] -= cost;
}

static void
step(uint64_t run)
{
	int i = (int)test_below(&y.seed, HANDLES);

	switch (test_below(&y.seed, 400)) {
	case 0: /* killed */
		memset(handle[i]->handle->prefetched, 0, sizeof *handle[i]->handle->prefetched);
		break;
	case 1:
		rl_close(handle[i]);
		handle[i] = attach();
		break;
	case 2:
		rl_prefetch_return(handle[i]);
		break;
	case 3:
		if (rl_reset(handle[i], rule, "k", 1) == 1)
			memset(y.admitted, 0, sizeof y.admitted);
		break;
	case 4:
		y.capacity = 16 * y.prefetch * (y.parts ? y.parts : 1) +
		             (uint32_t)test_below(&y.seed, 300);
		define_story();
		break;
	case 5:
	case 6:
	case 7:
		y.now_ns += test_below(&y.seed, 2 * y.width_ns);
		break;
	case 8:
	case 9:
	case 10:
		refund(i);
		break;
	default:
		request(i, run);
	}
}

static void
test_never_above(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= test_scaled(200); run++) {
		memset(&y, 0, sizeof y);
		y.seed = run;
		y.parts = (uint32_t)test_below(&y.seed, PARTS_MAX);
		y.width_ns = RL_SECOND;
		y.prefetch = (uint16_t)(1 + test_below(&y.seed, 20));
		y.capacity = 16 * y.prefetch * (y.parts ? y.parts : 1) + 100;
		y.now_ns = T0;
		define_story();
		for (int i = 0; i < 3000; i++)
			step(run);
		for (int i = 0; i < HANDLES; i++)
			memset(handle[i]->handle->prefetched, 0,
			       sizeof *handle[i]->handle->prefetched);
		rl_reset(handle[0], rule, "k", 1);
	}
	audit_assert_whole(handle[0]);
}

struct crowd {
	uint64_t allowed;
};

static void *
hammer(void *arg)
{
	struct crowd *c = arg;
	int denied = 0;

	for (int i = 0; denied < 3; i++) {
		if (i % 64 == 63)
			rl_prefetch_return(handle[1]);
		if (ask(1))
			rl_atomic_add(&c->allowed, 1);
		else
			denied++;
	}
	return NULL;
}

/* Threads share the store of their handle. */
static void
test_threads(void **state)
{
	pthread_t threads[4];
	struct crowd c = {0};

	(void)state;
	assert_int_equal(define(200000, 1000), rule);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, &c), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	rl_prefetch_return(handle[1]);
	assert_int_equal(used(), c.allowed);
	assert_int_equal(c.allowed + drain(T0), 200000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void
resize(uint32_t keys)
{
	struct rl_moving moving = {0};

	assert_int_equal(rl_resize(handle[0], &(struct rl_resize){.keys = keys}, 0), 0);
	assert_int_equal(rl_move_slots_at(handle[0], 0, UINT64_MAX, T0, &moving), 0);
	assert_int_equal(rl_move_end(handle[0]), 1);
}

/*
 * What was prefetched in a table is nothing in the next one, however small that is, and is counted
 * as lost.
 */
static void
test_another_table(void **state)
{
	(void)state;
	resize(300000);
	assert_true(ask(1));
	assert_true(ask(1)); /* which takes more than it spends */
	assert_int_equal(test_counter(handle[0], rule, RL_COUNT_prefetch_void), 0);
	resize(20);
	assert_true(ask(1));
	assert_int_equal(test_counter(handle[0], rule, RL_COUNT_prefetch_void), PREFETCH - 1);
	resize(20); /* where the key has the same slot, and the same tag */
	assert_true(ask(1));
	assert_int_equal(test_counter(handle[0], rule, RL_COUNT_prefetch_void), 2 * (PREFETCH - 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_taken_and_spent),
		TEST(test_a_late_request_takes_none),
		TEST(test_as_exact_as_without_at_the_end),
		TEST(test_idle_processes_cost_so_much),
		TEST(test_given_back),
		TEST(test_a_child_inherits_none),
		TEST(test_a_killed_process),
		TEST(test_a_ban_holds_at_once),
		TEST(test_beside_a_ban),
		TEST(test_a_reset_ends_them),
		TEST(test_a_changed_capacity_ends_them),
		TEST(test_a_sub_bucket_ends_them),
		TEST(test_a_refund_of_what_was_spent),
		TEST(test_none_near_the_end),
		TEST(test_costs),
		TEST(test_what_takes_none),
		TEST(test_what_is_refused),
		TEST(test_told),
		TEST(test_configured),
		TEST(test_a_handle_that_reads),
		TEST(test_many_keys),
		TEST(test_never_above),
		TEST(test_threads),
		TEST(test_another_table),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
