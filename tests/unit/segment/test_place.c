/* SPDX-License-Identifier: BSD-2-Clause */
/* The two directories of segments: rl's own, which strangers cannot write, and the public one. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rl_admin.h"
#include "rule/handle.h"
#include "segment/path.h"
#include "testing.h"

#define WORKERS 54321 /* a group */
#define STRANGER 65534

static const struct rl_options small = {.keys = 50, .ring = 4, .rules = 4};
static char directory[64];

static const char *
own(void)
{
	static char text[128];

	snprintf(text, sizeof text, "%s/rl.%s", directory, test_segment_name());
	return text;
}

static const char *public(void)
{
	static char text[128];

	snprintf(text, sizeof text, "/dev/shm/rl.%s", test_segment_name());
	return text;
}

static bool
is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static int
setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof directory, "/dev/shm/own-%s", test_segment_name());
	if (geteuid() != 0)
		return 0;
	if (mkdir(directory, 0700) < 0 || chown(directory, 0, WORKERS) < 0 ||
	    chmod(directory, 03771) < 0)
		return -1;
	rl_path_own = directory;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(own());
	unlink(public());
	rmdir(directory);
	rl_path_own = NULL;
	return 0;
}

/* As by a library, or on a machine, that knows no such directory. */
static void
make_public(void)
{
	rl_path_own = NULL;
	assert_int_equal(test_open_error(&small), 0);
	rl_path_own = directory;
	assert_true(is_there(public()));
}

static void
need_root(void)
{
	if (geteuid() != 0)
		skip(); /* only root can make a directory that is root's */
}

static void
test_made_in_its_own_directory(void **state)
{
	struct rl_place place;
	struct stat file;

	(void)state;
	need_root();
	/* what rl_open() refuses */
	assert_int_equal(
		rl_place(test_segment_name(), &(struct rl_options){.flags = 1u << 20}, &place),
		-EINVAL);
	assert_int_equal(
		rl_place(test_segment_name(), &(struct rl_options){.mode = 0100660}, &place),
		-EINVAL);
	assert_int_equal(rl_place(test_segment_name(), &small, &place), 0);
	assert_string_equal(place.path, own());
	assert_true(place.is_own && !place.is_there);
	assert_int_equal(test_open_error(&small), 0);
	assert_true(is_there(own()) && !is_there(public()));
	assert_int_equal(rl_place(test_segment_name(), &small, &place), 0);
	assert_true(place.is_own && place.is_there);
	assert_int_equal(stat(own(), &file), 0);
	assert_int_equal(place.bytes, file.st_size);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_false(is_there(own()));
	assert_int_equal(rl_unlink(test_segment_name()), -ENOENT);
	assert_int_equal(mkdir(own(), 0700), 0);
	assert_int_equal(test_open_error(&small), RL_EFOREIGN);
	assert_int_equal(rl_unlink(test_segment_name()), RL_EFOREIGN);
	assert_int_equal(rmdir(own()), 0);
}

static void
test_an_older_one_is_found(void **state)
{
	struct rl *a, *b;

	(void)state;
	need_root();
	make_public();
	assert_int_equal(rl_open(test_segment_name(), &small, &a), 0);
	assert_int_equal(rl_open(test_segment_name(), &small, &b), 0);
	assert_false(is_there(own()));
	int rule = test_rule(a, "r", 5, 3600 * RL_SECOND, 4, true);
	assert_int_equal(rl_find(b, "r"), rule);
	rl_close(a);
	rl_close(b);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_false(is_there(public()));
}

static void
test_two_are_an_error(void **state)
{
	struct rl_options look = {.flags = RL_OPEN_READONLY};
	struct rl_place place;

	(void)state;
	need_root();
	assert_int_equal(test_open_error(&small), 0);
	make_public();
	assert_int_equal(test_open_error(&small), RL_ETWICE);
	assert_int_equal(test_open_error(&look), RL_ETWICE);
	assert_int_equal(rl_unlink(test_segment_name()), RL_ETWICE);
	assert_int_equal(rl_place(test_segment_name(), NULL, &place), RL_ETWICE);
	assert_string_equal(place.path, own());
	assert_int_equal(unlink(public()), 0);
	assert_int_equal(test_open_error(&small), 0);
}

/* Neither before the segment is made nor afterwards is a stranger's file in the way. */
static void
test_a_stranger_cannot_take_a_name(void **state)
{
	struct rl_options any = {.flags = RL_OPEN_ANY_OWNER};

	(void)state;
	need_root();
	close(open(public(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(chown(public(), STRANGER, STRANGER), 0);
	assert_int_equal(test_open_error(&small), 0);
	assert_true(is_there(own()));
	assert_int_equal(test_open_error(&small), 0);
	assert_int_equal(test_open_error(&any), 0);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_true(!is_there(own()) && is_there(public()));
	unlink(public());
	make_public(); /* a whole segment of theirs likewise */
	assert_int_equal(chown(public(), STRANGER, STRANGER), 0);
	assert_int_equal(test_open_error(&small), 0);
	assert_true(is_there(own()));
}

/*
 * Nobody opens or removes a stranger's, nor is told of it: not who only looks, and not who takes
 * any owner.
 */
static void
test_a_stranger_is_not_looked_at(void **state)
{
	static const unsigned flags[] = {RL_OPEN_READONLY, RL_OPEN_READONLY | RL_OPEN_EXISTING,
	                                 RL_OPEN_EXISTING, RL_OPEN_EXISTING | RL_OPEN_ANY_OWNER};
	struct rl_place place;

	(void)state;
	need_root();
	make_public();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(chown(public(), STRANGER, i == 0 ? STRANGER : WORKERS), 0);
		assert_int_equal(chmod(public(), i == 0 ? 0600 : 0666), 0);
		for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
			struct rl_options o = {.flags = flags[k]};

			assert_int_equal(test_open_error(&o), -ENOENT);
			assert_int_equal(rl_place(test_segment_name(), &o, &place), 0);
			assert_string_equal(place.path, own());
		}
		assert_int_equal(rl_unlink(test_segment_name()), -ENOENT);
		assert_true(is_there(public()));
	}
}

/*
 * What a member of the directory's group has made is theirs to look at, and for an administrator to
 * tend.
 */
static void
test_a_member_is_looked_at(void **state)
{
	const struct rl_options look = {.flags = RL_OPEN_READONLY | RL_OPEN_EXISTING};
	const struct rl_options tend = {.flags = RL_OPEN_EXISTING | RL_OPEN_ANY_OWNER};

	(void)state;
	need_root();
	make_public();
	assert_int_equal(chown(public(), STRANGER, WORKERS), 0);
	assert_int_equal(test_open_error(&look), 0);
	assert_int_equal(test_open_error(&tend), 0);
	assert_int_equal(test_open_error(&(struct rl_options){.flags = RL_OPEN_EXISTING}),
	                 RL_EOWNER);
	assert_int_equal(test_open_error(&small), 0);
	assert_true(is_there(own()));
}

/* Between the look at a name and its opening it may come to be a stranger's. */
static void
test_replaced_between_looks(void **state)
{
	const struct rl_options look = {.flags = RL_OPEN_READONLY | RL_OPEN_EXISTING};
	struct rl_path path;
	struct stat file;

	(void)state;
	need_root();
	make_public();
	assert_int_equal(rl_path_find(test_segment_name(), &look, &path), 0);
	assert_string_equal(path.text, public());
	assert_int_equal(stat(public(), &file), 0);
	assert_true(rl_path_counts(&path, &file, &look));
	file.st_uid = file.st_gid = STRANGER;
	assert_false(rl_path_counts(&path, &file, &look));
	rl_path_own = NULL;
	assert_int_equal(rl_path_find(test_segment_name(), &look, &path), 0);
	assert_true(rl_path_counts(&path, &file, &look));
}

/* A process that has a segment open finds it whoever's it is, and wherever it was moved. */
static void
test_reopened_where_it_is(void **state)
{
	struct rl_resize first = {.keys = 100}, second = {.keys = 200};
	struct rl_moving moving = {0};
	struct rl *rl;

	(void)state;
	need_root();
	make_public();
	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	assert_int_equal(chown(public(), STRANGER, STRANGER), 0);
	assert_int_equal(rl_resize(rl, &first, 0), 0);
	assert_int_equal(rl_move_slots_at(rl, 0, UINT64_MAX, rl_now(rl), &moving), 0);
	assert_int_equal(rl_move_end(rl), 1);
	assert_int_equal(rename(public(), own()), 0);
	assert_int_equal(rl_resize(rl, &second, 0), 0);
	rl_close(rl);
}

/* A group that is trusted may have made it there before. */
static void
test_an_older_one_of_the_group(void **state)
{
	struct rl_options o = {.keys = 50, .mode = 0660, .group = WORKERS, .flags = RL_OPEN_GROUP};

	(void)state;
	need_root();
	rl_path_own = NULL;
	assert_int_equal(test_open_error(&o), 0);
	rl_path_own = directory;
	assert_int_equal(chown(public(), STRANGER, WORKERS), 0);
	assert_int_equal(test_open_error(&o), 0);
	assert_false(is_there(own()));
}

static void
test_a_planted_directory(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(chmod(directory, 01777), 0);
	assert_int_equal(test_open_error(&small), 0);
	assert_true(!is_there(own()) && is_there(public()));
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(chown(directory, STRANGER, STRANGER), 0);
	assert_int_equal(test_open_error(&small), 0);
	assert_true(!is_there(own()) && is_there(public()));
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(symlink("/", directory), 0);
	assert_int_equal(test_open_error(&small), 0);
	assert_true(is_there(public()));
	assert_int_equal(unlink(directory), 0);
}

static int
become(uid_t user, gid_t group)
{
	return setgroups(0, NULL) < 0 || setgid(group) < 0 || setuid(user) < 0;
}

static int
open_as_stranger(void *arg, int i)
{
	const int *expected = arg;

	(void)i;
	if (become(STRANGER, STRANGER))
		return 1;
	if (test_open_error(&small) != *expected)
		return 2;
	return *expected == 0 || !is_there(public()) ? 0 : 3;
}

static void
test_who_may_not_write_it_is_told(void **state)
{
	int expected = RL_EDIRECTORY;

	(void)state;
	need_root();
	test_fork(1, open_as_stranger, &expected);
	assert_int_equal(chmod(directory, 03770), 0); /* nor see what is in it */
	test_fork(1, open_as_stranger, &expected);
	assert_int_equal(test_open_error(&small), 0);
	test_fork(1, open_as_stranger, &expected);
	assert_int_equal(chmod(directory, 03771), 0);
	expected = -EACCES; /* it is the file then */
	test_fork(1, open_as_stranger, &expected);
	assert_int_equal(unlink(own()), 0);
	make_public(); /* one of their own goes on */
	assert_int_equal(chown(public(), STRANGER, STRANGER), 0);
	expected = 0;
	test_fork(1, open_as_stranger, &expected);
}

static int
open_as_worker(void *arg, int i)
{
	const struct rl_options *o = arg;

	if (become((uid_t)(STRANGER - i), WORKERS))
		return 1;
	return test_open_error(o) == 0 && is_there(own()) ? 0 : 2;
}

static void
test_members_share_it(void **state)
{
	struct rl_options o = {.keys = 50, .mode = 0660, .group = WORKERS, .flags = RL_OPEN_GROUP};

	(void)state;
	need_root();
	test_fork(3, open_as_worker, &o);
}

/* So an older one is brought there, under workers that go on with it. */
static void
test_moved_while_in_use(void **state)
{
	struct rl *old, *new;
	pid_t holder;

	(void)state;
	need_root();
	make_public();
	assert_int_equal(rl_open(test_segment_name(), &small, &old), 0);
	assert_int_equal(rename(public(), own()), 0);
	assert_int_equal(rl_supervise(old, &holder), 0);
	assert_int_equal(rl_open(test_segment_name(), &small, &new), 0);
	assert_int_equal(rl_supervise(new, &holder), -EBUSY);
	rl_close(old);
	rl_close(new);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_made_in_its_own_directory),
		TEST(test_an_older_one_is_found),
		TEST(test_two_are_an_error),
		TEST(test_a_stranger_cannot_take_a_name),
		TEST(test_a_stranger_is_not_looked_at),
		TEST(test_a_member_is_looked_at),
		TEST(test_replaced_between_looks),
		TEST(test_reopened_where_it_is),
		TEST(test_an_older_one_of_the_group),
		TEST(test_a_planted_directory),
		TEST(test_who_may_not_write_it_is_told),
		TEST(test_members_share_it),
		TEST(test_moved_while_in_use),
#undef TEST
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
