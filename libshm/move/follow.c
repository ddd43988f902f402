/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The struct rls of a handle form a list, the newest table first. It only grows, at its front, by
 * the CAS of a pointer: of threads that follow at the same time one wins, and the others undo what
 * they made.
 *
 * Nobody knows whether a thread is in a struct rl still, so each is kept until the end: some 500
 * bytes for a table. Its view of the file goes when two newer tables are known, and zeros take its
 * place: see "What a resize leaves" in docs/PROTOCOL.md.
 */
#include "move/follow.h"

#include <errno.h>
#include <stdlib.h>

#include "rule/cached.h"
#include "segment/table_map.h"
#include "segment/tables.h"

/*
 * Tables that a handle has mapped at most. Two are in use; more are only what nobody knows to be
 * left: of a segment that says it went back, or where the kernel has no zeros to give. A process
 * may have some 65,000 mappings in all.
 */
#define MAPPED_MAX 4096

static void
free_one(struct rl *rl)
{
	if (rl)
		rl_tables_unmap(&rl->segment);
	free(rl);
}

static struct rl *
newest(struct rl *first)
{
	return rl_atomic_load_pointer(&first->handle->newest);
}

/* 0 or -errno. */
static int
fill(struct rl *rl, uint64_t number)
{
	struct rl_handle *h = rl->handle;
	int error;

	if (!rl_cached_may_be(h, sizeof *rl) || rl_atomic_load_relaxed(&h->mapped) >= MAPPED_MAX)
		return -ENOMEM;
	error = rl_tables_map(&h->first->segment, h->name, number, &newest(h->first)->segment,
	                      &h->next_map, &rl->segment);
	return error < 0 ? error : rl_cached_get(rl);
}

/* NULL: it cannot be had. */
static struct rl *
make(struct rl *first, uint64_t number)
{
	struct rl *rl = calloc(1, sizeof *rl);
	int error = -ENOMEM;

	if (rl) {
		rl->handle = first->handle;
		rl->here = rl;
		error = fill(rl, number);
	}
	if (error == 0)
		return rl;
	rl_atomic_own_store(&first->handle->unfollowed, (uint64_t)-error);
	free_one(rl);
	return NULL;
}

/* Of that table, if it has been followed to; from `rl` on, which was the newest. */
static struct rl *
known(struct rl *rl, uint64_t number)
{
	struct rl *first = rl->handle->first;

	for (; rl != first; rl = rl->older)
		if (rl->segment.table.number == number)
			return rl;
	return number == 0 ? first : NULL;
}

/* In front of the list, unless another thread was quicker. */
static struct rl *
publish(struct rl *first, struct rl *rl)
{
	struct rl *other;

	do {
		rl->older = newest(first);
		other = known(rl->older, rl->segment.table.number);
		if (other) {
			free_one(rl);
			return other;
		}
	} while (!rl_atomic_publish_pointer(&first->handle->newest, rl->older, rl));
	rl_atomic_add(&first->handle->followed, sizeof *rl);
	rl_atomic_add(&first->handle->mapped, 1);
	return rl;
}

static struct rl *
get(struct rl *first, uint64_t number)
{
	struct rl *rl = known(newest(first), number);

	if (rl)
		return rl;
	rl = make(first, number);
	return rl ? publish(first, rl) : known(newest(first), number);
}

/* The tables before the two that may be in use. */
static void
leave(struct rl *first, uint64_t now)
{
	for (struct rl *rl = newest(first); rl != first; rl = rl->older)
		if (rl->segment.table.number + 1 < now && rl_tables_leave(&rl->segment))
			rl_atomic_add(&first->handle->mapped, UINT64_MAX); /* one fewer */
}

struct rl *
rl_follow(struct rl *first)
{
	struct rl *here = rl_atomic_load_pointer(&first->here), *next;
	uint64_t now = rl_tables_now(&first->segment);

	next = get(first, now);
	if (!next)
		return here;
	rl_atomic_own_store(&first->handle->unfollowed, 0);
	if (next == here)
		return here;
	rl_atomic_publish_pointer(&first->here, here, next);
	leave(first, now);
	return next;
}

struct rl *
rl_before(struct rl *rl)
{
	uint64_t number = rl->segment.table.number;

	if (number == 0 || !rl_table_is_filling(&rl->segment.table))
		return NULL;
	return get(rl->handle->first, number - 1);
}

struct rl *
rl_followed(struct rl *rl, uint64_t number)
{
	return get(rl->handle->first, number);
}

int
rl_follow_failed(const struct rl *rl)
{
	uint64_t error = rl_atomic_own_load(&rl->handle->unfollowed);

	return error > 0 ? -(int)error : -EAGAIN;
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
