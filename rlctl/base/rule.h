/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_RULE_H
#define RLCTL_RULE_H

#include <jansson.h>
#include <rl_admin.h>
#include <stdbool.h>

#include "base/command.h"

#define RULE_UNKNOWN (-2) /* neither a handle nor RL_ANY_RULE */

/* rl_rule_info(), but a rule whose name is damaged is called by its place: "#3". */
bool rule_read(struct rl *rl, int id, struct rl_rule_info *info);

/* The handle of a rule; RULE_UNKNOWN after a message. */
int rule_need(struct rl *rl, const char *name);

/* The same for --rule; RL_ANY_RULE if it was not given. */
int rule_option(struct rl *rl, const struct context *context);

/* "application", "configuration" or "removed". */
const char *source_name(enum rl_source source);

struct rule_text {
	char text[RL_NAME_MAX + 16];
};

/* A rule's name, printable; "any" for RL_ANY_RULE. */
struct rule_text rule_label(struct rl *rl, int rule);

/*
 * The name of a limit: the rule's, and behind it in brackets which of several it is, from 1:
 * "login", "api(2)"; "-" for a limit that is in no rule any more.
 */
struct rule_text limit_label(struct rl *rl, int rule, unsigned limit);

/* The rule's name, or null for one that is none. */
json_t *json_rule_name(struct rl *rl, int rule);

#endif
