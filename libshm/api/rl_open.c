/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decide/prefetch.h"
#include "holder/holder.h"
#include "move/follow.h"
#include "rule/cached.h"

static void
free_private(struct rl *rl)
{
	if (!rl)
		return;
	if (rl->handle) {
		rl_holders_free(rl->handle->holders);
		rl_prefetch_free(rl->handle->prefetched);
		rl_cached_free(rl->handle);
	}
	free(rl->handle);
	free(rl);
}

static struct rl *
make(const char *name)
{
	struct rl *rl = calloc(1, sizeof *rl);

	if (rl)
		rl->handle = calloc(1, sizeof *rl->handle);
	if (!rl || !rl->handle) {
		free_private(rl);
		return NULL;
	}
	memcpy(rl->handle->name, name, strnlen(name, RL_NAME_MAX));
	rl->handle->first = rl;
	rl->handle->newest = rl;
	rl->handle->lock = -1;
	rl->segment.origin = &rl->handle->origin;
	rl->here = rl;
	return rl;
}

/* Of a segment that is attached to, or was not: `error`. */
static int
finish(struct rl *rl, int error, struct rl **out)
{
	struct rl_segment *s = &rl->segment;
	struct rl_handle *h = rl->handle;

	if (error == 0) {
		h->holders = rl_holders_make(s->holders, s->geometry.holders, s->is_writable);
		h->prefetched = s->is_writable ? rl_prefetch_make() : NULL;
		h->opened_ns = rl_segment_now(s);
		error = h->holders ? rl_cached_get(rl) : -ENOMEM;
		if (error < 0)
			rl_segment_close(s);
	}
	if (error < 0)
		free_private(rl);
	else
		*out = rl;
	return error;
}

int
rl_open(const char *name, const struct rl_options *options, struct rl **out)
{
	static const struct rl_options defaults;
	struct rl *rl;

	*out = NULL;
	if (!name)
		name = "default";
	rl = make(name);
	if (!rl)
		return -ENOMEM;
	return finish(rl, rl_segment_open(name, options ? options : &defaults, &rl->segment), out);
}

int
rl_open_private(const struct rl_options *options, struct rl **out)
{
	static const struct rl_options defaults;
	struct rl *rl = make("");

	*out = NULL;
	if (!rl)
		return -ENOMEM;
	return finish(rl, rl_segment_private(options ? options : &defaults, &rl->segment), out);
}

void
rl_close(struct rl *rl)
{
	struct rl_segment segment;

	if (!rl)
		return;
	rl_prefetch_return(rl);
	rl_follow_no_more(rl);
	if (rl->handle->lock >= 0)
		close(rl->handle->lock);
	segment = rl->segment;
	free_private(rl); /* which gives up its seat in the segment */
	rl_segment_close(&segment);
}

uint64_t
rl_now(const struct rl *rl)
{
	return rl_segment_now(&rl->segment);
}
