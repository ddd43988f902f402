/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys without a slot share a counter.
 *
 * A key that has a slot is counted there, and pays nothing for what follows. One that finds none is
 * charged to an overflow counter of its limit, chosen by its network or its hash. What
 * the overflow counter counts of a key is never less than what the key was admitted, and may be
 * what others were: such a key is denied early, and never admitted too much. Below, "overflow
 * counter" is what it counts of one key: all that changes it changes one word of 16 bytes, in which
 * others' steps only raise it (algorithm/overflow_word.h).
 *
 *	no slot             charge    CAS16 of the counter; then look whether the key got a slot
 *	                              meanwhile
 *	slot -> overflow    fold      before it is retired: the overflow counter becomes the larger
 *	                              of both
 *	overflow -> slot    carry     before its first charge: the slot begins with what the
 *	                              overflow counter counts
 *
 * What holds. Let counted(x) be what was admitted of key x and still counts, in one epoch of the
 * overflow counter.
 *
 *	(1) if x has no slot    counted(x) <= overflow counter
 *	(2) if x has one        counted(x) <= slot, once it was charged or carried
 *
 * A charge adds to what it is judged by. A fold makes the overflow counter at least what the slot
 * has, and the slot is freed by a CAS16 of the word that was folded: if it was charged since, that
 * fails, and the slot stays. A carry puts all of the overflow counter into a slot that has nothing;
 * it is a CAS16 from the state that nothing was charged to.
 *
 * A charge to the overflow counter and a slot at the same time:
 *
 *	charge   CAS16 of the counter  fence   look at the 16 tags
 *	slot     CAS of its tag, LIVE  fence   look at the counter, for the carry
 *
 * One of both sees the other. If the slot's user does, (2) holds with the charge. If not, the
 * charger finds the slot, and is decided there; what it charged to the overflow counter stays: too
 * much is counted, never too little. If the slot came, was charged and was folded between the
 * charge and the look, its fold was made of a slot that knew nothing of the charge, and the larger
 * of both is one too few: so each fold adds one to the overflow counter's folds, and the charger
 * looks at that, too. (They wrap after 2^12, within a look at 16 tags, in which its key came and
 * went.) Whoever is killed between two steps has counted too much, or nothing.
 *
 * Time. An overflow counter of a window counts in epochs as long as the window, in the newest and
 * in the one before. A request is counted in the overflow counter's newest epoch, or in its own if
 * that is later: at a time when others were there already. What a carry puts into a slot leaves the
 * slot when it would have left the overflow counter; so to go to and fro makes nothing last longer,
 * and nothing shorter: overflow_count.h has where it stands.
 *
 * Bounds. A key is denied for others' sake only if the keys without a slot that have its lanes,
 * together, use up the limit within two windows; and for less than a window longer than its own
 * charges count. Who gave way brought along all that its slot counted, and that may be more than
 * the capacity: denials that count, what was admitted under a larger one. It is not cut, for the
 * slot that the key gets again goes on with it.
 *
 * Neighbourhoods. Networks are owned in blocks: who has a /48 of IPv6 or a /24 of IPv4 can make up
 * addresses, and who has a /32 or a /16 networks. So a /32 has a group of 64 overflow counters, and
 * each /48 in it one of these: what is made up there meets itself. A limit's own prefix is never
 * made longer.
 *
 * A refund of what was charged to an overflow counter is void, for by then the overflow counter may
 * be the larger of it and a slot.
 */
#include "overflow/overflow.h"

#include <errno.h>
#include <string.h>

#include "algorithm/overflow_count.h"
#include "algorithm/overflow_word.h"
#include "rule/address.h"
#include "segment/record.h"

#define TRIES 16
#define GROUP 64 /* overflow counters of a neighbourhood's group */

/* Bits of the group, and of the neighbourhood within it, of each family. */
static const struct {
	unsigned group;
	unsigned network;
} v4_bits = {16, 24}, v6_bits = {32, 48};

static uint64_t
hash_of_network(const struct rl_segment *s, const struct rl_address *address, unsigned prefix)
{
	unsigned char key[RL_NETWORK_KEY_MAX];

	return rl_hash_of_key(s->key_start, key, rl_network_key(address, prefix, key));
}

/* Of as many overflow counters as a limit may have: those of a group stand side by side. */
static uint32_t
index_of_network(const struct rl_segment *s, const struct rl_address *address, unsigned prefix)
{
	bool is_v4 = address->bits == 32;
	unsigned network = rl_lesser(is_v4 ? v4_bits.network : v6_bits.network, prefix);
	unsigned group = rl_lesser(is_v4 ? v4_bits.group : v6_bits.group, prefix);

	return (uint32_t)hash_of_network(s, address, group) * GROUP +
	       (uint32_t)(hash_of_network(s, address, network) % GROUP);
}

static uint32_t
index_of(uint32_t place)
{
	return place & ((1U << RL_OVERFLOW_INDEX_BITS) - 1);
}

static uint32_t
place_of(uint32_t index, uint64_t tag)
{
	return rl_overflow_place(index, rl_overflow_lanes(tag));
}

uint32_t
rl_overflow_place_of(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t tag,
                     const unsigned char *network)
{
	struct rl_address address;

	if (!limit->has_prefix)
		return place_of((uint32_t)tag, tag);
	address = (struct rl_address){.bits = network[0]};
	memcpy(address.bytes, network + 2, sizeof address.bytes);
	return place_of(index_of_network(s, &address, network[1]), tag);
}

bool
rl_overflow_place_of_slot(const struct rl_segment *s, const struct rl_compiled *limit,
                          struct rl_slot slot, uint32_t *place)
{
	struct rl_record_copy copy;
	struct rl_address address;
	unsigned prefix;

	if (!limit->has_prefix) {
		*place = place_of((uint32_t)slot.tag, slot.tag);
		return true;
	}
	if (!rl_record_read(s, slot, &copy) || copy.key_kept < copy.key_len ||
	    !rl_network_parse(copy.bytes, copy.key_len, &address, &prefix))
		return false;
	*place = place_of(index_of_network(s, &address, prefix), slot.tag);
	return true;
}

/*
 * What counts for longer than the set does is damage, or was written under a serial of long ago, by
 * a limit whose epochs were of another length.
 */
static bool
load(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t place,
     struct rl_overflow *c)
{
	const struct rl_limiter *l = &limit->overflow;
	uint64_t until_ns;

	c->segment = s;
	c->limit = limit;
	c->lanes = place >> RL_OVERFLOW_INDEX_BITS;
	c->at = &c->set.counters[place & (s->geometry.cells - 1)];
	if (!rl_atomic_load16(c->at, &c->word))
		return false;
	until_ns = rl_sets_until(&c->set);
	c->counts = rl_overflow_unpack(l, c->word, rl_set_serial(&c->set), until_ns, c->lanes,
	                               &c->count) &&
	            l->ops->idle_at(l, c->count) <= until_ns;
	if (!c->counts)
		c->count = (struct rl_u128){0};
	return true;
}

bool
rl_overflow_load(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t place,
                 struct rl_overflow *c)
{
	return limit->has_overflow && rl_sets_find(s, limit, index_of(place), &c->set) &&
	       load(s, limit, place, c);
}

int
rl_overflow_take(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t place,
                 uint64_t now_ns, struct rl_overflow *c)
{
	int error = limit->has_overflow ? rl_sets_take(s, limit, index_of(place), now_ns, &c->set)
	                                : -ENOSPC;

	if (error < 0)
		return error;
	return load(s, limit, place, c) ? 0 : -EAGAIN;
}

struct rl_view
rl_overflow_view(const struct rl_overflow *c)
{
	struct rl_view v = rl_view_none(c->segment);

	v.word = c->count;
	v.is_zero = rl_u128_equal(c->count, (struct rl_u128){0});
	return v;
}

/* Buckets are filled a little later with each charge: a window ahead saves most writes. */
static uint64_t
until_of(const struct rl_limiter *l, struct rl_u128 count)
{
	uint64_t idle_ns = l->ops->idle_at(l, count), until_ns;

	if (!rl_limiter_has_bucket(l))
		return idle_ns;
	return __builtin_add_overflow(idle_ns, l->window_ns, &until_ns) ? UINT64_MAX : until_ns;
}

/* Others see that there is something to look for before there is. */
static bool
store(const struct rl_overflow *c, struct rl_u128 count, uint32_t folds)
{
	const struct rl_limiter *l = &c->limit->overflow;

	if (rl_sets_until(&c->set) < l->ops->idle_at(l, count) &&
	    !rl_sets_raise(c->segment, &c->set, until_of(l, count)))
		return false;
	return rl_atomic_cas16(c->at, c->word,
	                       rl_overflow_pack(l, c->word, c->counts ? &c->count : NULL, count,
	                                        c->lanes, rl_set_serial(&c->set),
	                                        rl_overflow_folds(c->word) + folds));
}

bool
rl_overflow_charge(const struct rl_overflow *c, struct rl_u128 count)
{
	return store(c, count, 0);
}

bool
rl_overflow_was_left(const struct rl_overflow *c, const struct rl_candidates *candidates)
{
	uint64_t hi;

	rl_atomic_fence(); /* partner: in rl_overflow_carry() */
	if (rl_table_is_left(&c->segment->table) || rl_table_has(&c->segment->table, candidates))
		return true;
	hi = rl_atomic_load(&c->at->hi);
	return rl_overflow_folds((struct rl_u128){.hi = hi}) != rl_overflow_folds(c->word) ||
	       rl_atomic_load(&c->set.at->hi) != c->set.owner;
}

bool
rl_overflow_fold(const struct rl_segment *s, const struct rl_compiled *limit, struct rl_slot slot,
                 const struct rl_view *v, uint64_t now_ns)
{
	struct rl_overflow c;
	uint32_t place;

	if (!rl_overflow_place_of_slot(s, limit, slot, &place))
		return false;
	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_u128 count;

		if (rl_overflow_take(s, limit, place, now_ns, &c) < 0)
			return false;
		count = rl_overflow_folded(&limit->limiter, &limit->overflow, v, c.count);
		if (!rl_view_holds(s, &limit->limiter, slot, v))
			return false;
		if (store(&c, count, 1))
			return true;
	}
	return false;
}

enum rl_carry
rl_overflow_carry(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t place,
                  struct rl_slot slot, const struct rl_view *v, uint64_t now_ns)
{
	struct rl_u128 word;
	struct rl_overflow c;

	rl_atomic_fence(); /* partner: in rl_overflow_was_left() */
	if (!rl_sets_are_used(s, now_ns) || !limit->has_overflow ||
	    !rl_sets_find(s, limit, index_of(place), &c.set))
		return RL_CARRY_NOTHING;
	if (!load(s, limit, place, &c))
		return RL_CARRY_DONE;
	if (!rl_overflow_carried(&limit->limiter, &limit->overflow, c.count, now_ns, v->slot_bits,
	                         &word))
		return RL_CARRY_NOTHING;
	rl_atomic_cas16(rl_table_state(&s->table, slot.index), v->word, word);
	return RL_CARRY_DONE;
}
