/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_REFUSED_H
#define RLD_STORE_REFUSED_H

/* What a node answers in place of an answer: told once, until nobody has refused for a while. */

#include <stdint.h>

struct store;
struct connection;
struct store_value;

void refused_tell(struct store *s, const struct connection *c, const struct store_value *v,
                  uint64_t now_ns);

/* A question was answered. */
void refused_answered(struct store *s, uint64_t now_ns);

#endif
