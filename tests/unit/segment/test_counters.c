/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that has one counter more, at the end of the list, shares segments with this one. It is
 * built beside this one, from the same source, and loaded from its shared object. It counts
 * exemptions by its last counter, of which this library knows nothing.
 */
#include <dlfcn.h>
#include <string.h>

#include "testing.h"

#define NEWER "build/v/newer/librl.so.1"

enum {
	NEWEST = RL_COUNTERS,
	COUNTERS
};

/* The calls of one library. */
struct library {
	int (*open)(const char *name, const struct rl_options *options, struct rl **rl);
	void (*close)(struct rl *rl);
	int (*define)(struct rl *rl, const struct rl_rule *rule);
	int (*allow)(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t until_ns);
	enum rl_verdict (*check)(struct rl *rl, int rule, const void *key, size_t key_len,
	                         uint64_t cost, struct rl_result *result);
	int (*stats)(const struct rl *rl, int id, uint64_t *counters, size_t count);
	const struct rl_counter_info *(*info)(int counter);
};

static const struct rl_options options = {.keys = 50, .rules = 2, .bans = 4};
static const struct library older = {
	rl_open, rl_close, rl_define, rl_allow, rl_check, rl_stats, rl_counter_info,
};
static struct library newer;

/* As POSIX has it: what dlsym() returns is put where a pointer to a function is to be. */
static void
find(void *library, const char *name, void *call)
{
	void *symbol = dlsym(library, name);

	assert_non_null(symbol);
	memcpy(call, &symbol, sizeof symbol);
}

static int
load_newer(void **state)
{
	void *library = dlopen(NEWER, RTLD_NOW | RTLD_LOCAL);

	(void)state;
	if (!library)
		fail_msg("%s", dlerror());
	find(library, "rl_open", &newer.open);
	find(library, "rl_close", &newer.close);
	find(library, "rl_define", &newer.define);
	find(library, "rl_allow", &newer.allow);
	find(library, "rl_check", &newer.check);
	find(library, "rl_stats", &newer.stats);
	find(library, "rl_counter_info", &newer.info);
	return 0;
}

static void
test_it_has_one_counter_more(void **state)
{
	(void)state;
	assert_null(older.info(NEWEST));
	assert_string_equal(newer.info(NEWEST)->name, "exempted");
	assert_null(newer.info(COUNTERS));
	for (int i = 0; i < RL_COUNTERS; i++)
		if (i != RL_COUNT_exempted)
			assert_string_equal(newer.info(i)->name, older.info(i)->name);
}

/* What a library reads of the rule, from the only handle that is open or beside others. */
static void
read_counters(const struct library *l, struct rl *rl, uint64_t counters[COUNTERS])
{
	memset(counters, 0xff, COUNTERS * sizeof counters[0]);
	assert_int_equal(l->stats(rl, 0, counters, COUNTERS), 0);
}

/* One decision on a key that is charged, and one on a key that is exempt. */
static void
decide(const struct library *l, struct rl *rl)
{
	assert_int_equal(l->check(rl, 0, "charged", 7, 1, NULL), RL_ALLOWED);
	assert_int_equal(l->check(rl, 0, "exempt", 6, 1, NULL), RL_ALLOWED);
}

/*
 * One library makes the segment, the other takes part. What both know they count together; what
 * one alone knows is nothing to the other, and nothing of it is lost.
 */
static void
share(const struct library *maker, const struct library *guest)
{
	const struct rl_pattern exempt = {.key = "exempt", .key_len = 6};
	const struct rl_rule rule = {.name = "r",
	                             .limit = {.capacity = 5, .window_ns = 3600 * RL_SECOND}};
	uint64_t known[COUNTERS], all[COUNTERS];
	struct rl *made, *found;

	assert_int_equal(maker->open(test_segment_name(), &options, &made), 0);
	assert_int_equal(maker->define(made, &rule), 0);
	assert_int_equal(maker->allow(made, 0, &exempt, RL_NEVER_NS), 0);
	assert_int_equal(guest->open(test_segment_name(), &options, &found), 0);
	read_counters(&newer, guest == &newer ? found : made, all);
	assert_int_equal(all[NEWEST], 0);
	decide(maker, made);
	decide(guest, found);
	decide(&newer, guest == &newer ? found : made);
	read_counters(&newer, guest == &newer ? found : made, all);
	read_counters(&older, guest == &older ? found : made, known);
	assert_int_equal(all[NEWEST], 2);
	assert_int_equal(known[NEWEST], 0);
	assert_int_equal(known[RL_COUNT_exempted], 1);
	assert_int_equal(known[RL_COUNT_allowed], 6);
	assert_memory_equal(known, all, RL_COUNTERS * sizeof all[0]);
	guest->close(found);
	maker->close(made);
}

static void
test_a_newer_library_joins(void **state)
{
	(void)state;
	share(&older, &newer);
}

static void
test_an_older_library_joins(void **state)
{
	(void)state;
	share(&newer, &older);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_has_one_counter_more),
		cmocka_unit_test_teardown(test_a_newer_library_joins, test_unlink),
		cmocka_unit_test_teardown(test_an_older_library_joins, test_unlink),
	};

	return cmocka_run_group_tests(tests, load_newer, NULL);
}
