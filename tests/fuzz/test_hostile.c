/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile writer who knows the format (forge.h) changes a segment as fast as it can, checks and
 * all, while workers decide, resize it and move keys, rld sweeps it and rlctl looks at it, each
 * with sanitizers. RL_FUZZ_CASES says how many lies. Nobody crashes, hangs (SIGALRM) or says what
 * is harmful, and nothing is written outside the segment: between unreadable pages, with memory on
 * both sides of a hole into which mappings go, whose bytes are looked at.
 *
 * The writer goes on by LIES_PER_ROUND for each round of a worker, so that both are at it to the
 * end, however fast they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exercise.h"
#include "forge.h"
#include "guarded.h"
#include "harmless.h"
#include "rl_cluster.h"
#include "rule/handle.h"
#include "testing.h"
#include "tool.h"

#define CASES_DEFAULT 400000
#define WORKERS 2
#define LIES_PER_ROUND 256
#define LIES_AHEAD (16 * LIES_PER_ROUND)
#define RESTORE_EVERY 64 /* lies; else all would soon be noise */
#define REOPEN_EVERY 64  /* rounds */
#define CASES_PER_VERB 20000
#define HANG_SECONDS 60
#define FILE_BYTES (UINT64_C(16) << 20) /* as far as lies go */
#define BESIDE (UINT64_C(2) << 20)      /* memory of a worker's own on each side of a hole */
#define HOLE (UINT64_C(64) << 20)
#define RLD "build/v/asan/rld"

/* What the processes tell each other. */
struct shared {
	uint64_t lies;
	uint64_t rounds;
	uint64_t attached;
	uint64_t is_over;
};

static struct shared *shared;
static struct rl *rl;
static struct forge lies;
static char directory[48];

static uint64_t
cases(void)
{
	const char *given = getenv("RL_FUZZ_CASES");

	return given ? strtoull(given, NULL, 10) : CASES_DEFAULT;
}

static void
restore(const unsigned char *whole)
{
	memcpy(rl->segment.header, whole, rl->segment.bytes);
}

static int
be_writer(void)
{
	unsigned char *whole = malloc(rl->segment.bytes);
	uint64_t seed = 1;

	if (!whole)
		return 1;
	memcpy(whole, rl->segment.header, rl->segment.bytes);
	for (uint64_t i = 0; i < cases(); i++) {
		while (i > rl_atomic_load(&shared->rounds) * LIES_PER_ROUND + LIES_AHEAD)
			sched_yield();
		if (i % RESTORE_EVERY == 0)
			restore(whole);
		forge(&lies, &seed);
		rl_atomic_store(&shared->lies, i + 1);
	}
	rl_atomic_store(&shared->is_over, 1);
	free(whole);
	return 0;
}

/*
 * Memory of the worker's own: a hole, and on both sides of it zeros, which are free slots to
 * whoever takes them for a table.
 */
static unsigned char *
make_neighbours(void)
{
	const size_t len = HOLE + 2 * BESIDE;
	unsigned char *at = (unsigned char *)syscall(SYS_mmap, NULL, len, PROT_READ | PROT_WRITE,
	                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if ((void *)at != MAP_FAILED)
		syscall(SYS_munmap, at + BESIDE, HOLE);
	return at;
}

static bool
is_untouched(const unsigned char *neighbours)
{
	static const unsigned char zeros[4096];

	for (size_t at = 0; at < BESIDE; at += sizeof zeros)
		if (memcmp(neighbours + at, zeros, sizeof zeros) != 0 ||
		    memcmp(neighbours + BESIDE + HOLE + at, zeros, sizeof zeros) != 0)
			return false;
	return true;
}

static int
see_share(const struct rl_share *share, void *arg)
{
	*(uint64_t *)arg += share->share;
	return 0;
}

/* What exercise_calls() leaves to a cluster's daemon. */
static void
give(struct rl *of, uint64_t *seed, uint64_t now)
{
	struct rl_share share;
	uint64_t from = 0, sum = 0;

	rl_share_scan(of, test_below(seed, 64), 64, now, see_share, &sum);
	rl_share_wishes(of, &from, 64, now, see_share, &sum);
	if (rl_share_at(of, test_below(seed, 64), now, &share) == 0)
		rl_share_set(of, &share.of, (uint32_t)test_below(seed, 9), now, &share);
}

/* NULL: it is refused, for what stands there. */
static struct rl *
attach(unsigned round)
{
	const struct rl_options o = {.flags = round % 2 ? RL_OPEN_EXISTING : RL_OPEN_READONLY};
	struct rl *mine = NULL;

	rl_open(test_segment_name(), &o, &mine);
	return mine;
}

/* A refusal is a round, too: else the writer would wait for ever. */
static void
work(unsigned round, uint64_t *seed)
{
	struct rl *mine = attach(round);

	for (int i = 0; mine && i < REOPEN_EVERY; i++) {
		exercise_calls(mine, seed);
		give(mine, seed, EXERCISE_NOW);
		rl_atomic_take(&shared->rounds, 1);
	}
	rl_atomic_take(mine ? &shared->attached : &shared->rounds, 1);
	rl_close(mine);
}

/* By the time that it computes: others may be computing, too. */
static int
be_worker(int i)
{
	const struct itimerval hang = {.it_value.tv_sec = HANG_SECONDS};
	unsigned char *neighbours = make_neighbours();
	uint64_t seed = 1000 + (uint64_t)i;

	for (unsigned round = 0; !rl_atomic_load(&shared->is_over); round++) {
		setitimer(ITIMER_PROF, &hang, NULL);
		work(round, &seed);
		if (!is_untouched(neighbours)) {
			fprintf(stderr, "memory beside the segment was written\n");
			return 1;
		}
	}
	return 0;
}

/* 0 is the writer. */
static pid_t
start(int i)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGSEGV, SIG_DFL); /* cmocka would go on with the next test */
		signal(SIGBUS, SIG_DFL);
		signal(SIGFPE, SIG_DFL);
		signal(SIGILL, SIG_DFL);
		_exit(i == 0 ? be_writer() : be_worker(i));
	}
	assert_true(child > 0);
	return child;
}

/* Those that end by themselves, and leave the file where it is. */
static const char *const verbs[] = {
	"status",
	"list",
	"get hard user:1",
	"check log user:2",
	"peek share x",
	"stats",
	"doctor",
	"bans",
	"log",
	"sweep",
	"dump -",
	"hold flight user:3 -- true",
	"list --json",
	"reset token user:3",
	"status --json",
	"ban --for 1m user:4",
	"stats --history",
	"allow --for 1m user:5",
	"get net 192.0.2.1 --json",
	"unban user:4",
	"bans --json",
	"resize --keys 40",
	"doctor --json",
	"reset --rule hard",
	"log --json",
	"forget leaky",
	"segments",
	"stats --prom",
};

static const char *
in_directory(const char *name)
{
	static char path[64];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	return path;
}

/* rld, with what it says in a file. */
static pid_t
start_rld(void)
{
	pid_t child = fork();

	if (child == 0) {
		int said = open(in_directory("said"), O_WRONLY | O_CREAT | O_APPEND, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		unsetenv("LD_PRELOAD"); /* of stdbuf, say: a sanitizer is to come first */
		dup2(said, STDERR_FILENO);
		execl(RLD, "rld", "--config", in_directory("rl.json"), (char *)NULL);
		_exit(127);
	}
	assert_true(child > 0);
	return child;
}

/* Has it ended? Then with a status of at most that, or before it heard that it was told to. */
static bool
has_ended(pid_t child, int flags, int most)
{
	int status;

	if (waitpid(child, &status, flags) != child)
		return false;
	if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGTERM : WEXITSTATUS(status) > most)
		fail_msg("after %d lies: wait status %x", (int)rl_atomic_load(&shared->lies),
		         (unsigned)status);
	return true;
}

/*
 * While the others are at it, rlctl looks at it, and rld sweeps it, again if it has refused what it
 * found.
 */
static void
look_on(const pid_t child[static 1 + WORKERS])
{
	pid_t rld = start_rld();
	uint64_t run = 0, starts = 1;

	for (; !rl_atomic_load(&shared->is_over) || run < cases() / CASES_PER_VERB; run++) {
		tool_run(verbs[run % (sizeof verbs / sizeof verbs[0])],
		         rl_atomic_load(&shared->lies));
		for (int i = 0; i < 1 + WORKERS; i++)
			has_ended(child[i], WNOHANG, 0);
		if (!has_ended(rld, WNOHANG, 2))
			continue;
		rld = start_rld();
		starts++;
	}
	kill(rld, SIGTERM);
	has_ended(rld, 0, 2);
	print_message(
		"           %d runs of rlctl, %d starts of rld, %d rounds, attached %d times\n",
		(int)run, (int)starts, (int)rl_atomic_load(&shared->rounds),
		(int)rl_atomic_load(&shared->attached));
}

static void
expect_harmless(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[4096];

	assert_non_null(file);
	while (fgets(line, sizeof line, file))
		if (!is_harmless(line))
			fail_msg("rld: %s", line);
	fclose(file);
}

static void
test_a_writer_who_knows_the_format(void **state)
{
	pid_t child[1 + WORKERS];

	(void)state;
	if (!tool_is_there() || access(RLD, X_OK) < 0)
		skip();
	for (int i = 0; i < 1 + WORKERS; i++)
		child[i] = start(i);
	look_on(child);
	for (int i = 0; i < 1 + WORKERS; i++)
		has_ended(child[i], 0, 0);
	expect_harmless(in_directory("said"));
}

static void
write_config(void)
{
	FILE *file = fopen(in_directory("rl.json"), "we");

	assert_non_null(file);
	fprintf(file,
	        "{\"segment\": {\"name\": \"%s\"}, \"gc\": {\"interval\": \"100ms\"},"
	        " \"rules\": {\"hard\": {\"capacity\": 4, \"window\": \"8s\","
	        " \"granularity\": 1}}}\n",
	        test_segment_name());
	assert_int_equal(fclose(file), 0);
}

static int
prepare(void **state)
{
	struct rl_options o = exercise_options;
	int fd;

	(void)state;
	test_make_directory(directory, sizeof directory);
	write_config();
	shared = test_shared(sizeof *shared);
	o.flags = RL_OPEN_CLUSTER;
	rl_unlink(test_segment_name());
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	exercise_fill(rl);
	harmless_except(rl->segment.header);
	fd = test_file_of_segment();
	assert_int_equal(ftruncate(fd, FILE_BYTES), 0);
	lies.s = &rl->segment;
	lies.bytes = FILE_BYTES;
	lies.file = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true((void *)lies.file != MAP_FAILED);
	close(fd);
	return 0;
}

static int
clean_up(void **state)
{
	unlink(in_directory("said"));
	unlink(in_directory("rl.json"));
	rmdir(directory);
	rl_close(rl);
	return test_unlink(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_writer_who_knows_the_format),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, prepare, clean_up);
}
