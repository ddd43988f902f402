/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_APACHE_STORE_H
#define RL_APACHE_STORE_H

/*
 * The segment, as this process has it open.
 *
 * The parent opens it each time it has read the configuration, and its children inherit that. Once
 * a second each child looks whether the segment is still the one that has the name, and whether all
 * rules are there. If not it opens anew, or defines and finds the rules again. So it gets over a
 * segment that is missing, is somebody else's or is made anew, without a restart.
 *
 * Requests that are being decided, and those that hold units, refer to the segment they began with:
 * the old one is closed after the last of them.
 */

#include "conf.h"

#include <apr_time.h>

struct store;

/*
 * Open in the parent, after the configuration was read. The server starts without, too, and says
 * so.
 */
void store_start(apr_pool_t *pconf);

/* Called by a child when it begins, and before it ends. */
void store_child(apr_pool_t *pchild);

/*
 * The segment to ask at that time, referred to until store_leave(); or NULL, and *error says why.
 */
struct store *store_enter(apr_time_t now, int *error);
void store_leave(struct store *store);
void store_again(struct store *store); /* one more reference */

struct rl *store_segment(const struct store *store);

/* The rule's handle in this segment, or a negative error. */
int store_rule(const struct store *store, const struct rule *rule);

/* The handle limits nothing any more: look for the rule again within a second. */
void store_forget_rule(struct store *store, const struct rule *rule);

#endif
