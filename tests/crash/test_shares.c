/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A worker that decides by a share of a cluster's capacity, or who lends it, dies at any
 * instruction: each one that has changed a byte is tried out, and kills in earnest are made at some
 * (see step.h). Found must be: a segment that is whole; a share that is as before or as after;
 * nothing that counts beyond it and the blind part; others that are admitted all the rest of it,
 * and no more; a lender whose calls work; and a wish of whoever is denied next.
 */
#include <string.h>

#include "at.h"
#include "audit.h"
#include "rl_cluster.h"
#include "rule/handle.h"
#include "step.h"

#define T0 (UINT64_C(1700000001) * RL_SECOND)
#define CAPACITY 100
#define SHARE 6
#define BLIND 1

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
static uint64_t now;
static struct rl_incarnation of_key;
static struct rl_charges charged;
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

static void
assert_survived(void)
{
	struct rl_share s = read_share();

	assert_clean("after the kill");
	if (s.share != SHARE && s.share != op->share)
		fail_msg("%s: a share of %u", op->name, s.share);
	if (op->share > 0 && s.load > s.share + BLIND)
		fail_msg("%s: %u count, with a share of %u", op->name, s.load, s.share);
	assert_others_use_it(s.share + BLIND);
	set(SHARE + 8);
	assert_others_use_it(SHARE + 8 + BLIND);
	assert_int_equal(rl_share_lower(rl, &of_key, 0, now, &s), 0);
	assert_true(s.share + BLIND >= s.load);
	assert_int_equal(rl_share_end(rl, &of_key, now, &s), 0);
	assert_int_equal(check(now), RL_DENIED);
	assert_clean("after others went on");
}

static void
restore(const unsigned char *from)
{
	memcpy(rl->segment.header, from, rl->segment.bytes);
}

static void
keep(unsigned char *to)
{
	memcpy(to, rl->segment.header, rl->segment.bytes);
}

/* Where what it changes lies: from the table on, and the header. */
static bool
is_as(const unsigned char *bytes)
{
	const unsigned char *base = (const unsigned char *)rl->segment.header;
	size_t table = (size_t)((const unsigned char *)rl->segment.table.bucket - base);

	return memcmp(base, bytes, sizeof *rl->segment.header) == 0 &&
	       memcmp(base + table, bytes + table, rl->segment.bytes - table) == 0;
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
	struct rl_limit limit = *op->limit;

	limit.capacity = CAPACITY;
	limit.window_ns = RL_SECOND;
	limit.scope = RL_SCOPE_CLUSTER;
	limit.away = RL_AWAY_CLOSED;
	limit.blind = BLIND;
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});
	assert_true(rule >= 0);
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
	op->run();
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
		OPERATION("give a token back", tokens, prepare_refund, run_refund, SHARE),
		OPERATION("lower", window, prepare_used, run_lower, 4),
		OPERATION("lower a bucket", tokens, prepare_used, run_lower, 4),
		OPERATION("raise", sliding_log, prepare_used, run_raise, SHARE + 5),
		OPERATION("raise a bucket", tokens, prepare_used, run_raise, SHARE + 5),
		OPERATION("end", tokens, prepare_used, run_end, 0),
		OPERATION("take wishes", window, prepare_wish, run_take_wishes, SHARE),
	};

	is_done = test_shared(sizeof *is_done);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
