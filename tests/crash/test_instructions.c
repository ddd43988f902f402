/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that dies at any instruction. A child is single-stepped through one operation after
 * the other. Whenever an instruction has changed a byte of the segment, the child stands still,
 * and what the others would find if it died there is tried out on the very bytes: nothing but
 * them outlives a process, so every instruction is covered. And as a process has more than its
 * bytes - locks, descriptors, files - a child is killed in earnest after every n-th instruction
 * and after each system call; RL_CRASH_EVERY=1 makes n one.
 *
 * Found must be: a segment that is whole, each counter as it was before or after the operation,
 * others that go on at once, and nothing left after a sweep.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000001) * RL_SECOND)
#define FAR (T0 + UINT64_C(1000000) * RL_SECOND)
#define KEYS 20
#define SLOTS 16
#define KILLS_MIN 4       /* in earnest, of each operation, */
#define KILL_STEPS 15000  /* or as many as take so many steps */
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
static bool is_killed;        /* in earnest: its locks are gone, too */
static uint64_t now;          /* of the operation and those after it */
static uint64_t accesses;     /* to shared words, where the build counts them */
static volatile int *is_done; /* the child has come to its end */
static unsigned char *base, *before_run, *as_left;

struct seen {
	uint32_t used[RULES][KEYS];
	uint32_t limit[2]; /* of the rule "two" */
};

static struct seen before, after;

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
	return rl_check_at(rl, rules[rule], text, strlen(text), 1, at, r);
}

static uint32_t
used(int rule, int key)
{
	struct rl_result r;
	char text[4];

	key_text(key, text);
	rl_peek_at(rl, rules[rule], text, strlen(text), now, &r);
	return r.limit - r.remaining;
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
	rl_check_limits_at(rl, &item, now, &r, &count, each);
	for (size_t i = 0; i < 2; i++)
		s->limit[i] = i < count ? each[i].limit : 0;
}

/* The operations, each on a segment that prepare() has made ready; run() is what dies. */

static struct rl_result charged; /* by prepare(), for run() to refund */

static void
prepare_nothing(void)
{
}

static void
run_insert(void)
{
	check_at(HARD, 0, now, NULL);
}

static void
prepare_hit(void)
{
	check_at(HARD, 0, now, NULL);
	check_at(HARD, 1, now, NULL);
}

/* Three sub-buckets, each with another count; the operation comes two later. */
static void
prepare_roll(void)
{
	for (int i = 0; i < 6; i++)
		check_at(HARD, 0, T0 + (uint64_t)(i / 2 + i / 5) * RL_SECOND, NULL);
	now = T0 + 5 * RL_SECOND;
}

static void
prepare_log(void)
{
	for (uint64_t i = 0; i < 3; i++)
		check_at(LOG, 0, T0 + i / 2 * RL_SECOND, NULL);
	now = T0 + 2 * RL_SECOND;
}

static void
run_log(void)
{
	check_at(LOG, 0, now, NULL);
}

static void
prepare_token(void)
{
	check_at(TOKEN, 0, now, NULL);
}

static void
run_token(void)
{
	check_at(TOKEN, 0, now, NULL);
}

static void
run_all(void)
{
	check_at(TWO, 0, now, NULL);
}

static void
prepare_refund(void)
{
	check_at(TWO, 0, now, NULL);
	check_at(TWO, 0, now, &charged);
}

static void
run_refund(void)
{
	struct rl_result copy = charged;

	rl_refund_at(rl, &copy, now);
}

static void
run_reset(void)
{
	rl_reset(rl, rules[TWO], "k0", 2);
}

/* All slots used; key 3 has used the least. */
static void
prepare_full(void)
{
	for (int key = 1; key <= SLOTS; key++)
		for (int i = 0; i < 2; i++)
			if (i == 0 || key != 3)
				check_at(HARD, key, now, NULL);
}

/* All slots used, one of them stale. */
static void
prepare_stale(void)
{
	check_at(HARD, 1, T0 - 100 * RL_SECOND, NULL);
	for (int key = 2; key <= SLOTS; key++)
		check_at(HARD, key, now, NULL);
}

/* For the sweeper: stale ones, live ones, a claim left half way and a retirement likewise. */
static void
prepare_sweep(void)
{
	struct rl_table *t = &rl->segment.table;
	int left = 2;

	for (int key = 0; key < 4; key++) {
		check_at(HARD, key, T0 - 100 * RL_SECOND, NULL);
		check_at(LOG, key, T0 - 100 * RL_SECOND, NULL);
		check_at(TOKEN, key, now, NULL);
	}
	for (unsigned i = 0; i < SLOTS && left > 0; i++) {
		uint64_t *tag = rl_table_tag(t, i);
		struct rl_u128 *state = rl_table_state(t, i);
		if (rl_tag_status(*tag) == RL_TAG_FREE)
			*tag = rl_tag_make(RL_TAG_TENT, rl_tag_gen(*tag), 77);
		else if (rl_tag_limit(*tag) == 0)
			*state = rl_state_retired(*state, rl_tag_gen(*tag));
		else
			continue;
		left--;
	}
}

static void
run_sweep(void)
{
	rl_sweep_at(rl, now);
}

static void
run_ban(void)
{
	const struct rl_pattern p = {.key = "b", .key_len = 1};

	rl_ban(rl, rules[HARD], &p, RL_NEVER_NS);
}

/* Killed half way or not, it can be set, holds, and can be lifted. */
static void
survive_ban(void)
{
	const struct rl_pattern p = {.key = "b", .key_len = 1};
	struct rl_result r;

	rl_check_at(rl, rules[HARD], "b", 1, 0, now, &r);
	assert_int_equal(r.verdict, r.reason == RL_BY_BAN ? RL_DENIED : RL_ALLOWED);
	run_ban();
	assert_int_equal(rl_check_at(rl, rules[HARD], "b", 1, 1, now, &r), RL_DENIED);
	assert_int_equal(rl_unban(rl, rules[HARD], &p), 1);
	assert_int_equal(rl_check_at(rl, rules[HARD], "b", 1, 0, now, &r), RL_ALLOWED);
}

static void
run_define(void)
{
	test_rule(rl, "new", 3, 3 * RL_SECOND, 3, true);
}

static void
survive_define(void)
{
	struct rl_result r;
	int id;

	run_define();
	id = rl_find(rl, "new");
	assert_int_equal(rl_check_at(rl, id, "n", 1, 1, now, &r), RL_ALLOWED);
	assert_int_equal(r.limit, 3);
	rl_reset(rl, id, "n", 1);
}

/* A shape that was left, and is taken up again. */
static void
prepare_again(void)
{
	run_define();
	rl_check_at(rl, rl_find(rl, "new"), "n", 1, 3, now, NULL);
	test_rule(rl, "new", 3, 5 * RL_SECOND, 3, true);
	rl_check_at(rl, rl_find(rl, "new"), "n", 1, 3, now, NULL);
}

/* No row that was never used: the next limit takes one that was left. */
static void
prepare_rows(void)
{
	struct rl_info info;

	rl_info(rl, &info);
	for (uint32_t i = 0; i < info.limits; i++) {
		test_rule(rl, "new", 3, (100 + i) * RL_SECOND, 3, true);
		rl_check_at(rl, rl_find(rl, "new"), "n", 1, 1, now, NULL);
	}
}

/* Who only stands still has the turn; who was killed did not take it along. */
static void
survive_rows(void)
{
	struct rl_rule_info info;
	struct rl_result r;
	int id = rl_find(rl, "new");

	assert_int_equal(rl_check_at(rl, id, "other", 5, 0, now, &r), RL_ALLOWED);
	assert_int_equal(r.error, 0);
	assert_int_equal(r.remaining, 3);
	if (!is_killed)
		return;
	survive_define();
	assert_int_equal(rl_rule_info(rl, id, &info), 1);
	assert_true(info.limits[0].window_ns == 3 * RL_SECOND);
}

static int left; /* the handle of a rule whose row is to become "new"'s */

/* No row of a rule that was never used: the next name takes one that was left. */
static void
prepare_names(void)
{
	struct rl_info info;

	rl_info(rl, &info);
	left = test_rule(rl, "left", 3, 3 * RL_SECOND, 3, true);
	for (uint32_t i = info.rules_used + 1; i < info.rules; i++)
		test_rule(rl, i % 2 ? "odd" : "even", 3, 3 * RL_SECOND, 3, true);
	for (int i = 0; i < 5; i++)
		rl_check_at(rl, left, "n", 1, 1, now, NULL);
	assert_int_equal(rl_forget(rl, "left"), 1);
}

/* The handle that was left limits nothing, and the new rule begins with nothing. */
static void
survive_names(void)
{
	uint64_t counted[RL_COUNTERS];
	struct rl_rule_info info;
	struct rl_result r;
	int id;

	assert_int_equal(rl_rule_info(rl, left, &info), 1); /* whose the row is now */
	assert_int_equal(rl_stats(rl, info.handle, counted, RL_COUNTERS), 0);
	assert_int_equal(counted[RL_COUNT_denied], info.handle == left ? 2 : 0);
	assert_int_equal(rl_check_at(rl, left, "n", 1, 1, now, &r), RL_ALLOWED);
	assert_int_equal(r.error, RL_EREMOVED);
	if (!is_killed)
		return;
	survive_define();
	id = rl_find(rl, "new");
	assert_true(id > left && (id & RL_RULE_INDEX_MASK) == left);
	assert_int_equal(rl_stats(rl, id, counted, RL_COUNTERS), 0);
	assert_int_equal(counted[RL_COUNT_allowed], 1);
	assert_int_equal(counted[RL_COUNT_denied], 0);
}

static int
configure(uint32_t capacity)
{
	const struct rl_limit second = {
		.capacity = capacity, .window_ns = 60 * RL_SECOND, .granularity = 2};
	const struct rl_override own = {.pattern = rl_pattern_of("k19", 3),
	                                .capacity = {capacity + 1, capacity + 1}};
	const struct rl_config_rule two = {
		.rule = {.name = "two",
	                 .limit = {.capacity = capacity, .window_ns = 6 * RL_SECOND},
	                 .more = &second,
	                 .more_count = 1},
		.overrides = &own,
		.override_count = 1};

	return rl_configure(rl, &two, 1, 0, NULL, NULL);
}

static void
run_configure(void)
{
	configure(9);
}

/* One configuration or the other; and whoever killed did not take the lock along. */
static void
survive_configure(void)
{
	struct seen s;

	observe(&s);
	assert_int_equal(s.limit[0], s.limit[1]);
	if (!is_killed)
		return;
	assert_int_equal(configure(11), 0);
	observe(&s);
	assert_int_equal(s.limit[0], 11);
	assert_int_equal(s.limit[1], 11);
}

static const struct operation {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
	void (*survive)(void);
} operations[] = {
	{"insert", prepare_nothing, run_insert, NULL},
	{"hit", prepare_hit, run_insert, NULL},
	{"roll", prepare_roll, run_insert, NULL},
	{"roll a log", prepare_log, run_log, NULL},
	{"take a token", prepare_token, run_token, NULL},
	{"charge two limits", prepare_hit, run_all, NULL},
	{"refund", prepare_refund, run_refund, NULL},
	{"reset", prepare_refund, run_reset, NULL},
	{"evict", prepare_full, run_insert, NULL},
	{"take a stale slot", prepare_stale, run_insert, NULL},
	{"sweep", prepare_sweep, run_sweep, NULL},
	{"ban", prepare_hit, run_ban, survive_ban},
	{"define", prepare_hit, run_define, survive_define},
	{"define again", prepare_again, run_define, survive_define},
	{"use a row again", prepare_rows, run_define, survive_rows},
	{"use a rule's row again", prepare_names, run_define, survive_names},
	{"configure", prepare_refund, run_configure, survive_configure},
};

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

/* A child that stands before the first instruction of `run`. */
static pid_t
start(void (*run)(void))
{
	pid_t pid;
	int status;

	*is_done = 0;
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(1);
		raise(SIGTRAP);
		run();
		*is_done = 1;
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

/* One more instruction, or whatever the request means; false when the operation is over. */
static bool
step(enum __ptrace_request request, pid_t pid)
{
	int status;

	assert_int_equal(ptrace(request, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return !*is_done;
}

/*
 * So many of them, or until the operation is over: it may take fewer steps than it took when they
 * were counted, for it waits for others of this machine. Beyond its end the child sleeps for ever.
 */
static void
advance(enum __ptrace_request request, pid_t pid, int steps)
{
	for (int i = 0; i < steps; i++)
		if (!step(request, pid))
			return;
}

static void
finish(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
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

/* How far apart the kills are: a kill at step n takes n steps. */
static int
stride(int steps)
{
	const char *given = getenv("RL_CRASH_EVERY");
	int kills = 2 * KILL_STEPS / (steps + 1);
	int every = given ? atoi(given) : steps / (kills > KILLS_MIN ? kills : KILLS_MIN);

	return every > 0 ? every : 1;
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
play(const struct operation *op)
{
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
	print_message("           %s: %d instructions, %d left other bytes, %d kills\n", op->name,
	              steps, changes, kills);
}

static const struct rl_options tiny = {
	.keys = 12, .ring = 8, .rules = 6, .bans = 4, .overrides = 4, .buffer_ns = RL_SECOND};

static void
test_operations(void **state)
{
	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &tiny, &rl), 0);
	rules[HARD] = test_rule(rl, "hard", 6, 3 * RL_SECOND, 3, true);
	rules[LOG] = rl_define(rl, &(struct rl_rule){.name = "log",
	                                             .limit = {.algorithm = RL_SLIDING_LOG,
	                                                       .capacity = 4,
	                                                       .window_ns = 3 * RL_SECOND}});
	rules[TOKEN] = rl_define(rl, &(struct rl_rule){.name = "token",
	                                               .limit = {.algorithm = RL_TOKEN_BUCKET,
	                                                         .capacity = 6,
	                                                         .window_ns = 3 * RL_SECOND}});
	assert_int_equal(configure(7), 0);
	rules[TWO] = rl_find(rl, "two");
	base = malloc(rl->segment.bytes);
	before_run = malloc(rl->segment.bytes);
	as_left = malloc(rl->segment.bytes);
	keep(base);
	for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
		play(&operations[i]);
	free(base);
	free(before_run);
	free(as_left);
	rl_close(rl);
}

static void
run_create(void)
{
	struct rl *mine;

	rl_open(test_segment_name(), &tiny, &mine);
}

/* There is no segment or a whole one, and the next one has it at once. */
static void
create_and_die(enum __ptrace_request request, int steps)
{
	pid_t pid = start(run_create);
	struct audit a;
	int error;

	advance(request, pid, steps);
	finish(pid);
	error = rl_open(test_segment_name(), &(struct rl_options){.flags = RL_OPEN_EXISTING}, &rl);
	assert_true(error == 0 || error == -ENOENT);
	if (error < 0)
		assert_int_equal(rl_open(test_segment_name(), &tiny, &rl), 0);
	assert_true(audit_segment(rl, &a));
	rules[HARD] = test_rule(rl, "hard", 6, 3 * RL_SECOND, 3, true);
	assert_int_equal(check_at(HARD, 0, now, NULL), RL_ALLOWED);
	rl_close(rl);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

static int
count_steps(enum __ptrace_request request)
{
	pid_t pid = start(run_create);
	int steps = 0;

	while (step(request, pid))
		if (++steps > 10000000)
			fail();
	finish(pid);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	return steps;
}

/* After the last system call the child pauses: that one is not the operation's. */
static int
count_calls(void)
{
	pid_t pid = start(run_create);
	int calls = 0;

	for (; !*is_done; calls++)
		step(PTRACE_SYSCALL, pid);
	finish(pid);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	return calls;
}

static void
test_creation(void **state)
{
	int steps, calls, kills = 0;

	(void)state;
	now = T0;
	steps = count_steps(PTRACE_SINGLESTEP);
	calls = count_calls();
	for (int i = 1; i < steps; i += stride(steps), kills++)
		create_and_die(PTRACE_SINGLESTEP, i);
	for (int i = 1; i < calls; i++, kills++)
		create_and_die(PTRACE_SYSCALL, i);
	/* and two that are through before their time comes */
	create_and_die(PTRACE_SINGLESTEP, 2 * steps);
	create_and_die(PTRACE_SYSCALL, 2 * calls);
	print_message("           create: %d instructions, %d stops at system calls, %d kills\n",
	              steps, calls, kills);
}

static int
unlink_segment(void **state)
{
	(void)state;
	rl_unlink(test_segment_name());
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_operations, unlink_segment),
		cmocka_unit_test_teardown(test_creation, unlink_segment),
	};

	test_segment_name();
	is_done = mmap(NULL, sizeof *is_done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	               -1, 0);
	if (is_done == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
