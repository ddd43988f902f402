/* SPDX-License-Identifier: BSD-2-Clause */
/* All bans and exemptions: shown to people, forgotten with their rule, and told to the filter. */
#include <string.h>

#include "rule/ban_note.h"
#include "rule/ban_word.h"
#include "rule/filter.h"
#include "segment/record.h"

/* What is known beside it of the ban that stood as `word` in that slot. */
static void
fill_note(const struct rl_segment *s, uint32_t slot, struct rl_u128 word, struct rl_ban_info *info)
{
	struct rl_ban_words words;

	if (!rl_ban_note_read(s, slot, word, &words))
		return;
	info->has_note = 1;
	info->author = words.author;
	info->since_ns = words.since_ns;
	info->hits = words.hits;
	info->reason_len = words.reason_len;
	memcpy(info->reason, words.reason, RL_REASON_MAX);
}

int
rl_ban_info(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t now_ns,
            struct rl_ban_info *info)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_normal_pattern normal;
	struct rl_u128 held, *at;
	struct rl_ban ban;
	int error = rl_ban_check_pattern(rl, rule, pattern, &normal);

	if (error < 0)
		return error;
	at = rl_ban_find_standing(s, rl_ban_hash_in(s, rule, &normal), now_ns, &budget, &held);
	if (!at)
		return 0;
	ban = rl_ban_unpack(held.hi);
	*info = (struct rl_ban_info){
		.rule = rule,
		.is_exemption = ban.is_exemption,
		.is_automatic = ban.is_automatic,
		.pattern = *pattern,
		.key_len = pattern->key_len,
		.until_ns = ban.until_ns,
	};
	fill_note(s, (uint32_t)(at - s->bans), held, info);
	return 1;
}

void
rl_ban_forget(const struct rl_segment *s, int row)
{
	struct rl_u128 held;

	for (uint32_t i = 0; i < s->geometry.ban_slots; i++)
		for (int tries = 0; tries < RL_BAN_TRIES; tries++)
			if (!rl_atomic_load16(&s->bans[i], &held) || held.lo == 0 ||
			    (int)(held.hi >> RL_BAN_RULE_SHIFT & RL_BAN_RULE_MASK) != row ||
			    (held.hi >> RL_BAN_UNTIL_SHIFT & RL_BAN_UNTIL_MAX) == 0 ||
			    rl_atomic_cas16(&s->bans[i], held, (struct rl_u128){.lo = held.lo}))
				break;
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

/* Is it of the rule that has the row now, or of RL_ANY_RULE? Which, in *rule. */
static bool
is_current(const struct rl_segment *s, uint64_t hi, int *rule)
{
	if (*rule == RL_ANY_RULE)
		return true;
	if ((uint32_t)*rule >= s->geometry.rules)
		return false;
	*rule = rl_rules_handle(s, *rule);
	return hi >> RL_BAN_INCARNATION_SHIFT ==
	       (rl_rule_incarnation(*rule) & RL_BAN_INCARNATION_MASK);
}

int
rl_ban_show(const struct rl_segment *s, uint32_t slot, uint64_t now_ns, rl_ban_visit_fn *visit,
            void *arg)
{
	const struct rl_u128 *at = &s->bans[slot];
	struct rl_ban_info info = {0};
	struct rl_u128 word;
	struct rl_record_copy copy;
	struct rl_ban ban;

	if (!rl_atomic_load16(at, &word) || word.lo == 0 || !rl_ban_stands(word.hi, now_ns))
		return 0;
	ban = rl_ban_unpack(word.hi);
	if ((ban.is_automatic && ban.is_exemption) || !is_current(s, word.hi, &ban.rule))
		return 0; /* damage, or of a rule that is gone */
	info.rule = ban.rule;
	info.is_exemption = ban.is_exemption;
	info.is_automatic = ban.is_automatic;
	info.until_ns = ban.until_ns;
	info.pattern.match = ban.match;
	if (rl_record_read(s, (struct rl_slot){.index = rl_ban_index_of(s, at), .tag = word.lo},
	                   &copy)) {
		info.pattern.key =
			copy.key_kept > 0 ? copy.bytes : NULL; /* a segment may keep none */
		info.pattern.key_len = copy.key_kept;
		info.key_len = copy.key_len;
	}
	fill_note(s, slot, word, &info);
	return visit(&info, arg);
}

int
rl_bans_walk(struct rl *rl, uint64_t now_ns, rl_ban_visit_fn *visit, void *arg)
{
	const struct rl_segment *s = &rl->segment;
	int result = 0;

	for (uint32_t i = 0; i < s->geometry.ban_slots && result == 0; i++)
		result = rl_ban_show(s, i, now_ns, visit, arg);
	return result;
}
