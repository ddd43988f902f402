/* SPDX-License-Identifier: BSD-2-Clause */
#include "handle.h"

#include <stdlib.h>
#include <string.h>

#include "rl_admin.h"

/* Compile it and publish it to the other threads; if one of them was quicker, use its own. */
static const struct rl_compiled *
compile(struct rl *rl, int id)
{
	void **place = (void **)&rl->rules[id];
	struct rl_compiled *mine = malloc(sizeof *mine);

	if (mine && rl_rules_compile(&rl->segment, id, mine) &&
	    rl_atomic_publish_pointer(place, mine))
		return mine;
	free(mine);
	return rl_atomic_load_pointer(place);
}

const struct rl_compiled *
rl_handle_rule(struct rl *rl, int id)
{
	const struct rl_compiled *rule;

	if (id < 0 || (uint32_t)id >= rl->segment.geometry.rules)
		return NULL;
	rule = rl_atomic_load_pointer((void *const *)&rl->rules[id]);
	return rule ? rule : compile(rl, id);
}

int
rl_handle_no_rule(const struct rl *rl, int id)
{
	struct rl_compiled compiled;

	return rl_rules_compile(&rl->segment, id, &compiled) ? -ENOMEM : -EINVAL;
}

static int
adopt(struct rl_segment *segment, const char *name, struct rl **out)
{
	struct rl *rl = calloc(1, sizeof *rl);

	if (rl)
		rl->rules = calloc(segment->geometry.rules, sizeof *rl->rules);
	if (!rl || !rl->rules) {
		rl_segment_close(segment);
		free(rl);
		return -ENOMEM;
	}
	rl->segment = *segment;
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
	error = rl_segment_open(name, options ? options : &defaults, &segment);
	return error < 0 ? error : adopt(&segment, name ? name : "default", out);
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
	for (uint32_t i = 0; i < rl->segment.geometry.rules; i++)
		free(rl->rules[i]);
	free(rl->rules);
	rl_segment_close(&rl->segment);
	free(rl);
}

int
rl_define(struct rl *rl, const struct rl_rule *rule)
{
	int id = rl_rules_define(&rl->segment, rule);

	if (id >= 0 && !rl_handle_rule(rl, id))
		return -ENOMEM;
	return id;
}

int
rl_find(struct rl *rl, const char *name)
{
	return rl_rules_find(&rl->segment, name);
}

uint64_t
rl_now(const struct rl *rl)
{
	return rl_segment_now(&rl->segment);
}
