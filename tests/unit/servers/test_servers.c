/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "With servers" of rl(7), step by step: a master that is root, workers and applications that are
 * not. What is done here needs rl.h alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "segment/path.h"
#include "testing.h"

#define WORKERS 54321 /* a group */

static const struct rl_options alone = {.keys = 50, .ring = 4, .rules = 4};
static const struct rl_options together = {
	.keys = 50, .ring = 4, .rules = 4, .mode = 0660, .group = WORKERS, .flags = RL_OPEN_GROUP};
static const struct rl_options together_later = {
	.mode = 0660, .group = WORKERS, .flags = RL_OPEN_GROUP | RL_OPEN_EXISTING};
static const struct rl_rule login = {
	.name = "login",
	.limit = {.algorithm = RL_FIXED_WINDOW, .capacity = 6, .window_ns = 86400 * RL_SECOND}};
static char directory[64];

static void
remove_all(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/rl.%s", directory, test_segment_name());
	unlink(path);
	snprintf(path, sizeof path, "/dev/shm/rl.%s", test_segment_name());
	unlink(path);
	rmdir(directory);
	rl_path_own = NULL;
}

static int
setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof directory, "/dev/shm/own-%s", test_segment_name());
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	remove_all();
	return 0;
}

static void
need_root(void)
{
	if (geteuid() != 0)
		skip(); /* only root can be other users */
}

/* As systemd/rl.tmpfiles has it. */
static void
make_own_directory(void)
{
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(chown(directory, 0, WORKERS), 0);
	assert_int_equal(chmod(directory, 03771), 0);
	rl_path_own = directory;
}

enum who {
	NOBODY,   /* there is no first */
	ROOT,     /* the master of a server */
	MEMBER,   /* an application's user who has been added to the group */
	OUTSIDER, /* one who has not */
	DAEMON,   /* rld, whose user is neither */
};

static int
become(enum who who)
{
	const gid_t groups[] = {WORKERS};
	const uid_t user = 65530 - (uid_t)who;
	const gid_t own = who == DAEMON ? WORKERS : user;

	if (who == ROOT)
		return 0;
	return setgroups(who == MEMBER, groups) < 0 || setgid(own) < 0 || setuid(user) < 0;
}

struct attempt {
	enum who who;
	const struct rl_options *options;
	int error;
};

static int
open_as(void *arg, int i)
{
	struct attempt *attempt = arg;

	(void)i;
	if (become(attempt->who))
		return 1;
	attempt->error = test_open_error(attempt->options);
	return 0;
}

/* What opening comes to, for that user in a process of its own. */
static int
opens(enum who who, const struct rl_options *options)
{
	struct attempt *shared = test_shared(sizeof *shared);
	int error;

	*shared = (struct attempt){.who = who, .options = options};
	test_fork(1, open_as, shared);
	error = shared->error;
	munmap(shared, sizeof *shared);
	return error;
}

struct order {
	bool has_directory;
	const struct rl_options *options; /* of both */
	enum who first, second;
	int error_first, error_second;
};

/* Each order in which they can come, alone and as a group, with and without rl's own directory. */
static void
test_who_comes_first(void **state)
{
	static const struct order orders[] = {
		{false, &alone, ROOT, MEMBER, 0, -EACCES},
		{false, &alone, MEMBER, ROOT, 0, RL_EOWNER},
		{false, &alone, OUTSIDER, ROOT, 0, RL_EOWNER},
		{false, &alone, DAEMON, ROOT, 0, RL_EOWNER},
		{false, &alone, DAEMON, MEMBER, 0, -EACCES},
		{false, &together, ROOT, MEMBER, 0, 0},
		{false, &together, ROOT, OUTSIDER, 0, -EACCES},
		{false, &together, MEMBER, ROOT, 0, 0},
		{false, &together, OUTSIDER, ROOT, -EPERM, 0},
		{false, &together, DAEMON, ROOT, 0, 0},
		{false, &together, DAEMON, MEMBER, 0, 0},
		{true, &alone, ROOT, MEMBER, 0, -EACCES},
		{true, &alone, MEMBER, ROOT, 0, RL_EOWNER},
		{true, &alone, OUTSIDER, ROOT, RL_EDIRECTORY, 0},
		{true, &alone, DAEMON, ROOT, 0, RL_EOWNER},
		{true, &alone, DAEMON, MEMBER, 0, -EACCES},
		{true, &together, ROOT, MEMBER, 0, 0},
		{true, &together, ROOT, OUTSIDER, 0, -EACCES},
		{true, &together, MEMBER, ROOT, 0, 0},
		{true, &together, OUTSIDER, ROOT, RL_EDIRECTORY, 0},
		{true, &together, DAEMON, ROOT, 0, 0},
		{true, &together, DAEMON, MEMBER, 0, 0},
		{true, &together_later, ROOT, MEMBER, -ENOENT, -ENOENT},
	};

	(void)state;
	need_root();
	for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
		const struct order *o = &orders[i];
		if (o->has_directory)
			make_own_directory();
		assert_int_equal(opens(o->first, o->options), o->error_first);
		assert_int_equal(opens(o->second, o->options), o->error_second);
		remove_all();
	}
}

/* A server as rl(7) has it: it starts without its segment, and tries again. */
struct server {
	struct rl_options options;
	struct rl *rl;
	int error;
	int told; /* how many lines its log has */
	int rule;
};

/* At the start, and then once a second. */
static void
server_try(struct server *server)
{
	int error = rl_open(test_segment_name(), &server->options, &server->rl);

	if (error != server->error)
		server->told++;
	server->error = error;
	if (error == 0)
		server->rule = rl_define(server->rl, &login);
}

/* It is configured to fail open. */
static enum rl_verdict
server_decides(struct server *server)
{
	struct rl_result r = {.verdict = RL_UNDECIDED};

	if (server->rl)
		rl_check(server->rl, server->rule, "192.0.2.1", 9, 1, &r);
	return r.verdict == RL_UNDECIDED ? RL_ALLOWED : r.verdict;
}

/* Its group is given up, so that it may open nothing; what it has inherited is enough. */
static int
work_as_outsider(void *arg, int i)
{
	struct server *server = arg;

	(void)i;
	if (become(OUTSIDER))
		return 1;
	if (test_open_error(&server->options) != -EACCES)
		return 2;
	return server_decides(server) == RL_ALLOWED && server_decides(server) == RL_ALLOWED ? 0 : 3;
}

static int
work_alone(void *arg, int i)
{
	struct server server = {.options = *(const struct rl_options *)arg};

	(void)i;
	if (become(MEMBER))
		return 1;
	server_try(&server);
	return server_decides(&server) == RL_DENIED && server.error == 0 ? 0 : 2;
}

static void
test_workers_of_a_master(void **state)
{
	struct server master = {.options = together};

	(void)state;
	need_root();
	make_own_directory();
	server_try(&master);
	assert_int_equal(master.error, 0);
	test_fork(3, work_as_outsider, &master);
	assert_int_equal(server_decides(&master), RL_DENIED);
	/* and an application shares the limit */
	test_fork(1, work_alone, (void *)(uintptr_t)&together);
	rl_close(master.rl);
}

/* A planted segment, or an application that knows no group, keeps no server from starting. */
static void
test_an_application_was_first(void **state)
{
	struct server master = {.options = together};

	(void)state;
	need_root();
	assert_int_equal(opens(OUTSIDER, &alone), 0);
	for (int second = 0; second < 3; second++) {
		server_try(&master);
		assert_int_equal(master.error, RL_EOWNER);
		assert_int_equal(server_decides(&master), RL_ALLOWED);
	}
	assert_int_equal(master.told, 1);
	assert_int_equal(rl_unlink(test_segment_name()), 0); /* the administrator */
	server_try(&master);
	assert_int_equal(master.error, 0);
	assert_int_equal(master.told, 2);
	for (int i = 0; i < 6; i++)
		assert_int_equal(server_decides(&master), RL_ALLOWED);
	test_fork(1, work_alone, (void *)(uintptr_t)&together);
	rl_close(master.rl);
}

/* A step of the one, a step of the other. */
struct steps {
	int to_worker[2], to_daemon[2];
};

static bool
pass(int fd)
{
	return write(fd, "x", 1) == 1;
}

static bool
wait_for(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

/* Forked by a master that had found no segment. Whatever is found, the other goes on. */
static int
work_until_there_is_one(const struct steps *steps)
{
	struct server worker = {.options = together_later};
	bool is_absent, is_other = become(MEMBER) == 0;

	server_try(&worker);
	is_absent = worker.error == -ENOENT && server_decides(&worker) == RL_ALLOWED;
	if (!pass(steps->to_daemon[1]) || !wait_for(steps->to_worker[0]) || !is_other || !is_absent)
		return 1;
	server_try(&worker);
	if (worker.error != 0 || worker.told != 2)
		return 2;
	return server_decides(&worker) == RL_DENIED ? 0 : 3;
}

static int
make_and_use_up(const struct steps *steps)
{
	struct server server = {.options = together};
	bool is_other = wait_for(steps->to_daemon[0]) && become(DAEMON) == 0;
	int allowed = 0;

	server_try(&server);
	for (int n = 0; n < 6; n++)
		allowed += server_decides(&server) == RL_ALLOWED;
	return pass(steps->to_worker[1]) && is_other && server.error == 0 && allowed == 6 ? 0 : 1;
}

static int
worker_or_daemon(void *arg, int i)
{
	return i == 0 ? work_until_there_is_one(arg) : make_and_use_up(arg);
}

static void
test_found_when_it_is_made(void **state)
{
	struct server master = {.options = together_later};
	struct steps steps;

	(void)state;
	need_root();
	make_own_directory();
	assert_int_equal(pipe2(steps.to_worker, O_CLOEXEC), 0);
	assert_int_equal(pipe2(steps.to_daemon, O_CLOEXEC), 0);
	server_try(&master);
	assert_int_equal(master.error, -ENOENT);
	test_fork(2, worker_or_daemon, &steps);
	server_try(&master);
	assert_int_equal(master.error, 0);
	assert_int_equal(server_decides(&master), RL_DENIED);
	rl_close(master.rl);
	for (int end = 0; end < 2; end++) {
		close(steps.to_worker[end]);
		close(steps.to_daemon[end]);
	}
}

/* Of the segment's file, all there is to be seen. */
static unsigned char *
bytes_of_segment(struct stat *file)
{
	int fd = test_file_of_segment();
	unsigned char *bytes;

	assert_int_equal(fstat(fd, file), 0);
	bytes = malloc((size_t)file->st_size);
	assert_int_equal(pread(fd, bytes, (size_t)file->st_size, 0), file->st_size);
	close(fd);
	return bytes;
}

static void
check_configuration(void)
{
	struct rl_rule bad = login, changed = login;
	struct rl_place place;

	changed.limit.capacity = 7;
	bad.limit.capacity = 0;
	assert_int_equal(rl_rule_check(&login, &together, NULL, 0), 0);
	assert_int_equal(rl_rule_check(&changed, &together, NULL, 0), 0);
	assert_int_equal(rl_rule_check(&bad, &together, NULL, 0), -EINVAL);
	assert_int_equal(rl_place(test_segment_name(), &together, &place), 0);
	assert_int_equal(rl_place("no name", &together, &place), -EINVAL);
	assert_int_equal(
		rl_place(test_segment_name(), &(struct rl_options){.keys = UINT32_MAX}, &place),
		-EINVAL);
}

static void
test_a_check_touches_nothing(void **state)
{
	struct server server = {.options = alone};
	unsigned char *before, *after;
	struct stat file, later;

	(void)state;
	check_configuration();
	assert_int_equal(test_open_error(&(struct rl_options){.flags = RL_OPEN_EXISTING}), -ENOENT);
	server_try(&server);
	assert_int_equal(server.error, 0);
	server_decides(&server);
	before = bytes_of_segment(&file);
	check_configuration();
	after = bytes_of_segment(&later);
	assert_int_equal(file.st_ino, later.st_ino);
	assert_int_equal(file.st_size, later.st_size);
	assert_memory_equal(before, after, (size_t)file.st_size);
	free(before);
	free(after);
	rl_close(server.rl);
}

/* Old workers and new ones count together, each with its own handle. */
static void
test_a_reload_keeps_counts(void **state)
{
	struct server old = {.options = alone}, new = {.options = alone};
	struct rl_rule more = login;

	(void)state;
	server_try(&old);
	for (int i = 0; i < 6; i++)
		assert_int_equal(server_decides(&old), RL_ALLOWED);
	server_try(&new);
	assert_int_equal(new.rule, old.rule);
	assert_int_equal(server_decides(&new), RL_DENIED);
	more.limit.capacity = 8;
	assert_int_equal(rl_define(new.rl, &more), new.rule);
	assert_int_equal(server_decides(&old), RL_ALLOWED);
	rl_close(old.rl);
	assert_int_equal(server_decides(&new), RL_ALLOWED);
	assert_int_equal(server_decides(&new), RL_DENIED);
	rl_close(new.rl);
}

/* The program that a server has executed in its place. */
static int
successor(const char *name)
{
	struct rl_result r;
	struct rl *rl;

	if (rl_open(name, &(struct rl_options){.flags = RL_OPEN_EXISTING}, &rl) < 0)
		return 100;
	rl_peek(rl, rl_find(rl, "login"), "192.0.2.1", 9, &r);
	rl_close(rl);
	return (int)r.remaining;
}

static void
test_an_upgrade_keeps_counts(void **state)
{
	struct server server = {.options = alone};
	int status;
	pid_t pid;

	(void)state;
	server_try(&server);
	server_decides(&server);
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "successor", test_segment_name(), (char *)NULL);
		_exit(101);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 5);
	rl_close(server.rl);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_who_comes_first),          TEST(test_workers_of_a_master),
		TEST(test_an_application_was_first), TEST(test_found_when_it_is_made),
		TEST(test_a_check_touches_nothing),  TEST(test_a_reload_keeps_counts),
		TEST(test_an_upgrade_keeps_counts),
#undef TEST
	};

	if (argc > 1)
		return successor(argv[1]);
	test_segment_name(); /* of this process, before any child asks */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
