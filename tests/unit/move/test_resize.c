/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another table for a live segment. What it answers is compared with a twin that is never resized:
 * each key is moved by the request for it, by a mover, or not yet, and nobody may see a difference.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "algorithm/carry.h"
#include "at.h"
#include "move/migrate.h"
#include "segment/record.h"
#include "segment/table_place.h"
#include "segment/view.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define KEYS 24
#define RULES 13
#define SPACE RULES /* of counters */

static struct rl_options small = {.keys = 60, .ring = 64, .rules = 32, .bans = 50, .overrides = 8};

static int ids[2][RULES + 1]; /* in the twin, and in what is resized */

static const struct rl_limit limits[RULES] = {
	{.algorithm = RL_SLIDING_WINDOW, .capacity = 9, .window_ns = RL_SECOND},
	{.algorithm = RL_SLIDING_WINDOW, .capacity = 9, .window_ns = RL_SECOND, .granularity = 10},
	{.algorithm = RL_SLIDING_WINDOW,
         .capacity = 9,
         .window_ns = 4 * RL_SECOND,
         .granularity = 64,
         .hard = 1},
	{.algorithm = RL_FIXED_WINDOW, .capacity = 7, .window_ns = RL_SECOND},
	{.algorithm = RL_FIXED_WINDOW, .capacity = 7, .window_ns = RL_SECOND, .count_denied = 1},
	{.algorithm = RL_SLIDING_LOG, .capacity = 8, .window_ns = RL_SECOND},
	{.algorithm = RL_SLIDING_LOG, .capacity = 32, .window_ns = 3 * RL_SECOND},
	{.algorithm = RL_TOKEN_BUCKET, .capacity = 5, .window_ns = RL_SECOND, .burst = 9},
	{.algorithm = RL_LEAKY_BUCKET, .capacity = 5, .window_ns = RL_SECOND, .burst = 4},
	{.algorithm = RL_ANCHORED_WINDOW, .capacity = 6, .window_ns = RL_SECOND},
	{.algorithm = RL_ANCHORED_WINDOW, .capacity = 6, .window_ns = RL_SECOND, .count_denied = 1},
	{.algorithm = RL_IN_FLIGHT, .capacity = 5},
	{.algorithm = RL_SLIDING_WINDOW,
         .capacity = 9,
         .window_ns = RL_SECOND,
         .granularity = 4,
         .prefix_v4 = 24,
         .prefix_v6 = 48},
};

static void
define_all(struct rl *rl, int *id)
{
	char name[16];

	for (int i = 0; i < RULES; i++) {
		struct rl_rule rule = {.name = name, .limit = limits[i]};

		snprintf(name, sizeof name, "r%d", i);
		id[i] = rl_define(rl, &rule);
		assert_true(id[i] >= 0);
	}
	id[SPACE] = rl_define_counters(rl, "counters");
	assert_true(id[SPACE] >= 0);
}

static struct rl *
open_small(void)
{
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	return rl;
}

/*
 * With a buffer that is never over: what is, does not move, and that shows in what can be given
 * back.
 */
static struct rl *
open_both(struct rl **twin)
{
	struct rl_options o = small;
	struct rl *rl;

	o.buffer_ns = RL_BUFFER_MAX;
	o.keys = 20000;
	assert_int_equal(rl_open_private(&o, twin), 0);
	o.keys = 400;
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	define_all(*twin, ids[0]);
	define_all(rl, ids[1]);
	return rl;
}

static int
resize(struct rl *rl, uint32_t keys, uint32_t ring)
{
	struct rl_resize r = {.keys = keys, .ring = ring};

	return rl_resize(rl, &r, 0);
}

/* How many keys stay. */
static uint64_t
move_all(struct rl *rl, uint64_t now_ns)
{
	struct rl_moving moving = {0};
	struct rl_info info;

	rl_info(rl, &info);
	if (info.slots_before > 0)
		assert_int_equal(rl_move_slots_at(rl, 0, UINT64_MAX, now_ns, &moving), 0);
	assert_true(moving.seen == info.slots_before);
	return moving.left;
}

static void
resize_whole(struct rl *rl, uint32_t keys, uint32_t ring, uint64_t now_ns)
{
	assert_int_equal(resize(rl, keys, ring), 0);
	assert_int_equal(move_all(rl, now_ns), 0);
	assert_int_equal(rl_move_end(rl), 1);
}

static void
key_of(int rule, uint64_t i, char key[static 24])
{
	if (limits[rule % RULES].prefix_v4 > 0)
		snprintf(key, 24, "10.0.%d.%d", (int)i, (int)(i * 7));
	else
		snprintf(key, 24, "key %d", (int)i);
}

static void
expect_same(const struct rl_result *a, const struct rl_result *b)
{
	assert_int_equal(a->verdict, b->verdict);
	assert_int_equal(a->error, b->error);
	assert_int_equal(a->limit, b->limit);
	assert_int_equal(a->remaining, b->remaining);
	assert_int_equal(a->used, b->used);
	assert_true(a->retry_after_ns == b->retry_after_ns);
	assert_true(a->reset_after_ns == b->reset_after_ns);
	assert_true(a->delay_ns == b->delay_ns);
}

#define HELD_MOST 64

/* What is held in both. */
struct held {
	struct rl_hold hold[2];
};

struct exercise {
	struct rl *rl[2];
	uint64_t seed, now_ns;
	struct held held[HELD_MOST];
	size_t holds;
};

static void
request(struct exercise *e, int rule, uint64_t key_number)
{
	bool is_held = limits[rule].algorithm == RL_IN_FLIGHT;
	struct rl_charges charges[2];
	struct rl_result r[2];
	char key[24];
	uint64_t cost = test_below(&e->seed, 3);

	key_of(rule, key_number, key);
	for (int i = 0; i < 2; i++) {
		struct rl_item item = {.rule = ids[i][rule],
		                       .key = key,
		                       .key_len = strlen(key),
		                       .cost = cost,
		                       .capacity = key_number % 5 == 0 && !is_held ? 3 : 0,
		                       .charges = is_held ? &charges[i] : NULL};

		at_check_item(e->rl[i], &item, e->now_ns, &r[i]);
	}
	expect_same(&r[0], &r[1]);
	if (!is_held || cost == 0 || r[0].verdict != RL_ALLOWED || e->holds == HELD_MOST)
		return;
	for (int i = 0; i < 2; i++)
		assert_int_equal(rl_holds(&charges[i], &e->held[e->holds].hold[i], 1), 1);
	e->holds++;
}

static void
count(struct exercise *e, uint64_t key_number)
{
	int64_t amount = (int64_t)test_below(&e->seed, 5) - 1;
	struct rl_count c[2];
	char key[24];
	int done[2];

	key_of(0, key_number, key);
	for (int i = 0; i < 2; i++)
		done[i] = at_counter_add(e->rl[i], ids[i][SPACE], key, strlen(key), amount,
		                         2 * RL_SECOND, e->now_ns, &c[i]);
	assert_int_equal(done[0], done[1]);
	assert_true(c[0].value == c[1].value && c[0].is_new == c[1].is_new &&
	            c[0].expires_after_ns == c[1].expires_after_ns);
}

static void
release(struct exercise *e)
{
	size_t which = (size_t)test_below(&e->seed, e->holds);

	for (int i = 0; i < 2; i++)
		assert_int_equal(rl_release(e->rl[i], &e->held[which].hold[i], 1), 1);
	e->held[which] = e->held[--e->holds];
}

static void
reset(struct exercise *e, int rule, uint64_t key_number)
{
	char key[24];
	int done[2];

	if (limits[rule].algorithm == RL_IN_FLIGHT)
		return;
	key_of(rule, key_number, key);
	for (int i = 0; i < 2; i++)
		done[i] = rl_reset(e->rl[i], ids[i][rule], key, strlen(key));
	assert_int_equal(done[0], done[1]);
}

static void
refund(struct exercise *e, int rule, uint64_t key_number)
{
	char key[24];
	int done[2];

	if (limits[rule].algorithm == RL_IN_FLIGHT)
		return;
	key_of(rule, key_number, key);
	for (int i = 0; i < 2; i++) {
		struct rl_item item = {
			.rule = ids[i][rule], .key = key, .key_len = strlen(key), .cost = 2};

		done[i] = at_refund_key(e->rl[i], &item, e->now_ns);
	}
	assert_int_equal(done[0], done[1]);
}

/* Of the table that keys are moving from. */
static void
move_some(struct exercise *e)
{
	struct rl_moving moving = {0};
	struct rl_info info;
	uint64_t first;

	rl_info(e->rl[1], &info);
	if (info.slots_before == 0)
		return;
	first = test_below(&e->seed, info.slots_before);
	if (test_below(&e->seed, 4) == 0)
		first = 0;
	assert_int_equal(rl_move_slots_at(e->rl[1], first, first > 0 ? 40 : info.slots_before,
	                                  e->now_ns, &moving),
	                 0);
	assert_int_equal(moving.left, 0);
}

static void
resize_some(struct exercise *e, uint32_t *ring)
{
	if (test_below(&e->seed, 4) == 0 && *ring < 500)
		*ring += 1 + (uint32_t)test_below(&e->seed, 40);
	assert_int_equal(resize(e->rl[1], 400 + (uint32_t)test_below(&e->seed, 2000), *ring), 0);
}

static void
step(struct exercise *e, uint32_t *ring)
{
	uint64_t key = test_below(&e->seed, KEYS);
	int rule = (int)test_below(&e->seed, RULES);
	int ended;

	e->now_ns += test_below(&e->seed, 40) * 1000000;
	switch (test_below(&e->seed, 32)) {
	case 0:
		reset(e, rule, key);
		break;
	case 1:
	case 2:
		if (e->holds > 0)
			release(e);
		break;
	case 3:
		refund(e, rule, key);
		break;
	case 4:
	case 5:
	case 6:
		count(e, key);
		break;
	case 7:
		move_some(e);
		break;
	case 8:
		ended = rl_move_end(e->rl[1]);
		assert_true(ended == 0 || ended == 1);
		if (ended == 1 && test_below(&e->seed, 3) == 0)
			resize_some(e, ring);
		break;
	default:
		request(e, rule, key);
	}
}

/*
 * Requests of all kinds, under limits of all kinds, while one segment is resized again and again.
 */
static void
test_nobody_sees_a_difference(void **state)
{
	(void)state;
	for (uint64_t run = 0; run < test_scaled(10); run++) {
		struct exercise e = {.seed = run, .now_ns = T0};
		uint32_t ring = small.ring;

		e.rl[1] = open_both(&e.rl[0]);
		for (int i = 0; i < 20000; i++)
			step(&e, &ring);
		move_all(e.rl[1], e.now_ns);
		assert_int_equal(rl_move_end(e.rl[1]), 1);
		assert_true(e.rl[1]->handle->first->segment.header->tables.now > 20);
		for (int rule = 0; rule < RULES; rule++)
			for (uint64_t key = 0; key < KEYS; key++)
				request(&e, rule, key);
		rl_close(e.rl[0]);
		rl_close(e.rl[1]);
		rl_unlink(test_segment_name());
	}
}

static const char *
path(void)
{
	static char path[128];

	snprintf(path, sizeof path, "/dev/shm/rl/rl.%s", test_segment_name());
	if (access(path, F_OK) < 0)
		snprintf(path, sizeof path, "/dev/shm/rl.%s", test_segment_name());
	return path;
}

static uint64_t
memory(void)
{
	struct stat file;

	assert_int_equal(stat(path(), &file), 0);
	return (uint64_t)file.st_blocks * 512;
}

static void
spend(struct rl *rl, int rule, const char *key, uint64_t cost, int verdict)
{
	assert_int_equal(at_check(rl, rule, key, strlen(key), cost, T0, NULL), verdict);
}

/* Up and down: the memory of what is left is given back, and the sizes are told. */
static void
test_memory(void **state)
{
	struct rl *rl = open_small();
	struct rl_resize r = {.keys = 400000};
	uint64_t small_bytes = memory(), large_bytes;
	struct rl_info info;

	(void)state;
	assert_int_equal(rl_resize(rl, &r, RL_RESIZE_DRY), 0);
	assert_true(r.bytes > 400000 * 100 && r.bytes_before < 60 * 2000);
	rl_info(rl, &info);
	assert_true(info.slots < 1000 && info.slots_before == 0);
	assert_int_equal(resize(rl, 400000, 0), 0);
	rl_info(rl, &info);
	assert_true(info.keys >= 400000 && info.slots_before > 0 && info.slots_before < 1000);
	large_bytes = memory();
	assert_true(large_bytes >= small_bytes + r.bytes);
	assert_int_equal(move_all(rl, T0), 0);
	assert_int_equal(rl_move_end(rl), 1);
	rl_info(rl, &info);
	assert_true(info.slots_before == 0 && info.bytes >= r.bytes && info.bytes < large_bytes);
	resize_whole(rl, 60, 0, T0);
	assert_true(memory() < small_bytes + (UINT64_C(1) << 16));
	rl_info(rl, &info);
	assert_true(info.bytes <= small_bytes + (UINT64_C(1) << 16));
	rl_close(rl);
}

/*
 * How many pages of a table the kernel has zeroed. What is reserved of a file counts as memory from
 * the start, and as being in it from the first touch on.
 */
static size_t
zeroed(const struct rl *rl)
{
	const struct rl_segment *s = &rl->segment;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0,
	       pages = rl_tables_bytes(s, s->geometry.buckets, s->geometry.ring) / page;
	unsigned char *in = malloc(pages);

	assert_non_null(in);
	assert_int_equal(mincore(s->own_map, pages * page, in), 0);
	for (size_t i = 0; i < pages; i++)
		count += in[i] & 1;
	free(in);
	return count;
}

/* A page at a time, or 2 MiB where shared memory has huge pages unasked. */
static size_t
pages_at_once(void)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
	char modes[128] = "";

	if (file) {
		assert_true(fread(modes, 1, sizeof modes - 1, file) > 0);
		fclose(file);
	}
	return strstr(modes, "[never]") || strstr(modes, "[advise]") || !file ? 1 : 512;
}

/*
 * The room of a new table is reserved, so that nobody finds it gone, but the call zeroes none of
 * it: each page is for the first request that touches it, and that touches few. Only whether the
 * file reaches so far takes one.
 */
static void
test_pages(void **state)
{
	struct rl *rl = open_small();
	struct rl_resize r = {.keys = 60000};
	int rule = test_rule(rl, "r", 3, RL_SECOND, 1, true);
	uint64_t before = memory();
	size_t at_once = pages_at_once(), seen, now;
	char key[24];

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 1, RL_ALLOWED);
	}
	assert_int_equal(rl_resize(rl, &r, 0), 0);
	assert_true(memory() >= before + r.bytes);
	assert_true(r.bytes > (UINT64_C(32) << 20));
	seen = zeroed(rl_here(rl));
	assert_true(seen <= at_once);
	for (uint64_t i = 0; i < 40;
	     i++) { /* two buckets, a ring and a record, each over the edge of a page at most */
		key_of(0, i, key);
		spend(rl, rule, key, 1, RL_ALLOWED);
		now = zeroed(rl_here(rl));
		assert_true(now <= seen + 8 * at_once);
		seen = now;
	}
	rl_close(rl);
}

/* As many keys as a table is for find room in it, from whatever table they come. */
static void
test_full_tables(void **state)
{
	const uint32_t sizes[] = {150000, 200000, 150000, 165000, 150000, 150000, 600000, 150000};
	struct rl_options o = small;
	struct rl *rl;
	char key[24];
	int rule;

	(void)state;
	o.ring = 1; /* less memory to give */
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	rule = test_rule(rl, "r", 3, RL_SECOND, 1, true);
	resize_whole(rl, 150000, 0, T0);
	for (uint64_t i = 0; i < 150000; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 1, RL_ALLOWED);
	}
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		assert_int_equal(resize(rl, sizes[i], 0), 0);
		assert_int_equal(move_all(rl, T0), 0);
		assert_int_equal(rl_move_end(rl), 1);
	}
	assert_int_equal(rl_fill(rl), 150000);
	rl_close(rl);
}

/* Who makes a table is killed: the file ends anywhere from where it begins on. */
static void
test_a_table_half_made(void **state)
{
	const off_t into[] = {0, 4096, 1 << 20};
	struct rl *rl = open_small(), *other;
	int rule = test_rule(rl, "r", 3, RL_SECOND, 1, true);

	(void)state;
	spend(rl, rule, "k", 3, RL_ALLOWED);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(truncate(path(), (off_t)rl_table_at(rl->segment.bytes) + into[i]),
		                 0);
		assert_int_equal(rl_open(test_segment_name(), NULL, &other), 0);
		spend(other, rule, "k", 1, RL_DENIED);
		rl_close(other);
	}
	resize_whole(rl, 1000, 0, T0);
	assert_int_equal(rl_open(test_segment_name(), NULL, &other), 0);
	spend(other, rule, "k", 1, RL_DENIED);
	rl_close(other);
	assert_int_equal(truncate(path(), (off_t)rl_table_at(rl->segment.bytes)), 0);
	assert_int_equal(rl_open(test_segment_name(), NULL, &other), RL_ETRUNCATED);
	rl_close(rl);
}

static void
test_errors(void **state)
{
	struct rl_resize bad = {.keys = 100, .reserved = {1}};
	struct rl *rl = open_small(), *other;
	int rule = test_rule(rl, "r", 3, RL_SECOND, 1, true);
	struct rl_options o = {.flags = RL_OPEN_READONLY};
	struct rl_moving moving = {0};
	char key[24];

	(void)state;
	assert_int_equal(resize(rl, UINT32_MAX, 0), -EINVAL);
	assert_int_equal(resize(rl, 0, RL_RING_MAX + 1), -EINVAL);
	assert_int_equal(resize(rl, 0, small.ring - 1), RL_ERING);
	assert_int_equal(rl_resize(rl, &bad, 0), -EINVAL);
	assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = 100}, 2), -EINVAL);
	assert_int_equal(rl_move_slots_at(rl, 0, 1, T0, &moving), 1);
	assert_int_equal(rl_move_end(rl), 1);
	for (uint64_t i = 0; i < 40; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 1, RL_ALLOWED);
	}
	assert_int_equal(resize(rl, 20, 0), RL_EKEYS);
	assert_int_equal(rl_open(test_segment_name(), &o, &other), 0);
	assert_int_equal(resize(other, 100, 0), -EROFS);
	assert_int_equal(resize(rl, 100, 0), 0);
	assert_int_equal(resize(rl, 200, 0), RL_EMOVING);
	assert_int_equal(rl_move_slots_at(other, 0, 1, T0, &moving), -EROFS);
	assert_int_equal(rl_move_slots_at(rl, 1 << 20, 1, T0, &moving), -EINVAL);
	assert_int_equal(rl_move_end(other), -EROFS);
	assert_int_equal(rl_move_end(rl), 0);
	rl_close(other);
	other = test_private(10);
	assert_int_equal(resize(other, 100, 0), -ENOENT);
	rl_close(other);
	rl_close(rl);
}

/* More than the machine has: the old table stands, and what was had is given back. */
static void
test_no_memory(void **state)
{
	struct rl *rl = open_small();
	int rule = test_rule(rl, "r", 3, RL_SECOND, 1, true);
	uint64_t bytes = memory();
	int error;

	(void)state;
	spend(rl, rule, "a", 2, RL_ALLOWED);
	error = resize(rl, RL_KEYS_MAX, 0);
	assert_true(error == RL_EMEMORY || error == -ENOSPC);
	assert_true(memory() == bytes);
	spend(rl, rule, "a", 2, RL_DENIED);
	resize_whole(rl, 100, 0, T0);
	spend(rl, rule, "a", 2, RL_DENIED);
	rl_close(rl);
}

/*
 * A handle that has slept through any number of them, one that comes late, and one that only reads.
 */
static void
test_other_handles(void **state)
{
	struct rl *rl = open_small(), *sleeper = open_small(), *late, *reader;
	struct rl_options o = {.flags = RL_OPEN_READONLY};
	int rule = test_rule(rl, "r", 9, RL_SECOND, 10, true);
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &o, &reader), 0);
	spend(sleeper, rule, "a", 3, RL_ALLOWED);
	for (uint32_t i = 0; i < 5; i++)
		resize_whole(rl, 100 + 300 * i, small.ring + i, T0);
	spend(sleeper, rule, "a", 3, RL_ALLOWED);
	assert_int_equal(resize(rl, 700, 0), 0);
	late = open_small();
	assert_int_equal(at_peek(reader, rule, "a", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 3);
	spend(late, rule, "a", 2, RL_ALLOWED);
	assert_int_equal(at_peek(reader, rule, "a", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 1);
	spend(sleeper, rule, "a", 2, RL_DENIED);
	spend(rl, rule, "a", 1, RL_ALLOWED);
	rl_close(reader);
	rl_close(late);
	rl_close(sleeper);
	rl_close(rl);
}

static int
count_entry(const struct rl_entry *e, void *arg)
{
	uint64_t *sum = arg;

	sum[0]++;
	sum[1] += e->used;
	return 0;
}

static int
count_ban(const struct rl_ban_info *ban, void *arg)
{
	int *bans = arg;

	*bans += ban->pattern.key && memcmp(ban->pattern.key, "bad", 3) == 0;
	return 0;
}

/* What people see: each key once, wherever it is; and bans, which do not move, with their names. */
static void
test_lists(void **state)
{
	const struct rl_pattern bad = {.match = RL_MATCH_KEY, .key = "bad", .key_len = 3};
	const struct rl_pattern worse = {.match = RL_MATCH_PREFIX, .key = "bad 2", .key_len = 5};
	struct rl *rl = open_small();
	int rule = test_rule(rl, "r", 9, RL_SECOND, 10, true), bans = 0;
	struct rl_moving moving = {0};
	struct rl_audit audit;
	uint64_t sum[2] = {0};
	char key[24];

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &bad, RL_NEVER_NS), 0);
	for (uint64_t i = 0; i < 30; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 2, RL_ALLOWED);
	}
	assert_int_equal(resize(rl, 500, 0), 0);
	assert_int_equal(rl_ban(rl, rule, &worse, RL_NEVER_NS), 0);
	assert_int_equal(rl_move_slots_at(rl, 0, 50, T0, &moving), 0);
	for (uint64_t i = 0; i < 4; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 1, RL_ALLOWED);
	}
	assert_int_equal(rl_walk(rl, T0, NULL, count_entry, sum), 0);
	assert_true(sum[0] == 30 && sum[1] == 64);
	memset(sum, 0, sizeof sum);
	assert_int_equal(rl_walk_slots(rl, 0, UINT64_MAX, T0, NULL, count_entry, sum), 0);
	assert_true(sum[0] == 30 && sum[1] == 64);
	assert_int_equal(rl_fill(rl), 30);
	assert_int_equal(rl_bans_walk(rl, T0, count_ban, &bans), 0);
	assert_int_equal(bans, 2);
	for (uint64_t i = 0; i < 30; i++) {
		key_of(0, i, key);
		memset(sum, 0, sizeof sum);
		assert_int_equal(rl_lookup(rl, rule, key, strlen(key), T0, count_entry, sum), 0);
		assert_true(sum[0] == 1 && sum[1] == (i < 4 ? 3 : 2));
	}
	assert_int_equal(rl_move_slots_at(rl, 0, UINT64_MAX, T0, &moving), 0);
	assert_int_equal(rl_move_end(rl), 1);
	assert_int_equal(rl_audit(rl, NULL, NULL, &audit), 0);
	assert_true(audit.live == 30 && audit.named == 30);
	spend(rl, rule, "bad", 1, RL_DENIED);
	spend(rl, rule, "bad 22", 1, RL_DENIED);
	rl_close(rl);
}

/* A key that finds no room is counted where it was, exactly, until there is some. */
static void
test_no_room(void **state)
{
	struct rl_options o = {.keys = 600, .on_full = RL_FULL_DENY};
	struct rl_moving moving = {0};
	uint64_t left = 0;
	int rule, other;
	struct rl *rl;
	char key[24];

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	rule = test_rule(rl, "r", 3, RL_SECOND, 1, true);
	other = test_rule(rl, "other", 3, 400 * RL_SECOND, 1, true);
	for (uint64_t i = 0; i < 16; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 2, RL_ALLOWED);
	}
	assert_int_equal(resize(rl, 16, 0), 0);
	for (uint64_t i = 100; i < 140; i++) { /* until there is no room */
		key_of(0, i, key);
		at_check(rl, other, key, strlen(key), 1, T0, NULL);
	}
	for (int round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 16; i++) {
			key_of(0, i, key);
			spend(rl, rule, key, 1, round == 0 ? RL_ALLOWED : RL_DENIED);
		}
	assert_int_equal(rl_move_slots_at(rl, 0, UINT64_MAX, T0, &moving), 0);
	left = moving.left;
	assert_true(left > 0);
	assert_int_equal(rl_move_end(rl), 0);
	assert_int_equal(rl_reset_matching(rl, other, NULL, NULL), 0);
	rl_sweep_at(rl, T0);
	assert_int_equal(move_all(rl, T0), 0);
	assert_int_equal(rl_move_end(rl), 1);
	for (uint64_t i = 0; i < 16; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 1, RL_DENIED);
	}
	rl_close(rl);
}

/*
 * A torn record: the key waits for who asks for it, and is named then; or until its window is over.
 */
static void
test_torn_record(void **state)
{
	struct rl *rl = open_small();
	int rule = test_rule(rl, "r", 3, RL_SECOND, 1, true);
	struct rl_audit audit;

	(void)state;
	spend(rl, rule, "a", 2, RL_ALLOWED);
	spend(rl, rule, "b", 2, RL_ALLOWED);
	for (uint64_t i = 0; i < rl_segment_slots(&rl->segment); i++)
		rl_segment_record(&rl->segment, i)->check ^= 1;
	assert_int_equal(resize(rl, 500, 0), 0);
	assert_int_equal(move_all(rl, T0), 2);
	assert_int_equal(rl_move_end(rl), 0);
	spend(rl, rule, "a", 2, RL_DENIED);
	assert_int_equal(rl_audit(rl, NULL, NULL, &audit), 0);
	assert_int_equal(audit.named, 1);
	assert_int_equal(move_all(rl, T0), 1);
	assert_int_equal(move_all(rl, T0 + 100 * RL_SECOND), 0);
	assert_int_equal(rl_move_end(rl), 1);
	rl_close(rl);
}

/* Keys that are forgotten while they move stay so: one, some, or a whole rule. */
static void
test_resets(void **state)
{
	const struct rl_pattern some = {.match = RL_MATCH_PREFIX, .key = "key 1", .key_len = 5};
	struct rl_reset_counts counts;
	struct rl *rl = open_small();
	int rule = test_rule(rl, "r", 3, RL_SECOND, 1, true);
	struct rl_moving moving = {0};
	char key[24];

	(void)state;
	for (uint64_t i = 0; i < 30; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 3, RL_ALLOWED);
	}
	assert_int_equal(resize(rl, 500, 0), 0);
	assert_int_equal(rl_move_slots_at(rl, 0, 50, T0, &moving), 0);
	assert_int_equal(rl_reset(rl, rule, "key 7", 5), 1);
	assert_int_equal(rl_reset_matching(rl, rule, &some, &counts), 0);
	assert_int_equal(counts.forgotten, 11);
	for (uint64_t i = 0; i < 30; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 3, i == 7 || i == 1 || i / 10 == 1 ? RL_ALLOWED : RL_DENIED);
	}
	assert_int_equal(rl_reset_matching(rl, rule, NULL, NULL), 0);
	assert_int_equal(move_all(rl, T0), 0);
	assert_int_equal(rl_move_end(rl), 1);
	for (uint64_t i = 0; i < 30; i++) {
		key_of(0, i, key);
		spend(rl, rule, key, 3, RL_ALLOWED);
	}
	rl_close(rl);
}

/* A charge of before is given back as long as its key is where it was, and never after that. */
static void
test_refunds(void **state)
{
	struct rl *rl = open_small();
	int rule = test_rule(rl, "r", 9, RL_SECOND, 1, true);
	struct rl_charges charges[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		test_check_at(rl, rule, i == 0 ? "a" : "b", 1, 5, T0, NULL, &charges[i]);
	assert_int_equal(resize(rl, 500, 0), 0);
	assert_int_equal(at_refund(rl, &charges[0], T0), 1);
	spend(rl, rule, "a", 9, RL_ALLOWED);
	spend(rl, rule, "b", 1, RL_ALLOWED);
	assert_int_equal(at_refund(rl, &charges[1], T0), 0);
	spend(rl, rule, "b", 4, RL_DENIED);
	rl_close(rl);
}

/*
 * A slot that was never used is first made to look used, for what was given back is all zeros, too:
 * its serial tells that the charge found another word than zeros.
 */
static void
test_a_charge_expects_no_zeros(void **state)
{
	struct rl *rl = open_small();
	struct rl_table *t = &rl->segment.table;
	struct rl_charges charges;
	uint64_t used = 0;
	int id[RULES + 1];

	(void)state;
	define_all(rl, id);
	for (int i = 0; i < RULES; i++)
		assert_int_equal(test_check_at(rl, id[i], "10.0.0.1", 8, 1, T0, NULL, &charges),
		                 RL_ALLOWED);
	assert_int_equal(at_counter_add(rl, id[SPACE], "a", 1, 1, RL_SECOND, T0, NULL), 1);
	for (uint64_t i = 0; i < rl_segment_slots(&rl->segment); i++) {
		uint64_t hi = rl_table_state(t, i)->hi;

		if (rl_tag_status(*rl_table_tag(t, i)) != RL_TAG_LIVE)
			continue;
		assert_true((hi & RL_STATE_SERIAL_MASK) != 0);
		used++;
	}
	assert_int_equal(used, RULES + 1);
	rl_close(rl);
}

/*
 * All that a log of the largest capacity rests on moves: each of its units leaves at its own time.
 */
static void
test_a_full_log(void **state)
{
	struct rl *rl = open_small();
	uint32_t capacity = small.ring / 2;
	int rule = rl_define(rl, &(struct rl_rule){.name = "log",
	                                           .limit.algorithm = RL_SLIDING_LOG,
	                                           .limit.capacity = capacity,
	                                           .limit.window_ns = RL_SECOND});
	uint64_t now = T0;

	(void)state;
	for (uint32_t i = 0; i < capacity; i++)
		assert_int_equal(at_check(rl, rule, "a", 1, 1, now + i * RL_MILLISECOND, NULL),
		                 RL_ALLOWED);
	resize_whole(rl, 900, 0, now);
	for (uint32_t i = 0; i < capacity; i++) {
		uint64_t leaves = now + i * RL_MILLISECOND + RL_SECOND;

		assert_int_equal(at_check(rl, rule, "a", 1, 1, leaves - 1, NULL), RL_DENIED);
		assert_int_equal(at_check(rl, rule, "a", 1, 1, leaves, NULL), RL_ALLOWED);
	}
	rl_close(rl);
}

/* A ban that a decision sets, by whichever table: its name stands where those of all bans do. */
static void
test_automatic_bans(void **state)
{
	struct rl *rl = open_small();
	struct rl_config_rule c = test_config_rule("r", 1, RL_SECOND);
	int rule, bans = 0;

	(void)state;
	c.ban = (struct rl_auto_ban){.after = 3,
	                             .longer = 1,
	                             .within_ns = RL_SECOND,
	                             .for_ns = 3600 * RL_SECOND,
	                             .at_most_ns = 3600 * RL_SECOND};
	resize_whole(rl, 5000, 0, T0);
	assert_int_equal(rl_configure(rl, &c, 1, 0, NULL, NULL), 0);
	rule = rl_find(rl, "r");
	for (int i = 0; i < 20; i++)
		at_check(rl, rule, "bad", 3, 1, T0, NULL);
	assert_int_equal(rl_bans_walk(rl, T0, count_ban, &bans), 0);
	assert_int_equal(bans, 1);
	rl_close(rl);
}

/*
 * Where a key of cost 2 is, in a segment that was then resized; its candidates in the table before.
 */
static struct rl *
leave_key(int *rule, struct rl_candidates *p, struct rl_slot *slot)
{
	struct rl *rl = open_small();
	const struct rl_compiled *limit;

	*rule = test_rule(rl, "r", 5, RL_SECOND, 1, true);
	spend(rl, *rule, "a", 2, RL_ALLOWED);
	limit = rl_handle_limit(rl, 0);
	*p = rl_table_candidates(&rl->segment.table, limit->owner,
	                         rl_hash_of_key(rl->segment.key_start, "a", 1) ^ limit->salt);
	assert_true(rl_table_find(&rl->segment.table, p, slot));
	assert_int_equal(resize(rl, 500, 0), 0);
	return rl;
}

/*
 * A claim under way when the table was left: whoever looks for the key there frees it, and so it
 * never becomes LIVE.
 */
static void
test_a_claim_under_way(void **state)
{
	struct rl_candidates p;
	struct rl_slot slot, found;
	int rule;
	struct rl *rl = leave_key(&rule, &p, &slot);
	uint64_t *tag = rl_table_tag(&rl->segment.table, slot.index);

	(void)state;
	*tag = rl_tag_make(RL_TAG_TENT, 0, p.key);
	assert_int_equal(rl_move_end(rl), 0);
	assert_int_equal(rl_table_find_left(&rl->segment.table, &p, &found), 0);
	assert_true(rl_tag_is_free(*tag));
	assert_int_equal(rl_move_end(rl), 1);
	rl_close(rl);
}

/* A retirement of long ago that somebody takes up: the key is LIVE still, and is moved. */
static void
test_a_late_retirement(void **state)
{
	struct rl_candidates p;
	struct rl_slot slot;
	int rule;
	struct rl *rl = leave_key(&rule, &p, &slot);

	(void)state;
	*rl_table_tag(&rl->segment.table, slot.index) = slot.tag & ~(UINT64_C(3) << 62);
	spend(rl, rule, "a", 4, RL_DENIED);
	spend(rl, rule, "a", 3, RL_ALLOWED);
	rl_close(rl);
}

/* Whoever carried it died before he could mark that: what has been charged since stays. */
static void
test_an_unmarked_key(void **state)
{
	struct rl_candidates p;
	struct rl_slot slot;
	int rule;
	struct rl *rl = leave_key(&rule, &p, &slot);
	uint64_t *tag = rl_table_tag(&rl->segment.table, slot.index);

	(void)state;
	spend(rl, rule, "a", 2, RL_ALLOWED);
	assert_int_equal(rl_tag_status(*tag), RL_TAG_MOVED);
	*tag = slot.tag;
	assert_int_equal(rl_move_end(rl), 0);
	assert_int_equal(move_all(rl, T0), 0);
	assert_int_equal(rl_move_end(rl), 1);
	spend(rl, rule, "a", 2, RL_DENIED);
	spend(rl, rule, "a", 1, RL_ALLOWED);
	rl_close(rl);
}

/* What is sealed is never changed again. */
static void
test_a_seal(void **state)
{
	struct rl_candidates p;
	struct rl_slot slot;
	int rule;
	struct rl *rl = leave_key(&rule, &p, &slot);
	const struct rl_table *t = &rl->segment.table;
	struct rl_u128 *word = rl_table_state(t, slot.index), open = *word, sealed;
	struct rl_view v;

	(void)state;
	assert_true(rl_table_seal(t, slot, open, false));
	sealed = *word;
	assert_true(rl_state_is_sealed(sealed) && !rl_state_is_dead(sealed));
	assert_false(rl_table_retire(t, slot, sealed));
	assert_false(rl_table_retire(t, slot, open));
	assert_int_equal(rl_view_load(&rl->segment, slot, &v), RL_SEEN_GONE);
	assert_true(rl_u128_equal(*word, sealed));
	spend(rl, rule, "a", 4, RL_DENIED);
	spend(rl, rule, "a", 3, RL_ALLOWED);
	rl_close(rl);
}

/*
 * The row of a limit that is looked for in the next table is another's by then, which counts
 * networks.
 */
static void
test_another_limit(void **state)
{
	struct rl_resize r = {.keys = 200, .ring = 80}; /* of which limits are compiled anew */
	struct rl_sought k;
	struct rl *rl;

	(void)state;
	rl_unlink(test_segment_name());
	assert_int_equal(rl_open(test_segment_name(), &small, &rl), 0);
	test_rule(rl, "r", 5, RL_SECOND, 0, false);
	k = (struct rl_sought){.rl = rl, .limit = rl_handle_limit(rl, 0), .now_ns = T0};
	assert_non_null(k.limit);
	assert_int_equal(rl_resize(rl, &r, 0), 0);
	rl->segment.limits[0].identity.hi ^= RL_SLIDING_LOG;
	assert_int_equal(rl_migrate(&k), -EAGAIN);
	rl->segment.limits[0].identity.hi ^= RL_SLIDING_LOG;
	rl->segment.limits[0].identity.lo |= UINT64_C(24) << RL_IDENTITY_V4_SHIFT;
	assert_int_equal(rl_migrate(&k), -EAGAIN);
	rl->segment.limits[0].identity.lo ^= UINT64_C(24) << RL_IDENTITY_V4_SHIFT;
	assert_int_equal(rl_migrate(&k), 0);
	assert_true(k.rl != rl);
	rl_close(rl);
}

static uint32_t
ring_asked(struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	return info.ring_asked;
}

static struct rl_rule
window_of(uint32_t granularity)
{
	return (struct rl_rule){
		.name = "w",
		.limit = {.capacity = 5, .window_ns = 60 * RL_SECOND, .granularity = granularity}};
}

/*
 * A segment whose ring nobody has said: who needs more is refused, and says how much; a resize
 * gives it.
 */
static void
test_a_definition_asks_for_a_ring(void **state)
{
	const struct rl_options usual = {.keys = 100}, reads = {.flags = RL_OPEN_READONLY};
	struct rl_rule log = {.name = "log",
	                      .limit = {.algorithm = RL_SLIDING_LOG,
	                                .capacity = RL_LOG_MAX + 1,
	                                .window_ns = RL_SECOND}};
	struct rl_rule sixty = window_of(60), four = window_of(4);
	struct rl *rl, *reader;
	int fixed, window;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &usual, &rl), 0);
	assert_int_equal(rl_open(test_segment_name(), &reads, &reader), 0);
	fixed = test_rule(rl, "f", 5, 3600 * RL_SECOND, 0, false);
	spend(rl, fixed, "k", 3, RL_ALLOWED);
	assert_int_equal(ring_asked(rl), 0);
	assert_int_equal(rl_define(reader, &sixty), RL_ERING);
	assert_int_equal(ring_asked(rl), 0);
	assert_int_equal(rl_define(rl, &sixty), RL_ERING);
	assert_int_equal(ring_asked(reader), 60);
	assert_int_equal(rl_define(rl, &four), RL_ERING);
	assert_int_equal(rl_define(rl, &log), RL_ERING); /* no ring is that long */
	assert_int_equal(ring_asked(rl), 60);
	assert_int_equal(rl_find(rl, "w"), -ENOENT);
	assert_int_equal(resize(rl, 0, ring_asked(rl)), 0);
	window = rl_define(rl, &sixty);
	assert_true(window >= 0);
	spend(rl, window, "k", 5, RL_ALLOWED);
	spend(rl, window, "k", 1, RL_DENIED);
	spend(rl, fixed, "k", 2, RL_ALLOWED);
	spend(rl, fixed, "k", 1, RL_DENIED);
	assert_int_equal(move_all(rl, T0), 0);
	assert_int_equal(rl_move_end(rl), 1);
	spend(rl, window, "k", 1, RL_DENIED);
	spend(rl, fixed, "k", 1, RL_DENIED);
	rl_close(reader);
	rl_close(rl);
}

/*
 * In a segment that is damaged the ring of the new table may be the shorter one: nothing is stored
 * behind it.
 */
static void
test_a_shorter_ring(void **state)
{
	const struct rl_limiter from = {.algorithm = RL_IN_FLIGHT, .ring_entries = 4};
	const struct rl_limiter to = {.algorithm = RL_IN_FLIGHT, .ring_entries = 2};
	const uint64_t ring[4] = {0};
	const struct rl_view view = {.ring = ring};
	uint32_t place;
	uint64_t value;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(rl_carry_entry(&from, &to, &view, 0, i, &place, &value), i < 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_nobody_sees_a_difference, test_unlink),
		cmocka_unit_test_teardown(test_memory, test_unlink),
		cmocka_unit_test_teardown(test_pages, test_unlink),
		cmocka_unit_test_teardown(test_full_tables, test_unlink),
		cmocka_unit_test_teardown(test_a_table_half_made, test_unlink),
		cmocka_unit_test_teardown(test_errors, test_unlink),
		cmocka_unit_test_teardown(test_no_memory, test_unlink),
		cmocka_unit_test_teardown(test_other_handles, test_unlink),
		cmocka_unit_test_teardown(test_lists, test_unlink),
		cmocka_unit_test_teardown(test_no_room, test_unlink),
		cmocka_unit_test_teardown(test_torn_record, test_unlink),
		cmocka_unit_test_teardown(test_resets, test_unlink),
		cmocka_unit_test_teardown(test_refunds, test_unlink),
		cmocka_unit_test_teardown(test_a_charge_expects_no_zeros, test_unlink),
		cmocka_unit_test_teardown(test_a_full_log, test_unlink),
		cmocka_unit_test_teardown(test_a_claim_under_way, test_unlink),
		cmocka_unit_test_teardown(test_a_late_retirement, test_unlink),
		cmocka_unit_test_teardown(test_an_unmarked_key, test_unlink),
		cmocka_unit_test_teardown(test_a_seal, test_unlink),
		cmocka_unit_test_teardown(test_automatic_bans, test_unlink),
		cmocka_unit_test_teardown(test_another_limit, test_unlink),
		cmocka_unit_test_teardown(test_a_definition_asks_for_a_ring, test_unlink),
		cmocka_unit_test(test_a_shorter_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
