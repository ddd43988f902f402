/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changing a file. The writer is killed before and after each of its system calls in turn, and
 * the file must then be the old text or the new one, whole, and the next change must succeed.
 * That it reaches the disk before it gets its name is seen in the order of the calls.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "edit/replace.h"
#include "load/load.h"
#include "testing.h"
#include "text/file.h"

#define OLD "{\"rules\": {\"r\": {\"limit\": \"1/s\"}}}\n"
#define NEW "{\"rules\": {\"r\": {\"limit\": \"2/s\"}, \"more\": {\"limit\": \"3/h\"}}}\n"
#define CALLS_MAX 400

static char directory[64], path[128], link_path[128];

static int
setup(void **state)
{
	(void)state;
	test_make_directory(directory, sizeof directory);
	snprintf(path, sizeof(path), "%s/rl.json", directory);
	snprintf(link_path, sizeof(link_path), "%s/link.json", directory);
	return 0;
}

/* How many files there are, removing them if asked. */
static int
count_files(bool removes)
{
	DIR *files = opendir(directory);
	struct dirent *entry;
	int count = 0;

	assert_non_null(files);
	while ((entry = readdir(files))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		count++;
		if (removes)
			unlinkat(dirfd(files), entry->d_name, 0);
	}
	closedir(files);
	return count;
}

static int
teardown(void **state)
{
	(void)state;
	count_files(true);
	return rmdir(directory);
}

static void
put(const char *where, const char *text)
{
	FILE *file = fopen(where, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static bool
holds(const char *text)
{
	char *now;
	size_t len;
	bool is_same;

	assert_int_equal(file_read(path, 10000, &now, &len), 0);
	is_same = strcmp(now, text) == 0;
	free(now);
	return is_same;
}

/* 0 or -errno. */
static int
change(const char *where, const char *text)
{
	struct locked_file file;
	int error = file_lock(where, 0, &file);

	if (error < 0)
		return error;
	error = file_replace(&file, text, strlen(text));
	file_unlock(&file);
	return error;
}

static void
test_replace(void **state)
{
	struct stat was, now;

	(void)state;
	count_files(true);
	put(path, OLD);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(stat(path, &was), 0);
	assert_int_equal(change(path, NEW), 0);
	assert_true(holds(NEW));
	assert_int_equal(stat(path, &now), 0);
	assert_int_equal(now.st_mode, was.st_mode);
	assert_int_not_equal(now.st_ino, was.st_ino);
	assert_int_equal(count_files(false), 1);
}

static void
test_owner(void **state)
{
	struct stat now;

	(void)state;
	if (geteuid() != 0)
		skip();
	count_files(true);
	put(path, OLD);
	assert_int_equal(chown(path, 1234, 4321), 0);
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_equal(change(path, NEW), 0);
	assert_int_equal(stat(path, &now), 0);
	assert_int_equal(now.st_uid, 1234);
	assert_int_equal(now.st_gid, 4321);
	assert_int_equal(now.st_mode & 07777, 04755);
}

static void
test_access_list(void **state)
{
	/* u::rw-, u:1234:r--, g::r--, m::r--, o::---, as acl(5) has it in an attribute */
	static const unsigned char list[] = {
		2, 0,    0,   0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,   4,
		0, 0xd2, 4,   0,   0,   4,   0,  4, 0,   255, 255, 255, 255, 16,  0,
		4, 0,    255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255,
	};
	unsigned char now[256];

	(void)state;
	count_files(true);
	put(path, OLD);
	if (setxattr(path, "system.posix_acl_access", list, sizeof(list), 0) < 0)
		skip(); /* the file system has none */
	assert_int_equal(change(path, NEW), 0);
	assert_int_equal(getxattr(path, "system.posix_acl_access", now, sizeof(now)), sizeof(list));
	assert_memory_equal(now, list, sizeof(list));
}

/* A link stays a link, and what it points to is changed, where that is. */
static void
test_link(void **state)
{
	struct stat now;

	(void)state;
	count_files(true);
	put(path, OLD);
	assert_int_equal(symlink("rl.json", link_path), 0);
	assert_int_equal(change(link_path, NEW), 0);
	assert_int_equal(lstat(link_path, &now), 0);
	assert_true(S_ISLNK(now.st_mode));
	assert_int_equal(lstat(path, &now), 0);
	assert_true(S_ISREG(now.st_mode));
	assert_true(holds(NEW));
}

static void
test_what_is_no_file(void **state)
{
	(void)state;
	count_files(true);
	assert_int_equal(change(path, NEW), -ENOENT);
	assert_int_equal(change(directory, NEW), -EISDIR);
	assert_int_equal(change("/dev/null", NEW), -EINVAL);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(change(path, NEW), -EINVAL);
}

/* A file that somebody put in the way of the new one is not written through. */
static void
test_obstacle(void **state)
{
	char beside[160], victim[160];

	(void)state;
	count_files(true);
	snprintf(beside, sizeof(beside), "%s/.rl.json.new", directory);
	snprintf(victim, sizeof(victim), "%s/victim", directory);
	put(path, OLD);
	put(victim, "precious");
	assert_int_equal(symlink(victim, beside), 0);
	assert_int_equal(change(path, NEW), 0);
	assert_true(holds(NEW));
	snprintf(path, sizeof(path), "%s/victim", directory);
	assert_true(holds("precious"));
	snprintf(path, sizeof(path), "%s/rl.json", directory);
	assert_int_equal(count_files(false), 2);
}

static void
test_lock(void **state)
{
	struct locked_file first, second;

	(void)state;
	count_files(true);
	put(path, OLD);
	assert_int_equal(file_lock(path, 0, &first), 0);
	assert_int_equal(file_lock(path, 0, &second), -EWOULDBLOCK);
	assert_int_equal(file_lock(path, 60, &second), -EWOULDBLOCK);
	assert_int_equal(file_replace(&first, NEW, strlen(NEW)), 0);
	/* The new file is another one, which the first has not locked. */
	assert_int_equal(file_lock(path, 0, &second), 0);
	assert_string_equal(second.text, NEW);
	file_unlock(&first);
	file_unlock(&second);
}

/* One that waits for the old file gets the new one. */
static void
test_waiting(void **state)
{
	struct locked_file first, second;
	pid_t child;
	int status;

	(void)state;
	count_files(true);
	put(path, OLD);
	assert_int_equal(file_lock(path, 0, &first), 0);
	child = fork();
	if (child == 0) {
		close(first.fd); /* or it would wait for itself */
		if (file_lock(path, 60000, &second) < 0)
			_exit(1);
		_exit(strcmp(second.text, NEW) == 0 ? 0 : 2);
	}
	usleep(30000); /* for it to wait for the old file; whether it does, it gets the new text */
	assert_int_equal(file_replace(&first, NEW, strlen(NEW)), 0);
	file_unlock(&first);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void
test_changed_meanwhile(void **state)
{
	struct locked_file file;

	(void)state;
	count_files(true);
	put(path, OLD);
	assert_int_equal(file_lock(path, 0, &file), 0);
	put(path, "somebody else's");
	assert_int_equal(file_replace(&file, NEW, strlen(NEW)), -ESTALE);
	file_unlock(&file);
	assert_true(holds("somebody else's"));
	assert_int_equal(count_files(false), 1);
}

/* No room: the old text stays, and nothing is left. */
static void
test_no_room(void **state)
{
	struct locked_file file;
	size_t len = 100 << 20;
	char *text = calloc(1, len);
	pid_t child;
	int status;

	(void)state;
	assert_non_null(text);
	count_files(true);
	put(path, OLD);
	assert_int_equal(file_lock(path, 0, &file), 0);
	child = fork();
	if (child == 0) {
		struct rlimit limit = {4096, 4096};

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(file_replace(&file, text, len) == -EFBIG ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	file_unlock(&file);
	free(text);
	assert_true(holds(OLD));
	assert_int_equal(count_files(false), 1);
}

/* A child that waits to be traced, and then changes the file. */
static pid_t
start_writer(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(change(path, NEW) == 0 ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(
		ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
		0);
	return child;
}

/* Let it run to the begin or end of its next system call; false if it ended instead. */
static bool
step(pid_t child)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSTOPPED(status))
		return true;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return false;
}

/* The writer is killed at its stop number `stop`; false if it ended before. */
static bool
kill_at(int stop)
{
	pid_t child = start_writer();
	int status;

	for (int i = 0; i < stop; i++)
		if (!step(child))
			return false;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	return true;
}

static void
hear(enum config_level level, const char *text, void *arg)
{
	(void)level;
	(void)arg;
	print_message("%s\n", text);
}

static void
test_killed_anywhere(void **state)
{
	int stop, old = 0, new = 0;
	bool was_killed;

	(void)state;
	for (stop = 1, was_killed = true; was_killed; stop++) {
		struct config *config;

		assert_true(stop < CALLS_MAX);
		put(path, OLD);
		was_killed = kill_at(stop);
		old += holds(OLD);
		new += holds(NEW);
		assert_int_equal(old + new, stop);
		assert_true(new == 0 || holds(NEW)); /* once new, always new */
		config = config_load(path, hear, NULL);
		assert_non_null(config);
		config_free(config);
		assert_int_equal(change(path, NEW), 0);
		assert_true(holds(NEW));
		assert_int_equal(count_files(false), 1);
	}
	print_message("killed at %d stops: %d old, %d new\n", stop - 2, old, new - 1);
	assert_true(old > 10 && new > 2);
}

/* The calls that matter, by their numbers and first arguments. */
static size_t
trace_writer(struct __ptrace_syscall_info *calls)
{
	pid_t child = start_writer();
	size_t count = 0;

	while (step(child)) {
		struct __ptrace_syscall_info info;

		assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) > 0);
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY && count < CALLS_MAX)
			calls[count++] = info;
	}
	return count;
}

static size_t
find_call(const struct __ptrace_syscall_info *calls, size_t from, size_t count, uint64_t number)
{
	while (from < count && calls[from].entry.nr != number)
		from++;
	assert_true(from < count);
	return from;
}

static void
test_order(void **state)
{
	static struct __ptrace_syscall_info calls[CALLS_MAX];
	size_t count, flushed, renamed, directory_flushed;

	(void)state;
	count_files(true);
	put(path, OLD);
	count = trace_writer(calls);
	flushed = find_call(calls, 0, count, SYS_fsync);
	renamed = find_call(calls, flushed, count, SYS_renameat);
	directory_flushed = find_call(calls, renamed, count, SYS_fsync);
	assert_int_equal(calls[directory_flushed].entry.args[0], calls[renamed].entry.args[0]);
	assert_int_not_equal(calls[flushed].entry.args[0], calls[renamed].entry.args[0]);
	for (size_t i = flushed; i < renamed; i++)
		assert_int_not_equal(calls[i].entry.nr, SYS_write);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_access_list),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_what_is_no_file),
		cmocka_unit_test(test_obstacle),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_changed_meanwhile),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_killed_anywhere),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
