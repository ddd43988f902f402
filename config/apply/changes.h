/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_CHANGES_H
#define CONFIG_CHANGES_H

/* The changes of a configuration to the rules of a segment, in words. */

#include "model/config.h"
#include "read/sink.h"

/* A rule as it was before the segment was configured. */
struct before {
	struct rl_rule_info info; /* limit_count 0: nothing */
	uint64_t overrides_new;   /* what the file will make of its overrides */
	uint64_t overrides_changed;
	uint64_t overrides_gone;
};

/* To be asked before rl_configure(). */
struct before changes_look(struct rl *rl, const struct rl_config_rule *rule);

/* To be told after it, with what it said of the rule. */
void changes_report(const struct rl_config_rule *rule, const struct before *before,
                    unsigned effects, config_sink *sink, void *arg);

/*
 * Names of the rules that the segment has from an older file, and this one has no longer, the last
 * being "". To be asked before, too, and to be freed; NULL if there is no memory.
 */
struct rule_name {
	char text[RL_NAME_MAX + 1];
};
struct rule_name *changes_removed(struct rl *rl, const struct config *config);
void changes_report_removed(const struct rule_name *names, config_sink *sink, void *arg);

#endif
