/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_RULES_SEEN_H
#define CONFIG_RULES_SEEN_H

/*
 * What rules a segment has, kept to tell later what another process has changed. Of overrides only
 * their number is kept.
 */

#include "model/config.h"
#include "read/sink.h"

struct rule_seen {
	struct rl_rule_info info;
	uint64_t overrides;
};

struct rules_seen {
	uint64_t generation;
	struct rule_seen *rules; /* by id; NULL: there was no memory */
	uint32_t count;
};

/* Look, and forget what was seen before; rules_seen_free() forgets it for good. */
void rules_see(struct rules_seen *seen, struct rl *rl);
void rules_seen_free(struct rules_seen *seen);

/* Tell what is another than it was, as notes; and look. */
void rules_seen_report(struct rules_seen *seen, struct rl *rl, config_sink *sink, void *arg);

#endif
