/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decide/ahead.h"
#include "holder/holder.h"
#include "move/follow.h"
#include "rule/policy.h"

static void
free_private(struct rl *rl)
{
	if (rl) {
		free(rl->limits);
		free(rl->policies);
		rl_holders_free(rl->holders);
		rl_ahead_free(rl->ahead);
	}
	free(rl);
}

static int
adopt(struct rl_segment *segment, const char *name, struct rl **out)
{
	struct rl *rl = calloc(1, sizeof *rl);

	if (rl) {
		rl->limits = calloc(segment->geometry.limits, sizeof *rl->limits);
		rl->policies = calloc(segment->geometry.rules, sizeof *rl->policies);
		rl->holders = rl_holders_make(segment->holders, segment->geometry.holders,
		                              segment->is_writable);
	}
	if (!rl || !rl->limits || !rl->policies || !rl->holders) {
		free_private(rl);
		rl_segment_close(segment);
		return -ENOMEM;
	}
	rl->segment = *segment;
	rl->ahead = segment->is_writable ? rl_ahead_make() : NULL;
	rl->opened_ns = rl_segment_now(segment);
	rl->lock = -1;
	rl->first = rl;
	rl->here = rl;
	rl->newest = rl;
	memcpy(rl->name, name, strlen(name));
	*out = rl;
	return 0;
}

int
rl_open(const char *name, const struct rl_options *options, struct rl **out)
{
	static const struct rl_options defaults;
	struct rl_segment segment;
	int error;

	*out = NULL;
	if (!name)
		name = "default";
	error = rl_segment_open(name, options ? options : &defaults, &segment);
	return error < 0 ? error : adopt(&segment, name, out);
}

int
rl_open_private(const struct rl_options *options, struct rl **out)
{
	static const struct rl_options defaults;
	struct rl_segment segment;
	int error;

	*out = NULL;
	error = rl_segment_private(options ? options : &defaults, &segment);
	return error < 0 ? error : adopt(&segment, "", out);
}

void
rl_close(struct rl *rl)
{
	struct rl_segment segment;

	if (!rl)
		return;
	rl_give_back(rl);
	rl_follow_no_more(rl);
	for (uint32_t i = 0; i < rl->segment.geometry.limits; i++)
		rl_handle_forget(rl->limits[i]);
	if (rl->lock >= 0)
		close(rl->lock);
	segment = rl->segment;
	free_private(rl); /* which gives up its seat in the segment */
	rl_segment_close(&segment);
}

uint64_t
rl_now(const struct rl *rl)
{
	return rl_segment_now(&rl->segment);
}
