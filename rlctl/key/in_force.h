/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_IN_FORCE_H
#define RLCTL_IN_FORCE_H

/* What bans and overrides have in common, which list what stands for keys. */

#include <rl_admin.h>
#include <stdbool.h>

#include "base/command.h"
#include "base/output.h"
#include "key/active_bans.h"

/* How they are found, and how they, or one of them, are written. */
struct in_force {
	const char *name; /* of the list, in JSON */
	const char *tsv_head;
	struct active_bans (*collect)(const struct context *context, struct rl *rl, int rule);
	void (*head)(bool is_wide);
	void (*line)(struct rl *rl, const struct active_ban *one, uint64_t now_ns, bool is_wide,
	             size_t columns); /* 0 columns: as many as it takes */
	void (*tsv)(struct rl *rl, const struct active_ban *one);
	json_t *(*json)(struct rl *rl, const struct active_ban *one);
};

/* In the form that is asked for, under --rule or all. Returns what to exit with. */
int in_force_show(const struct context *context, const struct in_force *of);

/* Rule, pattern and reason, in so many columns; 0: as many as it takes. To be freed. */
char *in_force_tail(const char *rule, enum rl_match match, const struct key_view *key,
                    const char *reason, size_t columns);

#endif
