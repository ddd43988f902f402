/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RULE_ROW_H
#define RL_RULE_ROW_H

/*
 * The row of a rule: its name, by which it is found, and its flags. A parameter that is called
 * `row` is an index alone: of whatever rule is there now.
 */

#include "segment/segment.h"
#include "shared/layout_rows.h"

#define RL_RULES_TRIES 1000 /* to read what is being configured, or to change a word */

static inline int
rl_rule_row(int handle)
{
	return handle & RL_RULE_INDEX_MASK;
}

static inline uint64_t
rl_rule_incarnation(int handle)
{
	return (uint64_t)(unsigned)handle >> RL_RULE_INDEX_BITS;
}

/* What lists of the rule's limits have above the references. */
static inline uint64_t
rl_rule_refs_tag(int handle)
{
	return rl_rule_incarnation(handle) << RL_REFS_INCARNATION_SHIFT;
}

/* Are they the flags of the rule's row, while it is the rule's? */
static inline bool
rl_rule_has_flags(int handle, uint64_t flags)
{
	return rl_row_incarnation(flags) == rl_rule_incarnation(handle);
}

static inline int
rl_rule_handle(int row, uint64_t flags)
{
	return row | (int)(rl_row_incarnation(flags) << RL_RULE_INDEX_BITS);
}

/* The hash that identifies a name. Never 0. */
uint64_t rl_rules_name_hash(const struct rl_segment *s, const char *name);

/* The rule of that name, appended if need be, or -EINVAL, RL_ERULES. See rl_names_take(). */
int rl_rules_append(const struct rl_segment *s, const char *name);

/* The rule of that name, or -ENOENT. It may have no limits. */
int rl_rules_seek(const struct rl_segment *s, const char *name);

/* Store the name, for people, of the rule that has the row. */
void rl_rules_write_name(const struct rl_segment *s, int row, const char *name);

static inline const struct rl_row *
rl_rules_at(const struct rl_segment *s, int rule)
{
	return &s->rows[rl_rule_row(rule)];
}

/* Was the rule there once? Its row may be another's by now. */
static inline bool
rl_rules_had(const struct rl_segment *s, int rule)
{
	return rule >= 0 && (uint32_t)rl_rule_row(rule) < s->geometry.rules &&
	       rl_atomic_load_relaxed(&rl_rules_at(s, rule)->name_hash) != 0;
}

/* Is it there? */
static inline bool
rl_rules_has(const struct rl_segment *s, int rule)
{
	return rl_rules_had(s, rule) &&
	       rl_rule_has_flags(rule, rl_atomic_load(&rl_rules_at(s, rule)->flags));
}

/* The rule that has the row now. */
static inline int
rl_rules_handle(const struct rl_segment *s, int row)
{
	return rl_rule_handle(row, rl_atomic_load(&s->rows[row].flags));
}

/* Change flags of a rule that is there still. 0, -EAGAIN if it is not, -EBUSY. */
int rl_rules_set_flags(const struct rl_segment *s, int rule, uint64_t flags, bool is_set);

/* The rule's name, or "" when its record is damaged. */
void rl_rules_name(const struct rl_segment *s, int rule, char name[static RL_NAME_MAX + 1]);

bool rl_rules_name_is_valid(const char *name);
bool rl_rules_name_has(char byte); /* may it be in one? */

#endif
