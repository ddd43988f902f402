/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A storm: workers, a sweeper, at times rld, a configurer, and one who resizes, on one segment, all
 * of them killed, stopped, resumed and replaced at any moment, for as many seconds as
 * RL_STORM_SECONDS says. What was acknowledged is written down where no kill can take it back, and
 * compared at the end:
 *
 *	conservation   acknowledged <= counted <= acknowledged + kills of workers
 *	no window of a `hard` rule or a log, wherever it begins, holds more than its capacity
 *	no answer mixes two configurations
 *	whoever is left alone goes on
 *	the segment is whole, and empty after a sweep
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "at.h"
#include "audit.h"
#include "move/follow.h"
#include "rule/handle.h"
#include "testing.h"

#define WORKERS 8
#define SWEEPER WORKERS
#define CONFIGURER (WORKERS + 1)
#define RESIZER (WORKERS + 2)
#define PROCESSES (WORKERS + 3)
#define HOT 8
#define CHURNING 500 /* keys at a time */
#define CAPACITY 25
#define BUFFER_NS RL_SECOND
#define SECONDS_DEFAULT 8
#define ALONE_NS (30 * RL_SECOND) /* to make LONELY requests; no more than a timeout */
#define LONELY 200
#define RLD "build/rld" /* every other sweeper, if it has been built */
#define URGENT (-15)    /* nice value: of who strikes, and who dies; where it is permitted */

enum rules {
	COUNTED, /* admits all, and all of it counts to the end */
	HARD,
	LOG,
	PREFETCHED,
	CHURN,
	TWO, /* configured */
	RULES
};

static const char *const rule_names[RULES] = {"counted",    "hard",  "log",
                                              "prefetched", "churn", "two"};

static const struct rl_limit limits[TWO] = {
	[HARD] = {.capacity = CAPACITY,
                  .window_ns = 100 * RL_MILLISECOND,
                  .granularity = 8,
                  .hard = 1},
	[LOG] = {.algorithm = RL_SLIDING_LOG,
                 .capacity = CAPACITY,
                 .window_ns = 50 * RL_MILLISECOND},
	[PREFETCHED] = {.capacity = 400,
                        .window_ns = 100 * RL_MILLISECOND,
                        .granularity = 3,
                        .hard = 1,
                        .prefetch = 8},
	[CHURN] = {.capacity = 3, .window_ns = 20 * RL_MILLISECOND, .granularity = 2},
};

enum exit_code {
	EXIT_OPEN = 10,
	EXIT_UNDECIDED,
	EXIT_TORN,
	EXIT_WRITE,
	EXIT_SUPERVISE,
	EXIT_RLD,
	EXIT_CONFIGURE,
	EXIT_RESIZE
};

/* An admission: under which rule, by whom, and from when on it counts. */
struct admission {
	uint64_t whose; /* rule * HOT + key */
	uint64_t at_ns;
};

/* What outlives a worker. */
struct board {
	int rules[RULES];
	uint64_t acknowledged[HOT];
	uint64_t requests[WORKERS];
	uint64_t late; /* admissions too old to be told from those of a retired counter */
	uint64_t configured;
	uint64_t swept;
	uint64_t resized, moved; /* tables made, and left by all keys */
};

static struct board *board;
static int logs[WORKERS];
static uint64_t seed;

static struct {
	pid_t pid;
	bool is_stopped;
	uint64_t resume_ns;
} processes[PROCESSES];

static struct {
	unsigned kills, kills_of_workers, stops, alone, daemons;
} figures;

static char directory[64], config_path[80];

static uint64_t
clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

/* Workers. None asserts: what is wrong is in the exit code. */

static uint64_t
effective_ns(enum rules rule, const struct rl_charges *charges, uint64_t now)
{
	const struct rl_limit *l = &limits[rule];
	uint64_t width = rule == LOG ? 1 : (l->window_ns + l->granularity - 1) / l->granularity;
	uint64_t start = charges->charge[0].epoch * width;

	return now > start ? now : start;
}

static void
count(struct rl *rl)
{
	uint64_t key = test_below(&seed, HOT);
	struct rl_result r;

	if (at_check(rl, board->rules[COUNTED], &key, sizeof key, 1, rl_now(rl), &r) == RL_ALLOWED)
		rl_atomic_add(&board->acknowledged[key], 1);
	else
		_exit(EXIT_UNDECIDED);
}

static void
limit(struct rl *rl, int worker, enum rules rule)
{
	uint64_t key = test_below(&seed, 4), now = rl_now(rl);
	struct rl_charges charges;
	struct admission a;
	struct rl_result r;

	if (test_check_at(rl, board->rules[rule], &key, sizeof key, 1, now, &r, &charges) ==
	    RL_UNDECIDED)
		_exit(EXIT_UNDECIDED);
	if (r.verdict != RL_ALLOWED)
		return;
	a = (struct admission){(uint64_t)rule * HOT + key, effective_ns(rule, &charges, now)};
	if (test_below(&seed, 8) == 0 && rl_refund(rl, &charges) == 1)
		return;
	if (rl_now(rl) - now > BUFFER_NS / 2)
		rl_atomic_add(&board->late, 1);
	else if (write(logs[worker], &a, sizeof a) != sizeof a)
		_exit(EXIT_WRITE);
}

/* Keys that come, are used a few times, and never come again; a few are forgotten at once. */
static void
churn(struct rl *rl)
{
	uint64_t now = rl_now(rl);
	uint64_t key = now / (BUFFER_NS / 2) * CHURNING + test_below(&seed, CHURNING);

	if (at_check(rl, board->rules[CHURN], &key, sizeof key, 1, now, NULL) == RL_UNDECIDED)
		_exit(EXIT_UNDECIDED);
	if (test_below(&seed, 8) == 0)
		rl_reset(rl, board->rules[CHURN], &key, sizeof key);
}

static void
inspect_configuration(struct rl *rl)
{
	const struct rl_item item = {.rule = board->rules[TWO], .key = "x", .key_len = 1};
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t n;

	at_check_limits(rl, &item, rl_now(rl), &r, &n, each);
	if (r.error != 0 || n != 2 || each[0].limit != each[1].limit)
		_exit(EXIT_TORN);
}

static void
work(struct rl *rl, int worker)
{
	for (;;) {
		switch (test_below(&seed, 8)) {
		case 0:
			inspect_configuration(rl);
			break;
		case 1:
		case 2:
			churn(rl);
			break;
		case 3:
			limit(rl, worker, LOG);
			break;
		case 4:
			limit(rl, worker, HARD);
			break;
		case 5:
			for (int i = 0; i < 20; i++)
				limit(rl, worker, PREFETCHED);
			if (test_below(&seed, 20) == 0)
				rl_prefetch_return(rl);
			break;
		default:
			count(rl);
		}
		rl_atomic_add(&board->requests[worker], 1);
	}
}

static void
sweep(struct rl *rl)
{
	struct rl_info info;
	pid_t holder;

	if (rl_supervise(rl, &holder) < 0) /* the kernel has taken the lock from the one before */
		_exit(EXIT_SUPERVISE);
	rl_info(rl, &info);
	for (uint64_t at = 0;; at = at + 256 < info.slots ? at + 256 : 0) {
		struct rl_swept swept = {0};
		uint64_t now = rl_now(rl);
		rl_sweep_slots_at(rl, at, 256, now, &swept);
		rl_heartbeat_at(rl, now);
		rl_atomic_add(&board->swept, swept.retired + swept.unused);
		usleep(200);
	}
}

/* What rld is told: the same segment and the same rule, so that its answers are whole, too. */
static void
write_config(void)
{
	FILE *file;

	test_make_directory(directory, sizeof directory);
	snprintf(config_path, sizeof config_path, "%s/rl.json", directory);
	file = fopen(config_path, "we");
	assert_non_null(file);
	fprintf(file,
	        "{\"segment\": {\"name\": \"%s\", \"keys\": 8000},"
	        " \"gc\": {\"interval\": \"1s\", \"buffer\": \"1s\"},"
	        " \"rules\": {\"two\": {\"limits\": [{\"limit\": \"7/1s\"}, {\"limit\": "
	        "\"7/2s\"}]}}}\n",
	        test_segment_name());
	assert_int_equal(fclose(file), 0);
}

static void
be_rld(void)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execl(RLD, RLD, "-c", config_path, (char *)NULL);
	_exit(EXIT_RLD);
}

static int
configure(struct rl *rl, uint32_t capacity)
{
	const struct rl_limit second = {.capacity = capacity, .window_ns = 2 * RL_SECOND};
	const struct rl_config_rule two = {
		.rule = {.name = "two",
	                 .limit = {.capacity = capacity, .window_ns = RL_SECOND},
	                 .more = &second,
	                 .more_count = 1}};

	return rl_configure(rl, &two, 1, 0, NULL, NULL);
}

static void
reconfigure(struct rl *rl)
{
	for (uint32_t i = 1;; i++) {
		if (configure(rl, 1 + i % 1000) < 0)
			_exit(EXIT_CONFIGURE);
		rl_atomic_add(&board->configured, 1);
		usleep(100);
	}
}

/* All keys that can move. True: none is left. */
static bool
move_all(struct rl *rl, uint64_t now_ns)
{
	struct rl_info info;

	rl_info(rl, &info);
	for (uint64_t at = 0; at < info.slots_before; at += 256) {
		struct rl_moving moving = {0};
		rl_move_slots_at(rl, at, 256, now_ns, &moving);
	}
	return rl_move_end(rl) == 1;
}

/* Up and down. What it does not end, the next one ends, or a request for the key. */
static void
resize(struct rl *rl)
{
	for (;;) {
		struct rl_resize to = {.keys = 8000 + (uint32_t)test_below(&seed, 12000)};
		int error = rl_resize(rl, &to, 0);

		if (error == 0)
			rl_atomic_add(&board->resized, 1);
		else if (error != RL_EMOVING && error != -EBUSY)
			_exit(EXIT_RESIZE);
		if (move_all(rl, rl_now(rl)))
			rl_atomic_add(&board->moved, 1);
		usleep((useconds_t)test_below(&seed, 3000));
	}
}

/* The controller. */

static void
launch(int i)
{
	uint64_t mine = test_random(&seed);
	bool is_rld = i == SWEEPER && mine % 2 == 0 && access(RLD, X_OK) == 0;
	pid_t pid = fork();
	struct rl *rl;

	assert_true(pid >= 0);
	processes[i].pid = pid;
	processes[i].is_stopped = false;
	figures.daemons += is_rld;
	if (pid > 0)
		return;
	seed = mine;
	setpriority(PRIO_PROCESS, 0, 0);
	if (is_rld)
		be_rld();
	if (rl_open(test_segment_name(), &(struct rl_options){.flags = RL_OPEN_EXISTING}, &rl) < 0)
		_exit(EXIT_OPEN);
	if (i < WORKERS)
		work(rl, i);
	else if (i == SWEEPER)
		sweep(rl);
	else if (i == CONFIGURER)
		reconfigure(rl);
	else
		resize(rl);
}

static void
end(int i)
{
	int status;

	kill(processes[i].pid, SIGKILL);
	setpriority(PRIO_PROCESS, (id_t)processes[i].pid, URGENT); /* to die takes the CPU, too */
	assert_int_equal(waitpid(processes[i].pid, &status, 0), processes[i].pid);
	processes[i].pid = 0;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("process %d: ended by itself, wait status %x", i, (unsigned)status);
	figures.kills++;
	figures.kills_of_workers += i < WORKERS;
}

static void
stop(int i)
{
	if (!processes[i].is_stopped)
		kill(processes[i].pid, SIGSTOP);
	processes[i].is_stopped = true;
	processes[i].resume_ns = clock_ns() + test_below(&seed, 20 * RL_MILLISECOND);
	figures.stops++;
}

static void
resume(int i)
{
	if (processes[i].is_stopped)
		kill(processes[i].pid, SIGCONT);
	processes[i].is_stopped = false;
}

/* Stop everybody else, wherever they are, and see the one go on. */
static void
leave_alone(int lonely)
{
	uint64_t had, deadline = clock_ns() + ALONE_NS;

	for (int i = 0; i < PROCESSES; i++)
		if (i != lonely)
			stop(i);
	resume(lonely);
	had = rl_atomic_load(&board->requests[lonely]);
	while (rl_atomic_load(&board->requests[lonely]) - had < LONELY) {
		if (clock_ns() > deadline || waitpid(processes[lonely].pid, NULL, WNOHANG) != 0)
			fail_msg("worker %d does not go on alone", lonely);
		usleep(50);
	}
	for (int i = 0; i < PROCESSES; i++)
		resume(i);
	figures.alone++;
}

static void
strike(void)
{
	int i = (int)test_below(&seed, PROCESSES);
	uint64_t what = test_below(&seed, 100);

	if (what < 60) {
		end(i);
		launch(i);
	} else if (what < 99) {
		stop(i);
	} else {
		leave_alone((int)test_below(&seed, WORKERS));
	}
	for (i = 0; i < PROCESSES; i++)
		if (processes[i].is_stopped && clock_ns() >= processes[i].resume_ns)
			resume(i);
}

/* The verdict. */

static int
compare(const void *a, const void *b)
{
	const struct admission *x = a, *y = b;

	if (x->whose != y->whose)
		return x->whose < y->whose ? -1 : 1;
	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static struct admission *
read_logs(size_t *count)
{
	struct admission *all = NULL;

	*count = 0;
	for (int i = 0; i < WORKERS; i++) {
		off_t bytes = lseek(logs[i], 0, SEEK_END);
		size_t n = (size_t)bytes / sizeof *all;
		all = realloc(all, (*count + n + 1) * sizeof *all);
		assert_non_null(all);
		assert_int_equal(pread(logs[i], all + *count, n * sizeof *all, 0), n * sizeof *all);
		*count += n;
	}
	return all;
}

/* Of each key's admissions in order of time, none is within a window of the capacity-th before. */
static size_t
judge_windows(void)
{
	size_t count;
	struct admission *all = read_logs(&count);

	qsort(all, count, sizeof *all, compare);
	for (size_t i = 0; i < count; i++) {
		const struct rl_limit *l = &limits[all[i].whose / HOT];
		const struct admission *last = &all[i],
				       *first = i < l->capacity ? NULL : last - l->capacity;
		if (first && last->whose == first->whose &&
		    last->at_ns - first->at_ns < l->window_ns)
			fail_msg("rule %s, key %d: %u admissions within %d ns",
			         rule_names[last->whose / HOT], (int)(last->whose % HOT),
			         l->capacity + 1, (int)(last->at_ns - first->at_ns));
	}
	free(all);
	return count;
}

static uint64_t
judge_conservation(struct rl *rl)
{
	uint64_t acknowledged = 0, counted = 0;
	uint64_t allowed = test_counter(rl, board->rules[COUNTED], RL_COUNT_allowed);

	for (uint64_t key = 0; key < HOT; key++) {
		struct rl_result r;
		rl_peek(rl, board->rules[COUNTED], &key, sizeof key, &r);
		uint64_t used = r.limit - r.remaining;
		assert_true(board->acknowledged[key] <= used);
		acknowledged += board->acknowledged[key];
		counted += used;
	}
	if (counted > acknowledged + figures.kills_of_workers || allowed < acknowledged ||
	    allowed > counted)
		fail_msg("acknowledged %llu, in statistics %llu, counted %llu, kills %u",
		         (unsigned long long)acknowledged, (unsigned long long)allowed,
		         (unsigned long long)counted, figures.kills_of_workers);
	return counted - acknowledged;
}

static void
judge_segment(struct rl *rl)
{
	const uint64_t later = rl_now(rl) + 365 * 86400 * RL_SECOND;
	struct audit a;

	audit_assert_whole(rl_here(rl));
	assert_true(
		move_all(rl, later)); /* those without a name have outlived their windows, too */
	rl_sweep_at(rl, later);
	assert_int_equal(rl_fill(rl), 0);
	if (!audit_segment(rl_here(rl), &a))
		fail_msg("after the sweep: %s", a.fault);
}

static struct rl *
open_and_define(uint64_t seconds)
{
	const struct rl_options o = {.keys = 8000, .ring = 64, .buffer_ns = BUFFER_NS};
	struct rl_limit all = {.capacity = RL_CAPACITY_MAX, .granularity = 64, .hard = 1};
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	all.window_ns = (4 * seconds + 60) * RL_SECOND;
	for (int i = 0; i < TWO; i++) {
		const struct rl_rule rule = {.name = rule_names[i],
		                             .limit = i == COUNTED ? all : limits[i]};
		board->rules[i] = rl_define(rl, &rule);
		assert_true(board->rules[i] >= 0);
	}
	assert_int_equal(configure(rl, 1), 0);
	board->rules[TWO] = rl_find(rl, "two");
	return rl;
}

static void
test_storm(void **state)
{
	const char *given = getenv("RL_STORM_SECONDS");
	uint64_t seconds = given ? strtoull(given, NULL, 10) : SECONDS_DEFAULT, spare;
	struct rl *rl = open_and_define(seconds);
	uint64_t deadline = clock_ns() + seconds * RL_SECOND;
	size_t logged;

	(void)state;
	write_config();
	seed = clock_ns();
	for (int i = 0; i < WORKERS; i++) {
		logs[i] = memfd_create("admissions", MFD_CLOEXEC);
		assert_true(logs[i] >= 0 && fcntl(logs[i], F_SETFL, O_APPEND) == 0);
	}
	setpriority(PRIO_PROCESS, 0, URGENT);
	for (int i = 0; i < PROCESSES; i++)
		launch(i);
	while (clock_ns() < deadline) {
		strike();
		usleep((useconds_t)test_below(&seed, 2000));
	}
	for (int i = 0; i < PROCESSES; i++)
		end(i);
	logged = judge_windows();
	spare = judge_conservation(rl);
	judge_segment(rl);
	assert_true(board->configured > 0 && board->swept > 0 && logged > CAPACITY);
	assert_true(board->resized > 0 && board->moved > 0);
	print_message("           %u kills (%d had a charge in hand), %u stops, %u times alone,\n",
	              figures.kills, (int)spare, figures.stops, figures.alone);
	print_message("           %zu admissions judged, %d late, %d configurations, %d swept,\n",
	              logged, (int)board->late, (int)board->configured, (int)board->swept);
	print_message("           %u times rld was the sweeper, %d times resized, %d times all had "
	              "moved\n",
	              figures.daemons, (int)board->resized, (int)board->moved);
	rl_close(rl);
}

static int
end_all(void **state)
{
	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		if (processes[i].pid > 0) { /* what a failed test has left */
			kill(processes[i].pid, SIGKILL);
			waitpid(processes[i].pid, NULL, 0);
		}
	}
	rl_unlink(test_segment_name());
	unlink(config_path);
	rmdir(directory);
	return 0;
}

static int
begin(void **state)
{
	(void)state;
	board = test_shared(sizeof *board);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_storm, begin, end_all)};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
