/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_OPERATION_H
#define RL_OPERATION_H

/*
 * A process that dies at any instruction. A child is single-stepped through an operation.
 * Whenever an instruction has changed a byte of the segment, the child stands still,
 * and what the others would find if it died there is tried out on the very bytes: nothing but
 * them outlives a process, so every instruction is covered. And as a process has more than its
 * bytes - locks, descriptors, files - a child is killed in earnest after every n-th instruction;
 * RL_CRASH_EVERY=1 makes n one.
 *
 * Found must be: a segment that is whole, each counter as it was before or after the operation,
 * others that go on at once, and nothing left after a sweep. For one file of a program: it defines
 * the hook.
 */
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "audit.h"
#include "rule/handle.h"
#include "rule/policy.h"
#include "step.h"

#define T0 (UINT64_C(1700000001) * RL_SECOND)
#define FAR (rl_now(rl) + UINT64_C(1000000) * RL_SECOND) /* a reset is at the segment's own time */
#define KEYS 20
#define SLOTS 16
#define ACCESSES_MAX 6000 /* of an operation that has to clear up: it waits for nobody */

static const char *const rule_names[] = {"hard", "log", "token", "two"};

enum {
	HARD,
	LOG,
	TOKEN,
	TWO,
	RULES
};

static struct rl *rl;
static int rules[RULES];
static int space;         /* of counters by key */
static bool is_killed;    /* in earnest: its locks are gone, too */
static uint64_t now;      /* of the operation and those after it */
static uint64_t accesses; /* to shared words, where the build counts them */
static unsigned char *base, *before_run, *as_left;

struct seen {
	uint32_t used[RULES][KEYS];
	uint32_t limit[2];       /* of the rule "two" */
	uint64_t counted[KEYS];  /* of the counters by key */
	uint64_t lifetime[KEYS]; /* what is left of it */
};

static struct seen before, after;

/* An operation: `run` is what dies, on a segment that `prepare` has made ready. */
struct operation {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
	void (*survive)(void); /* what else the others find */
};

/* Called by atomic.h on the builds that count. */
void rl_atomic_hook(void);

void
rl_atomic_hook(void)
{
	accesses++;
}

static void
restore(const unsigned char *from)
{
	/*
	 * What we have kept is of versions that will come again, and may say something else then.
	 */
	memset(rl->policies, 0, rl->segment.geometry.rules * sizeof *rl->policies);
	memcpy(rl->segment.header, from, rl->segment.bytes);
}

static void
keep(unsigned char *to)
{
	memcpy(to, rl->segment.header, rl->segment.bytes);
}

static void
key_text(int key, char text[static 4])
{
	snprintf(text, 4, "k%d", key);
}

static enum rl_verdict
check_at(int rule, int key, uint64_t at, struct rl_result *r)
{
	char text[4];

	key_text(key, text);
	return at_check(rl, rules[rule], text, strlen(text), 1, at, r);
}

static uint32_t
used(int rule, int key)
{
	struct rl_result r;
	char text[4];

	key_text(key, text);
	at_peek(rl, rules[rule], text, strlen(text), now, &r);
	return r.limit - r.remaining;
}

static void
observe_counters(struct seen *s)
{
	for (int key = 0; key < KEYS; key++) {
		struct rl_count count;
		char text[4];

		key_text(key, text);
		assert_true(at_counter_get(rl, space, text, strlen(text), now, &count) >= 0);
		s->counted[key] = count.value;
		s->lifetime[key] = count.expires_after_ns;
	}
}

static void
observe(struct seen *s)
{
	const struct rl_item item = {.rule = rules[TWO], .key = "k0", .key_len = 2};
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t count;

	for (int rule = 0; rule < RULES; rule++)
		for (int key = 0; key < KEYS; key++)
			s->used[rule][key] = used(rule, key);
	at_check_limits(rl, &item, now, &r, &count, each);
	for (size_t i = 0; i < 2; i++)
		s->limit[i] = i < count ? each[i].limit : 0;
	observe_counters(s);
}

/* And one rule more, or NULL. */
static int
configure_with(uint32_t capacity, const struct rl_config_rule *more)
{
	const struct rl_limit second = {
		.capacity = capacity, .window_ns = 60 * RL_SECOND, .granularity = 2};
	const struct rl_override own = {.pattern = rl_pattern_of("k19", 3),
	                                .capacity = {capacity + 1, capacity + 1}};
	struct rl_config_rule configured[2] = {
		{.rule = {.name = "two",
	                  .limit = {.capacity = capacity, .window_ns = 6 * RL_SECOND},
	                  .more = &second,
	                  .more_count = 1},
	         .overrides = &own,
	         .override_count = 1}};

	if (more)
		configured[1] = *more;
	return rl_configure(rl, configured, more ? 2 : 1, 0, NULL, NULL);
}

static int
configure(uint32_t capacity)
{
	return configure_with(capacity, NULL);
}

static void
assert_clean(const char *when)
{
	struct audit a;

	if (!audit_segment(rl, &a))
		fail_msg("%s: %s", when, a.fault);
}

/* Each counter is as before or as after, by itself. */
static void
assert_one_or_the_other(void)
{
	struct seen s;

	observe(&s);
	for (int rule = 0; rule < RULES; rule++)
		for (int key = 0; key < KEYS; key++)
			if (s.used[rule][key] != before.used[rule][key] &&
			    s.used[rule][key] != after.used[rule][key])
				fail_msg("%s, key %d: used %u, before %u, after %u",
				         rule_names[rule], key, s.used[rule][key],
				         before.used[rule][key], after.used[rule][key]);
	for (int i = 0; i < 2; i++)
		assert_true(s.limit[i] == before.limit[i] || s.limit[i] == after.limit[i]);
	for (int key = 0; key < KEYS; key++) /* value and lifetime are of one word */
		assert_true((s.counted[key] == before.counted[key] &&
		             s.lifetime[key] == before.lifetime[key]) ||
		            (s.counted[key] == after.counted[key] &&
		             s.lifetime[key] == after.lifetime[key]));
}

/* The others are served at once, and exactly. */
static void
assert_others_proceed(void)
{
	for (int rule = 0; rule < RULES; rule++) {
		for (int key = 0; key < 3; key++) {
			uint32_t had = used(rule, key);
			struct rl_result r;
			uint64_t start = accesses;
			enum rl_verdict verdict = check_at(rule, key, now, &r);
			assert_true(accesses - start <= ACCESSES_MAX);
			assert_int_equal(r.error, 0);
			assert_int_equal(verdict, had < r.limit ? RL_ALLOWED : RL_DENIED);
			assert_int_equal(used(rule, key), had + (verdict == RL_ALLOWED));
		}
	}
}

/* All that must hold if the child never comes back. */
static void
assert_survived(const struct operation *op)
{
	assert_clean("after the kill");
	assert_one_or_the_other();
	if (op->survive)
		op->survive();
	assert_others_proceed();
	assert_clean("after others went on");
	rl_sweep_at(rl, FAR);
	assert_int_equal(rl_fill(rl), 0);
	assert_clean("after the sweep");
}

/* Every instruction, by way of the bytes it leaves. Returns how many there were. */
static int
stop_everywhere(const struct operation *op, int *changes)
{
	pid_t pid;
	int steps = 0;

	is_killed = false;
	restore(before_run);
	keep(as_left);
	pid = start(op->run);
	for (; step(PTRACE_SINGLESTEP, pid); steps++) {
		if (memcmp(rl->segment.header, as_left, rl->segment.bytes) == 0)
			continue;
		keep(as_left);
		assert_survived(op);
		restore(as_left);
		++*changes;
	}
	finish(pid);
	return steps;
}

static void
kill_after(const struct operation *op, enum __ptrace_request request, int steps)
{
	pid_t pid;

	is_killed = true;
	restore(before_run);
	pid = start(op->run);
	advance(request, pid, steps);
	finish(pid);
	assert_survived(op);
}

static int
kill_in_earnest(const struct operation *op, int steps)
{
	int kills = 0;

	for (int i = 1; i <= steps; i += stride(steps), kills++)
		kill_after(op, PTRACE_SINGLESTEP, i);
	return kills;
}

static void
test_operation(void **state)
{
	const struct operation *op = *state;
	int changes = 0, steps, kills;

	now = T0;
	restore(base);
	op->prepare();
	keep(before_run);
	observe(&before);
	op->run();
	observe(&after);
	assert_clean(op->name);
	steps = stop_everywhere(op, &changes);
	assert_true(changes > 0);
	kills = kill_in_earnest(op, steps);
	print_message("           %d instructions, %d left other bytes, %d kills\n", steps, changes,
	              kills);
}

/* A segment with a rule of each kind, which each operation begins with. */
static int
open_base(void **state)
{
	const struct rl_options tiny = {.keys = 12,
	                                .ring = 8,
	                                .rules = 7,
	                                .bans = 4,
	                                .overrides = 4,
	                                .buffer_ns = RL_SECOND};
	const struct rl_limit log = {
		.algorithm = RL_SLIDING_LOG, .capacity = 4, .window_ns = 3 * RL_SECOND};
	const struct rl_limit token = {
		.algorithm = RL_TOKEN_BUCKET, .capacity = 6, .window_ns = 3 * RL_SECOND};

	(void)state;
	is_done = test_shared(sizeof *is_done);
	assert_int_equal(rl_open(test_segment_name(), &tiny, &rl), 0);
	rules[HARD] = test_rule(rl, "hard", 6, 3 * RL_SECOND, 3, true);
	rules[LOG] = rl_define(rl, &(struct rl_rule){.name = "log", .limit = log});
	rules[TOKEN] = rl_define(rl, &(struct rl_rule){.name = "token", .limit = token});
	assert_int_equal(configure(7), 0);
	rules[TWO] = rl_find(rl, "two");
	space = rl_define_counters(rl, "counters");
	assert_true(space >= 0);
	base = malloc(rl->segment.bytes);
	before_run = malloc(rl->segment.bytes);
	as_left = malloc(rl->segment.bytes);
	keep(base);
	return 0;
}

static int
close_base(void **state)
{
	free(base);
	free(before_run);
	free(as_left);
	rl_close(rl);
	return test_unlink(state);
}

#define OPERATION(name, prepare, run, survive)                        \
	{                                                             \
		name, test_operation, NULL, NULL, &(struct operation) \
		{                                                     \
			name, prepare, run, survive                   \
		}                                                     \
	}

#endif
