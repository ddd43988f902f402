/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_OVERRIDE_VIEW_H
#define RLCTL_OVERRIDE_VIEW_H

/* Which overrides of the configuration a key falls under. */

#include <rl_admin.h>
#include <stdio.h>

#include "base/output.h"

#define OVERRIDES_MAX 8 /* shown of one key */

struct override {
	enum rl_match match;
	char text[RL_KEY_MAX + 1]; /* of the pattern, `len` bytes */
	size_t len;
	enum rl_override_kind kind;
	uint32_t capacity[RL_LIMITS_MAX];
};

struct overrides {
	size_t count;
	struct override items[OVERRIDES_MAX];
};

/* The one for the key itself first, then networks and prefixes, the longest of each first. */
void overrides_find(struct rl *rl, int rule, const struct key_view *key, struct overrides *found);

/* "override of network 192.0.2.0/24: capacity 5, 10". `limits` is how many the rule has. */
void override_print(FILE *out, const struct override *override, unsigned limits);
json_t *override_json(const struct override *override, unsigned limits);

#endif
