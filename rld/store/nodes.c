/* SPDX-License-Identifier: BSD-2-Clause */
#include "nodes.h"

#include <stdlib.h>

static bool
is_owner(const struct store *s, unsigned node)
{
	for (unsigned i = 0; i < STORE_SLOTS; i++)
		if (s->map.owner[i] == node)
			return true;
	return false;
}

/* Nobody needs it, and it owes nothing: addresses come and go for as long as the store is used. */
static bool
is_left(const struct store *s, unsigned node)
{
	const struct node *n = s->nodes[node];

	return !n->c.is_wanted && !n->is_seed && !n->is_named &&
	       n->c.stream.phase == STREAM_CLOSED && n->c.asked.count == 0 &&
	       n->c.unsure.count == 0 && !is_owner(s, node);
}

/* The place of a node that is left, once there are too many, or a new one. MAP_NOBODY: none. */
static uint16_t
find_place(struct store *s)
{
	if (s->node_count < MAP_NODES_MAX) {
		s->nodes[s->node_count] = calloc(1, sizeof *s->nodes[0]);
		return s->nodes[s->node_count] ? (uint16_t)s->node_count++ : MAP_NOBODY;
	}
	for (unsigned i = 0; i < s->node_count; i++) {
		struct node *n = s->nodes[i];

		if (!is_left(s, i))
			continue;
		connection_close(&n->c, 0);
		s->counts.sent += n->c.stream.sent;
		s->counts.received += n->c.stream.received;
		store_times_join(&s->counts.times, &n->c.times);
		*n = (struct node){.is_seed = false};
		return (uint16_t)i;
	}
	return MAP_NOBODY;
}

static uint16_t
add(struct store *s, const struct store_address *a)
{
	uint16_t place = find_place(s);

	if (place == MAP_NOBODY)
		return MAP_NOBODY;
	s->random = s->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	connection_init(&s->nodes[place]->c, &s->options, s->epoll, s->tls, a, s->random >> 11);
	return place;
}

struct node *
nodes_add(struct store *s, const struct store_address *a)
{
	uint16_t number = add(s, a);

	return number == MAP_NOBODY ? NULL : s->nodes[number];
}

uint16_t
nodes_number_of(void *arg, const struct store_address *a)
{
	struct store *s = arg;

	for (unsigned i = 0; i < s->node_count; i++) {
		struct connection *c = &s->nodes[i]->c;

		if (!address_is_same(&c->address, a))
			continue;
		c->is_wanted = true; /* until it is said who is */
		return (uint16_t)i;
	}
	return add(s, a);
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

void
nodes_tell(struct store *s, bool *is_told, bool is_trouble, const char *text)
{
	if (*is_told == is_trouble)
		return;
	*is_told = is_trouble;
	s->options.report(s->options.report_arg, is_trouble, text);
}
