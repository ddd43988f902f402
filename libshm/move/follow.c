/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The struct rls of a handle form a list, the newest table first. It only grows, at its front, by the CAS of a pointer: of
 * threads that follow at the same time one wins, and the others undo what they made.
 */
#include "move/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rule/policy.h"
#include "segment/tables.h"

static void
free_one(struct rl *rl)
{
	if (!rl)
		return;
	for (uint32_t i = 0; rl->limits && i < rl->segment.geometry.limits; i++)
		rl_handle_forget(rl->limits[i]);
	free(rl->limits);
	free(rl->policies);
	rl_tables_unmap(&rl->segment);
	free(rl);
}

static struct rl *
newest(struct rl *first)
{
	return rl_atomic_load_pointer(&first->newest);
}

/* NULL: it cannot be had. */
static struct rl *
make(struct rl *first, uint64_t number)
{
	struct rl *rl = calloc(1, sizeof *rl);
	const struct rl_geometry *g = &first->segment.geometry;
	int error;

	rl_atomic_own_store(&first->unfollowed, ENOMEM);
	if (!rl)
		return NULL;
	error = rl_tables_map(&first->segment, first->name, number, &newest(first)->segment,
	                      &rl->segment);
	if (error < 0) {
		rl_atomic_own_store(&first->unfollowed, (uint64_t)-error);
		free(rl);
		return NULL;
	}
	rl->limits = calloc(g->limits, sizeof *rl->limits);
	rl->policies = calloc(g->rules, sizeof *rl->policies);
	if (!rl->limits || !rl->policies) {
		free_one(rl);
		return NULL;
	}
	rl->ahead = first->ahead;
	rl->holders = first->holders;
	rl->opened_ns = rl_segment_now(&rl->segment);
	rl->lock = -1;
	memcpy(rl->name, first->name, sizeof rl->name);
	rl->first = first;
	rl->here = rl;
	return rl;
}

/* Of that table, if it has been followed to. */
static struct rl *
known(struct rl *first, uint64_t number)
{
	for (struct rl *rl = newest(first); rl != first; rl = rl->older)
		if (rl->segment.table.number == number)
			return rl;
	return number == 0 ? first : NULL;
}

static struct rl *
get(struct rl *first, uint64_t number)
{
	struct rl *rl = known(first, number), *front;

	if (rl)
		return rl;
	rl = make(first, number);
	while (rl) {
		front = newest(first);
		rl->older = front;
		if (rl_atomic_publish_pointer(&first->newest, front, rl))
			return rl;
		if (known(first, number))
			break;
	}
	free_one(rl);
	return known(first, number);
}

struct rl *
rl_follow(struct rl *first)
{
	struct rl *here = rl_atomic_load_pointer(&first->here), *next;

	next = get(first, rl_tables_now(&first->segment));
	if (!next || next == here)
		return here;
	rl_atomic_publish_pointer(&first->here, here, next);
	return next;
}

struct rl *
rl_before(struct rl *rl)
{
	uint64_t number = rl->segment.table.number;

	if (number == 0 || !rl_table_is_filling(&rl->segment.table))
		return NULL;
	return get(rl->first, number - 1);
}

struct rl *
rl_followed(struct rl *rl, uint64_t number)
{
	return get(rl->first, number);
}

int
rl_follow_failed(const struct rl *rl)
{
	return -(int)rl_atomic_own_load(&rl->first->unfollowed);
}

void
rl_follow_no_more(struct rl *first)
{
	struct rl *rl = newest(first);

	while (rl != first) {
		struct rl *older = rl->older;
		free_one(rl);
		rl = older;
	}
}
