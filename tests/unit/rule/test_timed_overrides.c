/* SPDX-License-Identifier: BSD-2-Clause */
/* A limit of one key for a time: before all that the configuration says of it, and no longer. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rule/policy.h"
#include "testing.h"

#define MINUTE (60 * RL_SECOND)

/* One rule of the configuration, and a whole second of the clock that comes in an hour. */
struct scene {
	struct rl *rl;
	int rule;
	uint64_t start;
};

static void
configure(struct scene *scene, const struct rl_limit *limit, const struct rl_override *override)
{
	const struct rl_config_rule rule = {
		.rule = {.name = "r", .limit = *limit},
		.overrides = override,
		.override_count = override ? 1 : 0,
	};

	assert_int_equal(rl_configure(scene->rl, &rule, 1, 0, NULL, NULL), 0);
	scene->rule = rl_find(scene->rl, "r");
}

static struct scene
begin(uint32_t capacity, const struct rl_override *override)
{
	struct scene scene = {.rl = test_private(100)};
	const struct rl_limit limit = {
		.algorithm = RL_FIXED_WINDOW, .capacity = capacity, .window_ns = 24 * 60 * MINUTE};

	configure(&scene, &limit, override);
	scene.start = (rl_now(scene.rl) / RL_SECOND + 3600) * RL_SECOND;
	return scene;
}

static int
override(const struct scene *scene, const char *key, uint32_t capacity, uint64_t until_ns)
{
	return rl_override(scene->rl, scene->rule, 0, key, strlen(key), capacity, until_ns);
}

/* What a peek says the key's limit is. */
static uint64_t
limit_of(const struct scene *scene, const char *key, uint64_t now_ns)
{
	struct rl_result r;

	at_peek(scene->rl, scene->rule, key, strlen(key), now_ns, &r);
	return r.limit;
}

static unsigned
admitted(const struct scene *scene, const char *key, uint64_t now_ns)
{
	unsigned count = 0;

	for (int i = 0; i < 50; i++)
		count += at_check(scene->rl, scene->rule, key, strlen(key), 1, now_ns, NULL) ==
		         RL_ALLOWED;
	return count;
}

static void
test_it_holds_until_its_second(void **state)
{
	struct scene s = begin(5, NULL);
	uint64_t end = s.start + MINUTE;

	(void)state;
	assert_int_equal(admitted(&s, "k", s.start), 5);
	assert_int_equal(override(&s, "k", 20, end - RL_SECOND / 2), 0);
	assert_int_equal(admitted(&s, "k", s.start), 15); /* what was used stays */
	assert_int_equal(limit_of(&s, "k", end - 1), 20);
	assert_int_equal(limit_of(&s, "k", end), 5);
	assert_int_equal(admitted(&s, "k", end), 0);
	assert_int_equal(limit_of(&s, "other", s.start), 5);
	rl_close(s.rl);
}

static void
test_it_goes_before_the_configuration(void **state)
{
	static const struct {
		struct rl_override of;
		uint64_t without;
	} all[] = {
		{{.kind = RL_OVERRIDE_CAPACITY, .capacity = {7}}, 7},
		{{.kind = RL_OVERRIDE_BANNED}, 0},
		{{.kind = RL_OVERRIDE_UNLIMITED}, 50},
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct rl_override of = all[i].of;
		struct scene s;

		of.pattern = (struct rl_pattern){RL_MATCH_PREFIX, "user:", 5};
		s = begin(5, &of);
		assert_int_equal(override(&s, "user:1", 3, s.start + MINUTE), 0);
		assert_int_equal(admitted(&s, "user:1", s.start), 3);
		assert_int_equal(admitted(&s, "user:2", s.start), all[i].without);
		assert_int_equal(override(&s, "user:1", 0, 0), 1);
		assert_int_equal(admitted(&s, "user:1", s.start),
		                 all[i].without > 3 && all[i].without < 50 ? all[i].without - 3
		                                                           : all[i].without);
		rl_close(s.rl);
	}
}

static void
test_a_ban_goes_before_it(void **state)
{
	const struct rl_pattern key = {RL_MATCH_KEY, "k", 1};
	struct scene s = begin(5, NULL);

	(void)state;
	assert_int_equal(override(&s, "k", 20, s.start + MINUTE), 0);
	assert_int_equal(rl_ban(s.rl, s.rule, &key, s.start + RL_SECOND), 0);
	assert_int_equal(admitted(&s, "k", s.start), 0);
	assert_int_equal(admitted(&s, "k", s.start + RL_SECOND), 20);
	/* each is lifted alone */
	assert_int_equal(rl_unban(s.rl, s.rule, &key), 1);
	assert_int_equal(limit_of(&s, "k", s.start), 20);
	assert_int_equal(rl_allow(s.rl, s.rule, &key, RL_NEVER_NS), 0);
	assert_int_equal(override(&s, "k", 0, 0), 1);
	assert_int_equal(admitted(&s, "k", s.start), 50);
	rl_close(s.rl);
}

static void
test_it_survives_a_reload(void **state)
{
	const struct rl_limit limit = {
		.algorithm = RL_FIXED_WINDOW, .capacity = 9, .window_ns = 24 * 60 * MINUTE};
	struct scene s = begin(5, NULL);

	(void)state;
	assert_int_equal(override(&s, "k", 20, s.start + MINUTE), 0);
	configure(&s, &limit, NULL);
	assert_int_equal(limit_of(&s, "k", s.start), 20);
	assert_int_equal(limit_of(&s, "other", s.start), 9);
	rl_close(s.rl);
}

/* Of each limit of a rule alone. */
static void
test_it_is_of_one_limit(void **state)
{
	const struct rl_limit first = {.capacity = 5, .window_ns = MINUTE},
			      second = {.capacity = 30, .window_ns = 60 * MINUTE};
	struct rl *rl = test_private(100);
	struct scene s = {.rl = rl, .start = (rl_now(rl) / MINUTE + 60) * MINUTE};

	(void)state;
	s.rule = rl_define(
		rl,
		&(struct rl_rule){.name = "r", .limit = first, .more = &second, .more_count = 1});
	assert_int_equal(rl_override(rl, s.rule, 1, "k", 1, 3, s.start + MINUTE), 0);
	assert_int_equal(admitted(&s, "k", s.start), 3);
	assert_int_equal(override(&s, "k", 10, s.start + MINUTE), 0);
	assert_int_equal(rl_override(rl, s.rule, 1, "k", 1, 40, s.start + MINUTE), 0);
	assert_int_equal(admitted(&s, "k", s.start), 7);
	assert_int_equal(admitted(&s, "other", s.start), 5);
	assert_int_equal(rl_override(rl, s.rule, 1, "k", 1, 0, 0), 1);
	assert_int_equal(rl_override(rl, s.rule, 1, "k", 1, 0, 0), 0);
	assert_int_equal(limit_of(&s, "k", s.start), 10);
	rl_close(rl);
}

static int
see_limit(const struct rl_entry *entry, void *arg)
{
	*(uint64_t *)arg = entry->peek.limit;
	return 0;
}

/* As an override of the configuration, of every algorithm: to a request, and as a walk shows it. */
static void
check_algorithm(enum rl_algorithm algorithm)
{
	const struct rl_override same = {
		.kind = RL_OVERRIDE_CAPACITY, .capacity = {20}, .pattern = {RL_MATCH_KEY, "s", 1}};
	const struct rl_limit limit = {.algorithm = algorithm,
	                               .capacity = 5,
	                               .window_ns = algorithm == RL_IN_FLIGHT ? 0 : 60 * MINUTE};
	struct scene s = {.rl = test_with_ring(64)};
	uint64_t seen = 0, end;

	configure(&s, &limit, &same);
	s.start = (rl_now(s.rl) / RL_SECOND + 3600) * RL_SECOND;
	end = s.start + MINUTE;
	assert_int_equal(override(&s, "k", 20, end), 0);
	assert_int_equal(limit_of(&s, "k", s.start), limit_of(&s, "s", s.start));
	assert_int_equal(limit_of(&s, "k", end), limit_of(&s, "other", end));
	if (algorithm != RL_IN_FLIGHT) {
		assert_int_equal(admitted(&s, "k", s.start), admitted(&s, "s", s.start));
		rl_lookup(s.rl, s.rule, "k", 1, s.start, see_limit, &seen);
		assert_int_equal(seen, limit_of(&s, "s", s.start));
		rl_lookup(s.rl, s.rule, "k", 1, end, see_limit, &seen);
		assert_int_equal(seen, limit_of(&s, "other", s.start));
	}
	rl_close(s.rl);
}

static void
test_every_algorithm(void **state)
{
	(void)state;
	for (int a = 0; a < test_algorithm_count(); a++)
		if (a != RL_COUNTER)
			check_algorithm((enum rl_algorithm)a);
}

static int
take_it(const struct rl_ban_info *info, void *arg)
{
	*(struct rl_ban_info *)arg = *info;
	return 1;
}

static void
test_it_is_told(void **state)
{
	struct scene s = begin(5, NULL);
	struct rl_ban_info info = {.rule = s.rule,
	                           .pattern = {RL_MATCH_KEY, "k", 1},
	                           .capacity = 20,
	                           .until_ns = s.start + MINUTE,
	                           .author = 4242,
	                           .reason_len = 5,
	                           .reason = "trial"},
			   is;

	(void)state;
	assert_int_equal(rl_ban_set(s.rl, &info), 0);
	assert_int_equal(rl_bans_walk(s.rl, s.start, take_it, &is), 0); /* it is no ban */
	assert_int_equal(rl_overrides_walk(s.rl, s.start, take_it, &is), 1);
	assert_int_equal(is.rule, s.rule);
	assert_int_equal(is.limit, 0);
	assert_int_equal(is.capacity, 20);
	assert_true(is.until_ns == s.start + MINUTE);
	assert_int_equal(is.author, 4242);
	assert_string_equal(is.reason, "trial");
	assert_int_equal(is.key_len, 1);
	assert_int_equal(rl_overrides_walk(s.rl, s.start + MINUTE, take_it, &is), 0);
	assert_int_equal(rl_override_of(s.rl, s.rule, 0, "k", 1, s.start, &is), 1);
	assert_int_equal(is.capacity, 20);
	assert_string_equal(is.reason, "trial");
	assert_int_equal(rl_override_of(s.rl, s.rule, 1, "k", 1, s.start, &is), 0);
	assert_int_equal(rl_override_of(s.rl, s.rule, 0, "j", 1, s.start, &is), 0);
	assert_int_equal(rl_override_of(s.rl, s.rule, 0, "k", 1, s.start + MINUTE, &is), 0);
	assert_int_equal(rl_override_of(s.rl, s.rule, RL_LIMITS_MAX, "k", 1, 0, &is), -EINVAL);
	rl_close(s.rl);
}

struct told {
	struct rl_event event[4];
	unsigned count;
};

static int
hear(const struct rl_event *event, void *arg)
{
	struct told *told = arg;

	if (event->kind >= RL_EVENT_OVERRIDE_SET && told->count < 4)
		told->event[told->count++] = *event;
	return 0;
}

static void
test_who_set_it_is_an_event(void **state)
{
	struct scene s = begin(5, NULL);
	struct rl_events_cursor cursor = {0};
	struct told told = {.count = 0};

	(void)state;
	assert_int_equal(override(&s, "k", RL_CAPACITY_MAX, rl_now(s.rl) + MINUTE), 0);
	assert_int_equal(override(&s, "k", 0, 0), 1);
	assert_int_equal(rl_changes_read(s.rl, &cursor, hear, &told), 0);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.event[0].kind, RL_EVENT_OVERRIDE_SET);
	assert_int_equal(told.event[0].capacity, RL_CAPACITY_MAX);
	assert_in_range(told.event[0].retry_after_ns, MINUTE - RL_SECOND, MINUTE + RL_SECOND);
	assert_int_equal(told.event[0].rule, s.rule);
	assert_int_equal(told.event[0].key_len, 1);
	assert_int_equal(told.event[0].author, getuid());
	assert_int_equal(told.event[1].kind, RL_EVENT_OVERRIDE_LIFTED);
	assert_int_equal(told.event[1].capacity, 0);
	assert_string_equal(rl_event_name(RL_EVENT_OVERRIDE_SET), "override");
	rl_close(s.rl);
}

static void
test_what_is_refused(void **state)
{
	const struct rl_limit log = {
		.algorithm = RL_SLIDING_LOG, .capacity = 5, .window_ns = MINUTE};
	struct scene s = {.rl = test_with_ring(16)};
	struct rl_ban_info info = {.capacity = 3, .pattern = {RL_MATCH_PREFIX, "k", 1}};
	uint64_t until = rl_now(s.rl) + MINUTE;

	(void)state;
	configure(&s, &log, NULL);
	info.rule = s.rule;
	info.until_ns = until;
	assert_int_equal(override(&s, "k", 8, until), 0);
	assert_int_equal(override(&s, "k", 9, until), RL_ERING);
	assert_int_equal(limit_of(&s, "k", until - RL_SECOND), 8);
	assert_int_equal(override(&s, "k", 3, RL_NEVER_NS), -EINVAL);
	assert_int_equal(override(&s, "", 3, until), -EINVAL);
	assert_int_equal(override(&s, "k", RL_CAPACITY_MAX + 1, until), -EINVAL);
	assert_int_equal(rl_override(s.rl, s.rule, 1, "k", 1, 3, until), -EINVAL);
	assert_int_equal(rl_override(s.rl, RL_ANY_RULE, 0, "k", 1, 3, until), -EINVAL);
	assert_int_equal(rl_override(s.rl, RL_ANY_RULE, 0, "k", 1, 0, 0), -EINVAL);
	assert_int_equal(rl_override(s.rl, s.rule + 1, 0, "k", 1, 3, until), -EINVAL);
	assert_int_equal(rl_ban_set(s.rl, &info), -EINVAL);
	info.pattern.match = RL_MATCH_KEY;
	info.is_exemption = 1;
	assert_int_equal(rl_ban_set(s.rl, &info), -EINVAL);
	rl_close(s.rl);
}

/* It takes the room of a ban; what has ended makes room. */
static void
test_room(void **state)
{
	struct rl *rl;
	struct scene s;
	uint64_t until;
	char key[16];
	int set = 0, error = 0;

	(void)state;
	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 100, .bans = 1}, &rl), 0);
	s = (struct scene){.rl = rl, .rule = test_rule(rl, "r", 5, MINUTE, 0, false)};
	until = rl_now(rl) + 60 * MINUTE;
	for (; error == 0 && set < 100000; set++) {
		snprintf(key, sizeof key, "k%d", set);
		error = override(&s, key, 20, until);
	}
	assert_int_equal(error, RL_EBANS);
	assert_int_equal(override(&s, "k0", 21, until), 0); /* replacing takes none */
	assert_int_equal(override(&s, "k0", 0, 0), 1);
	assert_int_equal(limit_of(&s, "k1", until - MINUTE), 20);
	rl_close(rl);
}

/* A rule that comes into the row of another has none of it, and shows none. */
static void
test_the_next_rule_has_none(void **state)
{
	struct rl *rl;
	struct rl_ban_info is;
	struct scene s;
	uint64_t until;

	(void)state;
	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 100, .rules = 1}, &rl), 0);
	s = (struct scene){.rl = rl, .rule = test_rule(rl, "r", 5, MINUTE, 0, false)};
	until = rl_now(rl) + 60 * MINUTE;
	assert_int_equal(override(&s, "k", 20, until), 0);
	assert_int_equal(rl_forget(rl, "r"), 1);
	s.rule = test_rule(rl, "q", 6, MINUTE, 0, false);
	assert_int_equal(limit_of(&s, "k", until - MINUTE), 6);
	assert_int_equal(rl_overrides_walk(rl, until - MINUTE, take_it, &is), 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_holds_until_its_second),
		cmocka_unit_test(test_it_goes_before_the_configuration),
		cmocka_unit_test(test_a_ban_goes_before_it),
		cmocka_unit_test(test_it_survives_a_reload),
		cmocka_unit_test(test_it_is_of_one_limit),
		cmocka_unit_test(test_every_algorithm),
		cmocka_unit_test(test_it_is_told),
		cmocka_unit_test(test_who_set_it_is_an_event),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_the_next_rule_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
