/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where tables lie in the file, as a segment says that is damaged, or was written by somebody
 * hostile who knows its format.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "at.h"
#include "rule/handle.h"
#include "segment/table_place.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define PIECE (UINT64_C(2) << 20)

#ifdef __SANITIZE_ADDRESS__
#define ZONES 8192 /* around each piece of memory */
#else
#define ZONES 0
#endif

static struct rl_options small = {.keys = 60, .ring = 4, .rules = 4, .bans = 10, .overrides = 8};

static struct rl *
open_small(int *rule)
{
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	*rule = test_rule(rl, "r", 3, RL_SECOND, 1, true);
	return rl;
}

/*
 * Table `number` lies there and is in force, says somebody who computes checks as the library does.
 */
static void
forge(const struct rl_segment *s, uint64_t number, uint64_t at, uint64_t sizes)
{
	struct rl_table_place place = {.at = at, .sizes = sizes};

	place.check = rl_tables_check(s, number, &place);
	s->header->tables.place[number % 2] = place;
	rl_atomic_store(&s->header->tables.now, number << 1);
}

static void
forget(const struct rl_segment *s)
{
	rl_atomic_store(&s->header->tables.now, 0);
}

static uint64_t
file_bytes(int fd)
{
	struct stat file;

	assert_int_equal(fstat(fd, &file), 0);
	return (uint64_t)file.st_size;
}

/* Of a key that was never asked for. */
static void
expect(struct rl *rl, int rule, enum rl_verdict verdict, int error)
{
	static uint64_t key;
	struct rl_result result;

	key++;
	assert_int_equal(at_check(rl, rule, &key, sizeof key, 1, T0, &result), verdict);
	assert_int_equal(result.error, error);
}

/*
 * A place that is none is damage to who is attached and to who attaches, and nothing is mapped
 * there.
 */
static void
test_places_that_are_none(void **state)
{
	int rule;
	struct rl *rl = open_small(&rule), *other;
	const struct rl_segment *s = &rl->segment;
	const uint64_t at = rl_table_at(s->bytes), sizes = 20 | UINT64_C(4) << 32;
	const uint64_t bad[][2] = {
		{at + 8, sizes},
		{at + 4096, sizes},
		{0, sizes},
		{at - PIECE, sizes},
		{0 - 160 * UINT64_C(4096), 2048 | UINT64_C(4) << 32},
		{0 - PIECE, sizes},
		{UINT64_C(1) << 63, sizes},
		{UINT64_C(1) << 48, sizes},
		{(UINT64_C(1) << 48) - PIECE, (PIECE / 64) | UINT64_C(4) << 32},
		{at, 0 | UINT64_C(4) << 32},
		{at, UINT64_C(0xffffffff) | UINT64_C(4) << 32},
		{at, 20},
		{at, 20 | (uint64_t)(RL_RING_MAX + 1) << 32},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		forge(s, 1, bad[i][0], bad[i][1]);
		expect(rl, rule, RL_UNDECIDED, RL_EDAMAGED);
		assert_int_equal(rl_open(test_segment_name(), NULL, &other), RL_EDAMAGED);
		assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = 100}, 0), RL_EDAMAGED);
		assert_int_equal(at_peek(rl, rule, "k", 1, T0, NULL), RL_UNDECIDED);
		assert_ptr_equal(rl->here, rl);
	}
	forget(s);
	expect(rl, rule, RL_ALLOWED, 0);
	rl_close(rl);
}

static uint64_t
mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t lines = 0;
	int c;

	assert_non_null(maps);
	while ((c = getc(maps)) != EOF)
		lines += c == '\n';
	fclose(maps);
	return lines;
}

/* Behind the end of the file there is nothing: nobody dies of looking there. */
static void
test_a_place_behind_the_end(void **state)
{
	int rule;
	struct rl *rl = open_small(&rule), *other;
	const struct rl_segment *s = &rl->segment;
	const uint64_t at = rl_table_at(s->bytes), sizes = 20 | UINT64_C(4) << 32;
	uint64_t maps;

	(void)state;
	maps = mappings();
	for (uint64_t pieces = 0; pieces < 200; pieces++) {
		forge(s, 1, at + pieces * PIECE, sizes);
		expect(rl, rule, RL_UNDECIDED, RL_EDAMAGED);
		assert_int_equal(rl_open(test_segment_name(), NULL, &other), RL_ETRUNCATED);
	}
	assert_in_range(mappings(), 0, maps + 2);
	forget(s);
	expect(rl, rule, RL_ALLOWED, 0);
	rl_close(rl);
}

/*
 * Each table lies behind the one before it: who is told of the same places again and again maps one
 * once.
 */
static void
test_places_that_overlap(void **state)
{
	int rule;
	struct rl *rl = open_small(&rule);
	const struct rl_segment *s = &rl->segment;
	const uint64_t at = rl_table_at(s->bytes), sizes = 20 | UINT64_C(4) << 32;
	int fd = test_file_of_segment();

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(at + 8 * PIECE)), 0);
	close(fd);
	forge(s, 1, at + PIECE, sizes);
	expect(rl, rule, RL_ALLOWED, 0);
	for (uint64_t number = 2; number < 100; number++) {
		forge(s, number, at + PIECE, sizes);
		expect(rl, rule, RL_UNDECIDED, RL_EDAMAGED);
		forge(s, number, at, sizes);
		expect(rl, rule, RL_UNDECIDED, RL_EDAMAGED);
	}
	assert_int_equal(((struct rl *)rl->handle->newest)->segment.table.number, 1);
	rl_close(rl);
}

/*
 * Whoever says that tables come into force which nobody leaves takes no process all of its
 * mappings.
 */
static void
test_tables_that_nobody_leaves(void **state)
{
	int rule, fd;
	struct rl *rl = open_small(&rule);
	const struct rl_segment *s = &rl->segment;
	const uint64_t sizes = 20 | UINT64_C(4) << 32, last = 5000;

	(void)state;
	fd = test_file_of_segment();
	assert_int_equal(ftruncate(fd, (off_t)(rl_table_at(s->bytes) + (last + 2) * PIECE)), 0);
	close(fd);
	for (uint64_t number = last; number > 0; number--) {
		forge(s, number, rl_table_at(s->bytes) + number * PIECE, sizes);
		at_check(rl, rule, &number, sizeof number, 1, T0, NULL);
	}
	assert_in_range(rl->handle->mapped, 4000, 4096);
	expect(rl, rule, RL_UNDECIDED, -ENOMEM);
	rl_close(rl);
}

/*
 * A bit of the place of the table in force is wrong: nothing is resized, and nobody falls off the
 * file's end.
 */
static void
test_a_bit_of_a_place(void **state)
{
	int rule;
	struct rl *rl = open_small(&rule);
	struct rl_table_place *place = &rl->segment.header->tables.place[1];
	struct rl_moving moving = {0};
	int fd = test_file_of_segment();
	uint64_t bytes;

	(void)state;
	assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = 3000}, 0), 0);
	expect(rl, rule, RL_ALLOWED, 0);
	assert_int_equal(rl_move_slots_at(rl, 0, UINT64_MAX, T0, &moving), 0);
	assert_int_equal(rl_move_end(rl), 1);
	bytes = file_bytes(fd);
	for (int bit = 0; bit < 64; bit++) {
		place->at ^= UINT64_C(1) << bit;
		assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = 9000}, 0), RL_EDAMAGED);
		assert_true(file_bytes(fd) >= bytes);
		place->at ^= UINT64_C(1) << bit;
	}
	expect(rl, rule, RL_ALLOWED, 0);
	close(fd);
	rl_close(rl);
}

/*
 * What somebody has left behind the table in force is no part of the next one, and the file gets no
 * shorter.
 */
static void
test_what_lies_behind(void **state)
{
	int rule;
	struct rl *rl = open_small(&rule);
	const uint64_t at = rl_table_at(rl->segment.bytes);
	int fd = test_file_of_segment();
	unsigned char *left;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(at + 8 * PIECE)), 0);
	left = mmap(NULL, 8 * PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
	assert_true(left != MAP_FAILED);
	memset(left, 0xff, 8 * PIECE);
	assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = 3000}, 0), 0);
	assert_true(file_bytes(fd) >= at + 8 * PIECE);
	for (uint64_t i = 0; i < 8 * PIECE; i++)
		assert_true(left[i] == 0);
	expect(rl, rule, RL_ALLOWED, 0);
	munmap(left, 8 * PIECE);
	close(fd);
	rl_close(rl);
}

/* In bytes: what nobody else has. */
static uint64_t
private_memory(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[128];

	assert_non_null(status);
	while (fgets(line, sizeof line, status) && sscanf(line, "RssAnon: %lu", &kib) != 1)
		;
	fclose(status);
	return kib * UINT64_C(1024);
}

static uint64_t
blocks(int fd)
{
	struct stat file;

	assert_int_equal(fstat(fd, &file), 0);
	return (uint64_t)file.st_blocks * 512;
}

static void
resize_whole(struct rl *rl, uint32_t keys)
{
	struct rl_moving moving = {0};

	assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = keys}, 0), 0);
	assert_int_equal(rl_move_slots_at(rl, 0, UINT64_MAX, T0, &moving), 0);
	assert_int_equal(rl_move_end(rl), 1);
}

/*
 * One of a segment in use leaves next to nothing: in the file, in who resizes, and in who has it
 * open to look or to decide.
 */
static void
test_what_resizes_leave(void **state)
{
	const struct rl_options looks = {.flags = RL_OPEN_READONLY};
	const uint64_t resizes = test_scaled(10000), each = ZONES + 512;
	uint64_t maps, memory, most;
	int rule, fd;
	struct rl *rl = open_small(&rule), *reader;

	(void)state;
	fd = test_file_of_segment();
	assert_int_equal(rl_open(test_segment_name(), &looks, &reader), 0);
	expect(rl, rule, RL_ALLOWED, 0);
	maps = mappings();
	memory = private_memory();
	most = blocks(fd) +
	       2 * rl_tables_bytes(&rl->segment, rl_table_buckets_for(300), small.ring) +
	       16 * UINT64_C(4096);
	for (uint64_t i = 0; i < resizes; i++) {
		resize_whole(rl, i % 2 ? 200 : 300);
		assert_int_equal(at_check(rl, rule, "k", 1, 1, T0 + i * RL_SECOND, NULL),
		                 RL_ALLOWED);
		if (i % 3 == 0) /* it is not told of each */
			assert_int_equal(at_peek(reader, rule, "k", 1, T0 + i * RL_SECOND, NULL),
			                 RL_ALLOWED);
		assert_true(blocks(fd) <= most);
	}
	assert_true(((struct rl *)reader->handle->newest)->segment.table.number > resizes - 3);
	assert_true(mappings() <= maps + 2 * 4);
	assert_true(private_memory() <= memory + 2 * each * resizes + (UINT64_C(1) << 20));
	rl_close(reader);
	rl_close(rl);
	assert_true(mappings() <= maps);
	close(fd);
}

/*
 * ... and where all memory is locked, whose holes are read and whose pages the kernel does not
 * take.
 */
static void
test_locked_memory(void **state)
{
	uint64_t most;
	int rule, fd;
	struct rl *rl;

	(void)state;
	if (mlockall(MCL_FUTURE) < 0) /* not allowed to us */
		return;
	rl = open_small(&rule);
	fd = test_file_of_segment();
	most = blocks(fd) +
	       2 * rl_tables_bytes(&rl->segment, rl_table_buckets_for(300), small.ring) +
	       16 * UINT64_C(4096);
	for (uint64_t i = 0; i < 50; i++) {
		resize_whole(rl, i % 2 ? 200 : 300);
		expect(rl, rule, RL_ALLOWED, 0);
		assert_true(blocks(fd) <= most);
	}
	munlockall();
	rl_close(rl);
	close(fd);
}

static void
take_one(struct rl *rl, int rule, int key, struct rl_hold *hold)
{
	struct rl_charges charges = {0};
	const struct rl_item item = {
		.rule = rule, .key = &key, .key_len = sizeof key, .cost = 1, .charges = &charges};

	assert_int_equal(at_check_item(rl, &item, T0, NULL), RL_ALLOWED);
	assert_int_equal(rl_holds(&charges, hold, 1), 1);
}

/*
 * A hold knows the number of its table in a few bits: it is released after any number of resizes.
 */
static void
test_holds_across_tables(void **state)
{
	const struct rl_rule held = {.name = "held",
	                             .limit = {.algorithm = RL_IN_FLIGHT, .capacity = 1}};
	const int last[] = {63, 64, 65, 128, 129};
	int rule, number = 0;
	struct rl *rl = open_small(&rule);
	struct rl_hold hold[20];

	(void)state;
	rule = rl_define(rl, &held);
	for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
		for (int key = 0; key < 20; key++)
			take_one(rl, rule, key, &hold[key]);
		for (int made = number; number < made + last[i]; number++)
			resize_whole(rl, 60 + 5 * (uint32_t)number);
		for (int key = 0; key < 20; key++) {
			assert_int_equal(rl_release(rl, &hold[key], 1), 1);
			assert_int_equal(rl_release(rl, &hold[key], 1), 0);
		}
	}
	rl_close(rl);
}

static void
limit_addresses(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static uint64_t
addresses(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* By another process. */
static void
resize_elsewhere(struct rl *rl, uint32_t keys)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		limit_addresses(RLIM_INFINITY);
		resize_whole(rl, keys);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/*
 * A process that may have no more addresses is told so, by each call that needs some; and decides
 * again when it may.
 */
static void
test_no_addresses(void **state)
{
	int rule, refused = 0;
	struct rl *rl = open_small(&rule);
	struct rl_result result;
	uint64_t kept;

	(void)state;
	if (ZONES > 0) { /* all addresses are taken already */
		rl_close(rl);
		return;
	}
	resize_elsewhere(rl, 50000);
	limit_addresses(addresses() +
	                4 * rl_tables_bytes(&rl->segment, rl_table_buckets_for(50000), small.ring));
	for (uint64_t i = 0; i < 8; i++) {
		resize_elsewhere(rl, 50000 + (uint32_t)i);
		if (at_check(rl, rule, "k", 1, 1, T0 + i * RL_SECOND, &result) == RL_ALLOWED)
			continue;
		assert_int_equal(result.verdict, RL_UNDECIDED);
		assert_int_equal(result.error, -ENOMEM);
		assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = 100}, 0), -ENOMEM);
		refused++;
	}
	assert_in_range(refused, 1, 7);
	kept = rl->handle->followed;
	for (uint64_t i = 0; i < 100; i++)
		expect(rl, rule, RL_UNDECIDED, -ENOMEM);
	assert_int_equal(rl->handle->followed, kept); /* what is not followed to is not kept */
	limit_addresses(RLIM_INFINITY);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0 + 9 * RL_SECOND, NULL), RL_ALLOWED);
	rl_close(rl);
}

#define KEYS 20
#define EACH 1000

struct crowd {
	struct rl *rl;
	int rule;
	uint64_t stop, admitted;
};

static void *
decide(void *arg)
{
	struct crowd *c = arg;

	for (uint64_t i = 0; !rl_atomic_load(&c->stop); i++) {
		uint64_t key = i % KEYS;

		if (at_check(c->rl, c->rule, &key, sizeof key, 1, T0, NULL) == RL_ALLOWED)
			rl_atomic_add(&c->admitted, 1);
	}
	return NULL;
}

/* Threads are in tables that are left, and whose place is taken by zeros beneath them. */
static void
test_threads_in_tables_that_are_left(void **state)
{
	struct crowd c = {0};
	pthread_t thread[3];
	int rule;

	(void)state;
	c.rl = open_small(&rule);
	c.rule = test_rule(c.rl, "many", EACH, 3600 * RL_SECOND, 1, true);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, decide, &c), 0);
	for (uint64_t i = 0; i < test_scaled(800) || rl_atomic_load(&c.admitted) < KEYS * EACH; i++)
		resize_whole(c.rl, i % 2 ? 200 : 300);
	rl_atomic_store(&c.stop, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(rl_atomic_load(&c.admitted), KEYS * EACH);
	rl_close(c.rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_places_that_are_none, test_unlink),
		cmocka_unit_test_teardown(test_a_place_behind_the_end, test_unlink),
		cmocka_unit_test_teardown(test_places_that_overlap, test_unlink),
		cmocka_unit_test_teardown(test_tables_that_nobody_leaves, test_unlink),
		cmocka_unit_test_teardown(test_a_bit_of_a_place, test_unlink),
		cmocka_unit_test_teardown(test_what_lies_behind, test_unlink),
		cmocka_unit_test_teardown(test_what_resizes_leave, test_unlink),
		cmocka_unit_test_teardown(test_locked_memory, test_unlink),
		cmocka_unit_test_teardown(test_holds_across_tables, test_unlink),
		cmocka_unit_test_teardown(test_no_addresses, test_unlink),
		cmocka_unit_test_teardown(test_threads_in_tables_that_are_left, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
