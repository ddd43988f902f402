/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One call, and another that runs whole in the middle of it: before the first, the second, each
 * access to a shared word of the first. What must hold afterwards must hold wherever it came.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

void rl_atomic_hook(void);

typedef void call_fn(struct rl *rl, int rule);

static call_fn *intruder;
static struct rl *of;
static int rule_of;
static int wait_for; /* accesses until the intruder comes; 0: it does not */

void
rl_atomic_hook(void)
{
	if (wait_for > 0 && --wait_for == 0)
		intruder(of, rule_of);
}

/* Run `first`, with `second` before its n-th access. False if it has not as many. */
static bool
intrude(struct rl *rl, int rule, call_fn *first, call_fn *second, int n)
{
	bool has_come;

	of = rl;
	rule_of = rule;
	intruder = second;
	wait_for = n;
	first(rl, rule);
	has_come = wait_for == 0;
	wait_for = 0;
	return has_come;
}

static enum rl_verdict
check(struct rl *rl, int rule)
{
	return rl_check_at(rl, rule, "k", 1, 1, T0, NULL);
}

/* A limit that comes into force again while its keys are being swept away. */

static void
define_short(struct rl *rl, int rule)
{
	const struct rl_rule r = {.name = "r", .limit = {.capacity = 5, .window_ns = RL_SECOND}};

	(void)rule;
	assert_int_equal(rl_define(rl, &r), 0);
}

static void
define_long(struct rl *rl, int rule)
{
	const struct rl_rule r = {.name = "r",
	                          .limit = {.capacity = 5, .window_ns = 60 * RL_SECOND}};

	(void)rule;
	assert_int_equal(rl_define(rl, &r), 0);
}

static void
define_and_use_up(struct rl *rl, int rule)
{
	define_long(rl, rule);
	while (check(rl, rule) == RL_ALLOWED)
		;
}

static void
sweep(struct rl *rl, int rule)
{
	(void)rule;
	assert_true(rl_sweep_at(rl, T0) >= 0);
}

static void
test_in_force_again_while_swept(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = test_private(10);
		define_long(rl, 0);
		assert_int_equal(check(rl, 0), RL_ALLOWED);
		define_short(rl, 0);
		goes_on = intrude(rl, 0, sweep, define_and_use_up, n);
		if (goes_on)
			assert_int_equal(check(rl, 0), RL_DENIED);
		rl_close(rl);
	}
}

/* The same limits in another order: none of them is ever out of force. */

static void
define_in_order(struct rl *rl, const unsigned order[RL_LIMITS_MAX])
{
	struct rl_limit l[RL_LIMITS_MAX];

	for (unsigned i = 0; i < RL_LIMITS_MAX; i++)
		l[i] = (struct rl_limit){.capacity = order[i] == 7 ? 1 : 1000,
		                         .window_ns = (1 + order[i]) * RL_SECOND};
	assert_int_equal(rl_define(rl, &(struct rl_rule){.name = "r",
	                                                 .limit = l[0],
	                                                 .more = l + 1,
	                                                 .more_count = RL_LIMITS_MAX - 1}),
	                 0);
}

static void
define_tight_last(struct rl *rl, int rule)
{
	(void)rule;
	define_in_order(rl, (const unsigned[]){0, 1, 2, 3, 4, 5, 6, 7});
}

static void
define_tight_first(struct rl *rl, int rule)
{
	(void)rule;
	define_in_order(rl, (const unsigned[]){7, 0, 1, 2, 3, 4, 5, 6});
}

static void
is_denied(struct rl *rl, int rule)
{
	assert_int_equal(check(rl, rule), RL_DENIED);
}

static void
test_limits_in_another_order(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = test_private(20);
		define_tight_last(rl, 0);
		assert_int_equal(check(rl, 0), RL_ALLOWED);
		goes_on = intrude(rl, 0, is_denied, define_tight_first, n);
		rl_close(rl);
	}
}

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
			define_long(rl, 0);
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

/* A rule that each of three configurations has. */

static void
configure(struct rl *rl, uint32_t capacity)
{
	const struct rl_config_rule r = {
		.rule = {.name = "r", .limit = {.capacity = capacity, .window_ns = RL_SECOND}}};

	assert_int_equal(rl_configure(rl, &r, 1, 0, NULL, NULL), 0);
}

static jmp_buf killed;
static int lives_for; /* accesses */

static void
die(struct rl *rl, int rule)
{
	(void)rl;
	(void)rule;
	longjmp(killed, 1);
}

/* The second time it is killed in the middle of writing the bank that was in force before. */
static void
configure_twice(struct rl *rl, int rule)
{
	(void)rule;
	configure(rl, 2);
	intruder = die;
	wait_for = lives_for;
	if (setjmp(killed) == 0)
		configure(rl, 3);
	wait_for = 0;
}

static void
is_found(struct rl *rl, int rule)
{
	struct rl_rule_info info;

	assert_int_equal(rl_find(rl, "r"), rule);
	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.source, RL_SOURCE_CONFIGURATION);
}

static void
test_a_rule_is_there_throughout(void **state)
{
	(void)state;
	for (lives_for = 50; lives_for < 20000; lives_for += 50) {
		bool goes_on = true;
		for (int n = 1; goes_on; n++) {
			struct rl *rl = test_private(10);
			configure(rl, 1);
			goes_on = intrude(rl, 0, is_found, configure_twice, n);
			rl_close(rl);
		}
	}
}

/* A process that is forked while another thread configures lives on. */

static pid_t child;

static void
fork_a_worker(struct rl *rl, int rule)
{
	(void)rl;
	(void)rule;
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
}

static void
configure_named(struct rl *rl, int rule)
{
	(void)rule;
	configure(rl, 7);
}

static void
test_a_fork_holds_no_lock(void **state)
{
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	assert_true(intrude(rl, 0, configure_named, fork_a_worker, 20));
	const struct rl_config_rule r = {
		.rule = {.name = "r", .limit = {.capacity = 8, .window_ns = RL_SECOND}}};
	int error = rl_configure(rl, &r, 1, 0, NULL, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	rl_close(rl);
	rl_unlink(test_segment_name());
	assert_int_equal(error, 0);
}

/* A key that keeps going from one slot to another while all are audited is never in both. */

static uint64_t *here, *there; /* its tags */
static uint64_t often;         /* accesses between two moves, at most */
static uint64_t seed;

static void
move(struct rl *rl, int rule)
{
	uint64_t key = *here & RL_TAG_KEY_MASK, *left = here;

	(void)rl;
	(void)rule;
	*here = rl_tag_make(RL_TAG_FREE, (uint8_t)(rl_tag_gen(*here) + 1), 0);
	*there = rl_tag_make(RL_TAG_LIVE, rl_tag_gen(*there), key);
	here = there;
	there = left;
	wait_for = 1 + (int)test_below(&seed, often);
}

static int
no_fault(enum rl_fault fault, uint64_t at, void *arg)
{
	(void)arg;
	fail_msg("slot %d: %s", (int)at, rl_fault_text(fault));
	return 1;
}

static void
audit(struct rl *rl, int rule)
{
	struct rl_audit counts;

	(void)rule;
	assert_int_equal(rl_audit(rl, no_fault, NULL, &counts), 0);
}

static void
test_a_key_that_moves_is_in_one_place(void **state)
{
	struct rl *rl = test_private(10);
	const struct rl_segment *s = &rl->segment;
	int rule = test_rule(rl, "r", 5, RL_SECOND, 1, false);

	(void)state;
	for (int run = 1; run <= 20000; run++) {
		seed = (uint64_t)run;
		here = rl_table_tag(&s->table, 0);
		there = rl_table_tag(&s->table, 1 + test_below(&seed, rl_segment_slots(s) - 1));
		memset(s->table.bucket, 0, s->table.buckets * sizeof *s->table.bucket);
		*here = rl_tag_make(RL_TAG_LIVE, 0, 42);
		often = 1 + test_below(&seed, 12);
		intrude(rl, rule, audit, move, 1 + (int)test_below(&seed, 60));
	}
	rl_close(rl);
}

/* Rows that are given to other limits while somebody sleeps with them. */

static struct rl *
open_rows(int rules)
{
	struct rl *rl;

	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 20,
	                                                      .rules = (uint32_t)rules,
	                                                      .overrides = 1,
	                                                      .bans = 1},
	                                 &rl),
	                 0);
	return rl;
}

static void
define_one(struct rl *rl, const char *name, uint32_t capacity, uint64_t window_ns, bool is_hard)
{
	const struct rl_rule r = {
		.name = name,
		.limit = {.capacity = capacity, .window_ns = window_ns, .hard = is_hard}};

	assert_true(rl_define(rl, &r) >= 0);
}

/* All sixteen rows are used: the first is in force, of "r" with `capacity` a minute. */
static struct rl *
with_no_row_left(uint32_t capacity)
{
	struct rl *rl = open_rows(1);

	for (uint64_t i = 0; i < 16; i++)
		define_one(rl, "r", capacity, (60 + i) * RL_SECOND, false);
	define_one(rl, "r", capacity, 60 * RL_SECOND, false);
	return rl;
}

static struct rl_result told;

static void
check_and_tell(struct rl *rl, int rule)
{
	rl_check_at(rl, rule, "k", 1, 1, T0, &told);
}

/* The first row becomes that of a limit with the same sub-buckets, and another hash. */
static void
give_away(struct rl *rl, uint32_t capacity)
{
	define_one(rl, "r", capacity, 61 * RL_SECOND, false);
	define_one(rl, "r", capacity, 60 * RL_SECOND, true);
	assert_true(rl->segment.limits[0].identity.lo & RL_IDENTITY_HARD);
}

static void
give_away_and_use_up(struct rl *rl, int rule)
{
	give_away(rl, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(check(rl, rule), RL_ALLOWED);
}

static void
give_away_to_more(struct rl *rl, int rule)
{
	(void)rule;
	give_away(rl, 1000);
}

static int
add_used(const struct rl_entry *e, void *arg)
{
	*(uint32_t *)arg += e->used;
	return 0;
}

static uint32_t
used_now(struct rl *rl)
{
	uint32_t used = 0;

	rl_lookup(rl, 0, "k", 1, T0, add_used, &used);
	return used;
}

/* A sleeper with the old row charges nothing of the new one's. */
static void
test_a_sleeper_with_a_row(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_no_row_left(100);
		goes_on = intrude(rl, 0, check_and_tell, give_away_and_use_up, n);
		if (goes_on) {
			assert_int_equal(used_now(rl), 5);
			assert_int_equal(check(rl, 0), RL_DENIED);
		}
		rl_close(rl);
	}
}

/* Nor is it admitted to the old one by what the new one admits. */
static void
test_a_sleeper_and_another_quota(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_no_row_left(5);
		for (int i = 0; i < 5; i++)
			check(rl, 0);
		goes_on = intrude(rl, 0, check_and_tell, give_away_to_more, n);
		assert_int_equal(told.error, 0);
		assert_int_equal(used_now(rl), !goes_on ? 5 : told.limit == 1000);
		rl_close(rl);
	}
}

/* Two that want the same row: for what it was, and for something else. */

/* Whoever has the turn to give rows away keeps it until it goes on: then this comes later. */
static bool has_come;

static void
define_as_it_was(struct rl *rl, int rule)
{
	const struct rl_rule was = {.name = "r",
	                            .limit = {.capacity = 7, .window_ns = 60 * RL_SECOND}};

	has_come = rl_rules_row_of(&rl->segment, rl_rules_identity_of(rule, &was, 0)) >= 0 ||
	           !rl->is_configuring;
	if (has_come)
		define_one(rl, "r", 7, 60 * RL_SECOND, false);
}

static void
define_in_its_place(struct rl *rl, int rule)
{
	(void)rule;
	has_come = true;
	define_one(rl, "s", 9, 1000 * RL_SECOND, false);
}

static void
configure_as_it_was(struct rl *rl, int rule)
{
	const struct rl_config_rule r = {
		.rule = {.name = "r", .limit = {.capacity = 7, .window_ns = 60 * RL_SECOND}}};

	(void)rule;
	has_come = !rl->is_configuring;
	if (has_come)
		assert_int_equal(rl_configure(rl, &r, 1, 0, NULL, NULL), 0);
}

static int
any_fault(enum rl_fault fault, uint64_t at, void *arg)
{
	(void)at;
	(void)arg;
	return 1 + (int)fault;
}

static void
expect_limit(struct rl *rl, const char *name, uint32_t capacity, uint64_t window_ns)
{
	struct rl_rule_info info;
	int rule = rl_find(rl, name);

	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.limit_count, 1);
	assert_int_equal(info.limits[0].capacity, capacity);
	assert_true(info.limits[0].window_ns == window_ns);
	rl_check_at(rl, rule, "k", 1, 1, T0, &told);
	assert_int_equal(told.error, 0);
	assert_int_equal(told.limit, capacity);
}

static void
play_two(call_fn *first, call_fn *second)
{
	bool goes_on = true;

	for (int n = 1; goes_on; n++) {
		struct rl *rl = open_rows(2);
		struct rl_audit counts;
		define_one(rl, "s", 9, 999 * RL_SECOND, false);
		for (uint64_t i = 0; i < 31; i++)
			define_one(rl, "r", 7, (60 + i) * RL_SECOND, false);
		has_come = false;
		goes_on = intrude(rl, 1, first, second, n);
		if (!has_come || !goes_on)
			second(rl, 1);
		expect_limit(rl, "r", 7, 60 * RL_SECOND);
		expect_limit(rl, "s", 9, 1000 * RL_SECOND);
		assert_int_equal(rl_audit(rl, any_fault, NULL, &counts), 0);
		rl_close(rl);
	}
}

static void
test_two_want_a_row(void **state)
{
	(void)state;
	play_two(define_as_it_was, define_in_its_place);
	play_two(define_in_its_place, define_as_it_was);
	play_two(define_in_its_place, configure_as_it_was);
}

/* Rows of rules that are given to other names while somebody sleeps with a handle. */

/* The first row is that of "a", of 5 in a minute, all used up by "k"; there is no other. */
static struct rl *
with_one_rule(void)
{
	struct rl *rl = open_rows(1);

	define_one(rl, "a", 5, 60 * RL_SECOND, false);
	for (int i = 0; i < 5; i++)
		check(rl, 0);
	return rl;
}

static uint64_t
counted(struct rl *rl, int rule, enum rl_counter counter)
{
	uint64_t values[RL_COUNTERS];

	assert_int_equal(rl_stats(rl, rule, values, RL_COUNTERS), 0);
	return values[counter];
}

static int
give_to(struct rl *rl, const char *name, uint32_t capacity)
{
	assert_int_equal(rl_forget(rl, "a"), 1);
	define_one(rl, name, capacity, 60 * RL_SECOND, false);
	return rl_find(rl, name);
}

/* Of the same shape, so that it has the same limit's row, too. */
static void
give_the_name_away(struct rl *rl, int rule)
{
	int b = give_to(rl, "b", 5);

	(void)rule;
	assert_int_equal(b, 1 << RL_RULE_INDEX_BITS);
	for (int i = 0; i < 4; i++)
		assert_int_equal(check(rl, b), RL_ALLOWED);
}

/* A sleeper with the old handle charges nothing of the new rule's, and is not denied by it. */
static void
test_a_sleeper_with_a_name(void **state)
{
	const int b = 1 << RL_RULE_INDEX_BITS;
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_one_rule();
		goes_on = intrude(rl, 0, check_and_tell, give_the_name_away, n);
		assert_true(told.verdict == RL_DENIED || told.verdict == RL_ALLOWED);
		if (goes_on) { /* what it counts late is its one request */
			assert_true(counted(rl, b, RL_COUNT_allowed) <= 4 + 1);
			assert_true(counted(rl, b, RL_COUNT_denied) <= 1);
			assert_int_equal(check(rl, b), RL_ALLOWED);
			assert_int_equal(check(rl, b), RL_DENIED);
		}
		rl_close(rl);
	}
}

static const struct rl_pattern the_key = {.match = RL_MATCH_KEY, .key = "k", .key_len = 1};

static void
give_to_one_that_bans(struct rl *rl, int rule)
{
	int b = give_to(rl, "b", 1000);

	(void)rule;
	assert_int_equal(rl_ban(rl, b, &the_key, RL_NEVER_NS), 0);
}

/* Nor do the new rule's bans hold for it. */
static void
test_a_sleeper_and_bans(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_one_rule();
		goes_on = intrude(rl, 0, check_and_tell, give_to_one_that_bans, n);
		assert_int_equal(told.reason, RL_BY_LIMIT);
		assert_true(told.verdict == RL_DENIED || told.verdict == RL_ALLOWED);
		assert_true(told.limit == 5 || told.error == RL_EREMOVED);
		rl_close(rl);
	}
}

static void
ban_the_key(struct rl *rl, int rule)
{
	rl_ban(rl, rule, &the_key, RL_NEVER_NS);
}

static void
give_to_more(struct rl *rl, int rule)
{
	(void)rule;
	give_to(rl, "b", 1000);
}

static int
is_shown(const struct rl_ban_info *ban, void *arg)
{
	(void)ban;
	(void)arg;
	return 1;
}

/* And a ban that is set late for the old rule is none of the new one's. */
static void
test_a_late_ban(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_one_rule();
		goes_on = intrude(rl, 0, ban_the_key, give_to_more, n);
		if (goes_on) {
			assert_int_equal(check(rl, rl_find(rl, "b")), RL_ALLOWED);
			assert_int_equal(rl_bans_walk(rl, 0, is_shown, NULL), 0);
		}
		rl_close(rl);
	}
}

/* Two that want the same row of a rule: for the name it had, and for another. */

static void
define_the_old_name(struct rl *rl, int rule)
{
	(void)rule;
	has_come = rl_rules_seek(&rl->segment, "a") >= 0 || !rl->is_configuring;
	if (has_come)
		define_one(rl, "a", 7, 60 * RL_SECOND, false);
}

static void
define_a_new_name(struct rl *rl, int rule)
{
	(void)rule;
	has_come = !rl->is_configuring;
	if (has_come)
		define_one(rl, "b", 9, 1000 * RL_SECOND, false);
}

static void
configure_a_new_name(struct rl *rl, int rule)
{
	const struct rl_config_rule r = {
		.rule = {.name = "b", .limit = {.capacity = 9, .window_ns = 1000 * RL_SECOND}}};

	(void)rule;
	has_come = !rl->is_configuring;
	if (has_come)
		assert_int_equal(rl_configure(rl, &r, 1, 0, NULL, NULL), 0);
}

static void
play_names(call_fn *first, call_fn *second)
{
	bool goes_on = true;

	for (int n = 1; goes_on; n++) {
		struct rl *rl = open_rows(3);
		struct rl_audit counts;
		define_one(rl, "a", 7, 60 * RL_SECOND, false);
		define_one(rl, "c", 7, 60 * RL_SECOND, false);
		define_one(rl, "s", 5, 60 * RL_SECOND, false);
		rl_forget(rl, "a");
		rl_forget(rl, "c");
		has_come = false;
		goes_on = intrude(rl, 0, first, second, n);
		if (!has_come || !goes_on)
			second(rl, 0);
		expect_limit(rl, "a", 7, 60 * RL_SECOND);
		expect_limit(rl, "b", 9, 1000 * RL_SECOND);
		expect_limit(rl, "s", 5, 60 * RL_SECOND);
		assert_int_equal(rl_audit(rl, any_fault, NULL, &counts), 0);
		rl_close(rl);
	}
}

static void
test_two_want_a_name(void **state)
{
	(void)state;
	play_names(define_the_old_name, define_a_new_name);
	play_names(define_a_new_name, define_the_old_name);
	play_names(define_the_old_name, configure_a_new_name);
	play_names(configure_a_new_name, define_the_old_name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_force_again_while_swept),
		cmocka_unit_test(test_limits_in_another_order),
		cmocka_unit_test(test_one_ban_by_two),
		cmocka_unit_test(test_a_rule_is_there_throughout),
		cmocka_unit_test(test_a_fork_holds_no_lock),
		cmocka_unit_test(test_a_key_that_moves_is_in_one_place),
		cmocka_unit_test(test_a_sleeper_with_a_row),
		cmocka_unit_test(test_a_sleeper_and_another_quota),
		cmocka_unit_test(test_two_want_a_row),
		cmocka_unit_test(test_a_sleeper_with_a_name),
		cmocka_unit_test(test_a_sleeper_and_bans),
		cmocka_unit_test(test_a_late_ban),
		cmocka_unit_test(test_two_want_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
