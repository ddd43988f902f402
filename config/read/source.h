/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SOURCE_H
#define CONFIG_SOURCE_H

/* A file's text, and where in it each thing stands. Kept as long as the configuration: keys of
 * overrides point into it, and what the segment refuses is told by its place. */

#include "text/tokens.h"

/* The fields of the segment in a file, in their order. */
enum segment_id {
	SEGMENT_NAME,
	SEGMENT_KEYS,
	SEGMENT_KEYS_MOST,
	SEGMENT_MODE,
	SEGMENT_GROUP,
	SEGMENT_KEY_BYTES,
	SEGMENT_RING,
	SEGMENT_RULES,
	SEGMENT_OVERRIDES,
	SEGMENT_BANS,
	SEGMENT_HOLDERS,
	SEGMENT_EVENTS,
	SEGMENT_ON_FULL,
	SEGMENT_CELLS,
	SEGMENT_RESERVES,
	SEGMENT_HUGE_PAGES,
	SEGMENT_BUFFER,
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
