/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All bans, exemptions and overrides for a time: shown to people, forgotten with their rule, and
 * told to the filter.
 */
#include <errno.h>
#include <string.h>

#include "rule/ban_note.h"
#include "rule/ban_word.h"
#include "rule/filter.h"
#include "segment/record.h"

/* What the note of the one in that slot says of it. */
static void
fill_note(const struct rl_ban_words *words, struct rl_ban_info *info)
{
	info->has_note = 1;
	info->author = words->author;
	info->since_ns = words->since_ns;
	info->hits = words->hits;
	info->reason_len = words->reason_len;
	memcpy(info->reason, words->reason, RL_REASON_MAX);
}

/* All but whose it is. */
static void
fill(const struct rl_segment *s, const struct rl_u128 *at, struct rl_u128 word,
     struct rl_ban_info *info)
{
	struct rl_ban ban = rl_ban_unpack(word.hi);
	struct rl_ban_words words;

	info->is_exemption = ban.is_exemption;
	info->is_automatic = ban.is_automatic;
	info->until_ns = ban.until_ns;
	info->capacity = ban.capacity;
	info->pattern.match = ban.match;
	if (rl_ban_note_read(s, (uint32_t)(at - s->bans), word, &words))
		fill_note(&words, info);
}

int
rl_ban_info(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t now_ns,
            struct rl_ban_info *info)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_normal_pattern normal;
	struct rl_u128 held, *at;
	int error = rl_ban_check_pattern(rl, rule, pattern, &normal);

	if (error < 0)
		return error;
	at = rl_ban_find_standing(s, rl_ban_hash_in(s, rule, &normal), now_ns, &budget, &held);
	if (!at)
		return 0;
	*info = (struct rl_ban_info){.rule = rule};
	fill(s, at, held, info);
	info->pattern = *pattern;
	info->key_len = pattern->key_len;
	return 1;
}

int
rl_override_of(struct rl *rl, int rule, unsigned limit, const void *key, size_t key_len,
               uint64_t now_ns, struct rl_ban_info *info)
{
	const struct rl_pattern pattern = {.match = RL_MATCH_KEY, .key = key, .key_len = key_len};
	const struct rl_segment *s = &rl->segment;
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_normal_pattern normal;
	struct rl_u128 held, *at;
	int error = rl_ban_check_pattern(rl, rule, &pattern, &normal);

	if (error < 0 || rule == RL_ANY_RULE || limit >= RL_LIMITS_MAX)
		return error < 0 ? error : -EINVAL;
	at = rl_ban_find_standing(s,
	                          rl_ban_hash_of_override(rule, limit, rl_ban_hash_of(s, &normal)),
	                          now_ns, &budget, &held);
	if (!at || !rl_ban_is_override(held.hi))
		return 0;
	*info = (struct rl_ban_info){.rule = rule, .limit = limit};
	fill(s, at, held, info);
	info->pattern = pattern;
	info->key_len = key_len;
	return 1;
}

/* In one bank of the filter, or both. False: one could not be set. */
static bool
add_all(const struct rl_segment *s, uint64_t now_ns, unsigned first, unsigned last)
{
	uint64_t buffer_ns = s->geometry.buffer_ns,
		 late_ns = now_ns > buffer_ns ? now_ns - buffer_ns : 0;
	struct rl_u128 held;
	bool is_done = true;

	for (uint32_t i = 0; i < s->geometry.ban_slots; i++) {
		/* One that changes all the time gets its bits from who changes it. */
		if (!rl_atomic_load16(&s->bans[i], &held) || held.lo == 0 ||
		    !rl_ban_stands(held.hi, late_ns))
			continue;
		for (unsigned bank = first; bank <= last; bank++)
			is_done &= rl_filter_add(&s->ban_filter, bank,
			                         (uint32_t)(held.lo >> RL_BAN_FINGERPRINT_SHIFT));
	}
	return is_done;
}

bool
rl_ban_mend(const struct rl_segment *s, uint64_t now_ns)
{
	return add_all(s, now_ns, 0, 1);
}

bool
rl_ban_is_crowded(const struct rl_segment *s)
{
	return rl_filter_is_crowded(&s->ban_filter, rl_atomic_load(s->ban_epoch) & 1);
}

void
rl_ban_rebuild(const struct rl_segment *s, uint64_t now_ns)
{
	uint64_t epoch = rl_atomic_load(s->ban_epoch);
	unsigned next = (epoch + 1) & 1;

	rl_filter_clear(&s->ban_filter, next);
	rl_atomic_fence(); /* before any entry is read: partner in add_to_filter() */
	if (add_all(s, now_ns, next, next))
		rl_atomic_store(s->ban_epoch, epoch + 1);
}

/* Whose it is, as its word or its note has it. */
struct whose {
	int row; /* or RL_ANY_RULE */
	unsigned limit;
	uint64_t incarnation;
};

static struct whose
whose_of(const struct rl_segment *s, uint32_t slot, struct rl_u128 word)
{
	struct rl_ban_words words;

	if (!rl_ban_is_override(word.hi))
		return (struct whose){.row = rl_ban_unpack(word.hi).rule,
		                      .incarnation = word.hi >> RL_BAN_INCARNATION_SHIFT};
	if (!rl_ban_note_read(s, slot, word, &words))
		return (struct whose){.row = RL_ANY_RULE};
	return (struct whose){.row = (int)(words.of & RL_RULE_INDEX_MASK),
	                      .limit = words.of >> RL_BAN_OF_LIMIT_SHIFT & (RL_LIMITS_MAX - 1),
	                      .incarnation = words.of >> RL_BAN_OF_INCARNATION_SHIFT &
	                                     RL_BAN_INCARNATION_MASK};
}

void
rl_ban_forget(const struct rl_segment *s, int row)
{
	struct rl_u128 held;

	for (uint32_t i = 0; i < s->geometry.ban_slots; i++)
		for (int tries = 0; tries < RL_BAN_TRIES; tries++)
			if (!rl_atomic_load16(&s->bans[i], &held) || held.hi == 0 ||
			    whose_of(s, i, held).row != row ||
			    rl_atomic_cas16(&s->bans[i], held, (struct rl_u128){.lo = held.lo}))
				break;
}

/* Is it of the rule that has the row now, or of RL_ANY_RULE? Which, in *rule. */
static bool
is_current(const struct rl_segment *s, const struct whose *of, int *rule)
{
	*rule = RL_ANY_RULE;
	if (of->row == RL_ANY_RULE)
		return true;
	if ((uint32_t)of->row >= s->geometry.rules)
		return false;
	*rule = rl_rules_handle(s, of->row);
	return of->incarnation == (rl_rule_incarnation(*rule) & RL_BAN_INCARNATION_MASK);
}

/* A segment may keep no bytes. */
static void
fill_key(const struct rl_segment *s, const struct rl_u128 *at, uint64_t lo,
         struct rl_record_copy *copy, struct rl_ban_info *info)
{
	struct rl_slot slot = {.index = rl_ban_index_of(s, at), .tag = lo};

	if (!rl_record_read(s, slot, copy))
		return;
	info->pattern.key = copy->key_kept > 0 ? copy->bytes : NULL;
	info->pattern.key_len = copy->key_kept;
	info->key_len = copy->key_len;
}

static int
show(const struct rl_segment *s, uint32_t slot, uint64_t now_ns, bool is_override,
     rl_ban_visit_fn *visit, void *arg)
{
	const struct rl_u128 *at = &s->bans[slot];
	struct rl_ban_info info = {0};
	struct rl_record_copy copy;
	struct rl_u128 word;
	struct whose of;

	if (!rl_atomic_load16(at, &word) || word.lo == 0 || !rl_ban_stands(word.hi, now_ns) ||
	    rl_ban_is_override(word.hi) != is_override)
		return 0;
	of = whose_of(s, slot, word);
	if (!is_current(s, &of, &info.rule))
		return 0;
	info.limit = of.limit;
	fill(s, at, word, &info);
	fill_key(s, at, word.lo, &copy, &info);
	return visit(&info, arg);
}

int
rl_ban_show(const struct rl_segment *s, uint32_t slot, uint64_t now_ns, rl_ban_visit_fn *visit,
            void *arg)
{
	return show(s, slot, now_ns, false, visit, arg);
}

static int
walk(const struct rl *rl, uint64_t now_ns, bool is_override, rl_ban_visit_fn *visit, void *arg)
{
	const struct rl_segment *s = &rl->segment;
	int result = 0;

	for (uint32_t i = 0; i < s->geometry.ban_slots && result == 0; i++)
		result = show(s, i, now_ns, is_override, visit, arg);
	return result;
}

int
rl_bans_walk(struct rl *rl, uint64_t now_ns, rl_ban_visit_fn *visit, void *arg)
{
	return walk(rl, now_ns, false, visit, arg);
}

int
rl_overrides_walk(struct rl *rl, uint64_t now_ns, rl_ban_visit_fn *visit, void *arg)
{
	return walk(rl, now_ns, true, visit, arg);
}
