/* SPDX-License-Identifier: BSD-2-Clause */
#include "about.h"

#include <rl_admin.h>
#include <rl_fields.h>
#include <string.h>

#include "words.h"

const char *const rlb_sources[] = {"application", "configuration", "none", NULL};

#define FIELD(member, kind)                                      \
	{                                                        \
#member, kind, offsetof(struct rl_info, member), \
			sizeof(((struct rl_info *)0)->member)    \
	}

/* What a segment is beside its options. */
static const struct {
	const char *name;
	enum rlb_kind kind;
	size_t offset, size;
} fields[] = {
	FIELD(layout, RLB_INTEGER),         FIELD(bytes, RLB_INTEGER),
	FIELD(slots, RLB_INTEGER),          FIELD(rules_used, RLB_INTEGER),
	FIELD(limits, RLB_INTEGER),         FIELD(limits_used, RLB_INTEGER),
	FIELD(overrides_used, RLB_INTEGER), FIELD(holders_used, RLB_INTEGER),
	FIELD(created_ns, RLB_NS),          FIELD(generation, RLB_INTEGER),
	FIELD(heartbeat_ns, RLB_NS),        FIELD(sweeper, RLB_INTEGER),
	FIELD(owner, RLB_INTEGER),          FIELD(is_readonly, RLB_FLAG),
	FIELD(is_clustered, RLB_FLAG),      FIELD(huge_pages, RLB_FLAG),
};

static struct rlb_value
words_of(const char *words)
{
	return (struct rlb_value){.kind = RLB_WORDS, .words = words, .len = strlen(words)};
}

/* As it was made; 0 where it has none of it. */
static void
show_options(const struct rl_info *info, rlb_show *show, void *to)
{
	const struct rl_field *field;
	struct rl_options o;

	rl_info_options(info, &o);
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++) {
		if (field->none > 0 && rl_field_get(field, &o) == field->none)
			rl_field_set(field, &o, 0);
		if (!(field->marks & RL_FIELD_NOT_IN_BINDINGS))
			rlb_field_show(field, &o, show, to);
	}
}

void
rlb_info_show(struct rl *rl, rlb_show *show, void *to)
{
	struct rlb_value v;
	struct rl_info info;
	int64_t number;

	rl_info(rl, &info);
	v = words_of(info.name);
	show(to, "name", &v);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		number = 0;
		memcpy(&number, (const char *)&info + fields[i].offset, fields[i].size);
		if (fields[i].offset == offsetof(struct rl_info, sweeper))
			number = info.sweeper;
		v = (struct rlb_value){
			.kind = fields[i].kind, .integer = number, .ns = (uint64_t)number};
		show(to, fields[i].name, &v);
	}
	show_options(&info, show, to);
	v = (struct rlb_value){.kind = RLB_INTEGER, .integer = (int64_t)rl_fill(rl)};
	show(to, "slots_used", &v);
}

int
rlb_stats_show(struct rl *rl, int rule, rlb_show *show, void *to)
{
	uint64_t counters[RL_COUNTERS] = {0};
	struct rlb_value v = {.kind = RLB_INTEGER};
	int error = rl_stats(rl, rule, counters, RL_COUNTERS);

	for (int i = 0; error >= 0 && i < RL_COUNTERS && rl_counter_info(i); i++) {
		v.integer = (int64_t)counters[i];
		show(to, rl_counter_info(i)->name, &v);
	}
	return error < 0 ? error : 0;
}

int
rlb_is_rule(const struct rl_rule_info *info)
{
	return info->limit_count > 0 && info->source != RL_SOURCE_NONE &&
	       info->limits[0].algorithm != RL_COUNTER;
}

const char *
rlb_next_rule(struct rl *rl, uint32_t *row, struct rl_rule_info *info)
{
	struct rl_info all;

	rl_info(rl, &all);
	while (*row < all.rules)
		if (rl_rule_info(rl, (int)(*row)++, info) == 1 && info->name[0] &&
		    rlb_is_rule(info))
			return info->name;
	return NULL;
}
