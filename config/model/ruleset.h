/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_RULESET_H
#define CONFIG_RULESET_H

/* The file's rules, those that it names and the one that "keys" amounts to. */

#include "model/overrides.h"

/* Room for `count` rules; false if there is no memory, which is reported. */
bool rules_room(struct reader *reader, struct config *config, size_t count);

/* A new rule, its overrides to be filled in. */
struct rl_config_rule *rules_add(struct reader *reader, struct config *config, const char *name,
                                 uint32_t token);

/* Give it limits, which are copied, and overrides, which become its own. */
void rules_finish(struct reader *reader, struct config *config, struct rl_config_rule *rule,
                  const struct rl_limit *limits, size_t count, struct override_list *list);

/* Read the object of rules. */
void read_rules(struct reader *reader, struct node map, struct config *config);

/*
 * {"user:241531": {"time_window_sec": 1, "capacity": 5}}: keys that have their limit to themselves.
 * They become one rule, KEYS_RULE. It has a limit for each window among them, of which a key's
 * own is its override; all others are unlimited.
 */
#define KEYS_RULE "keys"
void read_keys(struct reader *reader, struct node map, struct config *config);

#endif
