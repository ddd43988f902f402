/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of the programs: what is opened to be read, and what takes the place of another. */

#include <edit/new_file.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <text/file.h>
#include <unistd.h>

#include "testing.h"

static char directory[64];

static const char *
in_directory(const char *name)
{
	static char path[2][128];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof path[turn], "%s/%s", directory, name);
	return path[turn];
}

static void
put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
assert_holds(const char *path, const char *text)
{
	char *now;
	size_t len;

	assert_int_equal(file_read(path, 1000, &now, &len), 0);
	assert_string_equal(now, text);
	free(now);
}

static size_t
count_files(const char *pattern)
{
	glob_t found;
	size_t count = glob(in_directory(pattern), 0, NULL, &found) == 0 ? found.gl_pathc : 0;

	globfree(&found);
	return count;
}

static int
prepare(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	umask(077);
	test_make_directory(directory, sizeof directory);
	assert_int_equal(mkfifo(in_directory("odd-fifo"), 0600), 0);
	assert_int_equal(mkdir(in_directory("odd-directory"), 0700), 0);
	assert_int_equal(symlink("/dev/zero", in_directory("odd-device")), 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", in_directory("odd-socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	close(fd);
	return 0;
}

static int
clean_up(void **state)
{
	glob_t found;

	(void)state;
	glob(in_directory("*"), 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		remove(found.gl_pathv[i]);
	globfree(&found);
	return rmdir(directory);
}

static const char *const odd[] = {"odd-fifo", "odd-device", "odd-socket", "odd-directory"};

static void
test_only_a_regular_file_is_opened(void **state)
{
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
		assert_int_equal(file_open(in_directory(odd[i])),
		                 strstr(odd[i], "directory") ? -EISDIR : -EINVAL);
	assert_int_equal(file_open(in_directory("none")), -ENOENT);
	put(in_directory("file"), "text");
	fd = file_open(in_directory("file"));
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_string_equal(file_strerror(-EINVAL), "is no regular file");
}

static void
test_a_large_file_is_not_begun_with(void **state)
{
	char *text = NULL;
	size_t len;
	int fd;

	(void)state;
	put(in_directory("file"), "12345");
	fd = file_open(in_directory("file"));
	assert_int_equal(file_read_fd(fd, 4, &text, &len), -EFBIG);
	assert_null(text);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	close(fd);
	assert_int_equal(file_read(in_directory("file"), 5, &text, &len), 0);
	assert_int_equal(len, 5);
	free(text);
}

static void
test_only_a_regular_file_is_replaced(void **state)
{
	struct new_file file;

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
		assert_int_equal(new_file_create(&file, in_directory(odd[i]), 0644),
		                 strstr(odd[i], "device") ? -EMLINK : -EINVAL);
		assert_null(file.temporary);
	}
	assert_int_equal(count_files("odd-*"), sizeof odd / sizeof odd[0]);
	assert_int_equal(new_file_create(&file, in_directory("none/file"), 0644), -ENOENT);
}

static void
begin(struct new_file *file, const char *name, const char *text)
{
	assert_int_equal(new_file_create(file, in_directory(name), 0644), 0);
	assert_int_equal(file_write(file->fd, text, strlen(text)), 0);
}

static void
test_a_file_is_replaced_whole_or_not_at_all(void **state)
{
	char path[128];
	struct new_file file;
	struct stat made, now;

	(void)state;
	snprintf(path, sizeof path, "%s", in_directory("whole"));
	put(path, "old");
	assert_int_equal(new_file_create(&file, path, 0644), 0);
	assert_int_equal(file_write(file.fd, "new", 3), 0);
	assert_holds(path, "old");
	assert_int_equal(new_file_commit(&file, true, &made), 0);
	assert_holds(path, "new");
	assert_int_equal(stat(path, &now), 0);
	assert_int_equal(now.st_ino, made.st_ino);
	assert_int_equal(now.st_mode & 07777, 0644); /* whatever the umask */
	assert_int_equal(new_file_create(&file, path, 0600), 0);
	new_file_abandon(&file);
	new_file_abandon(&file);
	assert_holds(path, "new");
	assert_int_equal(count_files("whole*"), 1);
}

static void
test_a_text_is_put_in_one_go(void **state)
{
	char path[128];
	struct new_file file;
	struct stat made, now;

	(void)state;
	snprintf(path, sizeof path, "%s", in_directory("put"));
	assert_int_equal(new_file_put(path, 0640, "old", 3, false, NULL), 0);
	assert_int_equal(new_file_put(path, 0640, "new", 3, true, &made), 0);
	assert_holds(path, "new");
	assert_int_equal(stat(path, &now), 0);
	assert_int_equal(now.st_ino, made.st_ino);
	assert_int_equal(now.st_mode & 07777, 0640);
	begin(&file, "put", "half");
	assert_int_equal(new_file_end(&file, -ENOSPC, true, NULL), -ENOSPC);
	assert_holds(path, "new");
	assert_int_equal(count_files("put*"), 1);
	assert_int_equal(new_file_put(in_directory("none/put"), 0640, "new", 3, true, NULL),
	                 -ENOENT);
}

/*
 * It has no name while it is written, and what has come to its place meanwhile is looked at again.
 */
static void
test_nobody_can_wait_for_it(void **state)
{
	char path[128];
	struct new_file one, other;
	struct stat made, now;

	(void)state;
	snprintf(path, sizeof path, "%s", in_directory("place"));
	assert_int_equal(new_file_create(&one, path, 0644), 0);
	begin(&other, "place", "other");
	assert_int_equal(count_files("place*"), 0); /* who is killed here leaves nothing */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(new_file_commit(&one, false, &made), -EINVAL);
	assert_int_equal(lstat(path, &now), 0);
	assert_true(S_ISFIFO(now.st_mode));
	new_file_abandon(&other);
	assert_int_equal(count_files("place*"), 1);
}

/* To rename over a link would leave the file it leads to as it was, and the link gone. */
static void
test_a_link_is_not_replaced(void **state)
{
	struct new_file file, other;
	struct stat made;

	(void)state;
	put(in_directory("linked"), "old");
	assert_int_equal(symlink("linked", in_directory("link")), 0);
	assert_int_equal(symlink("nowhere", in_directory("link-to-none")), 0);
	assert_int_equal(new_file_create(&file, in_directory("link"), 0644), -EMLINK);
	assert_int_equal(new_file_create(&file, in_directory("link-to-none"), 0644), -EMLINK);
	begin(&other, "later", "new");
	other.path = in_directory("later");
	assert_int_equal(symlink("linked", other.path), 0);
	assert_int_equal(new_file_commit(&other, false, &made), -EMLINK);
	assert_holds(in_directory("link"), "old");
	assert_holds(in_directory("later"), "old");
	assert_string_equal(new_file_strerror(-EMLINK),
	                    "is a symbolic link: name the file that is meant");
	assert_string_equal(new_file_strerror(-EINVAL), "is no regular file");
}

static void
test_only_what_was_made_is_removed(void **state)
{
	char path[128], kept[128];
	struct new_file file;
	struct stat made;

	(void)state;
	snprintf(path, sizeof path, "%s", in_directory("mine"));
	snprintf(kept, sizeof kept, "%s", in_directory("kept"));
	begin(&file, "mine", "mine");
	file.path = path;
	assert_int_equal(new_file_commit(&file, false, &made), 0);
	assert_int_equal(rename(path, kept), 0);
	put(path, "another's");
	file_remove_made(path, &made);
	assert_holds(path, "another's");
	assert_int_equal(remove(path), 0);
	assert_int_equal(symlink(kept, path), 0);
	file_remove_made(path, &made);
	assert_holds(path, "mine");
	file_remove_made(kept, &made);
	assert_int_equal(access(kept, F_OK), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_a_regular_file_is_opened),
		cmocka_unit_test(test_a_large_file_is_not_begun_with),
		cmocka_unit_test(test_only_a_regular_file_is_replaced),
		cmocka_unit_test(test_a_file_is_replaced_whole_or_not_at_all),
		cmocka_unit_test(test_a_text_is_put_in_one_go),
		cmocka_unit_test(test_nobody_can_wait_for_it),
		cmocka_unit_test(test_a_link_is_not_replaced),
		cmocka_unit_test(test_only_what_was_made_is_removed),
	};

	return cmocka_run_group_tests(tests, prepare, clean_up);
}
