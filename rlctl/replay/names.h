/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_NAMES_H
#define RLCTL_REPLAY_NAMES_H

/*
 * The keys of recorded traffic, each kept once and numbered in the order of its first request.
 *
 *	slots    hash:32 | place:32   open addressing, at most 3 of 4 taken
 *	            |
 *	names    [number, requests, len, bytes...] [...]   one behind the other, by eight bytes
 *	            ^
 *	places   by number
 *
 * A key of 13 bytes takes 24, 4 and, of the slots, 11 to 21 bytes. A lookup touches one slot and
 * one name. The hash has a secret of this process: keys are chosen by clients.
 */

#include <stddef.h>
#include <stdint.h>

#include "replay/slice.h"

#define NAMES_MAX 2000000000 /* keys */

struct name {
	uint32_t number;
	uint32_t requests;
	uint16_t len;
	char bytes[];
};

struct names {
	uint64_t *slots;
	size_t slot_count;
	uint64_t *arena;
	size_t used, room; /* of the arena, in its words */
	uint32_t *places;
	size_t count, place_room;
	uint64_t secret[2];
};

struct names names_make(void);

/*
 * The number of a key, which is new or not, with one request more. UINT32_MAX: there are too many.
 */
uint32_t names_count(struct names *names, struct slice key);

const struct name *names_at(const struct names *names, uint32_t number);

void names_free(struct names *names);

#endif
