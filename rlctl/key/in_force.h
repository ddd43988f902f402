/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_IN_FORCE_H
#define RLCTL_IN_FORCE_H

/* What bans and overrides have in common, which list what stands for keys. */

#include <rl_admin.h>
#include <stdbool.h>

#include "base/command.h"
#include "base/output.h"

/* A list, of whatever type, and how it is made and written. */
struct in_force {
	void *list;
	void (*collect)(const struct context *context, struct rl *rl, int rule, void *list);
	void (*text)(struct rl *rl, const void *list, bool is_wide, bool has_head);
	void (*names)(const void *list, bool is_null);
	void (*tsv)(struct rl *rl, const void *list, bool has_head);
	json_t *(*json)(struct rl *rl, const void *list);
};

/* In the form that is asked for, under --rule or all. Returns what to exit with. */
int in_force_show(const struct context *context, const struct in_force *of);

/* Rule, pattern and reason, in so many columns; 0: as many as it takes. To be freed. */
char *in_force_tail(const char *rule, enum rl_match match, const struct key_view *key,
                    const char *reason, size_t columns);

/* As a word of a shell on a line of its own, or as it is with a NUL. */
void in_force_name(const void *text, size_t len, bool is_null);

#endif
