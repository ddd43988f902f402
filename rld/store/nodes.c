/* SPDX-License-Identifier: BSD-2-Clause */
#include "nodes.h"

#include <stdlib.h>

struct node *
nodes_add(struct store *s, const struct store_address *a)
{
	struct node *n;

	if (s->node_count == MAP_NODES_MAX)
		return NULL;
	n = calloc(1, sizeof *n);
	if (!n)
		return NULL;
	s->random = s->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	connection_init(&n->c, &s->options, s->epoll, s->tls, a, s->random >> 11);
	s->nodes[s->node_count++] = n;
	return n;
}

uint16_t
nodes_number_of(void *arg, const struct store_address *a)
{
	struct store *s = arg;

	for (unsigned i = 0; i < s->node_count; i++)
		if (address_is_same(&s->nodes[i]->c.address, a))
			return (uint16_t)i;
	return nodes_add(s, a) ? (uint16_t)(s->node_count - 1) : MAP_NOBODY;
}

static bool
is_owner(const struct store *s, unsigned node)
{
	for (unsigned i = 0; i < STORE_SLOTS; i++)
		if (s->map.owner[i] == node)
			return true;
	return false;
}

bool
nodes_are_whole(const struct store *s)
{
	uint16_t last = MAP_NOBODY;

	for (unsigned i = 0; i < STORE_SLOTS; i++) {
		uint16_t owner = s->map.owner[i];

		if (owner == MAP_NOBODY || (owner != last && !s->nodes[owner]->c.is_ready))
			return false;
		last = owner;
	}
	return true;
}

/* Once all slots have an owner who answers, nobody else needs a connection. */
void
nodes_choose_wanted(struct store *s)
{
	bool is_whole = s->is_known && nodes_are_whole(s);

	for (unsigned i = 0; i < s->node_count; i++) {
		struct node *n = s->nodes[i];

		n->c.is_wanted = is_owner(s, i) || n->is_named ||
		                 (n->is_seed && (!is_whole || s->is_single));
	}
}

void
nodes_drop_unwanted(struct store *s, uint64_t now_ns)
{
	for (unsigned i = 0; i < s->node_count; i++) {
		struct connection *c = &s->nodes[i]->c;

		if (!c->is_wanted && c->stream.phase != STREAM_CLOSED && c->asked.count == 0)
			connection_close(c, now_ns);
	}
}
