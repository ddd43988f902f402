/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_MOVES_H
#define RL_MOVES_H

/*
 * Tables that change beneath chosen schedules: behind schedule.h, for one file of a program. A
 * resize is made at once, for processes take turns at it by a lock, and it comes into force by one
 * CAS. All else is interleaved, and killed.
 */
#include <string.h>
#include <unistd.h>

#include "move/follow.h"

static uint64_t resizes; /* that were made, in all runs */

/* As a process that has just attached. */
static void
forget_tables(struct rl *rl)
{
	rl_follow_no_more(rl);
	rl->here = rl->handle->newest = rl;
	rl->handle->mapped = 0;
}

/* An empty table, the first. Whoever has a handle has just attached. */
static void
empty_tables(struct rl *const *handles, int count)
{
	const struct rl_segment *s = &handles[0]->segment;

	for (int i = 0; i < count; i++)
		forget_tables(handles[i]);
	memset(s->table.bucket, 0,
	       s->bytes - (size_t)((unsigned char *)s->table.bucket - (unsigned char *)s->header));
	memset(&s->header->tables, 0, sizeof s->header->tables);
	assert_int_equal(truncate(s->origin->path.text, (off_t)s->bytes), 0);
}

/* To another size, or the same. */
static void
resize(struct rl *rl)
{
	struct rl_resize to = {.keys = 12 + (uint32_t)test_below(&seed, 30)};
	int worker = current;

	current = -1; /* nobody is handed over to */
	resizes += rl_resize(rl, &to, 0) == 0;
	current = worker;
}

static void
move_all(struct rl *rl, uint64_t now_ns)
{
	struct rl_moving moving = {0};
	struct rl_info info;

	rl_info(rl, &info);
	if (info.slots_before > 0)
		assert_true(rl_move_slots_at(rl, 0, info.slots_before, now_ns, &moving) >= 0);
}

/* A new process. One that is killed would leave a mapping and a descriptor to this one. */
static inline void
attach(void)
{
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &rl), 0);
	rl_close(rl);
}

/* What a worker does to tables before an operation: often nothing. */
static inline void
change_tables(struct rl *rl, uint64_t now_ns)
{
	switch (test_below(&seed, 7)) {
	case 0:
		resize(rl);
		break;
	case 1:
		move_all(rl, now_ns);
		break;
	case 2:
		assert_true(rl_move_end(rl) >= 0);
		break;
	case 3:
		rl_sweep_at(rl, now_ns);
		break;
	case 4:
		if (!kills)
			attach();
		break;
	default:
		break;
	}
}

#endif
