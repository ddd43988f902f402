/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "open.h"
#include "shared/atomic.h"

#define WORKERS_MAX 64
#define ROUND_TRIES 5    /* at a round that others disturbed */
#define UNDISTURBED 0.97 /* of its time, a worker that waits for nothing had its CPU */

/* Where workers and the process that forked them meet; each on a line of its own. */
struct meeting {
	uint64_t ready __attribute__((aligned(64)));
	uint64_t is_open __attribute__((aligned(64)));
	struct {
		uint64_t start_ns, end_ns, cpu_ns;
		bool has_waited;
	} worker[WORKERS_MAX] __attribute__((aligned(64)));
};

static uint64_t
read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

uint64_t
bench_clock_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void
bench_pin(const struct bench *bench, int worker)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned cpu = 0; cpu < bench->cpus; cpu++)
		if (worker < 0 || (unsigned)worker % bench->cpus == cpu)
			CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
}

uint64_t
bench_n(const struct bench *bench, uint64_t n)
{
	if (!bench->is_quick)
		return n;
	return n > 6400 ? n / 100 : 64;
}

struct bench
bench_many_rounds(const struct bench *bench)
{
	struct bench many = *bench;

	many.rounds = bench->is_quick ? 3 : BENCH_ROUNDS_MAX;
	return many;
}

/* How often this process gave its CPU away to wait for something. */
static long
waits(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/* The round itself. */
static void
run_round(const struct lane *lane, struct meeting *m, unsigned worker)
{
	uint64_t cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	long waited = waits();

	m->worker[worker].start_ns = bench_clock_ns();
	lane->run(lane->arg, worker, lane->n);
	m->worker[worker].end_ns = bench_clock_ns();
	m->worker[worker].cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	m->worker[worker].has_waited = waits() != waited;
}

static void
work(const struct bench *bench, const struct lane *lane, struct meeting *m, unsigned worker,
     pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	bench_pin(bench, (int)worker);
	bench_populate();
	lane->run(lane->arg, worker, lane->n / 8 + 1); /* caches, connections, own tables */
	rl_atomic_add(&m->ready, 1);
	while (!rl_atomic_load(&m->is_open))
		sched_yield();
	run_round(lane, m, worker);
	_exit(0);
}

static void
await(const struct lane *lane, pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			bench_die("waitpid: %s", strerror(errno));
	if (status != 0)
		bench_die("a worker of %s ended with status %#x", lane->id, (unsigned)status);
}

/* From the first worker's start to the last one's end. */
static uint64_t
span_ns(const struct meeting *m, unsigned workers)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned i = 0; i < workers; i++) {
		if (m->worker[i].start_ns < start)
			start = m->worker[i].start_ns;
		if (m->worker[i].end_ns > end)
			end = m->worker[i].end_ns;
	}
	return end - start;
}

/* Was a CPU taken from a worker that had one to itself and asked for nothing else? */
static bool
is_disturbed(const struct bench *bench, const struct meeting *m, unsigned workers)
{
	for (unsigned i = 0; i < workers && workers <= bench->cpus; i++) {
		uint64_t wall_ns = m->worker[i].end_ns - m->worker[i].start_ns;
		if (!m->worker[i].has_waited &&
		    (double)m->worker[i].cpu_ns < UNDISTURBED * (double)wall_ns)
			return true;
	}
	return false;
}

static double
run_processes(const struct bench *bench, const struct lane *lane, struct meeting *m)
{
	pid_t parent = getpid(), pid[WORKERS_MAX];

	memset(m, 0, sizeof *m);
	for (unsigned i = 0; i < lane->workers; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			bench_die("fork: %s", strerror(errno));
		if (pid[i] == 0)
			work(bench, lane, m, i, parent);
	}
	while (rl_atomic_load(&m->ready) < lane->workers) {
		for (unsigned i = 0; i < lane->workers; i++)
			if (waitpid(pid[i], NULL, WNOHANG) == pid[i])
				bench_die("a worker of %s ended early", lane->id);
		usleep(1000);
	}
	rl_atomic_store(&m->is_open, 1);
	for (unsigned i = 0; i < lane->workers; i++)
		await(lane, pid[i]);
	return (double)span_ns(m, lane->workers) / (double)(lane->n * lane->workers);
}

/* A round in which the machine did something else is measured again. */
static void
measure_processes(const struct bench *bench, const struct lane *lane, struct meeting *m, double *ns,
                  bool *disturbed)
{
	int tries = bench->is_quick ? 1 : ROUND_TRIES;

	do {
		*ns = run_processes(bench, lane, m);
		*disturbed = is_disturbed(bench, m, lane->workers);
	} while (*disturbed && --tries > 0);
}

/* In this process's own time: what else the machine runs is not in it. */
static double
measure_here(const struct lane *lane)
{
	uint64_t start_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID);

	lane->run(lane->arg, 0, lane->n);
	return (double)(read_clock(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / (double)lane->n;
}

void
lanes_measure(const struct bench *bench, const struct lane *lanes, size_t count,
              struct samples *samples)
{
	struct meeting *m =
		mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		bench_die("mmap: %s", strerror(errno));
	for (unsigned round = 0; round < bench->rounds; round++) {
		for (size_t i = 0; i < count; i++) {
			const struct lane *lane = &lanes[i];
			struct samples *s = &samples[i];
			s->count = round + 1;
			s->is_disturbed[round] = false;
			if (lane->workers > 0)
				measure_processes(bench, lane, m, &s->ns[round],
				                  &s->is_disturbed[round]);
			else
				s->ns[round] = measure_here(lane);
		}
	}
	munmap(m, sizeof *m);
}
