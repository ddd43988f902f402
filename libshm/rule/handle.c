/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rl_admin.h"

/*
 * A limit that starts anew is compiled anew, and its earlier form is kept, some 150 bytes. Damage that
 * has a row start anew all the time must not fill the memory: so many at once, and then one in so
 * long, which is more than anybody configures.
 */
#define COMPILED_AT_ONCE (UINT64_C(1) << 19)
#define COMPILED_EACH (10 * RL_SECOND)

/* May one more be compiled? */
static bool
may_compile(const struct rl *rl)
{
	uint64_t now_ns = rl_now(rl), open_ns = now_ns > rl->opened_ns ? now_ns - rl->opened_ns : 0;

	return rl_atomic_load_relaxed(&rl->compiled) < COMPILED_AT_ONCE + open_ns / COMPILED_EACH;
}

/*
 * If another thread is quicker to publish its own, that is used. What it takes the place of others
 * may be using still: it stays until the end.
 */
const struct rl_compiled *
rl_handle_compile(struct rl *rl, int limit)
{
	struct rl_compiled *earlier = (struct rl_compiled *)rl_handle_known(rl, limit), *mine;

	if (limit < 0 || (uint32_t)limit >= rl->segment.geometry.limits || !may_compile(rl))
		return NULL;
	mine = malloc(sizeof *mine);
	if (mine && rl_rules_compile(&rl->segment, limit, mine)) {
		mine->earlier = earlier;
		if (rl_atomic_publish_pointer((void **)&rl->limits[limit], earlier, mine)) {
			rl_atomic_add(&rl->compiled, 1);
			return mine;
		}
	}
	free(mine);
	earlier = (struct rl_compiled *)rl_handle_known(rl, limit);
	return earlier && rl_compiled_holds(earlier) ? earlier : NULL;
}

int
rl_handle_no_limit(const struct rl *rl, int limit)
{
	struct rl_compiled compiled;

	return rl_rules_compile(&rl->segment, limit, &compiled) ? -ENOMEM : -EINVAL;
}

static int
adopt(struct rl_segment *segment, const char *name, struct rl **out)
{
	struct rl *rl = calloc(1, sizeof *rl);

	if (rl)
		rl->limits = calloc(segment->geometry.limits, sizeof *rl->limits);
	if (!rl || !rl->limits) {
		rl_segment_close(segment);
		free(rl);
		return -ENOMEM;
	}
	rl->segment = *segment;
	rl->opened_ns = rl_segment_now(segment);
	rl->lock = -1;
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

static void
forget_compiled(struct rl_compiled *limit)
{
	while (limit) {
		struct rl_compiled *earlier = limit->earlier;
		free(limit);
		limit = earlier;
	}
}

void
rl_close(struct rl *rl)
{
	if (!rl)
		return;
	for (uint32_t i = 0; i < rl->segment.geometry.limits; i++)
		forget_compiled(rl->limits[i]);
	free(rl->limits);
	if (rl->lock >= 0)
		close(rl->lock);
	rl_segment_close(&rl->segment);
	free(rl);
}

uint64_t
rl_now(const struct rl *rl)
{
	return rl_segment_now(&rl->segment);
}
