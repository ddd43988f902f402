/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/auto_ban.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rule/ban.h"
#include "rule/handle.h"
#include "rule/pattern.h"
#include "segment/stats.h"

#define TRIES 8
#define LINE 4 /* strikes in one */
#define LONGER_SHIFT 32
#define PARTS 3 /* of `within` */
#define COUNT_BITS 14
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)
#define STRIKES_MAX 63
#define PART_SHIFT 34
#define PART_BITS 30
#define PART_MASK ((UINT64_C(1) << PART_BITS) - 1)

_Static_assert(RL_AUTO_AFTER_MAX <= COUNT_MASK, "counts fit");
_Static_assert(2 * RL_WINDOW_MAX / (RL_SECOND / PARTS) < PART_MASK / 2,
               "parts tell past from future");

struct strike {
	uint64_t part;
	uint32_t denied[PARTS]; /* in `part`, and in those before it */
	uint32_t strikes;
};

int
rl_auto_ban_check(const struct rl_auto_ban *ban)
{
	if (ban->after == 0)
		return 0;
	if (ban->after > RL_AUTO_AFTER_MAX || ban->longer < 1 || ban->longer > RL_AUTO_LONGER_MAX ||
	    ban->within_ns < RL_SECOND || ban->within_ns > RL_WINDOW_MAX ||
	    ban->for_ns < RL_MILLISECOND || ban->for_ns > ban->at_most_ns ||
	    ban->at_most_ns > RL_WINDOW_MAX)
		return -EINVAL;
	return 0;
}

static struct rl_auto_row *
row_at(const struct rl_segment *s, unsigned bank, int row)
{
	return &s->auto_bans[(uint64_t)bank * s->geometry.rules + (unsigned)row];
}

void
rl_auto_ban_put(const struct rl_segment *s, unsigned bank, int row, const struct rl_auto_ban *ban)
{
	struct rl_auto_row *at = row_at(s, bank, row);

	rl_atomic_store_relaxed(&at->within_ns, ban->within_ns);
	rl_atomic_store_relaxed(&at->for_ns, ban->for_ns);
	rl_atomic_store_relaxed(&at->at_most_ns, ban->at_most_ns);
	if (ban->after > 0)
		rl_atomic_store(rl_auto_ban_asked(s), 1); /* before its generation is in force */
	rl_atomic_store(&at->numbers,
	                ban->after > 0 ? ban->after | (uint64_t)ban->longer << LONGER_SHIFT : 0);
}

void
rl_auto_ban_get(const struct rl_segment *s, unsigned bank, int row, struct rl_auto_ban *ban)
{
	const struct rl_auto_row *at = row_at(s, bank, row);
	uint64_t numbers = rl_atomic_load(&at->numbers);

	*ban = (struct rl_auto_ban){
		.after = (uint32_t)numbers,
		.longer = (uint32_t)(numbers >> LONGER_SHIFT),
		.within_ns = rl_atomic_load_relaxed(&at->within_ns),
		.for_ns = rl_atomic_load_relaxed(&at->for_ns),
		.at_most_ns = rl_atomic_load_relaxed(&at->at_most_ns),
	};
}

/*
 * Of the configuration in force; false if that changed meanwhile, or what stands there was
 * falsified.
 */
static bool
in_force(const struct rl_segment *s, int rule, struct rl_auto_ban *ban)
{
	uint64_t g = rl_atomic_load(&s->header->generation);

	rl_auto_ban_get(s, g % 2, rl_rule_row(rule), ban);
	rl_atomic_fence(); /* partner in configure_locked(): all of the bank before its
	                      generation */
	return rl_atomic_load(&s->header->generation) == g && ban->after > 0 &&
	       rl_auto_ban_check(ban) == 0;
}

static struct strike
unpack(struct rl_u128 word)
{
	return (struct strike){
		.part = word.hi >> PART_SHIFT,
		.denied = {word.lo & COUNT_MASK, word.hi & COUNT_MASK,
	                   word.hi >> COUNT_BITS & COUNT_MASK},
		.strikes = (uint32_t)(word.hi >> 2 * COUNT_BITS) & STRIKES_MAX,
	};
}

static struct rl_u128
pack(uint64_t fingerprint, const struct strike *strike)
{
	return (struct rl_u128){
		.lo = fingerprint | strike->denied[0],
		.hi = strike->denied[1] | (uint64_t)strike->denied[2] << COUNT_BITS |
	              (uint64_t)strike->strikes << 2 * COUNT_BITS | strike->part << PART_SHIFT,
	};
}

/* Whose strikes they are, above the bits that count; never 0. */
static uint64_t
fingerprint_of(struct rl_hash hash, const struct rl_auto_ban *ban)
{
	uint64_t fingerprint = (hash.a ^ ban->within_ns << COUNT_BITS) & ~COUNT_MASK;

	return fingerprint != 0 ? fingerprint : COUNT_MASK + 1;
}

static uint64_t
part_ns(const struct rl_auto_ban *ban)
{
	return ban->within_ns / PARTS;
}

static uint64_t
part_at(const struct rl_auto_ban *ban, uint64_t ns)
{
	return ns / part_ns(ban) & PART_MASK;
}

/*
 * How many parts the word is behind; negative: it is of a clock that is ahead, or of a ban that was
 * lifted.
 */
static int64_t
behind(const struct strike *strike, uint64_t part)
{
	uint64_t by = (part - strike->part) & PART_MASK;

	return by <= PART_MASK / 2 ? (int64_t)by : (int64_t)by - (int64_t)PART_MASK - 1;
}

/* So far behind that nothing of it holds. */
static int64_t
forgotten(const struct rl_auto_ban *ban)
{
	return (int64_t)(ban->at_most_ns / part_ns(ban)) + PARTS;
}

static uint32_t
denied(const struct strike *strike)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < PARTS; i++)
		sum += strike->denied[i];
	return sum;
}

/* How much a word is worth keeping; 0: nothing. */
static uint64_t
worth(struct rl_u128 word, const struct rl_auto_ban *ban, uint64_t now_ns)
{
	struct strike strike = unpack(word);

	if (word.lo == 0 || behind(&strike, part_at(ban, now_ns)) >= forgotten(ban))
		return 0;
	return 1 + ((uint64_t)strike.strikes << (COUNT_BITS + 2) | denied(&strike));
}

/* The key's word of its line, or else the one that is worth least. */
static struct rl_u128 *
word_for(const struct rl_segment *s, struct rl_hash hash, const struct rl_auto_ban *ban,
         uint64_t now_ns, struct rl_u128 *held)
{
	uint64_t lines = s->geometry.ban_slots / LINE + 1, least = UINT64_MAX;
	struct rl_u128 *line =
		&s->strikes[(uint64_t)(((unsigned __int128)hash.b * lines) >> 64) * LINE];
	struct rl_u128 *found = NULL, word;

	for (unsigned i = 0; i < LINE; i++) {
		if (!rl_atomic_load16(&line[i], &word))
			continue;
		if ((word.lo & ~COUNT_MASK) == fingerprint_of(hash, ban)) {
			*held = word;
			return &line[i];
		}
		if (worth(word, ban, now_ns) < least) {
			least = worth(word, ban, now_ns);
			*held = word;
			found = &line[i];
		}
	}
	return found;
}

/* How long the next ban is, if there were so many before. */
static uint64_t
length(const struct rl_auto_ban *ban, uint32_t strikes)
{
	uint64_t ns = ban->for_ns;

	while (strikes-- > 0 && ns < ban->at_most_ns)
		ns = ns > ban->at_most_ns / ban->longer ? ban->at_most_ns : ns * ban->longer;
	return ns;
}

/* The newest count is that of `part` now, `by` parts later. */
static void
move_on(struct strike *strike, uint64_t part, unsigned by)
{
	for (unsigned i = PARTS; i-- > 0;)
		strike->denied[i] = i >= by ? strike->denied[i - by] : 0;
	strike->part = part;
}

/* What one denial more makes of a word; true if that is to be a ban, of *for_ns. */
static bool
strike_next(const struct rl_auto_ban *ban, struct strike *strike, uint64_t now_ns, uint64_t *for_ns)
{
	uint64_t part = part_at(ban, now_ns);
	int64_t by = behind(strike, part);

	if (by >= forgotten(ban))
		strike->strikes = 0;
	if (by <= -PARTS)
		by = PARTS;
	if (by > 0) {
		move_on(strike, part, (unsigned)by);
		by = 0;
	}
	strike->denied[-by]++;
	if (denied(strike) < ban->after)
		return false;
	*for_ns = length(ban, strike->strikes);
	move_on(strike, part_at(ban, now_ns + *for_ns), PARTS);
	strike->strikes += strike->strikes < STRIKES_MAX;
	return true;
}

static void
set_ban(const struct rl_segment *s, int rule, const struct rl_pattern *pattern,
        const struct rl_auto_ban *ban, uint32_t strikes, uint64_t until_ns, uint64_t now_ns)
{
	struct rl_ban_info info = {.rule = rule,
	                           .is_automatic = true,
	                           .pattern = *pattern,
	                           .until_ns = until_ns,
	                           .author = geteuid(),
	                           .since_ns = now_ns};
	int len = snprintf(info.reason, sizeof info.reason, "automatic: denied %u times, ban %u",
	                   (unsigned)ban->after, (unsigned)strikes);

	info.reason_len = len > 0 ? (size_t)len : 0;
	if (rl_ban_set_automatic(s, &info, now_ns))
		rl_stats_add(s, rule, RL_COUNT_auto_banned);
}

__attribute__((noinline, cold)) void
rl_auto_ban_count(const struct rl_segment *s, int rule, const void *key, size_t key_len,
                  uint64_t now_ns)
{
	const struct rl_pattern pattern = {.match = RL_MATCH_KEY, .key = key, .key_len = key_len};
	struct rl_normal_pattern normal;
	struct rl_auto_ban ban;
	struct rl_hash hash;

	if (!s->is_writable || (uint32_t)rl_rule_row(rule) >= s->geometry.rules ||
	    !in_force(s, rule, &ban) || rl_normal_pattern_of(&pattern, &normal) < 0)
		return;
	hash = rl_normal_pattern_hash_in(s, rule, &normal);
	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_u128 held = {0}, *at = word_for(s, hash, &ban, now_ns, &held);
		uint64_t fingerprint = fingerprint_of(hash, &ban), for_ns = 0;
		struct strike strike = {0};
		bool is_ban;

		if ((held.lo & ~COUNT_MASK) == fingerprint)
			strike = unpack(held);
		is_ban = strike_next(&ban, &strike, now_ns, &for_ns);
		if (!at || !rl_atomic_cas16(at, held, pack(fingerprint, &strike)))
			continue;
		if (is_ban)
			set_ban(s, rule, &pattern, &ban, strike.strikes, now_ns + for_ns, now_ns);
		return;
	}
}

int
rl_auto_ban_forget(struct rl *rl, int rule, const void *key, size_t key_len)
{
	const struct rl_pattern pattern = {.match = RL_MATCH_KEY, .key = key, .key_len = key_len};
	const struct rl_segment *s = &rl->segment;
	uint64_t now_ns = rl_segment_now(s);
	struct rl_normal_pattern normal;
	struct rl_auto_ban ban;
	struct rl_hash hash;

	if (!rl_handle_has(rl, rule) || rl_normal_pattern_of(&pattern, &normal) < 0)
		return -EINVAL;
	if (!s->is_writable)
		return -EROFS;
	if (!in_force(s, rule, &ban))
		return 0;
	hash = rl_normal_pattern_hash_in(s, rule, &normal);
	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_u128 held = {0}, *at = word_for(s, hash, &ban, now_ns, &held);

		if (!at || (held.lo & ~COUNT_MASK) != fingerprint_of(hash, &ban))
			return 0;
		if (rl_atomic_cas16(at, held, (struct rl_u128){0}))
			return 1;
	}
	return -EBUSY;
}
