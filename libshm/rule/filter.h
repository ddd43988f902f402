/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FILTER_H
#define RL_FILTER_H

/*
 * Filters that say of most keys, at a glance, that no ban and no override is theirs: a word of 64
 * bits for each RL_FILTER_SLOTS slots of the table, in which each entry has set three. A key
 * whose three bits are not all set has no entry. At capacity some 3 in 100 others have
 * them by chance, and cost one lookup of the real table.
 *
 * Both tables have two banks of it. That of the overrides is the configuration's bank: it is
 * written before it comes into force, and a decision loads the version again after it has asked.
 *
 * Bans come at any time, from processes that are killed and stopped anywhere. Three facts:
 *
 *  1. Who sets a ban puts the entry first, then sets its bits in both banks, and only then ends
 *     the change that he has begun before (segment/change.h). While a change is open nobody asks
 *     the filter. So a decision that begins after rl_ban() has returned finds the bits, unless they
 *     were cleared; and one that was killed half way leaves a change open.
 *
 *  2. Bits are cleared by a rebuild alone, and in the bank that nobody asks: ban_epoch counts
 *     rebuilds, and its lowest bit says which bank is asked.
 *
 *	clear the other bank;  set in it the bits of all entries that stand;  ban_epoch + 1
 *
 *     If the bits of a ban were set before their word was cleared, its entry was put before,
 *     and the scan that follows finds it. Else they are there after the clearing. Either way the
 *     bank has them when it comes to be asked. (A fence stands between entry and bits,
 *     and another between clearing and scan.) Rebuilds take turns by the configuration's lock.
 *
 *  3. A decision that has asked a bank and found nothing loads ban_epoch again. If it is the same,
 *     nobody was clearing that bank; else the answer is "maybe".
 *
 * A change that was killed is given up by who sweeps, and he first sets the bits of all entries
 * that stand, in both banks: the killed one's, too. So does each pass of a sweep, for one
 * who was stopped, given up, went on to put his entry, and was killed before he set its bits.
 */

#include "rule/fingerprint.h"

/*
 * Three of one word, by the lowest 18 bits of the fingerprint; which word, by the highest. These
 * are part of every decision where there are bans.
 */
static inline uint64_t
rl_filter_bits(uint32_t fingerprint)
{
	return UINT64_C(1) << (fingerprint & 63) | UINT64_C(1) << (fingerprint >> 6 & 63) |
	       UINT64_C(1) << (fingerprint >> 12 & 63);
}

/* The word of a bank that has them. */
static inline uint64_t
rl_filter_index(uint32_t words, uint32_t fingerprint)
{
	return (uint64_t)fingerprint * words >> 32;
}

/* False: others changed the word all the time. */
bool rl_filter_add(const struct rl_filter *f, unsigned bank, uint32_t fingerprint);

/* Bits that are set again and again may stay. */
void rl_filter_clear(const struct rl_filter *f, unsigned bank);

/* So many bits are set that clearing may be worth it. */
bool rl_filter_is_crowded(const struct rl_filter *f, unsigned bank);

/* What is asked about the keys of a rule. Words, which another thread may be writing. */
struct rl_filter_ask {
	struct rl_lengths lengths; /* of the patterns that there are, bans' and overrides' */
	uint64_t kinds;
};

enum rl_filter_kind {
	RL_FILTER_BANS = 1,
	RL_FILTER_OVERRIDES = 2,
	RL_FILTER_BANK = 4, /* of the overrides, the second */
	RL_FILTER_NETWORKS = 8,
	RL_FILTER_BEGINNINGS = 16,
	RL_FILTER_KEYS = 32,
	RL_FILTER_TIMED = 64, /* overrides for a time, by the filter of the bans */
};

/* One question: the banks that are asked; NULL: none. */
struct rl_filter_question {
	const struct rl_segment *s;
	const uint64_t *bans;
	const uint64_t *overrides;
};

static inline struct rl_filter_question
rl_filter_question(const struct rl_segment *s, const struct rl_filter_ask *ask, uint64_t epoch)
{
	uint64_t kinds = rl_atomic_own_load(&ask->kinds);
	unsigned bank = (kinds & RL_FILTER_BANK) != 0;

	return (struct rl_filter_question){
		.s = s,
		.bans = kinds & RL_FILTER_BANS ? s->ban_filter.bank[epoch & 1] : NULL,
		.overrides = kinds & RL_FILTER_OVERRIDES ? s->override_filter.bank[bank] : NULL,
	};
}

static inline bool
rl_filter_bank_has(const uint64_t *bank, uint32_t words, uint32_t fingerprint)
{
	uint64_t bits = rl_filter_bits(fingerprint);

	return (rl_atomic_load_relaxed(&bank[rl_filter_index(words, fingerprint)]) & bits) == bits;
}

static inline bool
rl_filter_has(const struct rl_filter_question *q, uint32_t fingerprint)
{
	return (q->bans && rl_filter_bank_has(q->bans, q->s->ban_filter.words, fingerprint)) ||
	       (q->overrides &&
	        rl_filter_bank_has(q->overrides, q->s->override_filter.words, fingerprint));
}

/* How many accesses the question takes. */
unsigned rl_filter_steps(const struct rl_filter_ask *ask);

/* Any pattern of the key, whose hash is asked for where there are patterns of whole keys. */
bool rl_filter_has_any(struct rl_filter_question q, const struct rl_filter_ask *ask,
                       const void *key, size_t key_len, uint64_t hash,
                       const struct rl_address *address);

static inline uint64_t
rl_filter_hash(const struct rl_segment *s, const struct rl_filter_ask *ask, const void *key,
               size_t key_len)
{
	return rl_atomic_own_load(&ask->kinds) & RL_FILTER_KEYS
	               ? rl_hash_of_key(s->key_start, key, key_len)
	               : 0;
}

/*
 * May there be a pattern that matches the key? `hash` is rl_filter_hash(); `address` is the key's,
 * or NULL: it is none. What is asked of must be of a version that was kept, and be so still after
 * false was returned. Part of every decision where there are bans; whole keys alone are the usual
 * case.
 */
static inline __attribute__((always_inline)) bool
rl_filter_may_have(const struct rl_segment *s, const struct rl_filter_ask *ask, const void *key,
                   size_t key_len, uint64_t hash, const struct rl_address *address)
{
	uint64_t epoch = rl_atomic_load(s->ban_epoch), kinds = rl_atomic_own_load(&ask->kinds);
	const struct rl_filter_question q = rl_filter_question(s, ask, epoch);
	bool has = kinds & (RL_FILTER_NETWORKS | RL_FILTER_BEGINNINGS)
	                   ? rl_filter_has_any(q, ask, key, key_len, hash, address)
	                   : rl_filter_has(&q, rl_fingerprint_of_key(hash));

	rl_atomic_fence(); /* after the bits, whether they were being cleared: see above */
	return has || rl_atomic_load(s->ban_epoch) != epoch;
}

/* Which lengths those may be of, in *lengths; false: they may be of any. Else the same. */
bool rl_filter_narrow(const struct rl_segment *s, const struct rl_filter_ask *ask, const void *key,
                      size_t key_len, uint64_t hash, const struct rl_address *address,
                      struct rl_lengths *lengths);

#endif
