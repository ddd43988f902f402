/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_EVENTS_H
#define RLCTL_REPLAY_EVENTS_H

/*
 * Recorded traffic in memory, twelve bytes for each request: its time and the number of
 * its key. Each key is kept once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/replay_log.h"

struct replay_key {
	uint64_t requests;
	uint64_t denied;
	const void *bytes; /* behind the struct, in the same allocation */
	uint32_t len;
	uint32_t number; /* its index in events.keys */
};

struct events {
	uint64_t *time_ns; /* in the order of the lines */
	uint32_t *key;
	size_t count, time_room, number_room;

	struct replay_key **keys;
	size_t key_count, key_room;
	void *tree; /* the same keys, of tsearch(), by their bytes */

	uint64_t unreadable;
	uint64_t out_of_order; /* requests earlier than one before them */
	uint64_t start_ns;     /* time of the first request */
	uint64_t first_ns;     /* earliest time */
	uint64_t last_ns;      /* latest time */
};

/* Add every line of the files, in order; none means standard input, and so does "-". False
 * after a message. Lines that cannot be read are counted and told, up to a point. */
bool events_read(struct events *events, char **files, int file_count, enum log_format format);

void events_free(struct events *events);

#endif
