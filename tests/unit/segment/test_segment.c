/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments by name: who may open them, what is refused and why, and that nothing is lost. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "at.h"
#include "rule/handle.h"
#include "shared/layout.h"
#include "testing.h"

static const struct rl_options small = {.keys = 50, .ring = 4, .rules = 4};

static const char *
path(void)
{
	static char text[64];

	snprintf(text, sizeof text, "/dev/shm/rl.%s", test_segment_name());
	return text;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path());
	rmdir(path());
	return 0;
}

/* A segment with one key that has used 2 of 5. */
static void
make_segment(void)
{
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	int rule = test_rule(rl, "r", 5, 3600 * RL_SECOND, 4, true);
	assert_int_equal(rl_check(rl, rule, "k", 1, 2, NULL), RL_ALLOWED);
	rl_close(rl);
}

static void
patch(off_t at, const void *bytes, size_t len)
{
	int fd = open(path(), O_RDWR | O_CLOEXEC);

	assert_int_equal(pwrite(fd, bytes, len, at), (ssize_t)len);
	close(fd);
}

static void
test_counters_stay_when_processes_go(void **state)
{
	struct rl *rl;
	struct rl_result r;

	(void)state;
	make_segment();
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	rl_peek(rl, rl_find(rl, "r"), "k", 1, &r);
	assert_int_equal(r.remaining, 3);
	rl_close(rl);
}

static void
test_two_mappings_of_one_segment(void **state)
{
	struct rl *a, *b;
	struct rl_result r;

	(void)state;
	make_segment();
	assert_int_equal(rl_open(test_segment_name(), NULL, &a), 0);
	assert_int_equal(rl_open(test_segment_name(), NULL, &b), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rl_check(i % 2 ? a : b, 0, "k", 1, 1, &r), RL_ALLOWED);
	assert_int_equal(rl_check(a, 0, "k", 1, 1, &r), RL_DENIED);
	assert_int_equal(rl_check(b, 0, "k", 1, 1, &r), RL_DENIED);
	rl_close(a);
	rl_close(b);
}

static void
test_names_and_options(void **state)
{
	const char *bad[] = {
		"",         "a/b",
		"../x",     "a b",
		"\xc3\xa4", "0123456789012345678901234567890123456789012345678901234567890123"};
	struct rl *rl;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(rl_open(bad[i], NULL, &rl), -EINVAL);
		assert_int_equal(rl_unlink(bad[i]), -EINVAL);
	}
	assert_int_equal(test_open_error(&(struct rl_options){.ring = RL_RING_MAX + 1}), -EINVAL);
	assert_int_equal(test_open_error(&(struct rl_options){.keys = UINT32_MAX}), -EINVAL);
	assert_int_equal(test_open_error(&(struct rl_options){.key_bytes = 4097}), -EINVAL);
	assert_int_equal(test_open_error(&(struct rl_options){.rules = 1024}), -EINVAL);
	assert_int_equal(test_open_error(&(struct rl_options){.on_full = (enum rl_on_full)4}),
	                 -EINVAL);
	assert_int_equal(test_open_error(&(struct rl_options){.buffer_ns = UINT64_MAX}), -EINVAL);
	assert_int_equal(test_open_error(&(struct rl_options){.mode = 04777}), -EINVAL);
	assert_int_equal(test_open_error(&(struct rl_options){.flags = 256}), -EINVAL);
	assert_int_equal(access(path(), F_OK), -1);
}

static void
test_absent(void **state)
{
	(void)state;
	assert_int_equal(test_open_error(&(struct rl_options){.flags = RL_OPEN_EXISTING}), -ENOENT);
	assert_int_equal(test_open_error(&(struct rl_options){.flags = RL_OPEN_READONLY}), -ENOENT);
	assert_int_equal(rl_unlink(test_segment_name()), -ENOENT);
	assert_int_equal(access(path(), F_OK), -1);
}

static void
test_mode_whatever_the_umask(void **state)
{
	struct rl_options o = small;
	struct stat st;
	mode_t old = umask(0777);

	(void)state;
	o.mode = 0664;
	o.flags = RL_OPEN_GROUP;
	o.group = getegid();
	assert_int_equal(test_open_error(&o), 0);
	umask(old);
	assert_int_equal(stat(path(), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0664);
	assert_int_equal(st.st_gid, getegid());
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_int_equal(test_open_error(&small), 0);
	assert_int_equal(stat(path(), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* Each kind of file that is no segment of ours has its error, and is left as it was. */
static void
expect_refused(int error)
{
	struct stat before, after;

	assert_int_equal(stat(path(), &before), 0);
	assert_int_equal(test_open_error(&small), error);
	assert_int_equal(test_open_error(&(struct rl_options){.flags = RL_OPEN_READONLY}), error);
	assert_int_equal(stat(path(), &after), 0);
	assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size);
}

static void
test_foreign_files(void **state)
{
	static const char text[] = "somebody else's file, longer than a magic number";
	int fd = open(path(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	expect_refused(RL_EFOREIGN); /* empty */
	assert_int_equal(write(fd, text, sizeof text), sizeof text);
	expect_refused(RL_EFOREIGN);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	expect_refused(RL_EFOREIGN);
	close(fd);
	unlink(path());
	assert_int_equal(mkdir(path(), 0700), 0);
	expect_refused(RL_EFOREIGN);
	rmdir(path());
	assert_int_equal(mkfifo(path(), 0600), 0);
	expect_refused(RL_EFOREIGN);
	unlink(path());
	assert_int_equal(symlink("/etc/passwd", path()), 0);
	assert_int_equal(test_open_error(&small), RL_EFOREIGN);
}

static void
test_other_versions(void **state)
{
	uint32_t layout = RL_LAYOUT_VERSION + 1;
	uint32_t revision = RL_LAYOUT_REVISION + 1;
	uint64_t signature = 12345;
	struct rl_place place;

	(void)state;
	make_segment();
	patch(offsetof(struct rl_header, layout), &layout, sizeof layout);
	expect_refused(RL_EVERSION);
	assert_int_equal(rl_place(test_segment_name(), NULL, &place), 0);
	assert_int_equal(place.layout, RL_LAYOUT_VERSION + 1);
	assert_int_equal(place.revision, 0);
	layout = RL_LAYOUT_VERSION;
	patch(offsetof(struct rl_header, layout), &layout, sizeof layout);
	assert_int_equal(test_open_error(&small), 0);
	patch(offsetof(struct rl_header, revision), &revision, sizeof revision);
	expect_refused(RL_EVERSION);
	assert_int_equal(rl_place(test_segment_name(), NULL, &place), 0);
	assert_int_equal(place.layout, RL_LAYOUT_VERSION);
	assert_int_equal(place.revision, RL_LAYOUT_REVISION + 1);
	assert_int_equal(place.own_layout, RL_LAYOUT_VERSION);
	assert_int_equal(place.own_revision, RL_LAYOUT_REVISION);
	revision = RL_LAYOUT_REVISION;
	patch(offsetof(struct rl_header, revision), &revision, sizeof revision);
	assert_int_equal(test_open_error(&small), 0);
	patch(offsetof(struct rl_header, signature), &signature, sizeof signature);
	expect_refused(RL_EVERSION);
}

static void
test_truncated(void **state)
{
	struct stat st;

	(void)state;
	make_segment();
	assert_int_equal(stat(path(), &st), 0);
	off_t sizes[] = {st.st_size - 1, st.st_size / 2, RL_HEADER_BYTES, 100, 40, 16, 8};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		assert_int_equal(truncate(path(), sizes[i]), 0);
		expect_refused(RL_ETRUNCATED);
	}
}

static void
expect_refused_unless(bool is_same)
{
	if (is_same)
		assert_int_equal(test_open_error(&small), 0);
	else
		expect_refused(RL_EDAMAGED);
}

static void
test_damaged_geometry(void **state)
{
	(void)state;
	for (size_t field = 0; field < sizeof(struct rl_geometry) / 4; field++) {
		const uint32_t values[] = {0, 1, 0x7fffffff, UINT32_MAX};
		for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
			off_t at = (off_t)(offsetof(struct rl_header, geometry) + 4 * field);
			uint32_t was;
			make_segment();
			int fd = open(path(), O_RDONLY | O_CLOEXEC);
			assert_int_equal(pread(fd, &was, sizeof was, at), sizeof was);
			close(fd);
			patch(at, &values[i], sizeof values[i]);
			expect_refused_unless(was == values[i]);
			rl_unlink(test_segment_name());
		}
	}
}

static void
test_size_that_contradicts_the_header(void **state)
{
	struct stat st;

	(void)state;
	make_segment();
	assert_int_equal(stat(path(), &st), 0);
	assert_int_equal(truncate(path(), st.st_size + 4096), 0);
	expect_refused(RL_EDAMAGED);
}

static void
test_another_boot(void **state)
{
	uint64_t boot[2] = {1, 2};

	(void)state;
	make_segment();
	patch(offsetof(struct rl_header, boot_id), boot, sizeof boot);
	expect_refused(RL_EBOOT);
}

static void
test_read_only_observer(void **state)
{
	struct rl_result r;
	struct rl *rl;

	(void)state;
	make_segment();
	assert_int_equal(
		rl_open(test_segment_name(), &(struct rl_options){.flags = RL_OPEN_READONLY}, &rl),
		0);
	int rule = rl_find(rl, "r");
	assert_int_equal(rl_peek(rl, rule, "k", 1, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 3);
	assert_int_equal(rl_check(rl, rule, "k", 1, 0, &r), RL_ALLOWED);
	assert_int_equal(rl_check(rl, rule, "k", 1, 1, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EROFS);
	assert_int_equal(rl_reset(rl, rule, "k", 1), -EROFS);
	assert_int_equal(rl_refund(rl, &(struct rl_charges){.count = 1}), -EROFS);
	assert_int_equal(rl_sweep_at(rl, UINT64_MAX), -EROFS);
	assert_int_equal(rl_define(rl, &(struct rl_rule){.name = "x",
	                                                 .limit.capacity = 1,
	                                                 .limit.window_ns = RL_SECOND}),
	                 -EROFS);
	rl_close(rl);
}

/* A retirement that a killed process began must not make an observer write. */
static void
test_observer_of_a_dying_slot(void **state)
{
	struct rl_result r;
	struct rl *rl;

	(void)state;
	make_segment();
	/* mark every state dead with gen 0, the gen of a first claim */
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	for (uint64_t i = 0; i < rl_segment_slots(&rl->segment); i++)
		rl_table_state(&rl->segment.table, i)->hi = RL_STATE_DEAD;
	rl_close(rl);
	assert_int_equal(
		rl_open(test_segment_name(), &(struct rl_options){.flags = RL_OPEN_READONLY}, &rl),
		0);
	assert_int_equal(rl_peek(rl, rl_find(rl, "r"), "k", 1, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 5);
	rl_close(rl);
	/* and a worker finishes it and starts the key anew */
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	assert_int_equal(rl_check(rl, rl_find(rl, "r"), "k", 1, 1, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 4);
	rl_close(rl);
}

static int
open_as_nobody(void *arg, int i)
{
	const struct rl_options *o = arg;
	struct rl_result r;
	struct rl *rl;

	if (setgroups(0, NULL) < 0 || setgid(o->group) < 0 || setuid((uid_t)(65534 - i)) < 0)
		return 1;
	if (rl_open(test_segment_name(), o, &rl) < 0)
		return 2;
	return rl_check(rl, rl_find(rl, "r"), "k", 1, 1, &r) == RL_ALLOWED ? 0 : 3;
}

static int
refused_as_nobody(void *arg, int i)
{
	struct rl *rl;

	(void)arg;
	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid((uid_t)(65534 - i)) < 0)
		return 1;
	return rl_open(test_segment_name(), NULL, &rl) == -EACCES && rl == NULL ? 0 : 2;
}

static void
test_users_of_one_group(void **state)
{
	struct rl_options o = {
		.keys = 50, .ring = 4, .mode = 0660, .flags = RL_OPEN_GROUP, .group = 54321};
	struct rl *rl;

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can be other users */
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	int rule = test_rule(rl, "r", 4, 3600 * RL_SECOND, 4, true);
	test_fork(3, open_as_nobody, &o);
	assert_int_equal(rl_check(rl, rule, "k", 1, 1, NULL), RL_ALLOWED);
	assert_int_equal(rl_check(rl, rule, "k", 1, 1, NULL), RL_DENIED);
	test_fork(2, refused_as_nobody, NULL);
	rl_close(rl);
}

enum {
	NO_RIGHT = 77
};

/*
 * Nobody else sees what is mounted on /dev/shm. It is a file system of its own even in a chroot,
 * whose root is none that could be kept to ourselves.
 */
static bool
keep_mounts_to_ourselves(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       (mount(NULL, "/dev/shm", NULL, MS_PRIVATE, NULL) == 0 ||
	        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

/* Run `child` where /dev/shm is a file system of its own, of `size` bytes at most. */
static void
on_a_small_disk(const char *size, int (*child)(void))
{
	char options[32];
	int status;
	pid_t pid = fork();

	snprintf(options, sizeof options, "size=%s", size);
	if (pid == 0) {
		if (!keep_mounts_to_ourselves() ||
		    mount("tmpfs", "/dev/shm", "tmpfs", 0, options) < 0)
			_exit(NO_RIGHT);
		_exit(child());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_RIGHT)
		skip();
	assert_int_equal(status, 0);
}

static int
create_too_much(void)
{
	struct rl *rl;

	if (rl_open(test_segment_name(), &(struct rl_options){.keys = 10000}, &rl) != -ENOSPC)
		return 1;
	return access(path(), F_OK) == -1 && errno == ENOENT ? 0 : 2;
}

static void
test_no_space(void **state)
{
	(void)state;
	on_a_small_disk("64k", create_too_much);
}

/* There is room for one segment, not for one of each creator. */
static int
create_at_once(void)
{
	const struct rl_options most_of_it = {.ring = 64};
	int failed = 0, status;

	for (int i = 0; i < 8; i++) {
		struct rl *rl;
		if (fork() == 0)
			_exit(rl_open(test_segment_name(), &most_of_it, &rl) == 0 ? 0 : 1);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	return failed > 0;
}

static void
test_creators_take_turns(void **state)
{
	(void)state;
	on_a_small_disk("32m", create_at_once);
}

/* It is the disk that cannot be written, not the handle. */
static int
open_read_only_disk(void)
{
	struct rl_options look = {.flags = RL_OPEN_READONLY};

	if (test_open_error(&small) != 0)
		return 1;
	if (mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return 2;
	if (test_open_error(&small) != RL_EMOUNT || test_open_error(&look) != 0 ||
	    rl_unlink(test_segment_name()) != RL_EMOUNT)
		return 3;
	if (mount(NULL, "/dev/shm", NULL, MS_REMOUNT, NULL) < 0 ||
	    rl_unlink(test_segment_name()) < 0 ||
	    mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return 4;
	if (rl_unlink(test_segment_name()) != -ENOENT)
		return 5;
	return test_open_error(&small) == RL_EMOUNT && test_open_error(&look) == -ENOENT ? 0 : 6;
}

static void
test_a_read_only_disk(void **state)
{
	(void)state;
	on_a_small_disk("1m", open_read_only_disk);
	assert_string_not_equal(rl_strerror(RL_EMOUNT), rl_strerror(-EROFS));
}

/* A limit on file sizes is an error, not the signal that the kernel would send. */
static void
test_file_size_limit(void **state)
{
	const struct rlimit tight = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
	struct rlimit before;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	int error = test_open_error(&small);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(error, -EFBIG);
}

/* Somebody made the segment before its owner could, for all to write. */
static void
test_segment_of_a_stranger(void **state)
{
	struct rl_options o = {.keys = 50, .mode = 0666};

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can be other users */
	assert_int_equal(test_open_error(&o), 0);
	assert_int_equal(chown(path(), 65534, 65534), 0);
	assert_int_equal(test_open_error(&o), RL_EOWNER);
	o.flags = RL_OPEN_READONLY;
	assert_int_equal(test_open_error(&o), 0);
	o.flags = RL_OPEN_ANY_OWNER;
	assert_int_equal(test_open_error(&o), 0);
	/* shared with a group of ours, but with everybody else too */
	o.flags = 0;
	assert_int_equal(chown(path(), 65534, getegid()), 0);
	assert_int_equal(test_open_error(&o), RL_EOWNER);
	assert_int_equal(chmod(path(), 0660), 0);
	assert_int_equal(test_open_error(&o), RL_EOWNER);
	o.flags = RL_OPEN_GROUP;
	o.group = getegid() + 1;
	assert_int_equal(test_open_error(&o), RL_EOWNER);
	o.group = getegid();
	assert_int_equal(test_open_error(&o), 0);
	assert_int_equal(chmod(path(), 0662), 0);
	assert_int_equal(test_open_error(&o), RL_EOWNER);
}

/* A member of a group makes the segment that another wants for itself. */
static int
open_beside_a_planter(void *arg, int i)
{
	const gid_t group = 54321;
	struct rl_options o = {.mode = 0660, .group = group, .flags = RL_OPEN_GROUP};

	(void)arg;
	(void)i;
	if (setgroups(1, &group) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		return 1;
	if (test_open_error(NULL) != RL_EOWNER)
		return 2;
	return test_open_error(&o) == 0 ? 0 : 3;
}

static void
test_a_group_is_trusted_if_asked_for(void **state)
{
	struct rl_options o = {.keys = 50, .mode = 0660, .flags = RL_OPEN_GROUP, .group = 54321};

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can be other users */
	assert_int_equal(test_open_error(&o), 0);
	assert_int_equal(chown(path(), 65533, 54321), 0);
	test_fork(1, open_beside_a_planter, NULL);
}

/* Whose it is does not matter: everybody has the hash key. */
static void
test_a_known_hash_key(void **state)
{
	struct rl_options o = small;

	(void)state;
	assert_int_equal(test_open_error(&o), 0);
	assert_int_equal(chmod(path(), 0644), 0);
	assert_int_equal(test_open_error(NULL), RL_EPUBLIC);
	o.mode = 0602;
	assert_int_equal(test_open_error(&o), RL_EPUBLIC);
	o.mode = 0664;
	assert_int_equal(test_open_error(&o), 0);
	o.mode = 0;
	o.flags = RL_OPEN_READONLY;
	assert_int_equal(test_open_error(&o), 0);
	o.flags = RL_OPEN_ANY_OWNER;
	assert_int_equal(test_open_error(&o), 0);
}

enum {
	CREATORS = 8
};

/* All end up in one segment: each charges once, and a limit of their number holds them all. */
static int
create_and_charge(void *arg, int i)
{
	uint64_t *arrived = arg;
	struct rl_result r;
	struct rl *rl;

	(void)i;
	rl_atomic_add(arrived, 1);
	while (rl_atomic_load(arrived) % CREATORS != 0)
		sched_yield();
	if (rl_open(test_segment_name(), &small, &rl) < 0)
		return 1;
	int rule = rl_define(rl, &(struct rl_rule){.name = "r",
	                                           .limit.capacity = 8,
	                                           .limit.window_ns = 3600 * RL_SECOND,
	                                           .limit.granularity = 4,
	                                           .limit.hard = 1});
	return rule >= 0 && rl_check(rl, rule, "k", 1, 1, &r) == RL_ALLOWED ? 0 : 2;
}

static void
test_created_by_many_at_once(void **state)
{
	struct rl_result r;
	struct rl *rl;

	uint64_t *arrived = test_shared(sizeof *arrived);

	(void)state;
	for (int round = 0; round < 100; round++) {
		*arrived = 0;
		test_fork(CREATORS, create_and_charge, arrived);
		assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
		assert_int_equal(rl_find(rl, "r"), 0);
		assert_int_equal(rl_peek(rl, 0, "k", 1, &r), RL_DENIED);
		assert_int_equal(test_counter(rl, 0, RL_COUNT_allowed), 8);
		rl_close(rl);
		assert_int_equal(rl_unlink(test_segment_name()), 0);
	}
	munmap(arrived, sizeof *arrived);
}

static void
test_private_segments_are_apart(void **state)
{
	struct rl *a = test_private(10), *b = test_private(10);
	int rule = test_rule(a, "r", 1, RL_SECOND, 1, false);
	struct rl_info info;

	(void)state;
	assert_int_equal(at_check(a, rule, "k", 1, 1, 0, NULL), RL_ALLOWED);
	assert_int_equal(rl_find(b, "r"), -ENOENT);
	assert_int_equal(rl_fill(b), 0);
	rl_info(a, &info);
	assert_string_equal(info.name, "");
	assert_true(info.slots >= 10);
	rl_close(a);
	rl_close(b);
	rl_close(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
		TEST(test_counters_stay_when_processes_go),
		TEST(test_two_mappings_of_one_segment),
		TEST(test_names_and_options),
		TEST(test_absent),
		TEST(test_mode_whatever_the_umask),
		TEST(test_foreign_files),
		TEST(test_other_versions),
		TEST(test_truncated),
		TEST(test_damaged_geometry),
		TEST(test_size_that_contradicts_the_header),
		TEST(test_another_boot),
		TEST(test_read_only_observer),
		TEST(test_observer_of_a_dying_slot),
		TEST(test_users_of_one_group),
		TEST(test_no_space),
		TEST(test_creators_take_turns),
		TEST(test_a_read_only_disk),
		TEST(test_file_size_limit),
		TEST(test_segment_of_a_stranger),
		TEST(test_a_group_is_trusted_if_asked_for),
		TEST(test_a_known_hash_key),
		TEST(test_created_by_many_at_once),
		TEST(test_private_segments_are_apart),
#undef TEST
	};

	test_segment_name(); /* of this process, before any child asks */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
