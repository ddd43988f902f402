/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/overflow_word.h"

#define LANES_BITS 44
#define LANES_MASK ((UINT64_C(1) << LANES_BITS) - 1)
#define CUR_LOW_BITS 20
#define CUR_HIGH_SHIFT 40
#define EPOCH_LOW_SHIFT 14
#define EPOCH_LOW_BITS 14
#define EPOCH_HIGH_SHIFT 36
#define EPOCH_BITS 18
#define MODE_SHIFT 12
#define MODES 4

/* As many lanes, of as many bits. */
static const struct {
	unsigned count;
	unsigned bits;
} modes[MODES] = {{8, 5}, {4, 11}, {2, 22}, {1, 28}};

_Static_assert(RL_CAPACITY_MAX >> 28 == 0, "the widest lane has room for any count");

struct lanes {
	unsigned mode;
	uint32_t cur[RL_OVERFLOW_LANES];
	uint32_t sum[RL_OVERFLOW_LANES];
};

struct rl_overflow_parts
rl_overflow_parts_of(const struct rl_limiter *overflow, struct rl_u128 count)
{
	struct rl_state s = rl_state_unpack(count, &overflow->window);

	return (struct rl_overflow_parts){s.epoch, s.cur, overflow->window.count > 0 ? s.sum : 0};
}

struct rl_u128
rl_overflow_count_of(const struct rl_overflow_parts *p)
{
	return rl_state_pack((struct rl_state){.epoch = p->epoch, .cur = p->cur, .sum = p->sum}, 0);
}

/* A field's lane. */
static uint32_t
lane_of(uint64_t field, unsigned mode, unsigned lane)
{
	unsigned bits = modes[mode].bits;

	return (uint32_t)(field >> lane * bits) & ((1U << bits) - 1);
}

/* Which of a mode's lanes is the first or the second of a key. */
static unsigned
own_lane(unsigned mode, uint32_t lanes, unsigned which)
{
	return (lanes >> 3 * which & 7) * modes[mode].count / RL_OVERFLOW_LANES;
}

static uint64_t
field_of_cur(struct rl_u128 word)
{
	return word.hi >> CUR_HIGH_SHIFT << CUR_LOW_BITS | word.lo >> LANES_BITS;
}

static unsigned
mode_of(struct rl_u128 word)
{
	return word.hi >> MODE_SHIFT & (MODES - 1);
}

static uint64_t
epoch_of(struct rl_u128 word)
{
	return (word.hi >> EPOCH_LOW_SHIFT & ((1U << EPOCH_LOW_BITS) - 1)) |
	       (word.hi >> EPOCH_HIGH_SHIFT & 0xf) << EPOCH_LOW_BITS;
}

/* Of a bucket: without what is the overflow counter's own. */
static uint64_t
bucket_bits(uint64_t hi)
{
	return hi >> EPOCH_HIGH_SHIFT << EPOCH_HIGH_SHIFT;
}

bool
rl_overflow_unpack(const struct rl_limiter *overflow, struct rl_u128 word, uint8_t serial,
                   uint64_t until_ns, uint32_t lanes, struct rl_u128 *count)
{
	const uint64_t epochs = UINT64_C(1) << EPOCH_BITS;
	unsigned mode = mode_of(word), one = own_lane(mode, lanes, 0),
		 other = own_lane(mode, lanes, 1);
	uint64_t newest, cur = field_of_cur(word);
	struct rl_overflow_parts p;

	*count = (struct rl_u128){0};
	if (rl_overflow_serial(word) != serial)
		return false;
	if (rl_limiter_has_bucket(overflow)) {
		*count = word;
		count->hi = bucket_bits(word.hi);
		return true;
	}
	newest = rl_window_epoch(&overflow->window, until_ns);
	if (epoch_of(word) > newest)
		return false;
	p.epoch = newest - (newest - epoch_of(word)) % epochs;
	p.cur = rl_lesser(lane_of(cur, mode, one), lane_of(cur, mode, other));
	p.sum = rl_lesser(lane_of(word.lo, mode, one), lane_of(word.lo, mode, other));
	*count = rl_overflow_count_of(&p);
	return true;
}

static struct lanes
lanes_of(struct rl_u128 word)
{
	struct lanes l = {.mode = mode_of(word)};

	for (unsigned i = 0; i < modes[l.mode].count; i++) {
		l.cur[i] = lane_of(field_of_cur(word), l.mode, i);
		l.sum[i] = lane_of(word.lo & LANES_MASK, l.mode, i);
	}
	return l;
}

/* Lanes that have room for `most`: fewer ones. */
static void
widen(struct lanes *l, uint32_t most)
{
	for (; l->mode < MODES - 1 && most >> modes[l->mode].bits > 0; l->mode++)
		for (unsigned i = 0; i < modes[l->mode + 1].count; i++) {
			l->cur[i] = rl_larger(l->cur[2 * i], l->cur[2 * i + 1]);
			l->sum[i] = rl_larger(l->sum[2 * i], l->sum[2 * i + 1]);
		}
}

/* More lanes, where those of the epoch before fit; the newest epoch has counted nothing. */
static void
narrow(struct lanes *l)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < modes[l->mode].count; i++)
		most = rl_larger(most, l->sum[i]);
	for (; l->mode > 0 && most >> modes[l->mode - 1].bits == 0; l->mode--)
		for (unsigned i = modes[l->mode].count; i-- > 0;)
			l->sum[2 * i] = l->sum[2 * i + 1] = l->sum[i];
}

/* All lanes begin a later epoch, the next one or one after that. */
static void
turn(struct lanes *l, bool is_next)
{
	for (unsigned i = 0; i < RL_OVERFLOW_LANES; i++) {
		l->sum[i] = is_next ? l->cur[i] : 0;
		l->cur[i] = 0;
	}
	narrow(l);
}

static struct rl_u128
word_of(const struct lanes *l, uint64_t epoch)
{
	unsigned bits = modes[l->mode].bits;
	uint64_t cur = 0, sum = 0;

	for (unsigned i = 0; i < modes[l->mode].count; i++) {
		cur |= (uint64_t)l->cur[i] << i * bits;
		sum |= (uint64_t)l->sum[i] << i * bits;
	}
	return (struct rl_u128){
		.lo = cur << LANES_BITS | sum,
		.hi = cur >> CUR_LOW_BITS << CUR_HIGH_SHIFT |
	              (epoch >> EPOCH_LOW_BITS & 0xf) << EPOCH_HIGH_SHIFT |
	              (epoch & ((1U << EPOCH_LOW_BITS) - 1)) << EPOCH_LOW_SHIFT |
	              (uint64_t)l->mode << MODE_SHIFT,
	};
}

static struct rl_u128
pack_lanes(const struct rl_limiter *overflow, struct rl_u128 word, const struct rl_u128 *seen,
           struct rl_u128 count, uint32_t lanes)
{
	struct rl_overflow_parts p = rl_overflow_parts_of(overflow, count);
	struct lanes l = {0};

	if (seen) {
		uint64_t epoch = rl_overflow_parts_of(overflow, *seen).epoch;

		l = lanes_of(word);
		if (p.epoch > epoch)
			turn(&l, p.epoch == epoch + 1 && overflow->window.count > 0);
	}
	widen(&l, rl_larger(p.cur, p.sum));
	for (unsigned i = 0; i < 2; i++) {
		unsigned own = own_lane(l.mode, lanes, i);

		l.cur[own] = rl_larger(l.cur[own], p.cur);
		l.sum[own] = rl_larger(l.sum[own], p.sum);
	}
	return word_of(&l, p.epoch);
}

struct rl_u128
rl_overflow_pack(const struct rl_limiter *overflow, struct rl_u128 word, const struct rl_u128 *seen,
                 struct rl_u128 count, uint32_t lanes, uint8_t serial, uint32_t folds)
{
	struct rl_u128 next = {.lo = count.lo, .hi = bucket_bits(count.hi)};

	if (!rl_limiter_has_bucket(overflow))
		next = pack_lanes(overflow, word, seen, count, lanes);
	next.hi |= (uint64_t)serial << RL_OVERFLOW_SERIAL_SHIFT | (folds & RL_OVERFLOW_FOLDS_MASK);
	return next;
}
