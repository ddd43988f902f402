/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SOURCE_H
#define CONFIG_SOURCE_H

/* A file's text, and where in it each thing stands. Kept as long as the configuration: keys of
 * overrides point into it, and what the segment refuses is told by its place. */

#include "text/tokens.h"

/* What a file says of the segment: the options of rl_option_fields.def, and what else there is. */
enum segment_id {
#define RL_OPTION_FIELD(name, ...) SEGMENT_##name,
#include <rl_option_fields.def>
#undef RL_OPTION_FIELD
	SEGMENT_OPTIONS, /* so many of the list */
	SEGMENT_NAME = SEGMENT_OPTIONS,
	SEGMENT_KEYS_MOST,
	SEGMENT_HUGE_PAGES,
	SEGMENT_IDS
};

struct config_source {
	char *text;
	size_t len;
	struct tokens tokens;
	uint32_t segment[SEGMENT_IDS]; /* by field; 0 where the file says nothing */
	uint32_t *rules;               /* by rule */
	uint32_t **overrides;          /* by rule and override */
	char **keys;                   /* names that stand in the text with escapes */
	size_t key_count, key_room;
};

void source_free(struct config_source *source, size_t rule_count);

#endif
