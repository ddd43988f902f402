/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table as people and tools see it: entry by entry. A walk should take about as long as reading
 * the memory. So it reads the state of each slot first, and of a limit that has had tiers the key's
 * tier, and makes the prefilter of them. It reads the name and the ring only if the caller wants
 * that key. It looks up the limits once for RUN buckets.
 */
#include <errno.h>

#include "admin/entry.h"
#include "decide/decide.h"
#include "decide/request.h"
#include "move/migrate.h"
#include "rl_admin.h"

#define RUN 128  /* buckets: microseconds */
#define KNOWN 64 /* limits that are kept at a time, by their lowest bits */

typedef int wants_fn(const struct rl_prefilter *prefilter, void *arg);
typedef int visit_fn(const struct rl_entry *entry, void *arg);

/* A limit; of an override or a ban it is not known what it makes of a key. */
struct known {
	int id; /* -1 none */
	struct rl_entry_limit of;
	uint32_t least;                /* that it admits any key at once */
	uint32_t any_use;              /* all ones if to be in use may mean any use, else 0 */
	struct rl_prefilter prefilter; /* at the last of its slots */
};

struct walk {
	struct rl *rl;
	uint64_t first, last; /* slots */
	uint64_t now_ns;
	wants_fn *wants;
	visit_fn *visit;
	void *arg;
	struct known known[KNOWN];
	struct rl_entry_room room;
};

static void
forget_limits(struct walk *w)
{
	for (int i = 0; i < KNOWN; i++)
		w->known[i].id = -1;
}

static void
learn(struct walk *w, int limit, struct known *known)
{
	struct rl_entry_limit *of = &known->of;

	rl_entry_limit(w->rl, limit, w->now_ns, of);
	known->id = limit;
	if (!of->limit)
		return;
	known->least = of->has_exceptions ? 0 : of->most;
	known->any_use = of->has_overrides && !of->limit->limiter.is_window ? UINT32_MAX : 0;
	known->prefilter = (struct rl_prefilter){.rule = of->rule, .limit = of->index, .rl = w->rl};
}

static struct known *
know_limit(struct walk *w, int limit)
{
	struct known *known = &w->known[(unsigned)limit % KNOWN];

	if (known->id != limit)
		learn(w, limit, known);
	return known;
}

/* `least`: what the key is admitted at once, or less. */
static void
fill_known(struct known *known, uint64_t slot, uint32_t used, uint32_t least, bool is_stale)
{
	struct rl_prefilter *g = &known->prefilter;

	g->slot = slot;
	g->is_stale = is_stale || g->rule < 0;
	g->used_most = used > 0 ? used | known->any_use : 0;
	g->remaining_least = used < least ? least - used : 0;
}

/*
 * Nearly all slots are of a window that counts something, in the tag's incarnation. For these the
 * state alone is enough. False: ask inspect_slot().
 */
static bool
inspect_window(const struct rl_segment *s, struct known *known, struct rl_slot slot)
{
	const struct rl_limiter *l = &known->of.limit->limiter;
	struct rl_u128 word;
	uint32_t used, tier;

	if (!l->is_window || !rl_atomic_load16(rl_table_state(&s->table, slot.index), &word) ||
	    word.lo == 0 || rl_state_gen(word) != rl_tag_gen(slot.tag) || rl_state_is_dead(word))
		return false;
	used = rl_window_used_most(&l->window, word, &known->of.now);
	if (used == 0)
		return false;
	tier = known->of.has_tiers ? rl_record_tier(s, slot.index) : 0;
	fill_known(known, slot.index, used, tier > 0 && tier < known->least ? tier : known->least,
	           false);
	return true;
}

/*
 * False if the slot is the key's no more: what is read belongs to the tag if its generation does.
 */
static bool
inspect_slot(const struct rl_segment *s, struct known *known, struct rl_slot slot)
{
	const struct rl_entry_limit *of = &known->of;
	const struct rl_limiter *l = &of->limit->limiter;
	struct rl_quota quota = of->quota;
	struct rl_view v;
	const struct rl_ask ask = {.l = l, .q = &quota, .v = &v, .now_ns = of->now_ns};
	uint32_t used, least;

	if (rl_view_load(s, slot, &v) != RL_SEEN)
		return false;
	if (of->has_tiers)
		rl_policy_apply_tier(s, slot.index, of->limit, of->index, &quota);
	used = rl_limiter_used_most(&ask, &of->now);
	least = of->has_exceptions ? 0 : rl_limiter_limit(l, &quota);
	fill_known(known, slot.index, used, least,
	           used == 0 && (v.is_zero || rl_view_is_stale(s, l, &v, of->now_ns)));
	return true;
}

static bool
is_wanted(struct walk *w, struct known *known, struct rl_slot slot)
{
	const struct rl_segment *s = &w->rl->segment;

	return !w->wants || ((inspect_window(s, known, slot) || inspect_slot(s, known, slot)) &&
	                     w->wants(&known->prefilter, w->arg));
}

static int
show_whole(struct walk *w, const struct rl_entry_limit *known, struct rl_slot slot)
{
	if (!rl_entry_fill(w->rl, known, slot, &w->room))
		return 0;
	return w->visit(&w->room.entry, w->arg);
}

/* Show a LIVE slot; 0 also if it is not one any more by the time it is read. */
static int
show(struct walk *w, struct rl_slot slot)
{
	struct known *known = know_limit(w, rl_tag_limit(slot.tag));

	if (!known->of.limit || !rl_compiled_owns(known->of.limit, slot.tag))
		return 0;
	return is_wanted(w, known, slot) ? show_whole(w, &known->of, slot) : 0;
}

/* The LIVE slots of a bucket; how many. Without a branch for each, which no CPU predicts. */
static unsigned
gather(const struct rl_table *table, uint64_t bucket, struct rl_slot live[RL_BUCKET_SLOTS])
{
	const uint64_t *tags = table->bucket[bucket].tag;
	unsigned count = 0;

	for (unsigned i = 0; i < RL_BUCKET_SLOTS; i++) {
		live[count] = (struct rl_slot){.index = bucket * RL_BUCKET_SLOTS + i,
		                               .tag = rl_atomic_load(&tags[i])};
		count += rl_tag_status(live[count].tag) == RL_TAG_LIVE;
	}
	return count;
}

static int
show_bucket(struct walk *w, uint64_t bucket)
{
	struct rl_slot live[RL_BUCKET_SLOTS];
	unsigned count = gather(&w->rl->segment.table, bucket, live);
	int result = 0;

	for (unsigned i = 0; i < count && result == 0; i++)
		if (live[i].index >= w->first && live[i].index <= w->last)
			result = show(w, live[i]);
	return result;
}

/* Of the table of `rl`. */
static int
walk_table(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns, wants_fn *wants,
           visit_fn *visit, void *arg)
{
	uint64_t slots = rl_segment_slots(&rl->segment);
	struct walk w;
	int result = 0;

	if (first >= slots || count == 0)
		return first < slots ? 0 : -EINVAL;
	w.rl = rl;
	w.first = first;
	w.last = first + (count < slots - first ? count : slots - first) - 1;
	w.now_ns = rl_clamp_now(now_ns);
	w.wants = wants;
	w.visit = visit;
	w.arg = arg;
	rl_entry_clear(&w.room);
	forget_limits(&w);
	for (uint64_t i = w.first / RL_BUCKET_SLOTS; i <= w.last / RL_BUCKET_SLOTS && result == 0;
	     i++) {
		if (i % RUN == 0)
			forget_limits(&w);
		result = show_bucket(&w, i);
	}
	return result;
}

/* The slots of the table before, if keys are moving, follow those of the table in force. */
int
rl_walk_slots(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns, wants_fn *wants,
              visit_fn *visit, void *arg)
{
	struct rl *before;
	uint64_t slots, left;
	int result;

	rl = rl_here(rl);
	before = rl_before(rl);
	slots = rl_segment_slots(&rl->segment);
	if (before && first >= slots)
		return walk_table(before, first - slots, count, now_ns, wants, visit, arg);
	result = walk_table(rl, first, count, now_ns, wants, visit, arg);
	left = first < slots && count > slots - first ? count - (slots - first) : 0;
	if (result != 0 || !before || left == 0)
		return result;
	return walk_table(before, 0, left, now_ns, wants, visit, arg);
}

int
rl_walk(struct rl *rl, uint64_t now_ns, wants_fn *wants, visit_fn *visit, void *arg)
{
	struct rl *before;
	int result;

	rl = rl_here(rl);
	before = rl_before(rl);
	result = before ? walk_table(before, 0, UINT64_MAX, now_ns, wants, visit, arg) : 0;
	return result != 0 ? result : walk_table(rl, 0, UINT64_MAX, now_ns, wants, visit, arg);
}

uint64_t
rl_prefilter_denied_most(const struct rl_prefilter *g)
{
	return rl_record_denied_most(&g->rl->segment, g->slot);
}

size_t
rl_prefilter_key(const struct rl_prefilter *g, void *key, size_t *key_len)
{
	return rl_record_key(&g->rl->segment, g->slot, key, key_len);
}

int
rl_lookup(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
          visit_fn *visit, void *arg)
{
	struct rl_part parts[RL_LIMITS_MAX];
	int limits = rl_request_of_key(rl, rule, key, key_len, parts), result = 0;
	struct rl_entry_room room;
	struct rl_entry_limit known;
	struct rl_slot slot;
	bool is_shown = false;

	if (limits < 0)
		return limits;
	rl_entry_clear(&room);
	for (int i = 0; i < limits && result == 0; i++) {
		if (rl_must_migrate(parts[i].rl) && rl_part_migrate(&parts[i]) < 0)
			continue;
		rl = parts[i].rl;
		if (!rl_table_find(&rl->segment.table, &parts[i].candidates, &slot))
			continue;
		rl_entry_limit(rl, rl_tag_limit(slot.tag), rl_clamp_now(now_ns), &known);
		if (!known.limit || !rl_entry_fill(rl, &known, slot, &room))
			continue;
		is_shown = true;
		result = visit(&room.entry, arg);
	}
	return is_shown ? result : -ENOENT;
}
