/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLIENTS_H
#define RLD_CLIENTS_H

/*
 * Who is connected, in the order in which they came. A client has a deadline for all that it
 * wants, however busy it looks, and while others wait for its place only a moment:
 *
 *	came        moment                       deadline
 *	  |-----------|-----------------------------|
 *	   stays       gives way when all places     goes
 *	               are taken and another waits
 *
 * So slow ones shut out nobody: each place is had anew after a moment, and who waits is taken in
 * the order in which the kernel queued them. A table alone: it knows no socket, and no clock.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <stddef.h>

#define CLIENTS_MAX 128
#define CLIENTS_DESCRIPTORS_LEFT 24 /* for the segment, files, and what rld asks itself */
#define CLIENTS_MOMENT_NS (50 * RL_MILLISECOND)
#define CLIENTS_DEADLINE_NS (5 * RL_SECOND)

struct client {
	int fd;
	uint64_t came_ns;
};

struct clients {
	struct client at[CLIENTS_MAX]; /* the first has been here the longest */
	size_t count;
	size_t places; /* 1..CLIENTS_MAX */
};

/* Nobody yet. Of so many descriptors some are needed for other things than clients. */
void clients_start(struct clients *c, uint64_t descriptors);

/* Whether another may be taken in now. */
bool clients_have_room(const struct clients *c, uint64_t now_ns);

/* Take in one that there is room for. The descriptor of who gives way for it, or -1. */
int clients_add(struct clients *c, int fd, uint64_t now_ns);

/* This one has left. One that is not there is none. */
void clients_remove(struct clients *c, int fd);

/* Take out one that has been here for so long. Its descriptor, or -1. */
int clients_take_older(struct clients *c, uint64_t age_ns, uint64_t now_ns);

/* When to look again, though nothing came. */
uint64_t clients_due_ns(const struct clients *c, uint64_t now_ns);

#endif
