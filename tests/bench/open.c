/* SPDX-License-Identifier: BSD-2-Clause */
#include "open.h"
#include "at.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHM_DIRECTORY "/dev/shm"

/* Bytes of shared memory in this process that lie on huge pages. */
static uint64_t
huge_bytes(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	uint64_t sum = 0, kib;
	char line[512];

	while (smaps && fgets(line, sizeof line, smaps))
		if (sscanf(line, "ShmemPmdMapped: %" SCNu64, &kib) == 1)
			sum += kib * 1024;
	if (smaps)
		fclose(smaps);
	return sum;
}

/* Map every page of segments into this process: a decision is to be measured, not a fault. */
void
bench_populate(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof line, maps)) {
		uintptr_t from, to;
		int end = 0;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " rw-s%n", &from, &to, &end) == 2 &&
		    end > 0 && strstr(line, SHM_DIRECTORY) &&
		    madvise((void *)from, to - from, MADV_POPULATE_WRITE) < 0)
			bench_die("MADV_POPULATE_WRITE: %s", strerror(errno));
	}
	if (maps)
		fclose(maps);
}

#define KEPT_MAX 16

/* Files and directories to remove at the end, the last first, by calls a signal may make. */
static char kept[KEPT_MAX][128];
static volatile sig_atomic_t kept_count;
static pid_t owner;

static void
remove_kept(void)
{
	for (int i = kept_count; i > 0 && getpid() == owner; i--)
		if (unlink(kept[i - 1]) < 0)
			rmdir(kept[i - 1]);
}

static void
remove_and_end(int number)
{
	remove_kept();
	signal(number, SIG_DFL);
	raise(number);
}

void
bench_remove_at_end(const char *path)
{
	if (kept_count == KEPT_MAX)
		bench_die("too many files to remove at the end");
	if (kept_count == 0) {
		owner = getpid();
		atexit(remove_kept);
		signal(SIGINT, remove_and_end);
		signal(SIGTERM, remove_and_end);
	}
	snprintf(kept[kept_count], sizeof kept[0], "%s", path);
	kept_count = kept_count + 1;
}

static int
open_new(const struct rl_options *options, bool is_cached, struct rl **rl)
{
	static unsigned number;
	char name[64], path[128];
	int error;

	snprintf(name, sizeof name, "bench.%ld.%u", (long)getpid(), number++);
	snprintf(path, sizeof path, SHM_DIRECTORY "/rl.%s", name);
	if (is_cached)
		bench_remove_at_end(path);
	error = rl_open(name, options, rl);
	if (error < 0)
		return error;
	if (!is_cached)
		rl_unlink(name);
	bench_populate();
	return 0;
}

struct rl *
bench_open(const struct rl_options *options, bool is_cached)
{
	struct rl *rl;
	int error = open_new(options, is_cached, &rl);

	if (error < 0)
		bench_die("a segment of %u keys: %s", options->keys, rl_strerror(error));
	return rl;
}

struct rl *
bench_open_pages(const struct rl_options *options, enum bench_pages pages, const char **reason)
{
	uint64_t before = huge_bytes();
	struct rl_options o = *options;
	struct rl *rl;
	int error;

	o.flags |= pages == BENCH_PAGES_HUGE ? RL_OPEN_HUGE_PAGES : 0U;
	error = open_new(&o, false, &rl);
	if (error < 0) {
		*reason = rl_strerror(error);
		return NULL;
	}
	if (pages == BENCH_PAGES_HUGE && huge_bytes() == before) {
		*reason = "the kernel gave no huge pages";
		rl_close(rl);
		return NULL;
	}
	return rl;
}

int
bench_define_rule(struct rl *rl, const struct rl_rule *rule)
{
	int id = rl_define(rl, rule);

	if (id < 0)
		bench_die("rule %s: %s", rule->name, rl_strerror(id));
	return id;
}

int
bench_define(struct rl *rl, const char *name, const struct rl_limit *limit)
{
	return bench_define_rule(rl, &(struct rl_rule){.name = name, .limit = *limit});
}

void
bench_insert(struct rl *rl, int rule, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t key[2] = {first + i, 3};
		at_check(rl, rule, key, sizeof key, 1, BENCH_T0, NULL);
	}
}
