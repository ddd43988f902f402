/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a segment whole? The audit checks in the bytes what the opening comments of table.c, ring.h,
 * log.h, in_flight.h, rules.h and record.h claim of every state between two steps. That holds even
 * if a process was stopped or killed midway.
 *
 * The words of one slot are read one after the other, while others change them. So a fault is
 * believed only if all words it rests on belong together: the view's state still holds, as for a
 * decision, and the tag is the same when it is loaded again. Otherwise the slot is inspected again,
 * TRIES times at most.
 *
 * A key that is LIVE twice shows only when all slots were seen. The keys are sorted. Duplicates are
 * checked again, for a key may have moved to another slot during the scan. Both slots are looked up
 * in the table, and a pair is a fault if the first tag is the same before and after the second was
 * loaded: then both were there when the second was. 40 bits of hash, without the slot, are not
 * enough to tell ten million keys apart: two names are two keys.
 *
 * Rows are appended, and a limit has one row. A process that gives another's row to it has seen
 * that all rows are in use, and none is its own. If a row is there, those before it are. So a row
 * is loaded before those it is compared with.
 *
 * A process that slept while a limit started anew, or its row was given away, may have charged a
 * slot that no key leads to any more (rows.c). So has whoever charged one before that. The tag
 * shows it: it is of another incarnation. If it is not, for he slept through sixteen, the name
 * does. What such a slot counts belongs to no key, and may be of another shape.
 *
 * Cost: some 500 ns for each LIVE slot, and 8 bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/ops.h"
#include "decide/decide.h"
#include "move/follow.h"
#include "rl_admin.h"
#include "segment/record.h"
#include "segment/view.h"

#define TRIES 1000
#define EARLIER 256 /* incarnations that somebody may have slept through */
#define WHOLE RL_UNDAMAGED

typedef int visit_fn(enum rl_fault fault, uint64_t at, void *arg);

struct audit {
	struct rl *rl;
	visit_fn *visit;
	void *arg;
	struct rl_audit *counts;
	uint64_t *keys; /* of the LIVE slots, counts->live of them */
};

/* The result of one inspection of a LIVE slot. */
struct finding {
	enum rl_fault fault;
	bool is_named;
	bool is_dead;
};

static const char *const texts[RL_FAULTS] = {
	[RL_FAULT_STATUS] = "its tag has no status that there is",
	[RL_FAULT_FREE] = "it is free, and its key was not retired",
	[RL_FAULT_NO_LIMIT] = "it is of no limit",
	[RL_FAULT_NAME] = "its record is another key's",
	[RL_FAULT_SLOT] = "it is not a slot of its key",
	[RL_FAULT_RING] = "a sub-bucket that counts is not in its ring",
	[RL_FAULT_SUM] = "its sum is not what its ring holds",
	[RL_FAULT_ORDER] = "a time of its log is later than the next",
	[RL_FAULT_TWICE] = "its key has another slot",
	[RL_FAULT_TALLY] = "what is in flight is not what its processes hold",
	[RL_FAULT_REFERENCE] = "it refers to a limit that is not its own",
	[RL_FAULT_RULE] = "its row is there twice, or beyond a gap",
	[RL_FAULT_LIMIT] = "its row is there twice, or beyond a gap",
};

const char *
rl_fault_text(enum rl_fault fault)
{
	return (unsigned)fault < RL_FAULTS ? texts[fault] : NULL;
}

static uint64_t
tag_at(const struct rl_segment *s, uint64_t index)
{
	return rl_atomic_load(rl_table_tag(&s->table, index));
}

static enum rl_fault
judge_counter(const struct rl_segment *s, const struct rl_limiter *l, const struct rl_view *v)
{
	return v->is_zero || !l->ops->judge ? WHOLE : l->ops->judge(l, v, s->geometry.holders);
}

/* The candidate slots of the key that a record holds; false if not all of it is kept. */
static bool
candidates_of(struct rl *rl, const struct rl_compiled *limit, const struct rl_record_copy *copy,
              struct rl_candidates *candidates)
{
	unsigned char network[RL_NETWORK_KEY_MAX];
	const void *key = copy->bytes;
	size_t len = copy->key_kept;
	struct rl_address address;
	unsigned prefix;

	if (copy->key_kept < copy->key_len)
		return false;
	if (limit->has_prefix && rl_network_parse(key, len, &address, &prefix)) {
		len = rl_network_key(&address, prefix, network);
		key = network;
	}
	rl_part_candidates(&rl->segment.table, limit,
	                   rl_hash_of_key(rl->segment.key_start, key, len), candidates);
	return true;
}

/*
 * Is it the key of that name in an incarnation that has been, and has its bits, under whatever
 * limit?
 */
static bool
is_of_earlier(struct rl *rl, const struct rl_compiled *limit, struct rl_slot slot,
              const struct rl_record_copy *copy)
{
	struct rl_compiled earlier = *limit;
	struct rl_candidates candidates;

	for (uint64_t back = RL_TAG_INCARNATIONS; back <= EARLIER; back += RL_TAG_INCARNATIONS) {
		earlier.salt = rl_rules_salt(&rl->segment, limit, back);
		for (int i = 0; i < 2; i++) {
			earlier.has_prefix = i == 1;
			if (candidates_of(rl, &earlier, copy, &candidates) &&
			    candidates.key == (slot.tag & RL_TAG_KEY_MASK))
				return true;
		}
	}
	return false;
}

static enum rl_fault
judge_name(struct rl *rl, const struct rl_compiled *limit, struct rl_slot slot,
           const struct rl_record_copy *copy, bool *is_left)
{
	uint64_t line = slot.index / RL_BUCKET_SLOTS * RL_BUCKET_SLOTS;
	struct rl_candidates candidates;

	if (!candidates_of(rl, limit, copy, &candidates))
		return WHOLE;
	if (candidates.key != (slot.tag & RL_TAG_KEY_MASK)) {
		*is_left = is_of_earlier(rl, limit, slot, copy);
		return *is_left ? WHOLE : RL_FAULT_NAME;
	}
	return line == candidates.first[0] || line == candidates.first[1] ? WHOLE : RL_FAULT_SLOT;
}

/* False if what was read does not belong together. */
static bool
inspect_key(struct rl *rl, const struct rl_compiled *limit, struct rl_slot slot,
            struct finding *finding)
{
	const struct rl_segment *s = &rl->segment;
	bool is_left = !rl_compiled_owns(limit, slot.tag);
	struct rl_record_copy copy;
	struct rl_view v;

	finding->is_named = rl_record_read(s, slot, &copy);
	if (finding->is_named && !is_left)
		finding->fault = judge_name(rl, limit, slot, &copy, &is_left);
	switch (rl_view_load(s, slot, &v)) {
	case RL_SEEN_DEAD:
		finding->is_dead = true;
		return true;
	case RL_SEEN_GONE:
		return false;
	case RL_SEEN:
		break;
	}
	if (finding->fault == WHOLE && !is_left)
		finding->fault = judge_counter(s, &limit->limiter, &v);
	return finding->fault == WHOLE || rl_view_holds(s, &limit->limiter, slot, &v);
}

/* 1 inspected, 0 inspect again, or -ENOMEM. */
static int
inspect_slot(struct rl *rl, struct rl_slot slot, struct finding *finding)
{
	int id = rl_tag_limit(slot.tag);
	const struct rl_compiled *limit = rl_handle_limit(rl, id);

	*finding = (struct finding){.fault = WHOLE};
	if (limit && !inspect_key(rl, limit, slot, finding))
		return 0;
	if (!limit && rl_handle_no_limit(rl, id) == -ENOMEM)
		return -ENOMEM;
	if (!limit)
		finding->fault = RL_FAULT_NO_LIMIT;
	return finding->fault == WHOLE || tag_at(&rl->segment, slot.index) == slot.tag;
}

static int
audit_live(struct audit *a, struct rl_slot slot)
{
	struct finding finding;
	int inspected;

	a->keys[a->counts->live++] = slot.tag & RL_TAG_KEY_MASK;
	inspected = inspect_slot(a->rl, slot, &finding);
	for (int tries = 1; inspected == 0 && tries < TRIES; tries++) {
		rl_atomic_pause();
		slot.tag = tag_at(&a->rl->segment, slot.index);
		if (rl_tag_status(slot.tag) != RL_TAG_LIVE)
			return 0; /* it has left */
		inspected = inspect_slot(a->rl, slot, &finding);
	}
	if (inspected < 0)
		return inspected;
	a->counts->unsettled += inspected == 0;
	a->counts->named += inspected == 1 && finding.is_named;
	a->counts->retiring += inspected == 1 && finding.is_dead;
	return inspected == 1 && finding.fault != WHOLE
	               ? a->visit(finding.fault, slot.index, a->arg)
	               : 0;
}

/* Only a retired slot is LEAVING. */
static int
audit_leaving(struct audit *a, struct rl_slot slot)
{
	const struct rl_segment *s = &a->rl->segment;
	struct rl_u128 state;

	if (!rl_atomic_load16(rl_table_state(&s->table, slot.index), &state) ||
	    rl_state_is_retired(state, rl_tag_gen(slot.tag)) || tag_at(s, slot.index) != slot.tag) {
		a->counts->retiring++;
		return 0;
	}
	return a->visit(RL_FAULT_FREE, slot.index, a->arg);
}

static int
audit_slot(struct audit *a, struct rl_slot slot)
{
	switch (rl_tag_status(slot.tag)) {
	case RL_TAG_FREE:
		return rl_tag_is_leaving(slot.tag) ? audit_leaving(a, slot) : 0;
	case RL_TAG_TENT:
		a->counts->claimed++;
		return 0;
	case RL_TAG_LIVE:
		return audit_live(a, slot);
	default: /* MOVED: there is none before another table is in force */
		return rl_table_is_left(&a->rl->segment.table)
		               ? 0
		               : a->visit(RL_FAULT_STATUS, slot.index, a->arg);
	}
}

static int
audit_slots(struct audit *a)
{
	const struct rl_segment *s = &a->rl->segment;
	uint64_t slots = rl_segment_slots(s);
	int result = 0;

	for (uint64_t i = 0; i < slots && result == 0; i++) {
		rl_table_look_ahead(&s->table, i);
		result = audit_slot(a, (struct rl_slot){.index = i, .tag = tag_at(s, i)});
	}
	return result;
}

static int
compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Put those that come more than once in front, each once, still sorted; returns how many. */
static size_t
keep_suspects(uint64_t *keys, size_t count)
{
	size_t suspects = 0;

	qsort(keys, count, sizeof *keys, compare);
	for (size_t i = 1; i < count; i++)
		if (keys[i] == keys[i - 1] && (suspects == 0 || keys[suspects - 1] != keys[i]))
			keys[suspects++] = keys[i];
	return suspects;
}

/* The records tell two keys apart whose tags have the same bits of hash. */
static bool
are_two_names(const struct rl_segment *s, struct rl_slot one, struct rl_slot other)
{
	struct rl_record_copy a, b;

	return rl_record_read(s, one, &a) && rl_record_read(s, other, &b) &&
	       (a.key_len != b.key_len || a.key_kept != b.key_kept ||
	        memcmp(a.bytes, b.bytes, a.key_kept) != 0);
}

/* Was the key LIVE in both at once? */
static bool
is_twice(const struct rl_segment *s, uint64_t key, uint64_t first, uint64_t second)
{
	struct rl_slot one = {.index = first, .tag = tag_at(s, first)};
	struct rl_slot other = {.index = second, .tag = tag_at(s, second)};

	return rl_tag_is(one.tag, RL_TAG_LIVE, key) && rl_tag_is(other.tag, RL_TAG_LIVE, key) &&
	       tag_at(s, first) == one.tag && !are_two_names(s, one, other);
}

/*
 * Check the duplicates again. As each came twice, there is room behind them for the slot where each
 * was met last, and one added.
 */
static int
audit_suspects(struct audit *a, size_t suspects)
{
	const struct rl_segment *s = &a->rl->segment;
	uint64_t slots = rl_segment_slots(s), *met = a->keys + suspects;
	int result = 0;

	memset(met, 0, suspects * sizeof *met);
	for (uint64_t i = 0; suspects > 0 && i < slots && result == 0; i++) {
		uint64_t tag = tag_at(s, i), key = tag & RL_TAG_KEY_MASK;
		uint64_t *at = bsearch(&key, a->keys, suspects, sizeof key, compare);

		if (rl_tag_status(tag) != RL_TAG_LIVE || !at)
			continue;
		if (at[suspects] > 0 && is_twice(s, key, at[suspects] - 1, i))
			result = a->visit(RL_FAULT_TWICE, i, a->arg);
		at[suspects] = i + 1;
	}
	return result;
}

static int
audit_table(struct audit *a)
{
	int result;

	a->keys = calloc(rl_segment_slots(&a->rl->segment), sizeof *a->keys);
	if (!a->keys)
		return -ENOMEM;
	result = audit_slots(a);
	if (result == 0)
		result = audit_suspects(a, keep_suspects(a->keys, a->counts->live));
	free(a->keys);
	return result;
}

/* Half of an old list and half of a new one: each reference is of a list of the rule's. */
static bool
refers_to_its_own(const struct rl_segment *s, int rule, enum rl_bank bank)
{
	struct rl_refs refs;

	rl_rules_refs(s, rule, bank, &refs);
	for (unsigned i = 0; i < refs.count; i++)
		if (rl_rules_of_limit(s, refs.limit[i]) != rule)
			return false;
	return true;
}

static bool
is_rule_out_of_line(const struct rl_segment *s, uint32_t rule)
{
	struct rl_u128 held, again;

	rl_atomic_load16(&s->rows[rule].identity, &held);
	for (uint32_t i = 0; i < rule && held.lo != 0; i++) {
		uint64_t before = rl_atomic_load(&s->rows[i].name_hash);
		if (before != 0 && before != held.lo)
			continue;
		rl_atomic_load16(&s->rows[rule].identity, &again); /* it may have moved */
		if (again.lo == held.lo &&
		    rl_row_incarnation(again.hi) == rl_row_incarnation(held.hi))
			return true;
	}
	return false;
}

static bool
is_limit_out_of_line(const struct rl_segment *s, uint32_t limit)
{
	struct rl_u128 identity, before;

	rl_atomic_load16(&s->limits[limit].identity, &identity);
	for (uint32_t i = 0; i < limit && identity.lo != 0; i++) {
		rl_atomic_load16(&s->limits[i].identity, &before);
		if (before.lo == 0 || rl_identity_is(before, identity))
			return true;
	}
	return false;
}

static int
audit_rule(struct audit *a, uint32_t rule)
{
	const struct rl_segment *s = &a->rl->segment;
	int result = 0;

	if (is_rule_out_of_line(s, rule))
		result = a->visit(RL_FAULT_RULE, rule, a->arg);
	for (int bank = 0; bank < RL_BANKS && result == 0; bank++)
		if (!refers_to_its_own(s, (int)rule, (enum rl_bank)bank))
			result = a->visit(RL_FAULT_REFERENCE, rule, a->arg);
	return result;
}

static int
audit_rules(struct audit *a)
{
	const struct rl_segment *s = &a->rl->segment;
	int result = 0;

	for (uint32_t i = 0; i < s->geometry.rules && result == 0; i++)
		result = audit_rule(a, i);
	for (uint32_t i = 0; i < s->geometry.limits && result == 0; i++)
		if (is_limit_out_of_line(s, i))
			result = a->visit(RL_FAULT_LIMIT, i, a->arg);
	return result;
}

int
rl_audit(struct rl *rl, visit_fn *visit, void *arg, struct rl_audit *counts)
{
	struct audit a = {.rl = rl_here(rl), .visit = visit, .arg = arg, .counts = counts};
	int result;

	*counts = (struct rl_audit){0};
	result = audit_table(&a);
	return result != 0 ? result : audit_rules(&a);
}
