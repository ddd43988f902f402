/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A worker that decides by a share of a cluster's capacity, or who lends it, dies at any
 * instruction: each one that has changed a byte is tried out, and kills in earnest are made at some
 * (see step.h). Found must be: a segment that is whole; a share, and what counts under it, each as
 * before or as after; nothing that counts beyond the share and the blind part; others that are
 * admitted all the rest of it, and no more; a lender whose calls work; a wish of whoever is denied
 * next; and one who waits for as long as before or as after.
 */
#include <string.h>

#include "at.h"
#include "audit.h"
#include "rl_cluster.h"
#include "rule/handle.h"
#include "rule/policy.h"
#include "step.h"

#define T0 (UINT64_C(1700000001) * RL_SECOND)
#define CAPACITY 100
#define SHARE 6
#define BLIND 1
#define MORE_BLIND 14 /* of a rule that is changed */
#define WAIT (RL_SECOND / 4)
#define MORE_WAIT (RL_SECOND / 2) /* of a rule that is changed */

void rl_atomic_hook(void);

void
rl_atomic_hook(void)
{
}

struct operation {
	const char *name;
	const struct rl_limit *limit;
	void (*prepare)(void);
	void (*run)(void);
	uint32_t share; /* of the word after it */
};

static const struct operation *op;
static struct rl *rl;
static int rule;
static uint32_t blind;
static uint64_t now;
static struct rl_incarnation of_key;
static struct rl_charges charged;
static uint32_t load_before, load_after;
static uint64_t wait_before, wait_after;
static unsigned char *before_run, *as_left;

static int
note(const struct rl_share *share, void *arg)
{
	(void)arg;
	of_key = share->of;
	return 0;
}

static int
take_wishes(void)
{
	uint64_t from = 0;

	return rl_share_wishes(rl, &from, UINT32_MAX, now, note, NULL);
}

static enum rl_verdict
check(uint64_t at_ns)
{
	return at_check(rl, rule, "k", 1, 1, at_ns, NULL);
}

/* Somebody who asks for more than is left: for how long may he wait for a share? 0: not at all. */
static uint64_t
read_wait(void)
{
	const struct rl_item item = {.rule = rule,
	                             .key = "k",
	                             .key_len = 1,
	                             .cost = CAPACITY / 2,
	                             .now_ns = now,
	                             .flags = RL_ITEM_WAITS};
	struct rl_result r;

	assert_int_equal(rl_check_item(rl, &item, &r), RL_DENIED);
	return r.reason == RL_BY_SHARE ? r.delay_ns : 0;
}

static struct rl_share
read_share(void)
{
	struct rl_share s;

	assert_int_equal(rl_share_read(rl, &of_key, now, &s), 0);
	return s;
}

static void
set(uint32_t share)
{
	struct rl_share s;

	assert_int_equal(rl_share_set(rl, &of_key, share, now, &s), 0);
	assert_int_equal(s.share, share);
}

static void
define(uint32_t blind_part, uint64_t wait_ns)
{
	struct rl_limit limit = *op->limit;

	blind = blind_part;
	limit.capacity = CAPACITY;
	limit.window_ns = RL_SECOND;
	limit.scope = RL_SCOPE_CLUSTER;
	limit.away = RL_AWAY_CLOSED;
	limit.blind = blind;
	limit.wait_ns = wait_ns;
	rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});
	assert_true(rule >= 0);
}

/* A key with a share, of which 3 are used within some sub-buckets. */
static void
prepare_used(void)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(check(T0 + (uint64_t)i * RL_SECOND / 4), RL_ALLOWED);
	now = T0 + RL_SECOND / 4;
}

static void
prepare_roll(void)
{
	prepare_used();
	now = T0 + RL_SECOND / 2;
}

static void
prepare_used_up(void)
{
	prepare_used();
	while (check(now) == RL_ALLOWED)
		;
	take_wishes();
}

/*
 * What a bucket's word says is of the blind part that it was used with: the next token makes it of
 * another, so both of its halves change.
 */
static void
prepare_more_blind(void)
{
	prepare_used();
	while (read_share().load < SHARE)
		assert_int_equal(check(now), RL_ALLOWED);
	define(MORE_BLIND, WAIT);
}

static void
prepare_refund(void)
{
	prepare_used();
	assert_int_equal(test_check_at(rl, rule, "k", 1, 1, now, NULL, &charged), RL_ALLOWED);
}

static void
prepare_wish(void)
{
	prepare_used_up();
	assert_int_equal(check(now), RL_DENIED);
}

static void
run_check(void)
{
	check(now);
}

static void
run_refund(void)
{
	struct rl_charges copy = charged;

	at_refund(rl, &copy, now);
}

static void
run_lower(void)
{
	struct rl_share s;

	rl_share_lower(rl, &of_key, 4, now, &s);
}

static void
run_raise(void)
{
	struct rl_share s;

	rl_share_set(rl, &of_key, SHARE + 5, now, &s);
}

static void
run_end(void)
{
	struct rl_share s;

	rl_share_end(rl, &of_key, now, &s);
}

static void
run_dry(void)
{
	rl_share_dry(rl, &of_key, 1, now);
}

static void
run_not_dry(void)
{
	rl_share_dry(rl, &of_key, 0, now);
}

static void
prepare_dry(void)
{
	prepare_used();
	run_dry();
}

static void
run_wait(void)
{
	define(BLIND, MORE_WAIT);
}

static void
run_take_wishes(void)
{
	take_wishes();
}

static void
assert_clean(const char *when)
{
	struct audit a;

	if (!audit_segment(rl, &a))
		fail_msg("%s, %s: %s", op->name, when, a.fault);
}

/* All that is left is admitted to others, and then they wish. */
static void
assert_others_use_it(uint32_t most)
{
	struct rl_share s = read_share();
	uint32_t left = s.load < most ? most - s.load : 0;

	for (uint32_t i = 0; i < left; i++)
		assert_int_equal(check(now), RL_ALLOWED);
	assert_int_equal(check(now), RL_DENIED);
	if (read_share().load != (s.load > most ? s.load : most))
		fail_msg("%s: %u count, of %u", op->name, read_share().load, most);
	assert_true(take_wishes() >= 1);
}

/* As one who has opened the segment just now: what we have kept of versions may come otherwise. */
static void
forget(void)
{
	memset(rl->policies, 0, rl->segment.geometry.rules * sizeof *rl->policies);
}

/* Then there is something to lend, and the rule is defined anew. */
static void
assert_waits(void)
{
	uint64_t wait;

	forget();
	wait = read_wait();
	if (wait != wait_before && wait != wait_after)
		fail_msg("%s: a wait of %llu ns", op->name, (unsigned long long)wait);
	take_wishes();
	assert_int_equal(rl_share_dry(rl, &of_key, 0, now), 0);
	define(blind, MORE_WAIT);
	assert_int_equal(read_wait(), MORE_WAIT);
	take_wishes();
}

static void
assert_survived(void)
{
	struct rl_share s = read_share();

	assert_clean("after the kill");
	if (s.share != SHARE && s.share != op->share)
		fail_msg("%s: a share of %u", op->name, s.share);
	if (s.load != load_before && s.load != load_after)
		fail_msg("%s: %u count, of %u before and %u after", op->name, s.load, load_before,
		         load_after);
	if (op->share > 0 && s.load > s.share + blind)
		fail_msg("%s: %u count, with a share of %u", op->name, s.load, s.share);
	assert_waits();
	assert_others_use_it(s.share + blind);
	set(SHARE + 8);
	assert_others_use_it(SHARE + 8 + blind);
	assert_int_equal(rl_share_lower(rl, &of_key, 0, now, &s), 0);
	assert_true(s.share + blind >= s.load);
	assert_int_equal(rl_share_end(rl, &of_key, now, &s), 0);
	assert_int_equal(check(now), RL_DENIED);
	assert_clean("after others went on");
}

static void
restore(const unsigned char *from)
{
	forget();
	memcpy(rl->segment.header, from, rl->segment.bytes);
}

static void
keep(unsigned char *to)
{
	memcpy(to, rl->segment.header, rl->segment.bytes);
}

static bool
is_as(const unsigned char *bytes)
{
	return memcmp(rl->segment.header, bytes, rl->segment.bytes) == 0;
}

static int
stop_everywhere(int *changes)
{
	pid_t pid;
	int steps = 0;

	restore(before_run);
	keep(as_left);
	pid = start(op->run);
	for (; step(PTRACE_SINGLESTEP, pid); steps++) {
		if (is_as(as_left))
			continue;
		keep(as_left);
		assert_survived();
		restore(as_left);
		++*changes;
	}
	finish(pid);
	return steps;
}

static void
kill_in_earnest(int steps)
{
	for (int i = 1; i <= steps; i += stride(2 * steps)) {
		pid_t pid;

		restore(before_run);
		pid = start(op->run);
		advance(PTRACE_SINGLESTEP, pid, i);
		finish(pid);
		assert_survived();
	}
}

static void
open_segment(void)
{
	const struct rl_options o = {
		.keys = 9, .ring = 2 * CAPACITY, .on_full = RL_FULL_DENY, .flags = RL_OPEN_CLUSTER};

	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	define(BLIND, WAIT);
	assert_int_equal(rl_share_advance(rl, 2 * T0), 0);
	now = T0;
	assert_int_equal(check(T0), RL_ALLOWED);
	take_wishes();
	set(SHARE);
	before_run = malloc(rl->segment.bytes);
	as_left = malloc(rl->segment.bytes);
}

static void
test_operation(void **state)
{
	int changes = 0, steps;

	op = *state;
	open_segment();
	op->prepare();
	keep(before_run);
	load_before = read_share().load;
	wait_before = read_wait();
	restore(before_run);
	op->run();
	load_after = read_share().load;
	wait_after = read_wait();
	assert_int_equal(read_share().share, op->share);
	steps = stop_everywhere(&changes);
	assert_true(changes > 0);
	kill_in_earnest(steps);
	print_message("           %d instructions, %d left other bytes\n", steps, changes);
	free(before_run);
	free(as_left);
	rl_close(rl);
	test_unlink(NULL);
}

static const struct rl_limit window = {.algorithm = RL_SLIDING_WINDOW, .granularity = 4, .hard = 1};
static const struct rl_limit sliding_log = {.algorithm = RL_SLIDING_LOG};
static const struct rl_limit tokens = {.algorithm = RL_TOKEN_BUCKET, .burst = CAPACITY};

#define OPERATION(name, limit, prepare, run, share)                   \
	{                                                             \
		name, test_operation, NULL, NULL, &(struct operation) \
		{                                                     \
			name, &limit, prepare, run, share             \
		}                                                     \
	}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		OPERATION("charge", window, prepare_used, run_check, SHARE),
		OPERATION("roll", window, prepare_roll, run_check, SHARE),
		OPERATION("be denied", window, prepare_used_up, run_check, SHARE),
		OPERATION("refund", window, prepare_refund, run_refund, SHARE),
		OPERATION("charge a log", sliding_log, prepare_roll, run_check, SHARE),
		OPERATION("take a token", tokens, prepare_used, run_check, SHARE),
		OPERATION("take a token of more", tokens, prepare_more_blind, run_check, SHARE),
		OPERATION("give a token back", tokens, prepare_refund, run_refund, SHARE),
		OPERATION("lower", window, prepare_used, run_lower, 4),
		OPERATION("lower a bucket", tokens, prepare_used, run_lower, 4),
		OPERATION("raise", sliding_log, prepare_used, run_raise, SHARE + 5),
		OPERATION("raise a bucket", tokens, prepare_used, run_raise, SHARE + 5),
		OPERATION("end", tokens, prepare_used, run_end, 0),
		OPERATION("say that nothing is left", tokens, prepare_used, run_dry, SHARE),
		OPERATION("say that there is", window, prepare_dry, run_not_dry, SHARE),
		OPERATION("wait for longer", window, prepare_used, run_wait, SHARE),
		OPERATION("take wishes", window, prepare_wish, run_take_wishes, SHARE),
	};

	is_done = test_shared(sizeof *is_done);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
