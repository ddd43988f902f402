/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is said when the kernel says no. Its calls are taken over by this program, and refuse
 * when they are told to. Whatever was begun is undone: no file, no descriptor stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rl_admin.h"
#include "testing.h"

#define TAKEN_OVER __attribute__((visibility("default")))

enum call {
	NONE,
	MMAP,
	OPEN,
	FALLOCATE,
	FCHOWN,
	FCHMOD,
	LINKAT,
	GETRANDOM,
	FLOCK,
};

static enum call refused;
static int with;  /* which errno */
static int times; /* how often; -1 always */
static int naps;  /* calls of nanosleep(), which takes no time here */
static int reservations;
static int turns;            /* granted by flock() */
static int reserved_in_turn; /* of the reservations */
static bool is_others_turn;
static char taken_path[64], taker_path[64]; /* "": nothing is done just before an open() */

/* Blocks of a page; one of none has no bounds, and is what there is at first. */
static struct {
	fsblkcnt_t all, free;
} disk;

static bool
is_refused(enum call call)
{
	if (refused != call || times == 0)
		return false;
	times -= times > 0;
	errno = with;
	return true;
}

TAKEN_OVER void *
mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	if (is_refused(MMAP))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, len, protection, flags, fd, offset);
}

TAKEN_OVER int
open(const char *path, int flags, ...)
{
	if (is_refused(OPEN))
		return -1;
	if (*taken_path)
		assert_int_equal(rename(taker_path, taken_path), 0);
	*taken_path = '\0';
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

TAKEN_OVER int
posix_fallocate(int fd, off_t from, off_t len)
{
	reservations++;
	reserved_in_turn += turns > 0;
	if (is_refused(FALLOCATE))
		return with;
	return syscall(SYS_fallocate, fd, 0, from, len) < 0 ? errno : 0;
}

TAKEN_OVER int
fstatvfs(int fd, struct statvfs *seen)
{
	(void)fd;
	*seen = (struct statvfs){.f_frsize = 4096,
	                         .f_blocks = disk.all,
	                         .f_bfree = disk.free,
	                         .f_bavail = disk.free};
	return 0;
}

TAKEN_OVER int
fchown(int fd, uid_t user, gid_t group)
{
	return is_refused(FCHOWN) ? -1 : (int)syscall(SYS_fchown, fd, user, group);
}

TAKEN_OVER int
fchmod(int fd, mode_t mode)
{
	return is_refused(FCHMOD) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

TAKEN_OVER int
linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	return is_refused(LINKAT) ? -1 : (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

TAKEN_OVER ssize_t
getrandom(void *bytes, size_t len, unsigned flags)
{
	return is_refused(GETRANDOM) ? -1 : syscall(SYS_getrandom, bytes, len, flags);
}

TAKEN_OVER int
flock(int fd, int operation)
{
	bool is_own =
		is_refused(FLOCK); /* else another program has the turn, and needs real time */
	int result = is_own ? -1 : (int)syscall(SYS_flock, fd, operation);

	turns += result == 0;
	is_others_turn = result < 0 && !is_own;
	return result;
}

TAKEN_OVER int
nanosleep(const struct timespec *request, struct timespec *left)
{
	(void)left;
	naps++;
	return is_others_turn ? (int)syscall(SYS_nanosleep, request, NULL) : 0;
}

static int
count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* What rl_open() says if the call is refused that often. */
static int
open_refused(enum call call, int error, int how_often)
{
	const struct rl_options o = {
		.keys = 12, .flags = RL_OPEN_GROUP, .group = getegid() + (call == FCHOWN)};
	int result, before = count_descriptors();
	struct rl *rl = NULL;

	refused = call;
	with = error;
	times = how_often;
	result = rl_open(test_segment_name(), &o, &rl);
	refused = NONE;
	assert_int_equal(count_descriptors(), before);
	assert_true((rl != NULL) == (result == 0));
	rl_close(rl);
	if (result < 0) /* nothing is left under the name */
		assert_int_equal(rl_unlink(test_segment_name()), -ENOENT);
	return result;
}

static void
test_creation(void **state)
{
	static const struct {
		enum call call;
		int error, told;
	} refusals[] = {
		{MMAP, ENOMEM, -ENOMEM},      {OPEN, EMFILE, -EMFILE},   {OPEN, ENOENT, RL_ECREATE},
		{FALLOCATE, ENOSPC, -ENOSPC}, {FCHOWN, EPERM, -EPERM},   {FCHMOD, EIO, -EIO},
		{LINKAT, ENOENT, RL_ECREATE}, {LINKAT, EACCES, -EACCES}, {GETRANDOM, ENOSYS, -EIO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		assert_int_equal(open_refused(refusals[i].call, refusals[i].error, -1),
		                 refusals[i].told);
}

/* What does not fit is not begun, lest others find the disk full meanwhile. */
static void
test_a_small_disk(void **state)
{
	(void)state;
	disk.all = 1000;
	disk.free = 1;
	reservations = 0;
	assert_int_equal(open_refused(NONE, 0, 0), -ENOSPC);
	assert_int_equal(reservations, 0);
	disk.free = 1000;
	assert_int_equal(open_refused(NONE, 0, 0), 0);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	disk.all = 0;
}

/* A group that the file has already is not set again. */
static void
test_the_same_group(void **state)
{
	const struct rl_options o = {.keys = 12, .flags = RL_OPEN_GROUP, .group = getegid()};
	struct rl *rl;

	(void)state;
	refused = FCHOWN;
	with = EPERM;
	times = -1;
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	refused = NONE;
	rl_close(rl);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

/* A signal in the middle is no error, nor is a name that somebody else just took. */
static void
test_what_passes(void **state)
{
	(void)state;
	assert_int_equal(open_refused(FALLOCATE, EINTR, 3), 0);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_int_equal(open_refused(LINKAT, EEXIST, 3), 0);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_int_equal(open_refused(LINKAT, EEXIST, -1), -EAGAIN);
}

/* Who is to wait for its turn reserves nothing before it has come. */
static void
test_turns(void **state)
{
	(void)state;
	naps = turns = reservations = reserved_in_turn = 0;
	assert_int_equal(open_refused(FLOCK, EWOULDBLOCK, 3), 0);
	assert_in_range(naps, 3, 10000);
	assert_in_range(reservations, 1, 10000);
	assert_int_equal(reserved_in_turn, reservations);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

/* A creator that is stopped in its turn is waited for, and not for ever. */
static void
test_a_turn_that_never_ends(void **state)
{
	(void)state;
	naps = 0;
	assert_int_equal(open_refused(FLOCK, EWOULDBLOCK, -1), 0);
	assert_in_range(naps, 100, 10000);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

static void
test_attaching(void **state)
{
	struct rl *rl, *other = NULL;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	refused = MMAP;
	with = ENOMEM;
	times = -1;
	assert_int_equal(rl_open(test_segment_name(), NULL, &other), -ENOMEM);
	assert_null(other);
	assert_int_equal(rl_open_private(NULL, &other), -ENOMEM);
	assert_null(other);
	refused = NONE;
	rl_close(rl);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

static int
configure(struct rl *rl)
{
	const struct rl_config_rule rule = {
		.rule = {.name = "r", .limit = {.capacity = 1, .window_ns = RL_SECOND}}};

	return rl_configure(rl, &rule, 1, 0, NULL, NULL);
}

/* Somebody is at a reload, and stopped there. */
static void
test_a_reload_that_never_ends(void **state)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
	struct rl *rl;
	char path[64];
	int fd;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	snprintf(path, sizeof path, "/dev/shm/rl.%s", test_segment_name());
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	naps = 0;
	assert_int_equal(configure(rl), -EBUSY);
	assert_in_range(naps, 100, 10000);
	assert_int_equal(rl_find(rl, "r"), -ENOENT);
	close(fd);
	assert_int_equal(configure(rl), 0);
	rl_close(rl);
	rl_unlink(test_segment_name());
}

/* The name is another segment's now: to lock that one would lock out nobody of ours. */
static void
test_a_name_that_changed_hands(void **state)
{
	struct rl *old, *new;
	pid_t holder;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), NULL, &old), 0);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_int_equal(rl_open(test_segment_name(), NULL, &new), 0);
	assert_int_equal(rl_supervise(old, &holder), -ENOENT);
	assert_int_equal(configure(old), -ENOENT);
	assert_int_equal(rl_supervise(new, &holder), 0);
	rl_close(old);
	rl_close(new);
	rl_unlink(test_segment_name());
}

/* ... since it was looked at. */
static void
test_a_name_that_changes_hands(void **state)
{
	struct rl *rl;
	pid_t holder;
	int fd;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	snprintf(taker_path, sizeof taker_path, "/dev/shm/.%s", test_segment_name());
	fd = open(taker_path, O_RDWR | O_CREAT | O_CLOEXEC);
	snprintf(taken_path, sizeof taken_path, "/dev/shm/rl.%s", test_segment_name());
	assert_int_equal(rl_supervise(rl, &holder), -ENOENT);
	assert_string_equal(taken_path, "");
	close(fd);
	rl_close(rl);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

/* The calls on the segment's own clock are those with a clock of the caller's. */
static void
test_own_clock(void **state)
{
	struct rl *rl = test_private(100);
	int rule = rl_define(rl, &(struct rl_rule){.name = "t",
	                                           .limit = {.algorithm = RL_TOKEN_BUCKET,
	                                                     .capacity = 2,
	                                                     .window_ns = 7200 * RL_SECOND}});
	const struct rl_item item = {.rule = rule, .key = "k", .key_len = 1, .cost = 1};
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_check_all(rl, &item, 1, &r, NULL), RL_ALLOWED);
	assert_int_equal(r.remaining, 1);
	rl_check_many(rl, &item, 1, &r);
	assert_int_equal(r.verdict, RL_ALLOWED);
	assert_int_equal(rl_peek(rl, rule, "k", 1, &r), RL_DENIED);
	assert_int_equal(rl_reserve(rl, rule, "k", 1, 1, 7200 * RL_SECOND, &r), RL_ALLOWED);
	assert_in_range(r.delay_ns, 3500 * RL_SECOND, 3600 * RL_SECOND);
	rl_close(rl);
}

static int
unlink_segment(void **state)
{
	(void)state;
	refused = NONE;
	rl_unlink(test_segment_name());
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_creation, unlink_segment),
		cmocka_unit_test_teardown(test_a_small_disk, unlink_segment),
		cmocka_unit_test_teardown(test_the_same_group, unlink_segment),
		cmocka_unit_test_teardown(test_what_passes, unlink_segment),
		cmocka_unit_test_teardown(test_turns, unlink_segment),
		cmocka_unit_test_teardown(test_a_turn_that_never_ends, unlink_segment),
		cmocka_unit_test_teardown(test_attaching, unlink_segment),
		cmocka_unit_test_teardown(test_a_reload_that_never_ends, unlink_segment),
		cmocka_unit_test_teardown(test_a_name_that_changed_hands, unlink_segment),
		cmocka_unit_test_teardown(test_a_name_that_changes_hands, unlink_segment),
		cmocka_unit_test(test_own_clock),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
