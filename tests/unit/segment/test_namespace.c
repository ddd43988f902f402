/* SPDX-License-Identifier: BSD-2-Clause */
/* Time and pid namespaces: the clock is the same for all, and no pid is taken for another's. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rule/handle.h"
#include "segment/namespace.h"
#include "testing.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const struct rl_options small = {.keys = 50, .ring = 4, .rules = 4};

static void
test_shifts(void **state)
{
	const uint64_t day = 86400 * RL_SECOND;
	const struct rl_time_namespace host = {5, 0}, ahead = {6, day}, behind = {7, -day};
	const struct rl_time_namespace like_host = {8, 0}, nothing = {0, RL_SHIFT_UNKNOWN};
	const struct rl_time_namespace one = {9, RL_SHIFT_UNKNOWN}, two = {10, RL_SHIFT_UNKNOWN};
	uint64_t shift;

	(void)state;
	assert_true(rl_namespace_shift(&host, &ahead, &shift) && shift == day);
	assert_true(rl_namespace_shift(&ahead, &host, &shift) && shift == -day);
	assert_true(rl_namespace_shift(&behind, &ahead, &shift) && shift == 2 * day);
	assert_true(rl_namespace_shift(&host, &like_host, &shift) && shift == 0);
	assert_true(rl_namespace_shift(&one, &one, &shift) && shift == 0);
	assert_true(rl_namespace_shift(&nothing, &ahead, &shift) && shift == 0);
	assert_false(rl_namespace_shift(&one, &two, &shift));
	assert_false(rl_namespace_shift(&one, &host, &shift));
	assert_false(rl_namespace_shift(&ahead, &one, &shift));
}

enum {
	NO_RIGHT = 77
};

/* In a time namespace that is two hours ahead: what is the time there, and is anything left? */
static int
look_from_two_hours_ahead(struct rl_result *r, uint64_t *now_ns)
{
	struct rl *rl;

	if (rl_open(test_segment_name(), &small, &rl) < 0)
		return 1;
	*now_ns = rl_now(rl);
	return rl_check(rl, rl_find(rl, "r"), "k", 1, 1, r) == RL_DENIED ? 0 : 2;
}

static int
go_two_hours_ahead(struct rl_result *r, uint64_t *now_ns)
{
	static const char offset[] = "boottime 7200 0";
	int fd, status;
	pid_t pid;

	if (unshare(CLONE_NEWTIME) < 0)
		return NO_RIGHT;
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, offset, sizeof offset - 1) < 0)
		return NO_RIGHT;
	close(fd);
	pid = fork(); /* children are in it */
	if (pid == 0)
		_exit(look_from_two_hours_ahead(r, now_ns));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static void
test_two_hours_ahead(void **state)
{
	struct seen {
		struct rl_result r;
		uint64_t now_ns;
	} *seen = test_shared(sizeof *seen);
	uint64_t before_ns;
	struct rl *rl;
	int status;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	int rule = test_rule(rl, "r", 3, 60 * RL_SECOND, 4, true);
	assert_int_equal(rl_check(rl, rule, "k", 1, 3, NULL), RL_ALLOWED);
	before_ns = rl_now(rl);
	pid_t pid = fork();
	if (pid == 0)
		_exit(go_two_hours_ahead(&seen->r, &seen->now_ns));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_RIGHT) {
		print_message("skipped: no time namespace may be made here\n");
		skip();
	}
	assert_int_equal(status, 0);
	assert_in_range(seen->now_ns, before_ns, rl_now(rl));
	munmap(seen, sizeof *seen);
	rl_close(rl);
}

static void
patch(uint64_t id, uint64_t shift_ns, uint64_t ahead_ns)
{
	struct rl_hash_key key = {.k0 = RL_MAGIC};
	struct rl_header h;
	char path[128];
	int fd;

	snprintf(path, sizeof path, "/dev/shm/rl.%s", test_segment_name());
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
	h.time_namespace = id;
	h.clock_shift_ns = shift_ns;
	h.unix_offset_ns += ahead_ns;
	h.checksum = rl_hash_with(key, 0, &h, offsetof(struct rl_header, checksum)).a;
	assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
	close(fd);
}

static void
test_a_clock_that_is_unknown(void **state)
{
	struct rl_time_namespace mine = rl_namespace_time();
	uint64_t before_ns;
	struct rl *rl;

	(void)state;
	if (mine.id == 0)
		skip(); /* no /proc, or a kernel that has none */
	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	patch(mine.id + 1, RL_SHIFT_UNKNOWN, 0);
	before_ns = rl_now(rl);
	rl_close(rl);
	assert_int_equal(rl_open(test_segment_name(), &small, &rl), RL_ECLOCK);
	assert_null(rl);
	patch(mine.id, RL_SHIFT_UNKNOWN, 0);
	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	assert_in_range(rl_now(rl), before_ns, before_ns + 600 * RL_SECOND);
	rl_close(rl);
}

/* What rl_open() says where there is no /proc: 1 opened, 0 refused by RL_ECLOCK. */
static int
open_without_proc(void)
{
	struct rl *rl;
	int error;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/proc", "tmpfs", 0, NULL) < 0)
		return NO_RIGHT;
	error = rl_open(test_segment_name(), &small, &rl);
	rl_close(rl);
	return error == 0 ? 1 : error == RL_ECLOCK ? 0 : 2;
}

static int
status_without_proc(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(open_without_proc());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Nothing tells which namespace it is in: then the clocks must agree. */
static void
test_a_namespace_that_is_unknown(void **state)
{
	struct rl_time_namespace mine = rl_namespace_time();
	struct rl *rl;
	int status;

	(void)state;
	if (mine.id == 0)
		skip(); /* no /proc, or a kernel that has none */
	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	rl_close(rl);
	status = status_without_proc();
	if (status == NO_RIGHT) {
		print_message("skipped: nothing may be mounted here\n");
		skip();
	}
	assert_int_equal(status, 1);
	patch(mine.id, mine.shift_ns, 7200 * RL_SECOND);
	assert_int_equal(status_without_proc(), 0);
	patch(mine.id, mine.shift_ns, (uint64_t)-14400 * RL_SECOND);
	assert_int_equal(status_without_proc(), 0);
	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0); /* with /proc, it knows */
	rl_close(rl);
}

static void
expect_sweeper(struct rl *rl, uint64_t word, pid_t pid)
{
	struct rl_info info;

	rl_atomic_store(&rl->segment.header->sweeper, word);
	rl_info(rl, &info);
	assert_int_equal(info.sweeper, pid);
}

static void
test_pids(void **state)
{
	const uint64_t here = rl_namespace_pid() >> 32;
	struct rl *rl, *other;
	struct rl_info info;
	pid_t holder = 5;

	(void)state;
	if (here == 0)
		skip(); /* no /proc */
	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	assert_int_equal(rl_open(test_segment_name(), &small, &other), 0);
	assert_int_equal(rl_heartbeat_at(rl, 5), 0);
	rl_info(rl, &info);
	assert_int_equal(info.sweeper, getpid());
	assert_int_equal(rl_supervise(rl, &holder), 0);
	assert_int_equal(rl_supervise(other, &holder), -EBUSY);
	assert_int_equal(holder, getpid());
	expect_sweeper(rl, (here + 1) << 32 | 2, RL_PID_ELSEWHERE);
	assert_int_equal(rl_supervise(other, &holder), -EBUSY);
	assert_int_equal(holder, 0);
	expect_sweeper(rl, 2, RL_PID_ELSEWHERE); /* of who knows which */
	expect_sweeper(rl, here << 32 | UINT32_MAX, RL_PID_ELSEWHERE);
	expect_sweeper(rl, here << 32, 0);
	expect_sweeper(rl, 0, 0);
	rl_close(other);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shifts),
		cmocka_unit_test_teardown(test_two_hours_ahead, test_unlink),
		cmocka_unit_test_teardown(test_a_clock_that_is_unknown, test_unlink),
		cmocka_unit_test_teardown(test_a_namespace_that_is_unknown, test_unlink),
		cmocka_unit_test_teardown(test_pids, test_unlink),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
