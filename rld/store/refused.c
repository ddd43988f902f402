/* SPDX-License-Identifier: BSD-2-Clause */
#include "refused.h"

#include <stdio.h>

#include "nodes.h"

#define WELL_AFTER (5 * RL_SECOND)

/* A cluster that mends itself says it a hundred times. */
void
refused_tell(struct store *s, const struct connection *c, const struct store_value *v,
             uint64_t now_ns)
{
	char address[STORE_ADDRESS_MAX], text[200];

	if (store_is_error(v, "TRYAGAIN") || store_is_error(v, "MOVED") || store_is_error(v, "ASK"))
		return;
	address_text(&c->address, address);
	snprintf(text, sizeof text, "store %.60s: %.120s", address, v->text);
	s->refused_ns = now_ns;
	nodes_tell(s, &s->is_refusing, true, text);
}

void
refused_answered(struct store *s, uint64_t now_ns)
{
	if (s->is_refusing && now_ns - s->refused_ns > WELL_AFTER)
		nodes_tell(s, &s->is_refusing, false, "store: it answers all questions again");
}
