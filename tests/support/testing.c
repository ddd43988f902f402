/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"
#include "at.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "segment/path.h"

/* One test of a program, for who has no time for all: RL_TEST_FILTER is its name, or a glob. */
static void filter(void) __attribute__((constructor));
static void
filter(void)
{
	const char *pattern = getenv("RL_TEST_FILTER");

	if (pattern && pattern[0] != '\0')
		cmocka_set_test_filter(pattern);
}

/* Tests know where their segments are, whether or not this machine has a directory for rl. */
__attribute__((constructor)) static void
have_no_own_directory(void)
{
	rl_path_own = NULL;
}

uint64_t
test_random(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t
test_below(uint64_t *seed, uint64_t limit)
{
	return test_random(seed) % limit;
}

uint64_t
test_scaled(uint64_t times)
{
	static uint64_t part; /* of which one is done */

	if (part == 0) {
		const char *scale = getenv("RL_TEST_SCALE");
		part = scale && strcmp(scale, "quick") == 0 ? 8 : 1;
	}
	return (times + part - 1) / part;
}

const char *
test_segment_name(void)
{
	static char name[32];

	const char *given = getenv("RL_TEST_SEGMENT"); /* by whoever clears up after a failure */

	if (name[0] == '\0' && given)
		snprintf(name, sizeof name, "%s", given);
	else if (name[0] == '\0') {
		snprintf(name, sizeof name, "test-%d", (int)getpid());
		rl_unlink(name); /* of a process that had this number and was killed */
	}
	return name;
}

int
test_unlink(void **state)
{
	(void)state;
	rl_unlink(test_segment_name());
	return 0;
}

int
test_open_error(const struct rl_options *options)
{
	struct rl *rl;
	int error = rl_open(test_segment_name(), options, &rl);

	assert_true((error == 0) == (rl != NULL));
	rl_close(rl);
	return error;
}

int
test_file_of_segment(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/dev/shm/rl.%s", test_segment_name());
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

struct rl *
test_private(uint32_t keys)
{
	struct rl *rl;

	assert_int_equal(rl_open_private(&(struct rl_options){.keys = keys, .ring = 64}, &rl), 0);
	return rl;
}

struct rl *
test_private_on_full(uint32_t keys, enum rl_on_full on_full)
{
	const struct rl_options o = {.keys = keys, .ring = 64, .on_full = on_full};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	return rl;
}

int
test_rule(struct rl *rl, const char *name, uint32_t capacity, uint64_t window_ns,
          uint32_t granularity, bool is_hard)
{
	int rule = rl_define(rl, &(struct rl_rule){
					 .name = name,
					 .limit.algorithm = granularity > 0 ? RL_SLIDING_WINDOW
	                                                                    : RL_FIXED_WINDOW,
					 .limit.capacity = capacity,
					 .limit.window_ns = window_ns,
					 .limit.granularity = granularity,
					 .limit.hard = is_hard,
				 });

	assert_true(rule >= 0);
	return rule;
}

struct rl *
test_with_ring(uint32_t ring)
{
	struct rl *rl;

	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 20, .ring = ring}, &rl), 0);
	return rl;
}

struct rl_config_rule
test_config_rule(const char *name, uint32_t capacity, uint64_t window_ns)
{
	return (struct rl_config_rule){.rule = {.name = name,
	                                        .limit = {.algorithm = RL_FIXED_WINDOW,
	                                                  .capacity = capacity,
	                                                  .window_ns = window_ns}}};
}

uint64_t
test_counter(struct rl *rl, int rule, enum rl_counter counter)
{
	uint64_t counters[RL_COUNTERS];

	assert_int_equal(rl_stats(rl, rule, counters, RL_COUNTERS), 0);
	return counters[counter];
}

void *
test_shared(size_t bytes)
{
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(shared != MAP_FAILED);
	return shared;
}

void
test_make_directory(char *path, size_t size)
{
	const char *parent = getenv("TMPDIR");

	snprintf(path, size, "%s/rl-XXXXXX", parent ? parent : "/tmp");
	assert_non_null(mkdtemp(path));
}

void
test_fork(int count, int (*child)(void *arg, int i), void *arg)
{
	int failed = 0;

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(child(arg, i));
		failed += pid < 0;
	}
	for (int i = 0; i < count; i++) {
		int status;
		if (wait(&status) < 0 || status != 0)
			failed++;
	}
	assert_int_equal(failed, 0);
}

int
test_algorithm_count(void)
{
	int count = 0;

	while (rl_algorithm_info((enum rl_algorithm)count))
		count++;
	return count;
}

enum rl_verdict
test_check_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
              uint64_t now_ns, struct rl_result *result, struct rl_charges *charges)
{
	const struct rl_item item = {
		.rule = rule, .key = key, .key_len = key_len, .cost = cost, .charges = charges};

	return at_check_item(rl, &item, now_ns, result);
}
