/* SPDX-License-Identifier: BSD-2-Clause */
#include "handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rl_admin.h"

/* If another thread is quicker to publish its own, that is used. */
const struct rl_compiled *
rl_handle_compile(struct rl *rl, int limit)
{
	void **place = (void **)&rl->limits[limit];
	struct rl_compiled *mine = malloc(sizeof *mine);

	if (mine && rl_rules_compile(&rl->segment, limit, mine) &&
	    rl_atomic_publish_pointer(place, mine))
		return mine;
	free(mine);
	return rl_atomic_load_pointer(place);
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

void
rl_close(struct rl *rl)
{
	if (!rl)
		return;
	for (uint32_t i = 0; i < rl->segment.geometry.limits; i++)
		free(rl->limits[i]);
	free(rl->limits);
	if (rl->lock >= 0)
		close(rl->lock);
	rl_segment_close(&rl->segment);
	free(rl);
}

/* Nothing is undone on failure: rows without references to them are nobody's limits. */
int
rl_define(struct rl *rl, const struct rl_rule *rule)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_refs refs;
	size_t fault;
	int id, error = rl_rules_check(s, rule, &fault);

	if (error == 0 && !s->is_writable)
		error = -EROFS;
	id = error == 0 ? rl_rules_append(s, rule->name) : error;
	if (id < 0)
		return id;
	error = rl_rules_limits(s, id, rule, true, &refs);
	if (error < 0)
		return error;
	for (unsigned i = 0; i < refs.count && error == 0; i++) {
		struct rl_limit l = rl_rules_limit(rule, i);
		error = rl_rules_set_quota(s, refs.limit[i], RL_OWN, &l);
		if (error == 0 && !rl_handle_limit(rl, refs.limit[i]))
			error = -ENOMEM;
	}
	if (error == 0) /* last: a rule without any is not found */
		error = rl_rules_set_refs(s, id, RL_OWN, &refs);
	return error < 0 ? error : id;
}

int
rl_find(struct rl *rl, const char *name)
{
	const struct rl_segment *s = &rl->segment;
	int id = rl_rules_seek(s, name);
	struct rl_refs refs;

	if (id < 0)
		return id;
	return rl_rules_now(s, id, &refs) == RL_HALVES ? -ENOENT : id;
}

uint64_t
rl_now(const struct rl *rl)
{
	return rl_segment_now(&rl->segment);
}
