/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/clients.h"

#include <string.h>

void
clients_start(struct clients *c, uint64_t descriptors)
{
	uint64_t places = 1;

	if (descriptors > CLIENTS_DESCRIPTORS_LEFT)
		places = descriptors - CLIENTS_DESCRIPTORS_LEFT;
	*c = (struct clients){.places = places < CLIENTS_MAX ? (size_t)places : CLIENTS_MAX};
}

static bool
is_full(const struct clients *c)
{
	return c->count == c->places;
}

bool
clients_have_room(const struct clients *c, uint64_t now_ns)
{
	return !is_full(c) || now_ns >= c->at[0].came_ns + CLIENTS_MOMENT_NS;
}

static void
take_out(struct clients *c, size_t place)
{
	c->count--;
	memmove(&c->at[place], &c->at[place + 1], (c->count - place) * sizeof c->at[0]);
}

int
clients_add(struct clients *c, int fd, uint64_t now_ns)
{
	int leaving = -1;

	if (is_full(c)) {
		leaving = c->at[0].fd;
		take_out(c, 0);
	}
	c->at[c->count++] = (struct client){fd, now_ns};
	return leaving;
}

void
clients_remove(struct clients *c, int fd)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->at[i].fd == fd) {
			take_out(c, i);
			return;
		}
	}
}

int
clients_take_older(struct clients *c, uint64_t age_ns, uint64_t now_ns)
{
	int fd = c->at[0].fd;

	if (c->count == 0 || now_ns < c->at[0].came_ns + age_ns)
		return -1;
	take_out(c, 0);
	return fd;
}

uint64_t
clients_due_ns(const struct clients *c, uint64_t now_ns)
{
	if (c->count == 0)
		return UINT64_MAX;
	if (!clients_have_room(c, now_ns))
		return c->at[0].came_ns + CLIENTS_MOMENT_NS;
	return c->at[0].came_ns + CLIENTS_DEADLINE_NS;
}
