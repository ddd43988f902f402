/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RL_OPEN_HUGE_PAGES: it is recorded, each process maps so that huge pages can be had, who creates
 * asks for them when nobody has to wait for it, and where the kernel has none nothing else is
 * different. Whether it gives any is seen in /proc/self/smaps, and only where it can.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rule/handle.h"
#include "testing.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define HUGE_PAGE ((uintptr_t)2 << 20)

/* A few huge pages, and some more. */
static const struct rl_options asked = {.keys = 200000, .ring = 4, .flags = RL_OPEN_HUGE_PAGES};
static const struct rl_options not_asked = {.keys = 200000, .ring = 4};
static const struct rl_options reader = {.flags = RL_OPEN_READONLY};

static int refusal;      /* errno of the kernel's answer to all advice; 0 its own */
static int hints;        /* of MADV_HUGEPAGE */
static size_t collapsed; /* bytes of MADV_COLLAPSE */
static size_t populated; /* bytes, since asked last */
static bool is_refused;  /* the kernel does not know how */
static bool is_early;    /* MADV_COLLAPSE while the segment has no name, or in a turn */

static const char *
path(void)
{
	static char text[64];

	snprintf(text, sizeof text, "/dev/shm/rl.%s", test_segment_name());
	return text;
}

/* By this process, which goes on only when this has returned: another's turn is over soon. */
static bool
is_a_turn_taken(void)
{
	int fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_taken = true;

	for (int tries = 0; is_taken && tries < 1000; tries++) {
		is_taken = flock(fd, LOCK_EX | LOCK_NB) < 0;
		if (is_taken)
			usleep(2000);
	}
	close(fd);
	return is_taken;
}

/* In place of libc's, for all of this program. */
__attribute__((visibility("default"))) int
madvise(void *at, size_t len, int advice)
{
	hints += advice == MADV_HUGEPAGE;
	if (advice == MADV_COLLAPSE) {
		collapsed += len;
		is_early |= access(path(), F_OK) < 0 || is_a_turn_taken();
	}
	if (refusal != 0) {
		errno = refusal;
		return -1;
	}
	if (advice != MADV_POPULATE_READ && advice != MADV_POPULATE_WRITE)
		return (int)syscall(SYS_madvise, at, len, advice);
	populated = len;
	is_refused = syscall(SYS_madvise, at, len, advice) < 0;
	return is_refused ? -1 : 0;
}

static int
setup(void **state)
{
	(void)state;
	refusal = hints = 0;
	collapsed = 0;
	is_early = false;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path());
	return 0;
}

static struct rl *
open_with(const struct rl_options *options)
{
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), options, &rl), 0);
	return rl;
}

static bool
is_recorded(const struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	return info.huge_pages;
}

static bool
is_aligned(const struct rl *rl)
{
	return (uintptr_t)rl->segment.header % HUGE_PAGE == 0;
}

/* Another's charge is seen, so the two share the segment. */
static void
expect_shared(struct rl *one, struct rl *other)
{
	int rule = test_rule(one, "r", 3, 3600 * RL_SECOND, 4, true);
	struct rl_result r;

	assert_int_equal(rl_check(one, rule, "k", 1, 2, NULL), RL_ALLOWED);
	assert_int_equal(rl_peek(other, rl_find(other, "r"), "k", 1, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 1);
}

static void
test_recorded_for_all(void **state)
{
	struct rl *creator = open_with(&asked), *worker = open_with(NULL),
		  *tool = open_with(&reader);

	(void)state;
	assert_true(is_recorded(creator) && is_recorded(worker) && is_recorded(tool));
	assert_true(is_aligned(creator) && is_aligned(worker) && is_aligned(tool));
	expect_shared(worker, tool);
	rl_close(creator);
	rl_close(worker);
	rl_close(tool);
}

/* Who creates asks, for the whole, and holds up nobody. */
static void
test_the_creator_collapses(void **state)
{
	struct rl *creator = open_with(&asked);
	struct rl_info info;

	(void)state;
	rl_info(creator, &info);
	assert_int_equal(collapsed, info.bytes);
	assert_false(is_early);
	rl_close(open_with(&asked));
	assert_int_equal(collapsed, info.bytes);
	rl_close(creator);
}

static void
test_an_existing_segment_stays(void **state)
{
	struct rl *creator = open_with(&not_asked), *worker = open_with(&asked);

	(void)state;
	assert_false(is_recorded(creator) || is_recorded(worker));
	assert_int_equal(collapsed, 0);
	rl_close(creator);
	rl_close(worker);
}

/* An older kernel says EINVAL, one without memory in one piece ENOMEM: not asked again. */
static void
test_a_kernel_without(void **state)
{
	static const int refusals[] = {EINVAL, ENOMEM};
	struct rl_info info;

	(void)state;
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		setup(NULL);
		refusal = refusals[i];
		struct rl *creator = open_with(&asked), *worker = open_with(NULL);
		rl_info(creator, &info);
		assert_true(info.huge_pages);
		assert_in_range(collapsed, 1, info.bytes - 1);
		expect_shared(creator, worker);
		rl_close(creator);
		rl_close(worker);
		teardown(NULL);
	}
}

/* Pages that others are at are left, and the next ones tried. */
static void
test_busy_pages(void **state)
{
	struct rl *creator;
	struct rl_info info;

	(void)state;
	refusal = EAGAIN;
	creator = open_with(&asked);
	rl_info(creator, &info);
	assert_int_equal(collapsed, info.bytes);
	rl_close(creator);
}

static void
test_a_private_segment(void **state)
{
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&asked, &rl), 0);
	assert_true(is_recorded(rl) && is_aligned(rl));
	assert_int_equal(hints, 1);
	assert_int_equal(collapsed, 0); /* that would take all its memory at once */
	expect_shared(rl, rl);
	rl_close(rl);
}

/*
 * A large one can have huge pages unasked, where the kernel gives them unasked; nothing is moved.
 */
static void
test_not_asked(void **state)
{
	static const struct rl_options small = {.keys = 1000, .ring = 64};
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&not_asked, &rl), 0);
	assert_false(is_recorded(rl));
	assert_true(is_aligned(rl) && hints == 1);
	rl_close(rl);
	rl = open_with(&not_asked);
	assert_true(is_aligned(rl) && hints == 2);
	rl_close(rl);
	assert_int_equal(rl_open_private(&small, &rl), 0);
	assert_int_equal(hints, 2);
	assert_int_equal(collapsed, 0);
	rl_close(rl);
}

/* Is every page of it mapped? */
static bool
is_populated(const struct rl *rl)
{
	static unsigned char pages[1 << 16];
	size_t size = (size_t)sysconf(_SC_PAGESIZE), count = (rl->segment.bytes + size - 1) / size;

	assert_true(count <= sizeof pages);
	assert_int_equal(mincore(rl->segment.header, rl->segment.bytes, pages), 0);
	for (size_t i = 0; i < count; i++)
		if (!(pages[i] & 1))
			return false;
	return true;
}

static void
test_populate(void **state)
{
	struct rl_options options = {.keys = 20000, .ring = 64, .flags = RL_OPEN_POPULATE};
	struct rl *rl, *worker;

	(void)state;
	assert_int_equal(rl_open_private(&options, &rl), 0);
	assert_int_equal(populated, rl->segment.bytes);
	assert_true(is_refused || is_populated(rl));
	rl_close(rl);
	populated = 0;
	rl = open_with(&(struct rl_options){.keys = 20000, .ring = 64});
	assert_int_equal(populated, 0);
	options.flags |= RL_OPEN_READONLY;
	worker = open_with(&options);
	assert_int_equal(populated, worker->segment.bytes);
	rl_close(worker);
	rl_close(rl);
	refusal = EINVAL; /* an older kernel's */
	options.flags = RL_OPEN_POPULATE;
	rl = open_with(&options);
	expect_shared(rl, rl);
	rl_close(rl);
}

/* Bytes of shared memory that page tables of this process map by huge pages. */
static uint64_t
huge_bytes(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	uint64_t sum = 0, kib;
	char line[512];

	while (smaps && fgets(line, sizeof line, smaps))
		if (sscanf(line, "ShmemPmdMapped: %" SCNu64, &kib) == 1)
			sum += kib * 1024;
	if (smaps)
		fclose(smaps);
	return sum;
}

/* Whether this kernel makes a huge page of a file's small ones: asked without the library. */
static bool
can_collapse(void)
{
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	unsigned char *place =
		mmap(NULL, 2 * HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *at = place + (HUGE_PAGE - (uintptr_t)place % HUGE_PAGE) % HUGE_PAGE;
	bool can =
		posix_fallocate(fd, 0, HUGE_PAGE) == 0 &&
		mmap(at, HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at &&
		syscall(SYS_madvise, at, HUGE_PAGE, MADV_COLLAPSE) == 0 && huge_bytes() > 0;

	munmap(place, 2 * HUGE_PAGE);
	close(fd);
	return can;
}

/* One byte of each huge page, so that the page table has it. */
static void
touch(const struct rl *rl)
{
	const volatile unsigned char *at = (const unsigned char *)rl->segment.header;

	for (size_t i = 0; i < rl->segment.bytes; i += HUGE_PAGE)
		(void)at[i];
}

static void
test_given(void **state)
{
	struct rl *creator, *worker, *tool;
	uint64_t given;

	(void)state;
	if (!can_collapse()) {
		print_message("this kernel makes no huge pages of a tmpfs's: not looked at\n");
		skip();
	}
	creator = open_with(&asked);
	given = huge_bytes();
	assert_in_range(given, HUGE_PAGE, creator->segment.bytes);
	worker = open_with(NULL);
	touch(worker);
	assert_int_equal(huge_bytes(), 2 * given);
	tool = open_with(&reader);
	touch(tool);
	assert_int_equal(huge_bytes(), 3 * given);
	expect_shared(creator, tool);
	rl_close(creator);
	rl_close(worker);
	rl_close(tool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_recorded_for_all),
		TEST(test_the_creator_collapses),
		TEST(test_an_existing_segment_stays),
		TEST(test_a_kernel_without),
		TEST(test_busy_pages),
		TEST(test_a_private_segment),
		TEST(test_not_asked),
		TEST(test_populate),
		TEST(test_given),
#undef TEST
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
