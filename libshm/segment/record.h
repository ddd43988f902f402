/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RECORD_H
#define RL_RECORD_H

/*
 * What is kept of a key for people: cold, written after the claim, outside the protocol. Two
 * writers may meet in one record, and one may die half way: so a keyed hash ties the bytes to
 * the slot's tag, and a reader believes only what hashes right. A torn or stale record is no
 * name, never a wrong one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/segment.h"

struct rl_record_copy {
	size_t key_len;  /* of the whole key */
	size_t key_kept; /* how many of its bytes follow */
	uint64_t denied; /* about how many denials were counted */
	uint64_t bytes[RL_KEY_MAX / 8 + 1];
};

void rl_record_write(const struct rl_segment *s, struct rl_slot slot, const void *key,
                     size_t key_len);

/* Count one denial in RL_DENIED_SAMPLE, at random. */
void rl_record_sample_denied(const struct rl_segment *s, struct rl_slot slot, uint64_t now_ns);

/*
 * Keep the capacity that a request has brought along, its tier: what rl_item.capacity says, 1 to
 * RL_CAPACITY_MAX. A request of the same tier as the last one writes nothing.
 *
 * Nothing ties this word to the slot's tag. A process may store it late, after the slot has become
 * another key's, and a slow claimer may clear what a faster one has stored. So the word may be another
 * key's, or missing, until the key's next request with a tier. It decides about no request. Tools may
 * show the wrong limit by it. An eviction judges a key by its limit without a tier, and by that with the
 * tier: whatever the word says, it may keep a key that it would have evicted, never the reverse.
 */
void rl_record_keep_tier(const struct rl_segment *s, struct rl_slot slot, uint32_t capacity);

/* What was kept; 0: none. */
uint32_t rl_record_tier(const struct rl_segment *s, uint64_t slot);

/*
 * Of a record that may be no name: not less than the denials of rl_record_read(), and the bytes that
 * it would read, with room for RL_KEY_MAX; 0 of them if it is none.
 */
uint64_t rl_record_denied_most(const struct rl_segment *s, uint64_t slot);
size_t rl_record_key(const struct rl_segment *s, uint64_t slot, void *key, size_t *key_len);

/* False when the record does not belong to the slot as seen. */
bool rl_record_read(const struct rl_segment *s, struct rl_slot slot, struct rl_record_copy *copy);

#endif
