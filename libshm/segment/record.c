/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/record.h"

#include <string.h>

#include "rl_admin.h"

#define KEPT_SHIFT 16
#define DENIED_SHIFT 32
#define LENGTHS_MASK UINT64_C(0xffffffff)

static size_t
room(const struct rl_segment *s)
{
	size_t bytes = s->geometry.record_bytes - sizeof(struct rl_record);

	return bytes < RL_KEY_MAX ? bytes : RL_KEY_MAX;
}

static uint64_t
check_of(const struct rl_segment *s, uint64_t tag, const struct rl_record_copy *copy)
{
	/* Status bits that no tag has keep this apart from the hashes of keys and names. */
	uint64_t domain = tag | UINT64_C(3) << RL_TAG_STATUS_SHIFT;
	struct rl_sip sip = rl_sip_start(s->key);

	rl_sip_word(&sip, domain, 1);
	rl_sip_word(&sip, copy->key_len | (uint64_t)copy->key_kept << KEPT_SHIFT, 1);
	return rl_sip_finish(sip, copy->bytes, copy->key_kept, 16, 1, 3).a;
}

void
rl_record_write(const struct rl_segment *s, struct rl_slot slot, const void *key, size_t key_len)
{
	struct rl_record *r = rl_segment_record(s, slot.index);
	struct rl_record_copy copy;
	size_t words;

	copy.key_len = key_len;
	copy.key_kept = key_len < room(s) ? key_len : room(s);
	words = (copy.key_kept + 7) / 8;
	copy.bytes[copy.key_kept / 8] = 0;
	memcpy(copy.bytes, key, copy.key_kept);
	for (size_t i = 0; i < words; i++)
		rl_atomic_store_relaxed(&r->bytes[i], copy.bytes[i]);
	rl_atomic_store_relaxed(&r->last, 0);
	rl_atomic_store_relaxed(&r->lengths, copy.key_len | (uint64_t)copy.key_kept << KEPT_SHIFT);
	rl_atomic_store(&r->check, check_of(s, slot.tag, &copy));
}

static uint64_t
denied_in(uint64_t lengths)
{
	return (lengths >> DENIED_SHIFT) * RL_DENIED_SAMPLE;
}

/* Of the key, and how many of its bytes follow: more than there is room for if it is no name. */
static size_t
key_len_in(uint64_t lengths)
{
	return lengths & ((1u << KEPT_SHIFT) - 1);
}

static size_t
kept_in(uint64_t lengths)
{
	return (lengths & LENGTHS_MASK) >> KEPT_SHIFT;
}

uint64_t
rl_record_denied_most(const struct rl_segment *s, uint64_t slot)
{
	return denied_in(rl_atomic_load_relaxed(&rl_segment_record(s, slot)->lengths));
}

size_t
rl_record_key(const struct rl_segment *s, uint64_t slot, void *key, size_t *key_len)
{
	const struct rl_record *r = rl_segment_record(s, slot);
	uint64_t lengths = rl_atomic_load_relaxed(&r->lengths);
	size_t kept = kept_in(lengths);

	*key_len = key_len_in(lengths);
	if (kept > room(s) || kept > *key_len)
		return 0;
	for (size_t at = 0; at < kept; at += 8) {
		uint64_t word = rl_atomic_load_relaxed(&r->bytes[at / 8]);
		memcpy((char *)key + at, &word, kept - at < 8 ? kept - at : 8);
	}
	return kept;
}

bool
rl_record_read(const struct rl_segment *s, struct rl_slot slot, struct rl_record_copy *copy)
{
	const struct rl_record *r = rl_segment_record(s, slot.index);
	uint64_t check = rl_atomic_load(&r->check);
	uint64_t lengths = rl_atomic_load_relaxed(&r->lengths);

	copy->denied = denied_in(lengths);
	copy->key_len = key_len_in(lengths);
	copy->key_kept = kept_in(lengths);
	if (copy->key_kept > room(s) || copy->key_kept > copy->key_len)
		return false;
	for (size_t i = 0; i < (copy->key_kept + 7) / 8; i++)
		copy->bytes[i] = rl_atomic_load_relaxed(&r->bytes[i]);
	return check_of(s, slot.tag, copy) == check;
}

void
rl_record_keep_tier(const struct rl_segment *s, struct rl_slot slot, uint32_t capacity)
{
	uint64_t *last = &rl_segment_record(s, slot.index)->last;

	if (rl_atomic_load_relaxed(last) != capacity)
		rl_atomic_store_relaxed(last, capacity);
}

uint32_t
rl_record_tier(const struct rl_segment *s, uint64_t slot)
{
	return rl_atomic_load_relaxed(&rl_segment_record(s, slot)->last) & RL_RECORD_TIER_MASK;
}

/*
 * One of so many, by a generator of this thread alone: SplitMix64 (Steele, Lea and Flood, 2014).
 * The time goes into it, for children inherit its state, or where there is none yet, its address.
 */
static bool
is_sampled(uint64_t now_ns)
{
	static _Thread_local uint64_t x;
	uint64_t z;

	x += now_ns ^ (uint64_t)(uintptr_t)&x;
	x += UINT64_C(0x9e3779b97f4a7c15);
	z = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z >> 32 < (UINT64_C(1) << 32) / RL_DENIED_SAMPLE;
}

/* A denial for a key that has just left its slot may be counted to the next one's. */
void
rl_record_sample_denied(const struct rl_segment *s, struct rl_slot slot, uint64_t now_ns)
{
	if (is_sampled(now_ns))
		rl_atomic_add(&rl_segment_record(s, slot.index)->lengths, UINT64_C(1)
		                                                                  << DENIED_SHIFT);
}
