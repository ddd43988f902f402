/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_admin.h"

#include <string.h>
#include <unistd.h>

#include "decision.h"
#include "record.h"
#include "room.h"
#include "stats.h"

static const struct rl_counter_info counters[RL_COUNTERS] = {
#define RL_COUNTER(name, unit, text) {#name, unit, text},
#include <rl_counters.def>
#undef RL_COUNTER
};

const struct rl_counter_info *
rl_counter_info(int counter)
{
	return counter >= 0 && counter < RL_COUNTERS ? &counters[counter] : NULL;
}

int
rl_unlink(const char *name)
{
	return rl_segment_unlink(name);
}

void
rl_info(const struct rl *rl, struct rl_info *info)
{
	const struct rl_segment *s = &rl->segment;
	bool is_private = rl->name[0] == '\0';

	*info = (struct rl_info){
		.name = rl->name,
		.layout = RL_LAYOUT_VERSION,
		.bytes = s->bytes,
		.slots = rl_segment_slots(s),
		.ring = s->geometry.ring,
		.key_bytes = s->geometry.record_bytes - (uint32_t)sizeof(struct rl_record),
		.rules = s->geometry.rules,
		.on_full = (enum rl_on_full)s->geometry.on_full,
		.buffer_ns = s->geometry.buffer_ns,
		.created_ns = s->created_ns,
		.owner = is_private ? geteuid() : s->file.st_uid,
		.group = is_private ? getegid() : s->file.st_gid,
		.mode = is_private ? 0600 : s->file.st_mode & 0777,
		.is_readonly = !s->is_writable,
	};
}

int
rl_rule_info(struct rl *rl, int id, struct rl_rule_info *info)
{
	const struct rl_compiled *rule = rl_handle_rule(rl, id);
	struct rl_quota quota;

	if (!rule)
		return 0;
	quota = rl_rules_quota(rule);
	*info = (struct rl_rule_info){
		.algorithm = rule->limiter.algorithm,
		.capacity = quota.capacity,
		.window_ns = rule->limiter.window_ns,
		.granularity = rule->limiter.granularity,
		.hard = rule->limiter.window.is_hard,
		.burst = quota.burst,
		.undelayed = quota.undelayed,
		.shadow = quota.is_shadow,
	};
	rl_rules_name(&rl->segment, id, info->name);
	return 1;
}

int
rl_stats(const struct rl *rl, int id, uint64_t *values, size_t count)
{
	if (id < 0 || (uint32_t)id >= rl->segment.geometry.rules)
		return -EINVAL;
	for (size_t c = 0; c < count; c++)
		values[c] =
			c < RL_COUNTERS ? rl_stats_sum(&rl->segment, id, (enum rl_counter)c) : 0;
	return 0;
}

typedef int visit_fn(const struct rl_entry *entry, void *arg);

static void
fill_buckets(const struct rl_window *w, const struct rl_history *h, struct rl_entry *e)
{
	e->buckets = w->count + 1;
	memcpy(e->bucket, h->bucket, e->buckets * sizeof e->bucket[0]);
	e->bucket_ns = w->width_ns;
	if (__builtin_mul_overflow(h->epoch + 1, w->width_ns, &e->bucket_end_ns))
		e->bucket_end_ns = UINT64_MAX;
}

/* Show a LIVE slot; 0 also if it is not one any more by the time it is read. */
static int
show(struct rl *rl, struct rl_slot slot, uint64_t now_ns, visit_fn *visit, void *arg)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_request rq = {.rl = rl, .cost = 1, .now_ns = rl_clamp_now(now_ns)};
	struct rl_entry e = {.rule = rl_tag_rule(slot.tag), .slot = slot.index};
	struct rl_outlook o;
	struct rl_history h;
	struct rl_kept kept;
	struct rl_view v;

	rq.rule = rl_handle_rule(rl, e.rule);
	if (!rq.rule)
		return 0;
	rq.quota = rl_rules_quota(rq.rule);
	if (rl_view_outlook(s, &rq.rule->limiter, &rq.quota, slot, rq.cost, rq.now_ns, &v, &o,
	                    &h) != RL_SEEN)
		return 0;
	if (rl_record_read(s, slot, &kept)) {
		e.key = kept.bytes;
		e.key_kept = kept.kept;
		e.key_len = kept.key_len;
	}
	if (rl_atomic_load(&s->table.tags[slot.index]) != slot.tag)
		return 0;
	e.id = slot.tag & RL_TAG_HASH_MASK;
	rl_answer(&rq, &o, &e.peek);
	e.used = e.peek.limit - e.peek.remaining;
	e.is_limited = e.peek.verdict == RL_DENIED;
	e.is_stale = v.is_zero || rl_view_is_stale(s, &rq.rule->limiter, &v, rq.now_ns);
	if (rq.rule->limiter.window.width_ns > 0)
		fill_buckets(&rq.rule->limiter.window, &h, &e);
	return visit(&e, arg);
}

int
rl_walk(struct rl *rl, uint64_t now_ns, visit_fn *visit, void *arg)
{
	const struct rl_segment *s = &rl->segment;
	int result = 0;

	for (uint64_t i = 0; i < rl_segment_slots(s) && result == 0; i++) {
		struct rl_slot slot = {.index = i, .tag = rl_atomic_load(&s->table.tags[i])};
		if (rl_tag_status(slot.tag) == RL_TAG_LIVE)
			result = show(rl, slot, now_ns, visit, arg);
	}
	return result;
}

struct lookup {
	visit_fn *visit;
	void *arg;
	bool is_shown;
};

static int
show_once(const struct rl_entry *entry, void *arg)
{
	struct lookup *lookup = arg;

	lookup->is_shown = true;
	return lookup->visit(entry, lookup->arg);
}

int
rl_lookup(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
          visit_fn *visit, void *arg)
{
	const struct rl_segment *s = &rl->segment;
	struct lookup lookup = {.visit = visit, .arg = arg};
	struct rl_places places;
	struct rl_slot slot;
	int result;

	if (!rl_handle_rule(rl, rule) || (!key && key_len > 0) || key_len > RL_KEY_MAX)
		return -EINVAL;
	places = rl_request_places(rl, rule, key, key_len);
	if (!rl_table_find(&s->table, &places, &slot))
		return -ENOENT;
	result = show(rl, slot, now_ns, show_once, &lookup);
	return lookup.is_shown ? result : -ENOENT;
}

uint64_t
rl_fill(const struct rl *rl)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t taken = 0;

	for (uint64_t i = 0; i < rl_segment_slots(s); i++)
		taken += rl_tag_status(rl_atomic_load_relaxed(&s->table.tags[i])) != RL_TAG_FREE;
	return taken;
}

int64_t
rl_sweep_at(struct rl *rl, uint64_t now_ns)
{
	int64_t freed = 0;

	if (!rl->segment.is_writable)
		return -EROFS;
	for (uint64_t i = 0; i < rl_segment_slots(&rl->segment); i++)
		freed += rl_room_sweep(rl, i, rl_clamp_now(now_ns));
	return freed;
}
