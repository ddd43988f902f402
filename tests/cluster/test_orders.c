/* SPDX-License-Identifier: BSD-2-Clause */
/* When orders for all hosts are read: within 3 s, also where the answer to one question is lost. */

#include <errno.h>
#include <string.h>

#include "../../rld/cluster/orders.h"
#include "testing.h"

#define TIMEOUT (150 * RL_MILLISECOND) /* rl.json's own */

static uint64_t now_ns;
static store_answer *answer;
static void *answer_arg;
static unsigned asked;

/* The store, as the orders see it: it keeps whom to answer. */
int
store_ask(struct store *s, const struct store_question *q, uint64_t at_ns)
{
	(void)s;
	(void)at_ns;
	answer = q->answer;
	answer_arg = q->arg;
	asked++;
	return 0;
}

const char *
store_script(const struct store *s, unsigned i)
{
	(void)s;
	(void)i;
	return "";
}

/* No order is carried out here. */
int
host_shares_reset(struct host_shares *l, int rule, const void *key, size_t key_len)
{
	(void)l;
	(void)rule;
	(void)key;
	(void)key_len;
	return -EINVAL;
}

int
host_shares_reset_many(struct host_shares *l, int rule, const struct rl_pattern *pattern)
{
	(void)l;
	(void)rule;
	(void)pattern;
	return -EINVAL;
}

/* Until it asks again; how long that takes. */
static uint64_t
wait_for_question(struct orders *o, uint64_t random)
{
	uint64_t begin_ns = now_ns;
	unsigned before = asked;

	while (asked == before) {
		now_ns += RL_MILLISECOND;
		assert_true(now_ns < begin_ns + 10 * RL_SECOND);
		orders_run(o, now_ns, random);
	}
	return now_ns - begin_ns;
}

static void
answer_nothing_new(void)
{
	struct store_value time = {.type = STORE_INTEGER, .integer = 1},
			   top = {.type = STORE_INTEGER}, *items[] = {&time, &top},
			   all = {.type = STORE_ARRAY, .items = items, .count = 2};

	answer(answer_arg, 0, &all, now_ns);
}

static void
test_a_lost_answer_costs_no_turn(void **state)
{
	(void)state;
	for (uint64_t random = 0; random < 2 * RL_SECOND; random += 7 * RL_MILLISECOND) {
		struct orders o = {0};
		uint64_t between_ns, lost_ns;

		now_ns = 100 * RL_SECOND;
		wait_for_question(&o, random);
		answer_nothing_new();
		between_ns = wait_for_question(&o, random);
		assert_true(between_ns >= RL_SECOND);
		now_ns += TIMEOUT;
		answer(answer_arg, 0, NULL, now_ns);
		lost_ns = TIMEOUT + wait_for_question(&o, random);
		/* One that was given right after the last good answer. */
		assert_true(between_ns + lost_ns < 3 * RL_SECOND);
		answer_nothing_new();
		assert_true(wait_for_question(&o, random) >= RL_SECOND); /* and no more often */
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lost_answer_costs_no_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
