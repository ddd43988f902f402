/* SPDX-License-Identifier: BSD-2-Clause */
/* A ban that is set while another sets or lifts some. */
#include <stdio.h>
#include <string.h>

#include "intrude.h"

/* Bans: two places in all, so that patterns meet. */

static struct rl_pattern
key(const char *text)
{
	return (struct rl_pattern){.match = RL_MATCH_KEY, .key = text, .key_len = strlen(text)};
}

static char banned[8]; /* changes its places from round to round */

static void
ban_it(struct rl *rl, int rule)
{
	struct rl_pattern p = key(banned);

	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
}

/* Another's ban is lifted, and its place is free for the same one. */
static void
make_room_and_ban_it(struct rl *rl, int rule)
{
	struct rl_pattern other = key("other");

	rl_unban(rl, rule, &other);
	ban_it(rl, rule);
}

/* The ban is lifted, another takes its place, and it is set again. */
static void
lift_and_ban_it(struct rl *rl, int rule)
{
	struct rl_pattern p = key(banned), other = key("other");

	rl_unban(rl, rule, &p);
	rl_ban(rl, rule, &other, RL_NEVER_NS);
	rl_ban(rl, rule, &p, RL_NEVER_NS);
}

static void
ban_against(call_fn *second, bool has_other)
{
	struct rl_pattern other = key("other");

	for (int round = 0; round < 16; round++) {
		bool goes_on = true;

		snprintf(banned, sizeof banned, "k%d", round);
		for (int n = 1; goes_on; n++) {
			struct rl *rl;
			assert_int_equal(
				rl_open_private(&(struct rl_options){.keys = 10, .bans = 1}, &rl),
				0);
			test_rule(rl, "r", 5, 60 * RL_SECOND, 1, false);
			if (has_other)
				assert_int_equal(rl_ban(rl, 0, &other, RL_NEVER_NS), 0);
			goes_on = intrude(rl, 0, ban_it, second, n);
			assert_int_equal(rl_check(rl, 0, banned, strlen(banned), 1, NULL),
			                 RL_DENIED);
			struct rl_pattern p = key(banned);
			assert_int_equal(rl_unban(rl, 0, &p), 1);
			assert_int_equal(rl_check(rl, 0, banned, strlen(banned), 1, NULL),
			                 RL_ALLOWED);
			rl_close(rl);
		}
	}
}

static void
test_one_ban_by_two(void **state)
{
	(void)state;
	ban_against(make_room_and_ban_it, true);
	ban_against(lift_and_ban_it, false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_ban_by_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
