/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_MODEL_H
#define CONFIG_MODEL_H

/* A configuration in memory. */

#include <rl_admin.h>
#include <stdbool.h>

struct config_source;

/* A file as it was read, with every default filled in. */
struct config {
	char *path;
	char name[RL_NAME_MAX + 1]; /* of the segment */
	struct rl_options options;  /* to create it with: 0 where the file says nothing */
	char *group;                /* its group's name, or NULL; options.group is looked up */
	uint64_t gc_interval_ns;    /* rld: aims to sweep every slot once in this time */
	struct rl_config_rule *rules;
	size_t rule_count;
	struct config_source *source; /* where in the file each thing stands; private to config */
};

/* An empty one that is named after its file; NULL: no memory. */
struct config *config_create(const char *path);
void config_free(struct config *config);

/* The options a segment is created with: the file's, and defaults where it has none. */
struct rl_options config_options(const struct config *config);

/* Its key_bytes as the file has it: 0 if no names are kept. */
uint32_t config_key_bytes(const struct config *config);

/* Limit number `i` of a rule, and how many it has. */
const struct rl_limit *config_limit(const struct rl_rule *rule, size_t i);
size_t config_limit_count(const struct rl_rule *rule);

bool config_has_rule(const struct config *config, const char *name);

#endif
