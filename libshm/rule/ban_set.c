/* SPDX-License-Identifier: BSD-2-Clause */
/* Bans, exemptions and overrides for a time set, replaced and lifted. */
#include <errno.h>
#include <unistd.h>

#include "rule/ban_note.h"
#include "rule/ban_word.h"
#include "rule/filter.h"
#include "rule/policy.h"
#include "segment/change.h"
#include "segment/event.h"
#include "segment/record.h"

/*
 * Where an entry of that hash may be put: where it stands already, else the first slot whose
 * time is over, else the first that never was used. NULL: there is none.
 */
static struct rl_u128 *
slot_for(const struct rl_segment *s, struct rl_hash hash, uint64_t now_ns, struct rl_u128 *held)
{
	struct rl_u128 *over = NULL, word = {.lo = hash.a};

	for (unsigned step = 0; step < rl_ban_steps(s) && word.lo != 0; step++) {
		struct rl_u128 *at = rl_ban_slot_at(s, hash, step);
		if (!rl_atomic_load16(at, &word))
			continue;
		if (word.lo == hash.a) {
			*held = word;
			return at;
		}
		if (!over && (word.lo == 0 || !rl_ban_stands(word.hi, now_ns))) {
			*held = word;
			over = at;
		}
	}
	return over;
}

/* Say where lookups will find it. 0 or -EBUSY. */
static int
add_length(const struct rl_segment *s, const struct rl_ban *ban,
           const struct rl_normal_pattern *normal)
{
	uint64_t flags = RL_ROW_BANS | (ban->capacity > 0 ? (uint64_t)RL_ROW_TIMED : 0);
	int rule = ban->rule, error;

	if (rule == RL_ANY_RULE)
		return rl_lengths_add(&s->header->any_bans, normal);
	error = rl_lengths_add(&s->rows[rl_rule_row(rule)].bans, normal);
	if (error < 0)
		return error;
	error = rl_rules_set_flags(s, rule, flags, true);
	return error == -EAGAIN ? -EINVAL : error;
}

/*
 * Two processes that set the same pattern at once may leave it in two slots, if a slot was freed in
 * between. Lookups see the first that stands; lift the others, so that none outlives it. Keep
 * the first, whoever set it: a process that was stopped before this may find another's there.
 */
static void
lift_doubles(const struct rl_segment *s, struct rl_hash hash, uint64_t now_ns)
{
	struct rl_u128 word, again, held, *first = NULL;

	for (unsigned step = 0; step < rl_ban_steps(s); step++) {
		struct rl_u128 *at = rl_ban_slot_at(s, hash, step);
		if (!rl_atomic_load16(at, &word) || word.lo == 0)
			return;
		if (word.lo != hash.a || !rl_ban_stands(word.hi, now_ns))
			continue;
		if (!first) {
			first = at;
			held = word;
		} else if (rl_atomic_load16(first, &again) && rl_u128_equal(again, held)) {
			rl_atomic_cas16(at, word, (struct rl_u128){.lo = hash.a});
		}
	}
}

/* 1: one stands that may not be replaced. */
static int
put(const struct rl_segment *s, struct rl_hash hash, const struct rl_ban *ban,
    const struct rl_pattern *pattern, const struct rl_ban_words *words, bool may_replace,
    uint64_t now_ns)
{
	struct rl_u128 held, next = {.lo = hash.a, .hi = rl_ban_pack(ban)};

	for (int tries = 0; tries < RL_BAN_TRIES; tries++) {
		struct rl_u128 *at = slot_for(s, hash, now_ns, &held);
		if (!at)
			return RL_EBANS;
		if (!may_replace && held.lo == hash.a && rl_ban_stands(held.hi, now_ns))
			return 1;
		if (rl_atomic_cas16(at, held, next)) {
			struct rl_slot slot = {.index = rl_ban_index_of(s, at), .tag = hash.a};
			rl_record_write(s, slot, 0, pattern->key, pattern->key_len);
			rl_ban_note_write(s, (uint32_t)(at - s->bans), next, words);
			lift_doubles(s, hash, now_ns);
			return 0;
		}
		rl_atomic_pause();
	}
	return -EBUSY;
}

int
rl_ban_check_pattern(struct rl *rl, int rule, const struct rl_pattern *pattern,
                     struct rl_normal_pattern *normal)
{
	int error = rl_normal_pattern_of(pattern, normal);

	if (error < 0)
		return error;
	return rule == RL_ANY_RULE || rl_handle_has(rl, rule) ? 0 : -EINVAL;
}

/* The same, and may we write. */
static int
check(struct rl *rl, int rule, const struct rl_pattern *pattern, struct rl_normal_pattern *normal)
{
	int error = rl_ban_check_pattern(rl, rule, pattern, normal);

	if (error < 0)
		return error;
	return rl->segment.is_writable ? 0 : -EROFS;
}

/* The bits of an entry that was put. False: others changed the words all the time. */
static bool
add_to_filter(const struct rl_segment *s, uint64_t lo)
{
	uint32_t fingerprint = (uint32_t)(lo >> RL_BAN_FINGERPRINT_SHIFT);

	rl_atomic_fence(); /* the entry before its bits: partner in rl_ban_rebuild() */
	return rl_filter_add(&s->ban_filter, 0, fingerprint) &&
	       rl_filter_add(&s->ban_filter, 1, fingerprint);
}

static struct rl_hash
hash_of(const struct rl_segment *s, const struct rl_ban *ban,
        const struct rl_normal_pattern *normal)
{
	return ban->capacity > 0
	               ? rl_ban_hash_of_override(ban->rule, ban->limit, rl_ban_hash_of(s, normal))
	               : rl_ban_hash_in(s, ban->rule, normal);
}

/* An entry without its bits leaves the change open, as one that was killed: see filter.h. */
static int
set_as_change(const struct rl_segment *s, const struct rl_ban *ban,
              const struct rl_pattern *pattern, const struct rl_normal_pattern *normal,
              const struct rl_ban_words *words, bool may_replace, uint64_t now_ns)
{
	struct rl_hash hash = hash_of(s, ban, normal);
	struct rl_change change;
	int error;

	if (!rl_change_begin(s, &change))
		return -EBUSY;
	error = add_length(s, ban, normal);
	if (error == 0)
		error = put(s, hash, ban, pattern, words, may_replace, now_ns);
	if (error == 0 && !add_to_filter(s, hash.a))
		return -EBUSY;
	rl_change_end(&change);
	return error;
}

static void
report_set(const struct rl_segment *s, const struct rl_ban *ban, const struct rl_pattern *pattern,
           uint64_t now_ns)
{
	uint64_t left_ns = RL_NEVER_NS;

	if (ban->until_ns != RL_NEVER_NS)
		left_ns = ban->until_ns > now_ns ? ban->until_ns - now_ns : 0;
	if (ban->capacity > 0)
		rl_event_report_override(s, ban->rule, ban->limit, pattern, ban->capacity, left_ns);
	else
		rl_event_report_ban(s,
		                    ban->is_exemption ? RL_EVENT_EXEMPTION_SET : RL_EVENT_BAN_SET,
		                    ban->rule, pattern, left_ns, ban->is_automatic);
}

static int
set_info(const struct rl_segment *s, const struct rl_ban_info *info,
         const struct rl_normal_pattern *normal, bool may_replace, uint64_t now_ns)
{
	struct rl_ban_words words = {
		.since_ns = info->since_ns > 0 ? info->since_ns : now_ns,
		.hits = info->hits,
		.author = info->author,
		.of = info->capacity > 0 ? rl_ban_note_of(info->rule, info->limit) : 0,
	};
	struct rl_ban ban = {.rule = info->rule,
	                     .match = info->pattern.match,
	                     .is_exemption = info->is_exemption != 0,
	                     .is_automatic = info->is_automatic != 0,
	                     .until_ns = info->until_ns,
	                     .capacity = info->capacity,
	                     .limit = info->limit};
	int error;

	rl_ban_note_set(&words, info->reason, info->reason_len);
	error = set_as_change(s, &ban, &info->pattern, normal, &words, may_replace, now_ns);
	if (error == 0)
		report_set(s, &ban, &info->pattern, now_ns);
	return error;
}

/* Is the capacity one that the limit can have? 0, -EINVAL or RL_ERING. */
static int
check_capacity(struct rl *rl, int rule, unsigned limit, uint32_t capacity)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_policy policy;
	struct rl_quota quota;
	int error = rl_policy_load(rl, rule, &budget, &policy);

	if (error < 0)
		return error;
	if (limit >= policy.count || capacity > RL_CAPACITY_MAX ||
	    policy.limit[limit].limit->limiter.algorithm == RL_COUNTER)
		return -EINVAL;
	quota = policy.limit[limit].quota;
	return rl_policy_set_capacity(&policy.limit[limit].limit->limiter, capacity, &quota);
}

/* Of one key of a rule, and with an end. */
static bool
is_sound_override(const struct rl_ban_info *info)
{
	return info->rule != RL_ANY_RULE && info->pattern.match == RL_MATCH_KEY &&
	       !info->is_exemption && !info->is_automatic && info->until_ns != RL_NEVER_NS;
}

static bool
is_sound(const struct rl_ban_info *info)
{
	bool is_rules = info->rule != RL_ANY_RULE && info->pattern.match == RL_MATCH_KEY &&
	                !info->is_exemption;

	if (info->capacity > 0 && !is_sound_override(info))
		return false;
	return info->reason_len <= RL_REASON_MAX && (!info->is_automatic || is_rules);
}

int
rl_ban_set(struct rl *rl, const struct rl_ban_info *info)
{
	struct rl_normal_pattern normal;
	int error = is_sound(info) ? check(rl, info->rule, &info->pattern, &normal) : -EINVAL;

	if (error == 0 && info->capacity > 0)
		error = check_capacity(rl, info->rule, info->limit, info->capacity);
	if (error < 0)
		return error;
	return set_info(&rl->segment, info, &normal, true, rl_segment_now(&rl->segment));
}

/* As far as that is known: true also if the budget has ended. */
static bool
is_exempt(const struct rl_segment *s, int rule, const struct rl_pattern *key, uint64_t now_ns)
{
	struct rl_lengths lengths = rl_lengths_both(rl_lengths_load(&s->header->any_bans),
	                                            rl_lengths_load(&rl_rules_at(s, rule)->bans));
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_standing standing;
	struct rl_address address;
	bool has_address = rl_address_parse(key->key, key->key_len, &address);

	rl_ban_of_key(s, rule, &lengths, key->key, key->key_len, has_address ? &address : NULL,
	              now_ns, &budget, &standing);
	return budget.left == 0 || (standing.is_found && standing.first.is_exemption);
}

bool
rl_ban_set_automatic(const struct rl_segment *s, const struct rl_ban_info *info, uint64_t now_ns)
{
	struct rl_normal_pattern normal;

	return rl_normal_pattern_of(&info->pattern, &normal) == 0 &&
	       !is_exempt(s, info->rule, &info->pattern, now_ns) &&
	       set_info(s, info, &normal, false, now_ns) == 0;
}

/* By this user, now, for no reason that is told. */
static int
set(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t until_ns, bool is_exemption)
{
	const struct rl_ban_info ban = {.rule = rule,
	                                .is_exemption = is_exemption,
	                                .pattern = *pattern,
	                                .until_ns = until_ns,
	                                .author = geteuid()};

	return rl_ban_set(rl, &ban);
}

int
rl_ban(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t until_ns)
{
	return set(rl, rule, pattern, until_ns, false);
}

int
rl_allow(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t until_ns)
{
	return set(rl, rule, pattern, until_ns, true);
}

/* Lift an entry of that hash: 1 if it stood. */
static int
lift(const struct rl_segment *s, struct rl_u128 *at, struct rl_hash hash)
{
	struct rl_u128 held;

	for (int tries = 0; tries < RL_BAN_TRIES; tries++) {
		if (!rl_atomic_load16(at, &held) || held.lo != hash.a || held.hi == 0)
			return 0;
		if (rl_atomic_cas16(at, held, (struct rl_u128){.lo = hash.a}))
			return rl_ban_stands(held.hi, rl_segment_now(s));
	}
	return 0;
}

/* All entries of that hash: 1 if any stood. */
static int
lift_all(const struct rl_segment *s, struct rl_hash hash)
{
	int did = 0;

	for (unsigned step = 0; step < rl_ban_steps(s); step++)
		did |= lift(s, rl_ban_slot_at(s, hash, step), hash);
	return did;
}

int
rl_unban(struct rl *rl, int rule, const struct rl_pattern *pattern)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_normal_pattern normal;
	int error = check(rl, rule, pattern, &normal), did;

	if (error < 0)
		return error;
	did = lift_all(s, rl_ban_hash_in(s, rule, &normal));
	if (did)
		rl_event_report_ban(s, RL_EVENT_BAN_LIFTED, rule, pattern, 0, false);
	return did;
}

static int
lift_override(struct rl *rl, int rule, unsigned limit, const struct rl_pattern *key)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_normal_pattern normal;
	int error = check(rl, rule, key, &normal), did;

	if (error < 0 || rule == RL_ANY_RULE || limit >= RL_LIMITS_MAX)
		return error < 0 ? error : -EINVAL;
	did = lift_all(s, rl_ban_hash_of_override(rule, limit, rl_ban_hash_of(s, &normal)));
	if (did)
		rl_event_report_override(s, rule, limit, key, 0, 0);
	return did;
}

int
rl_override(struct rl *rl, int rule, unsigned limit, const void *key, size_t key_len,
            uint32_t capacity, uint64_t until_ns)
{
	const struct rl_ban_info info = {
		.rule = rule,
		.limit = limit,
		.pattern = {.match = RL_MATCH_KEY, .key = key, .key_len = key_len},
		.capacity = capacity,
		.until_ns = until_ns,
		.author = geteuid()};

	return capacity > 0 ? rl_ban_set(rl, &info) : lift_override(rl, rule, limit, &info.pattern);
}
