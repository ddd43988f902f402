/* SPDX-License-Identifier: BSD-2-Clause */
/* The scenarios in threads on one mapping, for ThreadSanitizer. */
#include <pthread.h>

#include "scenario.h"
#include "testing.h"

struct worker {
	const struct scenario *scenario;
	struct scenario_run *run;
	struct rl *rl;
	int index;
	int result;
};

static void *
work(void *arg)
{
	struct worker *w = arg;

	w->result = w->scenario->work(w->run, w->rl, w->index);
	return NULL;
}

static void
launch(const struct scenario *s, struct scenario_run *run, struct rl *rl)
{
	struct worker workers[SCENARIO_WORKERS];
	pthread_t threads[SCENARIO_WORKERS];

	for (int i = 0; i < run->workers; i++) {
		workers[i] = (struct worker){.scenario = s, .run = run, .rl = rl, .index = i};
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < run->workers; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].result, 0);
	}
}

static void
test_scenarios(void **state)
{
	static struct scenario_run run;

	(void)state;
	for (int i = 0; i < scenario_count; i++) {
		print_message("           %s\n", scenarios[i].name);
		scenario_play(&scenarios[i], &run, launch);
	}
}

/* Threads define and use the same rules for the first time, all at once. */
static void *
define_and_check(void *arg)
{
	struct rl *rl = arg;

	for (int i = 0; i < 60; i++) {
		char name[] = {'r', (char)('A' + i / 10), (char)('0' + i % 10), '\0'};
		int rule = rl_define(rl, &(struct rl_rule){.name = name,
		                                           .limit.capacity = 1000,
		                                           .limit.window_ns = RL_SECOND,
		                                           .limit.granularity = 2});
		if (rule < 0 || rl_find(rl, name) != rule ||
		    rl_check(rl, rule, "k", 1, 1, NULL) != RL_ALLOWED)
			return arg;
	}
	return NULL;
}

static void
test_defining_at_once(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		struct rl *rl = test_private(100);
		pthread_t threads[SCENARIO_WORKERS];
		struct rl_rule_info info;
		void *failed;
		for (int i = 0; i < SCENARIO_WORKERS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, define_and_check, rl),
			                 0);
		for (int i = 0; i < SCENARIO_WORKERS; i++) {
			pthread_join(threads[i], &failed);
			assert_null(failed);
		}
		assert_int_equal(rl_rule_info(rl, 59, &info), 1);
		assert_int_equal(rl_rule_info(rl, 60, &info), 0);
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_defining_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
