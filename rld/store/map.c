/* SPDX-License-Identifier: BSD-2-Clause */
#include "map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
map_clear(struct map *m)
{
	map_single(m, MAP_NOBODY);
}

void
map_single(struct map *m, uint16_t node)
{
	for (unsigned i = 0; i < STORE_SLOTS; i++)
		m->owner[i] = node;
	memset(m->replicas, 0, sizeof m->replicas);
}

/* "[host, port, ...]" of one node. */
static bool
read_address(const struct store_value *v, const struct store_address *from, struct store_address *a)
{
	const char *host = store_text(store_item(v, 0));
	int64_t port = store_integer(store_item(v, 1), 0);

	if (!v || v->type != STORE_ARRAY || port < 1 || port > UINT16_MAX)
		return false;
	if (host[0] == '\0' || strcmp(host, "?") == 0)
		host = from->host;
	*a = (struct store_address){.port = (unsigned)port};
	if (strlen(host) >= sizeof a->host)
		return false;
	strcpy(a->host, host);
	return true;
}

/* "[first, last, master, replica...]" */
static bool
read_range(struct map *m, const struct store_value *v, const struct store_address *from,
           map_number *number, void *arg)
{
	int64_t first = store_integer(store_item(v, 0), -1),
		last = store_integer(store_item(v, 1), -1);
	struct store_address a;
	uint16_t node;

	if (first < 0 || last < first || last >= STORE_SLOTS ||
	    !read_address(store_item(v, 2), from, &a))
		return false;
	node = number(arg, &a);
	if (node == MAP_NOBODY)
		return false;
	for (int64_t i = first; i <= last; i++)
		m->owner[i] = node;
	m->replicas[node] = (uint16_t)(v->count - 3);
	return true;
}

bool
map_read(struct map *m, const struct store_value *v, const struct store_address *from,
         map_number *number, void *arg)
{
	struct map next;

	if (!v || v->type != STORE_ARRAY || v->count == 0)
		return false;
	map_clear(&next);
	for (size_t i = 0; i < v->count; i++)
		if (!read_range(&next, v->items[i], from, number, arg))
			return false;
	*m = next;
	return true;
}

unsigned
map_slots(const struct map *m, uint16_t node)
{
	unsigned n = 0;

	for (unsigned i = 0; i < STORE_SLOTS; i++)
		n += m->owner[i] == node;
	return n;
}

bool
map_redirect(const char *text, const struct store_address *from, unsigned *slot,
             struct store_address *to)
{
	char address[2 * STORE_ADDRESS_MAX];
	int end = 0;

	if (sscanf(text, "%*7s %5u %n", slot, &end) != 1 || *slot >= STORE_SLOTS || end == 0 ||
	    strlen(text + end) >= STORE_ADDRESS_MAX)
		return false;
	snprintf(address, sizeof address, "%s%.261s", text[end] == ':' ? from->host : "",
	         text + end);
	return address_parse(address, to);
}
