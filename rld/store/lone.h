/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_LONE_H
#define RLD_STORE_LONE_H

/*
 * A store that is no cluster: one node, or a primary and its replicas, which are named in the
 * configuration or by Sentinels. Each round asks all of them what they are; role.h says whom to
 * use. Until that is known nobody is asked for anything.
 */

#include <stdint.h>

struct store;

/* Ask each node that was named what it is. */
void lone_begin(struct store *s, uint64_t now_ns);

/* Ask the Sentinels for the master, and that one then what it is. */
void lone_ask_sentinels(struct store *s, uint64_t now_ns);

/* Who was asked takes no writes any more, or may be another than before. */
void lone_leave(struct store *s);

#endif
