/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/ban.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "rule/ban_note.h"
#include "rule/filter.h"
#include "rule/handle.h"
#include "rule/print.h"
#include "segment/change.h"
#include "segment/event.h"
#include "segment/record.h"

/*
 * word.lo  print:32 | hash of scope and pattern:32, never 0. Of an entry alone its bits in the filter
 *          are known: see filter.h
 * word.hi  incarnation:7 | until, ms:44 | rule:10 | match:2 | exemption:1, exemption lowest. An
 *          until of all ones: no end. The lowest bits of the incarnation of the rule's row tell
 *          people whose it is; the hash has all. Match 3: an automatic ban, of a key.
 * A lifted one has until 0.
 */
#define PRINT_SHIFT 32
#define EXEMPTION UINT64_C(1)
#define MATCH_SHIFT 1
#define AUTOMATIC 3
#define RULE_SHIFT 3
#define RULE_MASK 0x3ff
#define UNTIL_SHIFT 13
#define UNTIL_MAX ((UINT64_C(1) << 44) - 1)
#define INCARNATION_SHIFT 57
#define INCARNATION_MASK UINT64_C(0x7f)

/* How far from where its hash points to an entry may stand. */
#define STEPS_MAX 64
#define PROBE_STEPS 3 /* to read one: see rl_atomic_load16() */
#define TRIES 1000

static struct rl_ban
unpack(uint64_t hi)
{
	uint64_t until_ms = hi >> UNTIL_SHIFT & UNTIL_MAX;
	int rule = (int)(hi >> RULE_SHIFT & RULE_MASK);
	unsigned match = hi >> MATCH_SHIFT & 3;

	return (struct rl_ban){
		.rule = rule == RULE_MASK ? RL_ANY_RULE : rule,
		.match = match == AUTOMATIC ? RL_MATCH_KEY : (enum rl_match)match,
		.is_exemption = (hi & EXEMPTION) != 0,
		.is_automatic = match == AUTOMATIC,
		.until_ns = until_ms == UNTIL_MAX ? RL_NEVER_NS : until_ms * RL_MILLISECOND,
	};
}

static uint64_t
pack(const struct rl_ban *b)
{
	uint64_t until_ms = b->until_ns / RL_MILLISECOND + (b->until_ns % RL_MILLISECOND > 0);
	uint64_t match = b->is_automatic ? AUTOMATIC : (uint64_t)b->match;

	if (until_ms > UNTIL_MAX)
		until_ms = UNTIL_MAX;
	return rl_rule_incarnation(b->rule & INT_MAX) << INCARNATION_SHIFT |
	       until_ms << UNTIL_SHIFT | (uint64_t)(b->rule & RULE_MASK) << RULE_SHIFT |
	       match << MATCH_SHIFT | (b->is_exemption ? EXEMPTION : 0);
}

static bool
stands(uint64_t hi, uint64_t now_ns)
{
	return unpack(hi).until_ns > now_ns;
}

/* Where an entry is kept, and what is its word.lo. */
static struct rl_hash
hash_of(const struct rl_segment *s, uint64_t scope, const struct rl_normal_pattern *normal)
{
	struct rl_hash hash = rl_normal_pattern_hash(s, scope, normal);

	hash.a = (uint64_t)rl_print_of(s, normal) << PRINT_SHIFT | (uint32_t)hash.a;
	return hash;
}

/* The slot `step` < ban_slots steps from home; no division, for lookups take many. */
static struct rl_u128 *
slot_at(const struct rl_segment *s, struct rl_hash hash, unsigned step)
{
	uint64_t n = s->geometry.ban_slots;
	uint64_t at = (uint64_t)(((unsigned __int128)hash.b * n) >> 64) + step;

	return &s->bans[at < n ? at : at - n];
}

static unsigned
steps(const struct rl_segment *s)
{
	return s->geometry.ban_slots < STEPS_MAX ? s->geometry.ban_slots : STEPS_MAX;
}

/* The first entry of that hash that stands, or NULL; and what it held. */
static struct rl_u128 *
find_standing(const struct rl_segment *s, struct rl_hash hash, uint64_t now_ns,
              struct rl_budget *budget, struct rl_u128 *held)
{
	for (unsigned step = 0; step < steps(s) && rl_budget_take(budget, PROBE_STEPS); step++) {
		struct rl_u128 *at = slot_at(s, hash, step);
		if (!rl_atomic_load16(at, held) || held->lo == 0)
			return NULL;
		if (held->lo == hash.a && stands(held->hi, now_ns))
			return at;
	}
	return NULL;
}

bool
rl_ban_find(const struct rl_segment *s, uint64_t scope, const struct rl_normal_pattern *normal,
            uint64_t now_ns, struct rl_budget *budget, struct rl_ban *ban)
{
	struct rl_u128 held, *at;

	at = find_standing(s, hash_of(s, scope, normal), now_ns, budget, &held);
	if (!at)
		return false;
	*ban = unpack(held.hi);
	ban->slot = (uint32_t)(at - s->bans);
	return true;
}

/*
 * One pass, from the most special on, tells when a key that is banned is so no more. Be `end` when
 * all are over that were met so far; up to then each instant is some ban's. The next one that still
 * stands at `end` decides there, all before it being over: an exemption ends the pass, a ban moves
 * `end` on. One that does not stand at `end` never decides. An automatic ban is kept for the end of all: it is
 * met first, for it is of the key itself.
 */
static bool
go_on(const struct rl_segment *s, uint64_t scope, const struct rl_normal_pattern *normal,
      struct rl_budget *budget, struct rl_standing *standing)
{
	struct rl_ban ban;

	if (standing->until_ns == RL_NEVER_NS ||
	    !rl_ban_find(s, scope, normal, standing->until_ns, budget, &ban))
		return true;
	if (ban.is_automatic) {
		standing->has_automatic = true;
		standing->automatic = ban;
		return true;
	}
	if (!standing->is_found)
		standing->first = ban;
	standing->is_found = true;
	standing->is_exempt_then = ban.is_exemption;
	if (!ban.is_exemption)
		standing->until_ns = ban.until_ns;
	return !ban.is_exemption;
}

void
rl_ban_of_key(const struct rl_segment *s, int rule, const struct rl_lengths *lengths,
              const void *key, size_t key_len, const struct rl_address *address, uint64_t now_ns,
              struct rl_budget *budget, struct rl_standing *standing)
{
	struct rl_pattern_iter it = {
		.left = *lengths, .key = key, .key_len = key_len, .address = address};
	struct rl_normal_pattern normal;

	*standing = (struct rl_standing){.until_ns = now_ns};
	while (budget->left > 0 && standing->until_ns != RL_NEVER_NS &&
	       rl_pattern_next(&it, &normal))
		if (!go_on(s, rl_pattern_scope(rule), &normal, budget, standing) ||
		    !go_on(s, rl_pattern_scope(RL_ANY_RULE), &normal, budget, standing))
			break;
}

void
rl_standing_add_automatic(struct rl_standing *standing)
{
	if (!standing->has_automatic || standing->is_exempt_then ||
	    standing->automatic.until_ns <= standing->until_ns)
		return;
	if (!standing->is_found)
		standing->first = standing->automatic;
	standing->is_found = true;
	standing->until_ns = standing->automatic.until_ns;
}

/*
 * Where an entry of that hash may be put: where it stands already, else the first slot whose
 * time is over, else the first that never was used. NULL: there is none.
 */
static struct rl_u128 *
slot_for(const struct rl_segment *s, struct rl_hash hash, uint64_t now_ns, struct rl_u128 *held)
{
	struct rl_u128 *over = NULL, word = {.lo = hash.a};

	for (unsigned step = 0; step < steps(s) && word.lo != 0; step++) {
		struct rl_u128 *at = slot_at(s, hash, step);
		if (!rl_atomic_load16(at, &word))
			continue;
		if (word.lo == hash.a) {
			*held = word;
			return at;
		}
		if (!over && (word.lo == 0 || !stands(word.hi, now_ns))) {
			*held = word;
			over = at;
		}
	}
	return over;
}

static uint64_t
index_of(const struct rl_segment *s, const struct rl_u128 *at)
{
	return rl_segment_slots(s) + (uint64_t)(at - s->bans);
}

/* Say where lookups will find it. 0 or -EBUSY. */
static int
add_length(const struct rl_segment *s, int rule, const struct rl_normal_pattern *normal)
{
	int error;

	if (rule == RL_ANY_RULE)
		return rl_lengths_add(&s->header->any_bans, normal);
	error = rl_lengths_add(&s->rows[rl_rule_row(rule)].bans, normal);
	if (error < 0)
		return error;
	error = rl_rules_set_flags(s, rule, RL_ROW_BANS, true);
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

	for (unsigned step = 0; step < steps(s); step++) {
		struct rl_u128 *at = slot_at(s, hash, step);
		if (!rl_atomic_load16(at, &word) || word.lo == 0)
			return;
		if (word.lo != hash.a || !stands(word.hi, now_ns))
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
	struct rl_u128 held, next = {.lo = hash.a, .hi = pack(ban)};

	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_u128 *at = slot_for(s, hash, now_ns, &held);
		if (!at)
			return RL_EBANS;
		if (!may_replace && held.lo == hash.a && stands(held.hi, now_ns))
			return 1;
		if (rl_atomic_cas16(at, held, next)) {
			struct rl_slot slot = {.index = index_of(s, at), .tag = hash.a};
			rl_record_write(s, slot, 0, pattern->key, pattern->key_len);
			rl_ban_note_write(s, (uint32_t)(at - s->bans), next, words);
			lift_doubles(s, hash, now_ns);
			return 0;
		}
		rl_atomic_pause();
	}
	return -EBUSY;
}

/* Is there such a rule; the pattern made normal. */
static int
check_pattern(struct rl *rl, int rule, const struct rl_pattern *pattern,
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
	int error = check_pattern(rl, rule, pattern, normal);

	if (error < 0)
		return error;
	return rl->segment.is_writable ? 0 : -EROFS;
}

/* The bits of an entry that was put. False: others changed the words all the time. */
static bool
add_to_filter(const struct rl_segment *s, uint64_t lo)
{
	uint32_t print = (uint32_t)(lo >> PRINT_SHIFT);

	rl_atomic_fence(); /* the entry before its bits: partner in rl_ban_rebuild() */
	return rl_filter_add(&s->ban_filter, 0, print) && rl_filter_add(&s->ban_filter, 1, print);
}

/* An entry without its bits leaves the change open, as one that was killed: see filter.h. */
static int
set_as_change(const struct rl_segment *s, const struct rl_ban *ban,
              const struct rl_pattern *pattern, const struct rl_normal_pattern *normal,
              const struct rl_ban_words *words, bool may_replace, uint64_t now_ns)
{
	struct rl_hash hash = hash_of(s, rl_pattern_scope(ban->rule), normal);
	struct rl_change change;
	int error;

	if (!rl_change_begin(s, &change))
		return -EBUSY;
	error = add_length(s, ban->rule, normal);
	if (error == 0)
		error = put(s, hash, ban, pattern, words, may_replace, now_ns);
	if (error == 0 && !add_to_filter(s, hash.a))
		return -EBUSY;
	rl_change_end(&change);
	return error;
}

static void
tell_set(const struct rl_segment *s, const struct rl_ban *ban, const struct rl_pattern *pattern,
         uint64_t now_ns)
{
	uint64_t left_ns = RL_NEVER_NS;

	if (ban->until_ns != RL_NEVER_NS)
		left_ns = ban->until_ns > now_ns ? ban->until_ns - now_ns : 0;
	rl_event_tell_change(s, ban->is_exemption ? RL_EVENT_EXEMPTION_SET : RL_EVENT_BAN_SET,
	                     ban->rule, pattern->key, pattern->key_len, left_ns);
}

static int
set_info(const struct rl_segment *s, const struct rl_ban_info *info,
         const struct rl_normal_pattern *normal, bool may_replace, uint64_t now_ns)
{
	struct rl_ban_words words = {
		.since_ns = info->since_ns > 0 ? info->since_ns : now_ns,
		.hits = info->hits,
		.author = info->author,
	};
	struct rl_ban ban = {.rule = info->rule,
	                     .match = info->pattern.match,
	                     .is_exemption = info->is_exemption != 0,
	                     .is_automatic = info->is_automatic != 0,
	                     .until_ns = info->until_ns};
	int error;

	rl_ban_note_set(&words, info->reason, info->reason_len);
	error = set_as_change(s, &ban, &info->pattern, normal, &words, may_replace, now_ns);
	if (error == 0)
		tell_set(s, &ban, &info->pattern, now_ns);
	return error;
}

static bool
is_sound(const struct rl_ban_info *info)
{
	bool is_rules = info->rule != RL_ANY_RULE && info->pattern.match == RL_MATCH_KEY &&
	                !info->is_exemption;

	return info->reason_len <= RL_REASON_MAX && (!info->is_automatic || is_rules);
}

int
rl_ban_set(struct rl *rl, const struct rl_ban_info *info)
{
	struct rl_normal_pattern normal;
	int error = is_sound(info) ? check(rl, info->rule, &info->pattern, &normal) : -EINVAL;

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

	for (int tries = 0; tries < TRIES; tries++) {
		if (!rl_atomic_load16(at, &held) || held.lo != hash.a ||
		    (held.hi >> UNTIL_SHIFT & UNTIL_MAX) == 0)
			return 0;
		if (rl_atomic_cas16(at, held, (struct rl_u128){.lo = hash.a}))
			return stands(held.hi, rl_segment_now(s));
	}
	return 0;
}

int
rl_unban(struct rl *rl, int rule, const struct rl_pattern *pattern)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_hash hash;
	struct rl_normal_pattern normal;
	int error = check(rl, rule, pattern, &normal), did = 0;

	if (error < 0)
		return error;
	hash = hash_of(s, rl_pattern_scope(rule), &normal);
	for (unsigned step = 0; step < steps(s); step++)
		did |= lift(s, slot_at(s, hash, step), hash);
	if (did)
		rl_event_tell_change(s, RL_EVENT_BAN_LIFTED, rule, pattern->key, pattern->key_len,
		                     0);
	return did;
}

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
	int error = check_pattern(rl, rule, pattern, &normal);

	if (error < 0)
		return error;
	at = find_standing(s, hash_of(s, rl_pattern_scope(rule), &normal), now_ns, &budget, &held);
	if (!at)
		return 0;
	ban = unpack(held.hi);
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
		for (int tries = 0; tries < TRIES; tries++)
			if (!rl_atomic_load16(&s->bans[i], &held) || held.lo == 0 ||
			    (int)(held.hi >> RULE_SHIFT & RULE_MASK) != row ||
			    (held.hi >> UNTIL_SHIFT & UNTIL_MAX) == 0 ||
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
		    !stands(held.hi, late_ns))
			continue;
		for (unsigned bank = first; bank <= last; bank++)
			is_done &= rl_filter_add(&s->ban_filter, bank,
			                         (uint32_t)(held.lo >> PRINT_SHIFT));
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
	return hi >> INCARNATION_SHIFT == (rl_rule_incarnation(*rule) & INCARNATION_MASK);
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

	if (!rl_atomic_load16(at, &word) || word.lo == 0 || !stands(word.hi, now_ns))
		return 0;
	ban = unpack(word.hi);
	if ((ban.is_automatic && ban.is_exemption) || !is_current(s, word.hi, &ban.rule))
		return 0; /* damage, or of a rule that is gone */
	info.rule = ban.rule;
	info.is_exemption = ban.is_exemption;
	info.is_automatic = ban.is_automatic;
	info.until_ns = ban.until_ns;
	info.pattern.match = ban.match;
	if (rl_record_read(s, (struct rl_slot){.index = index_of(s, at), .tag = word.lo}, &copy)) {
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
