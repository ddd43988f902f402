/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/record.h"

#include <string.h>

#include "rl_admin.h"
#include "segment/geometry.h"
#include "segment/staged.h"

#define KEPT_SHIFT 16
#define DENIED_SHIFT 32
#define DENIED_MASK UINT64_C(0xfffff)
#define SPAN_SHIFT \
	52 /* the lowest bits of the number of ten seconds; then what was denied in them */
#define SPAN_MASK UINT64_C(7)
#define RECENT_SHIFT RL_RECORD_RECENT_SHIFT
#define RECENT_MASK UINT64_C(0x1ff)
#define ALL_LAST RL_RECORD_ALL_LAST
#define RECENT_LAST 10 /* its nine bits end there, at some 30 million */
#define LENGTHS_MASK UINT64_C(0xffffffff)
#define NEWEST_MASK UINT64_C(0xffffffff)
#define SPAN_SECONDS (uint32_t)(RL_DENIED_SPAN_NS / RL_SECOND)
#define MINUTE_SECONDS 60
#define TRIES 64

static size_t
room(const struct rl_segment *s)
{
	size_t bytes = s->geometry.record_bytes - rl_record_head(&s->geometry);

	return bytes < RL_KEY_MAX ? bytes : RL_KEY_MAX;
}

/* Where a record's bytes begin. */
static uint64_t *
bytes_of(const struct rl_segment *s, uint64_t slot)
{
	return rl_segment_record(s, slot)->bytes +
	       (s->geometry.clustered ? RL_RECORD_HASH_BYTES / 8 : 0);
}

/*
 * A cluster's: the hash is in it, and the secret that it was made with. Of another secret, it is no
 * name.
 */
static uint64_t
check_hash(const struct rl_segment *s, uint64_t check, const uint64_t hash[2])
{
	const uint64_t *key = s->header->cluster_key;
	uint64_t all[4];

	if (!s->geometry.clustered || (hash[0] | hash[1]) == 0)
		return check;
	all[0] = hash[0];
	all[1] = hash[1];
	all[2] = rl_atomic_load_relaxed(&key[0]);
	all[3] = rl_atomic_load_relaxed(&key[1]);
	return rl_hash_with(s->key, check, all, sizeof all).a;
}

static uint64_t
check_of(const struct rl_segment *s, uint64_t tag, const struct rl_record_copy *copy)
{
	/* Status bits that no tag has keep this apart from the hashes of keys and names. */
	uint64_t domain = tag | UINT64_C(3) << RL_TAG_STATUS_SHIFT;
	struct rl_sip sip = rl_sip_start(s->key);

	rl_sip_word(&sip, domain, 1);
	rl_sip_word(&sip, copy->key_len | (uint64_t)copy->key_kept << KEPT_SHIFT, 1);
	return check_hash(s, rl_sip_finish(sip, copy->bytes, copy->key_kept, 16, 1, 3).a,
	                  copy->hash);
}

static void
write_copy(const struct rl_segment *s, struct rl_slot slot, const struct rl_record_copy *copy)
{
	struct rl_record *r = rl_segment_record(s, slot.index);
	uint64_t *bytes = bytes_of(s, slot.index);

	for (size_t i = 0; i < (copy->key_kept + 7) / 8; i++)
		rl_atomic_store_relaxed(&bytes[i], copy->bytes[i]);
	for (size_t i = 0; s->geometry.clustered && i < 2; i++)
		rl_atomic_store_relaxed(&r->bytes[i], copy->hash[i]);
	rl_atomic_store_relaxed(&r->last, copy->last);
	rl_atomic_store_relaxed(&r->lengths, copy->lengths);
	rl_atomic_store(&r->check, check_of(s, slot.tag, copy) ^ copy->key_hash);
}

void
rl_record_write_hashed(const struct rl_segment *s, struct rl_slot slot, uint64_t key_hash,
                       const void *key, size_t key_len, const uint64_t hash[2])
{
	struct rl_record_copy copy;

	copy.key_len = key_len;
	copy.key_kept = key_len < room(s) ? key_len : room(s);
	copy.key_hash = key_hash;
	copy.bytes[copy.key_kept / 8] = 0;
	memcpy(copy.bytes, key, copy.key_kept);
	copy.hash[0] = hash ? hash[0] : 0;
	copy.hash[1] = hash ? hash[1] : 0;
	copy.last = 0;
	copy.lengths = copy.key_len | (uint64_t)copy.key_kept << KEPT_SHIFT;
	write_copy(s, slot, &copy);
}

void
rl_record_write(const struct rl_segment *s, struct rl_slot slot, uint64_t key_hash, const void *key,
                size_t key_len)
{
	rl_record_write_hashed(s, slot, key_hash, key, key_len, NULL);
}

void
rl_record_carry(const struct rl_segment *s, struct rl_slot slot, const struct rl_record_copy *copy)
{
	write_copy(s, slot, copy);
}

static uint64_t
steps_in(uint64_t lengths)
{
	return lengths >> DENIED_SHIFT & DENIED_MASK;
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
	uint64_t variance;

	return rl_staged_number(
		steps_in(rl_atomic_load_relaxed(&rl_segment_record(s, slot)->lengths)), ALL_LAST,
		&variance);
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
		uint64_t word = rl_atomic_load_relaxed(&bytes_of(s, slot)[at / 8]);
		memcpy((char *)key + at, &word, kept - at < 8 ? kept - at : 8);
	}
	return kept;
}

/* Of a ban there is none. */
static bool
is_hash_of(const struct rl_segment *s, struct rl_slot slot, uint64_t key_hash)
{
	if (slot.index >= rl_segment_slots(s))
		return key_hash == 0;
	return rl_table_tag_hash(key_hash) == (slot.tag & RL_TAG_HASH_MASK);
}

bool
rl_record_read(const struct rl_segment *s, struct rl_slot slot, struct rl_record_copy *copy)
{
	const struct rl_record *r = rl_segment_record(s, slot.index);
	uint64_t check = rl_atomic_load(&r->check);
	uint64_t lengths = rl_atomic_load_relaxed(&r->lengths);

	copy->lengths = lengths;
	copy->last = rl_atomic_load_relaxed(&r->last);
	copy->key_len = key_len_in(lengths);
	copy->key_kept = kept_in(lengths);
	if (copy->key_kept > room(s) || copy->key_kept > copy->key_len)
		return false;
	for (size_t i = 0; i < (copy->key_kept + 7) / 8; i++)
		copy->bytes[i] = rl_atomic_load_relaxed(&bytes_of(s, slot.index)[i]);
	for (size_t i = 0; s->geometry.clustered && i < 2; i++)
		copy->hash[i] = rl_atomic_load_relaxed(&r->bytes[i]);
	copy->key_hash = check_of(s, slot.tag, copy) ^ check;
	return is_hash_of(s, slot, copy->key_hash);
}

/*
 * Bytes that are there already are not written. A part that another process stores at the same time
 * may get lost.
 */
static void
keep(uint64_t *last, uint64_t mask, uint64_t part)
{
	uint64_t word = rl_atomic_load_relaxed(last);

	if ((word & mask) != part)
		rl_atomic_store_relaxed(last, (word & ~mask) | part);
}

void
rl_record_keep_tier(const struct rl_segment *s, struct rl_slot slot, uint32_t capacity)
{
	uint64_t *last = &rl_segment_record(s, slot.index)->last;

	keep(last, RL_RECORD_TIER_MASK, capacity);
}

uint32_t
rl_record_tier(const struct rl_segment *s, uint64_t slot)
{
	return rl_atomic_load_relaxed(&rl_segment_record(s, slot)->last) & RL_RECORD_TIER_MASK;
}

/*
 * The second of the key's newest denial; NEWEST_MASK + 1: there was none, or who counted the first
 * one has yet to note it, or died.
 */
static uint64_t
newest_in(uint64_t lengths, uint64_t last)
{
	uint64_t newest = last >> RL_RECORD_NEWEST_SHIFT & NEWEST_MASK;

	return steps_in(lengths) == 0 || newest == 0 ? NEWEST_MASK + 1 : newest;
}

/* Not later than the newest: of the same second, or by a clock that is late. */
static bool
is_no_later(uint64_t newest, uint32_t second)
{
	return newest <= NEWEST_MASK && (uint32_t)newest - second < MINUTE_SECONDS;
}

/*
 * By how many ten seconds those of `second` are later. What is denied by a clock that is late is
 * counted to the newest.
 */
static uint32_t
spans_since(uint64_t newest, uint32_t second)
{
	return is_no_later(newest, second)
	               ? 0
	               : second / SPAN_SECONDS - (uint32_t)newest / SPAN_SECONDS;
}

/*
 * Are the ten seconds that the word counts those of `second`? Its three bits are enough for the
 * newest eight.
 */
static bool
counts_span(uint64_t lengths, uint64_t newest, uint32_t second)
{
	uint32_t since = newest > NEWEST_MASK ? 1 : spans_since(newest, second);

	if (steps_in(lengths) == 0)
		return false;
	return since == 0 || (since <= SPAN_MASK && (lengths >> SPAN_SHIFT & SPAN_MASK) ==
	                                                    (second / SPAN_SECONDS & SPAN_MASK));
}

/* A word with the present denial added; the word itself if nothing is to be written. */
static uint64_t
one_more(uint64_t lengths, bool is_same, uint64_t span, uint64_t chance)
{
	uint64_t all = steps_in(lengths), recent = lengths >> RECENT_SHIFT;

	if (!is_same) {
		recent = 0;
		lengths = (lengths & ~(SPAN_MASK << SPAN_SHIFT)) | (span & SPAN_MASK) << SPAN_SHIFT;
	}
	if (all < DENIED_MASK && rl_staged_counts(all, ALL_LAST, chance))
		lengths += UINT64_C(1) << DENIED_SHIFT;
	if (recent < RECENT_MASK && rl_staged_counts(recent, RECENT_LAST, chance))
		recent++;
	return (lengths & ~(RECENT_MASK << RECENT_SHIFT)) | recent << RECENT_SHIFT;
}

/*
 * Of processes that race, one begins the ten seconds: by its CAS. A denial for a key that has just
 * left its slot may be counted to the next one's.
 */
bool
rl_record_count_seldom(const struct rl_segment *s, struct rl_slot slot, uint64_t now_ns,
                       uint64_t chance)
{
	struct rl_record *r = rl_segment_record(s, slot.index);
	uint32_t second = rl_record_second(now_ns);
	uint64_t lengths = rl_atomic_load_relaxed(&r->lengths), next;
	uint64_t newest = newest_in(lengths, rl_atomic_load_relaxed(&r->last));
	bool is_same = true, is_done = false;

	for (int tries = 0; tries < TRIES && !is_done; tries++) {
		is_same = counts_span(lengths, newest, second);
		next = one_more(lengths, is_same, second / SPAN_SECONDS, chance);
		is_done = next == lengths || rl_atomic_cas(&r->lengths, lengths, next);
		if (!is_done)
			lengths = rl_atomic_load_relaxed(&r->lengths);
	}
	if (is_done && !is_no_later(newest, second))
		keep(&r->last, NEWEST_MASK << RL_RECORD_NEWEST_SHIFT,
		     (uint64_t)second << RL_RECORD_NEWEST_SHIFT);
	if (is_same || !is_done)
		return false;
	return newest > NEWEST_MASK ||
	       spans_since(newest, second) > second % MINUTE_SECONDS / SPAN_SECONDS;
}

static uint64_t
square_root(uint64_t of)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1)
		if ((root | bit) * (root | bit) <= of)
			root |= bit;
	return root;
}

void
rl_record_denials(const struct rl_record_copy *copy, uint64_t now_ns, struct rl_record_denials *d)
{
	uint64_t newest = newest_in(copy->lengths, copy->last), variance;
	uint32_t since = spans_since(newest, rl_record_second(now_ns));

	*d = (struct rl_record_denials){.recent_ns = RL_SECOND};
	d->all = rl_staged_number(steps_in(copy->lengths), ALL_LAST, &variance);
	d->error = square_root(variance);
	if (newest > NEWEST_MASK)
		return;
	d->last_ns = newest * RL_SECOND;
	if (since > 1)
		return;
	d->recent = rl_staged_number(copy->lengths >> RECENT_SHIFT, RECENT_LAST, &variance);
	d->recent_ns = since * RL_DENIED_SPAN_NS + now_ns % RL_DENIED_SPAN_NS;
	if (d->recent_ns < RL_SECOND)
		d->recent_ns = RL_SECOND;
}
