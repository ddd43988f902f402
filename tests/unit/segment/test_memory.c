/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A segment that is larger than the memory that is left is refused, and nobody is killed. What is
 * left is read from trees of files that look like a machine's, and once from a real control group.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "segment/memory_limit.h"
#include "testing.h"

#define MIB ((uint64_t)1 << 20)
#define CANNOT 77 /* the child may not prepare what is tested */

static char root[256];

static int
setup(void **state)
{
	(void)state;
	test_make_directory(root, sizeof root);
	return 0;
}

static int
remove_one(const char *path, const struct stat *file, int kind, struct FTW *walk)
{
	(void)file;
	(void)kind;
	(void)walk;
	return remove(path);
}

static int
teardown(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *
in_root(const char *path)
{
	static char text[PATH_MAX];

	snprintf(text, sizeof text, "%s%s", root, path);
	return text;
}

/* Write a file of the tree, with the directories that it is in. */
static void
put(const char *path, const char *text)
{
	char name[PATH_MAX];
	FILE *file;

	snprintf(name, sizeof name, "%s", in_root(path));
	for (char *at = strchr(name + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(name, 0700);
		*at = '/';
	}
	file = fopen(name, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
expect(uint64_t left, const char *by)
{
	struct rl_memory memory;

	rl_memory_read(root, &memory);
	assert_int_equal(memory.left, left);
	assert_string_equal(memory.by, by[0] ? in_root(by) : "");
}

static void
test_nothing_to_read(void **state)
{
	(void)state;
	expect(UINT64_MAX, "");
	put("/proc/self/cgroup", "0::/a\n");
	expect(UINT64_MAX, "");
	put("/sys/fs/cgroup/a/memory.max", "max\n");
	put("/sys/fs/cgroup/a/memory.current", "5000\n");
	expect(UINT64_MAX, "");
}

static void
test_the_machine(void **state)
{
	(void)state;
	put("/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    2048 kB\nSwapFree: 1024 kB\n");
	expect(3 * MIB, "/proc/meminfo");
	put("/proc/meminfo", "MemTotal: 9 kB\n");
	expect(UINT64_MAX, "");
}

/* What is used counts, but for what the kernel can take back. */
static void
test_version_2(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "8388608\n");
	expect(8 * MIB, "/sys/fs/cgroup/a/b/memory.max");
	put("/sys/fs/cgroup/a/b/memory.current", "5242880\n");
	expect(3 * MIB, "/sys/fs/cgroup/a/b/memory.max");
	put("/sys/fs/cgroup/a/b/memory.stat",
	    "anon 1\ninactive_file 1048576\nactive_file 524288\nslab_reclaimable 524288\n"
	    "slab_unreclaimable 99999999\n");
	expect(5 * MIB, "/sys/fs/cgroup/a/b/memory.max");
	/* one above it is tighter, and full */
	put("/sys/fs/cgroup/a/memory.max", "4194304\n");
	put("/sys/fs/cgroup/a/memory.current", "5242880\n");
	expect(0, "/sys/fs/cgroup/a/memory.max");
}

static void
test_version_2_with_swap(void **state)
{
	(void)state;
	put("/proc/meminfo", "MemAvailable: 1048576 kB\nSwapFree: 2048 kB\n");
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/memory.max", "4194304\n");
	put("/sys/fs/cgroup/a/memory.swap.max", "0\n");
	expect(4 * MIB, "/sys/fs/cgroup/a/memory.max");
	put("/sys/fs/cgroup/a/memory.swap.max", "max\n");
	expect(6 * MIB, "/sys/fs/cgroup/a/memory.max");
	put("/sys/fs/cgroup/a/memory.swap.max", "3145728\n");
	put("/sys/fs/cgroup/a/memory.swap.current", "2097152\n");
	expect(5 * MIB, "/sys/fs/cgroup/a/memory.max");
}

static void
test_version_1(void **state)
{
	(void)state;
	put("/proc/meminfo", "MemAvailable: 1048576 kB\nSwapFree: 2048 kB\n");
	put("/proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/a/b\n3:cpuset:/\n0::/\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "8388608\n");
	put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	expect(10 * MIB, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
	put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "3145728\n");
	put("/sys/fs/cgroup/memory/a/memory.stat",
	    "inactive_file 99999999\ntotal_inactive_file 524288\ntotal_active_file 524288\n");
	expect(8 * MIB, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
	put("/sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes", "8388608\n");
	put("/sys/fs/cgroup/memory/a/memory.memsw.usage_in_bytes", "3145728\n");
	expect(6 * MIB, "/sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes");
}

/* A container sees its own group at the mount, and a path that is of elsewhere, or none. */
static void
test_in_a_namespace(void **state)
{
	static const char *const paths[] = {"0::/\n", "0::/../../other\n", "0::/docker/0123abc\n"};

	(void)state;
	put("/sys/fs/cgroup/memory.max", "4194304\n");
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		put("/proc/self/cgroup", paths[i]);
		expect(4 * MIB, "/sys/fs/cgroup/memory.max");
	}
	put("/proc/self/cgroup", "0::/../escaped\n"); /* never looked at */
	put("/sys/fs/escaped/memory.max", "1\n");
	expect(4 * MIB, "/sys/fs/cgroup/memory.max");
}

#define MOUNT_V1 "35 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"

static void
test_version_1_elsewhere(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "4:cpu,memory:/a/b\n2:name=memory:/\n0::/\n");
	put("/proc/self/mountinfo",
	    "22 27 0:21 / /proc rw,relatime - proc proc rw\n" MOUNT_V1
	    "36 31 0:33 / /named rw - cgroup cgroup rw,name=memory\n"
	    "37 31 0:34 / /mnt/cg rw,relatime shared:9 master:1 - cgroup  rw,memory,cpu\n"
	    "38 31 0:35 / /unified rw - cgroup2 cgroup2 rw\n");
	put("/mnt/cg/memory.limit_in_bytes", "8388608\n");
	expect(8 * MIB, "/mnt/cg/memory.limit_in_bytes");
	put("/mnt/cg/a/b/memory.limit_in_bytes", "4194304\n");
	expect(4 * MIB, "/mnt/cg/a/b/memory.limit_in_bytes");
	put("/named/memory.limit_in_bytes", "1\n"); /* of no memory */
	put("/sys/fs/cgroup/cpu/a/b/memory.limit_in_bytes", "1\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1\n"); /* mounted no more */
	expect(4 * MIB, "/mnt/cg/a/b/memory.limit_in_bytes");
}

static void
test_version_2_elsewhere(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/a/b c/d\n");
	put("/proc/self/mountinfo", "1 2 0:3 / /mnt/first rw - cgroup2 none rw\n"
	                            "2 2 0:3 /a/b\\040c /mnt/a\\011b\\134c rw - cgroup2 none rw\n");
	put("/mnt/a\tb\\c/d/memory.max", "4194304\n");
	expect(4 * MIB, "/mnt/a\tb\\c/d/memory.max");
	put("/mnt/first/a/memory.max", "2097152\n"); /* the other mount is hidden by nothing */
	expect(2 * MIB, "/mnt/first/a/memory.max");
}

/* The group of somebody else bounds nobody here. */
static void
test_a_mount_of_another_group(void **state)
{
	static const char *const tops[] = {"/a/bb", "/x", "/a/b/c", "/../x", "//deleted"};
	char line[128];

	(void)state;
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/mnt/cg/memory.max", "1\n");
	for (size_t i = 0; i < sizeof tops / sizeof tops[0]; i++) {
		snprintf(line, sizeof line, "1 2 0:3 %s /mnt/cg rw - cgroup2 none rw\n", tops[i]);
		put("/proc/self/mountinfo", line);
		expect(UINT64_MAX, "");
	}
}

/* The host's mount, seen from a cgroup namespace: the names are those of where we are. */
static void
test_names_that_a_namespace_hides(void **state)
{
	char pids[64];

	(void)state;
	snprintf(pids, sizeof pids, "1\n%d\n", (int)getpid());
	put("/proc/self/cgroup", "0::/in\n");
	put("/proc/self/mountinfo", "1 2 0:3 /../.. /sys/fs/cgroup rw - cgroup2 none rw\n");
	put("/sys/fs/cgroup/memory.max", "9437184\n");
	expect(9 * MIB, "/sys/fs/cgroup/memory.max"); /* not found: at least what is above it */
	put("/sys/fs/cgroup/other/x/in/cgroup.procs", "1\n");
	put("/sys/fs/cgroup/other/x/in/memory.max", "1\n");
	put("/sys/fs/cgroup/pods/mine/in/cgroup.procs", pids);
	put("/sys/fs/cgroup/pods/mine/memory.max", "4194304\n");
	expect(4 * MIB, "/sys/fs/cgroup/pods/mine/memory.max");
	put("/proc/self/cgroup", "0::/../mine/in\n"); /* moved out of the namespace's group */
	expect(4 * MIB, "/sys/fs/cgroup/pods/mine/memory.max");
	put("/proc/self/mountinfo", "1 2 0:3 /.. /sys/fs/cgroup/pods rw - cgroup2 none rw\n");
	expect(4 * MIB, "/sys/fs/cgroup/pods/mine/memory.max");
}

/* What makes no sense is passed over, and what comes behind it is read. */
static void
test_garbage_of_mounts(void **state)
{
	static const char *const lines[] = {"",
	                                    "\n\n",
	                                    "-",
	                                    "1 2 3\n",
	                                    "1 2 0:3 / /mnt/cg rw\n",
	                                    "1 2 0:3 / /mnt/cg rw -\n",
	                                    "1 2 0:3 / /mnt/cg rw - cgroup2\n",
	                                    "1 2 0:3 / mnt/cg rw - cgroup2 none rw\n",
	                                    "1 2 0:3 cg /mnt/cg rw - cgroup2 none rw\n",
	                                    "1 2 0:3 \\ /mnt/cg\\9\\04 rw - cgroup2 none rw\n",
	                                    "- - - - - - - - -\n",
	                                    "      -    \n"};
	static const char good[] = "\n1 2 0:3 / /mnt/cg rw - cgroup2 none rw";
	char *text = malloc(100000);

	(void)state;
	put("/proc/self/cgroup", "0::/\n");
	put("/mnt/cg/memory.max", "7\n");
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		put("/proc/self/mountinfo", lines[i]);
		expect(UINT64_MAX, "");
		snprintf(text, 100000, "%s%s", lines[i], good);
		put("/proc/self/mountinfo", text);
		expect(7, "/mnt/cg/memory.max");
	}
	memset(text, ' ', 99000); /* longer than any that means something */
	snprintf(text + 99000, 1000, "%s", good + 1);
	put("/proc/self/mountinfo", text);
	expect(UINT64_MAX, "");
	snprintf(text + 99000, 1000, "%s", good);
	put("/proc/self/mountinfo", text);
	expect(7, "/mnt/cg/memory.max");
	free(text);
}

static void
test_no_mounts_to_read(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/memory.max", "7\n");
	assert_int_equal(mkfifo(in_root("/proc/self/mountinfo"), 0600), 0);
	expect(7, "/sys/fs/cgroup/a/memory.max");
	remove(in_root("/proc/self/mountinfo"));
	put("/proc/self/mountinfo", "1 2 0:3 / / rw - ext4 /dev/sda rw\n");
	expect(7, "/sys/fs/cgroup/a/memory.max");
}

static void
test_garbage(void **state)
{
	static const char *const limits[] = {
		"",    "\n", "-1\n", "x", "99999999999999999999999\n", "18446744073709551615\n",
		" 7\n"};
	static const char *const groups[] = {"\n\n",          "0:", "0::", "::::", "a",
	                                     "0::relative\n", ":"};
	char *long_text = malloc(100000);

	(void)state;
	put("/proc/self/cgroup", "0::/a\n");
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		put("/sys/fs/cgroup/a/memory.max", limits[i]);
		expect(UINT64_MAX, "");
	}
	put("/sys/fs/cgroup/a/memory.max", "7");
	put("/sys/fs/cgroup/a/memory.current", "nothing");
	expect(7, "/sys/fs/cgroup/a/memory.max");
	for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
		put("/proc/self/cgroup", groups[i]);
		expect(UINT64_MAX, "");
	}
	memset(long_text, 'x', 99999);
	memcpy(long_text, "0::/", 4);
	long_text[99999] = '\0';
	put("/proc/self/cgroup", long_text);
	expect(UINT64_MAX, "");
	free(long_text);
}

/* A FIFO would hold up who opens it; a directory cannot be read. */
static void
test_what_is_no_file(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/x", "");
	assert_int_equal(mkfifo(in_root("/sys/fs/cgroup/a/memory.max"), 0600), 0);
	expect(UINT64_MAX, "");
	assert_int_equal(mkdir(in_root("/sys/fs/cgroup/memory.max"), 0700), 0);
	expect(UINT64_MAX, "");
}

static void
test_what_fits(void **state)
{
	struct rl_memory memory = {.left = 129 * MIB};

	(void)state;
	assert_true(rl_memory_has(&memory, 128 * MIB));
	assert_false(rl_memory_has(&memory, 129 * MIB)); /* nothing for its pages' tables */
	memory.left = UINT64_MAX;
	assert_true(rl_memory_has(&memory, UINT64_MAX / 2));
}

/* A control group of the machine's, of 64 MiB; false if none can be made. */
static bool
make_group(char group[static PATH_MAX])
{
	static const char *const limits[][2] = {
		{"/sys/fs/cgroup/memory/rl-test-%d", "memory.limit_in_bytes"},
		{"/sys/fs/cgroup/rl-test-%d", "memory.max"}};

	for (size_t i = 0; i < 2; i++) {
		char name[PATH_MAX + 32];
		snprintf(group, PATH_MAX, limits[i][0], (int)getpid());
		if (mkdir(group, 0755) < 0)
			continue;
		snprintf(name, sizeof name, "%s/%s", group, limits[i][1]);
		int fd = open(name, O_WRONLY | O_CLOEXEC);
		bool is_limited = fd >= 0 && write(fd, "67108864", 8) == 8;
		if (fd >= 0)
			close(fd);
		if (is_limited)
			return true;
		rmdir(group);
	}
	return false;
}

static bool
enter(const char *group)
{
	char name[PATH_MAX + 32];
	bool is_in;
	int fd;

	snprintf(name, sizeof name, "%s/cgroup.procs", group);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is_in = write(fd, "0", 1) == 1;
	close(fd);
	return is_in;
}

static bool
as_it_is(char *group)
{
	(void)group;
	return true;
}

/* Keeps the host's mounts. */
static bool
in_a_cgroup_namespace(char *group)
{
	(void)group;
	return unshare(CLONE_NEWCGROUP) == 0;
}

/* The hierarchy is at `root` alone. */
static bool
mounted_elsewhere(char *group)
{
	char *name = strrchr(group, '/');
	char top[PATH_MAX], moved[PATH_MAX];

	*name = '\0';
	if (!realpath(root, top) || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(group, top, NULL, MS_BIND, NULL) < 0 || umount2("/sys/fs/cgroup", MNT_DETACH) < 0)
		return false;
	if (snprintf(moved, sizeof moved, "%s/%s", top, name + 1) >= (int)sizeof moved)
		return false;
	memcpy(group, moved, sizeof moved);
	return true;
}

static int
create_in(char *group, bool (*prepare)(char *group))
{
	struct rl_place place;
	struct rl *rl;

	if (!enter(group))
		return 1;
	if (!prepare(group))
		return CANNOT;
	/* some 160 MB */
	const struct rl_options large = {.keys = 200000, .ring = 64};
	if (rl_open(test_segment_name(), &large, &rl) != RL_EMEMORY)
		return 2;
	if (rl_place(test_segment_name(), &large, &place) < 0 || place.is_there ||
	    place.memory > 64 * MIB || place.bytes < 128 * MIB ||
	    strncmp(place.memory_by, group, strlen(group)) != 0)
		return 3;
	return rl_open(test_segment_name(), &(struct rl_options){.keys = 20000, .ring = 64}, &rl) ==
	                       0
	               ? 0
	               : 4;
}

static void
in_a_real_group(bool (*prepare)(char *group))
{
	char group[PATH_MAX];
	int status;

	if (!make_group(group)) {
		print_message("skipped: no control group with a memory limit can be made here\n");
		skip();
	}
	pid_t pid = fork();
	if (pid == 0)
		_exit(create_in(group, prepare));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rl_unlink(test_segment_name());
	for (int tries = 0; tries < 1000 && rmdir(group) < 0 && errno == EBUSY; tries++)
		sched_yield();
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
		print_message("skipped: no namespaces can be made here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void
test_a_real_group(void **state)
{
	(void)state;
	in_a_real_group(as_it_is);
}

static void
test_a_real_group_of_a_namespace(void **state)
{
	(void)state;
	in_a_real_group(in_a_cgroup_namespace);
}

static void
test_a_real_group_mounted_elsewhere(void **state)
{
	(void)state;
	in_a_real_group(mounted_elsewhere);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_nothing_to_read),
		TEST(test_the_machine),
		TEST(test_version_2),
		TEST(test_version_2_with_swap),
		TEST(test_version_1),
		TEST(test_in_a_namespace),
		TEST(test_version_1_elsewhere),
		TEST(test_version_2_elsewhere),
		TEST(test_a_mount_of_another_group),
		TEST(test_names_that_a_namespace_hides),
		TEST(test_garbage_of_mounts),
		TEST(test_no_mounts_to_read),
		TEST(test_garbage),
		TEST(test_what_is_no_file),
		cmocka_unit_test(test_what_fits),
		TEST(test_a_real_group),
		TEST(test_a_real_group_of_a_namespace),
		TEST(test_a_real_group_mounted_elsewhere),
#undef TEST
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
