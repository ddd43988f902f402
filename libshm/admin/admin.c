/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_admin.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "configure/lock.h"
#include "configure/names.h"
#include "decide/decide.h"
#include "evict/evict.h"
#include "holder/holder.h"
#include "holder/units.h"
#include "move/follow.h"
#include "rule/ban.h"
#include "rule/history.h"
#include "rule/shape.h"
#include "segment/change.h"
#include "segment/namespace.h"
#include "segment/stats.h"

#define TRIES 16
#define LOOK_AROUND_NS RL_SECOND  /* it takes some 20 us for each process of the machine */
#define CHANGE_NS (2 * RL_SECOND) /* longer than any takes between its first word and its last */

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

/* Of the configuration in force. */
static uint64_t
overrides_used(const struct rl_segment *s)
{
	uint64_t bank = rl_atomic_load(&s->header->generation) % 2, used = 0;

	for (uint32_t id = 0; id < s->geometry.rules; id++)
		used += rl_atomic_load_relaxed(&s->rows[id].override_slots[bank]);
	return used;
}

static uint64_t
slots_before(struct rl *here)
{
	struct rl *before = rl_before(here);

	return before ? rl_segment_slots(&before->segment) : 0;
}

void
rl_info(const struct rl *rl, struct rl_info *info)
{
	const struct rl_segment *s = &rl_here(rl)->segment;
	bool is_private = rl->handle->name[0] == '\0';
	struct rl_row_set kept, names;

	rl_segment_info(s, info);
	info->bytes = rl_segment_memory(&rl->handle->first->segment, s);
	info->slots_before = slots_before(rl_here(rl));
	info->table = s->table.number;
	info->name = rl->handle->name;
	info->owner = is_private ? geteuid() : s->origin->file.st_uid;
	info->group = is_private ? getegid() : s->origin->file.st_gid;
	info->mode = is_private ? 0600 : s->origin->file.st_mode & 0777;
	info->generation = rl_atomic_load(&s->header->generation);
	info->heartbeat_ns = rl_atomic_load(&s->header->heartbeat_ns);
	info->sweeper = rl_namespace_pid_here(rl_atomic_load(&s->header->sweeper));
	info->rules_used = rl_names_kept(s, &names);
	info->limits_used = rl_rows_kept(s, &kept);
	info->overrides_used = overrides_used(s);
	info->holders_used = rl_holders_taken(rl->handle->holders);
}

static enum rl_source
source_of(enum rl_bank bank)
{
	if (bank == RL_BANKS)
		return RL_SOURCE_NONE;
	return bank == RL_BANK_APP ? RL_SOURCE_APPLICATION : RL_SOURCE_CONFIGURATION;
}

static struct rl_limit
limit_info(const struct rl_compiled *limit, enum rl_bank bank)
{
	bool is_shared = limit->limiter.is_shared;
	struct rl_quota quota;

	rl_rules_quota(limit->row, bank, &quota);
	struct rl_limit info = {
		.algorithm = limit->limiter.algorithm,
		.window_ns = limit->limiter.window_ns,
		.granularity = limit->limiter.granularity,
		.hard = limit->limiter.window.is_hard,
		.prefix_v4 = limit->prefix_v4,
		.prefix_v6 = limit->prefix_v6,
		.scope = is_shared ? RL_SCOPE_CLUSTER : RL_SCOPE_HOST,
		.blind = !is_shared      ? 0
	                 : quota.is_auto ? RL_BLIND_AUTO
	                                 : quota.share.blind,
		.wait_ns = is_shared ? rl_wait_unpack(quota.wait) : 0,
		.counts = limit->limiter.counts_requests ? RL_COUNTS_REQUESTS : RL_COUNTS_COST,
	};
	rl_quota_fill_limit(&quota, &info);
	return info;
}

static void
fill_rule(struct rl *rl, int id, struct rl_rule_info *info)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_refs refs;
	enum rl_bank bank = rl_rules_now(s, id, &refs);

	*info = (struct rl_rule_info){.source = source_of(bank), .handle = id};
	for (unsigned i = 0; i < refs.count; i++) {
		const struct rl_compiled *limit = rl_handle_limit(rl, refs.limit[i]);
		if (!limit)
			continue;
		info->needs |= rl_compiled_needs(limit);
		info->limits[info->limit_count++] = limit_info(limit, bank);
	}
	info->has_overrides = bank < RL_BANK_APP && (rl_atomic_load(&rl_rules_at(s, id)->flags) &
	                                             (uint64_t)RL_ROW_OVERRIDES << bank) != 0;
	rl_rules_name(s, id, info->name);
}

int
rl_rule_info(struct rl *rl, int id, struct rl_rule_info *info)
{
	const struct rl_segment *s = &rl->segment;
	bool is_row = id >= 0 && (uint32_t)id < s->geometry.rules;

	for (int tries = 0; tries < TRIES; tries++) {
		int rule = is_row ? rl_rules_handle(s, id) : id;
		if (!rl_handle_has(rl, rule))
			return 0;
		fill_rule(rl, rule, info);
		rl_atomic_fence(); /* all of it, and then whose the row is */
		if (rl_handle_has(rl, rule))
			return 1;
	}
	return 0;
}

static uint64_t
flags_of(const struct rl_segment *s, int rule)
{
	return rl_atomic_load(&rl_rules_at(s, rule)->flags);
}

/* Are the counters those of the rule that had the row before? */
static bool
is_fresh(const struct rl_segment *s, int rule)
{
	return (flags_of(s, rule) & RL_ROW_FRESH) != 0;
}

int
rl_stats(const struct rl *rl, int id, uint64_t *values, size_t count)
{
	if (id < 0 || (uint32_t)rl_rule_row(id) >= rl->segment.geometry.rules)
		return -EINVAL;
	for (size_t c = 0; c < count; c++)
		values[c] = c < RL_COUNTERS && !is_fresh(&rl->segment, id)
		                    ? rl_stats_sum(&rl->segment, id, (enum rl_counter)c)
		                    : 0;
	rl_atomic_fence(); /* all of them, and then whose they are */
	return rl_rule_has_flags(id, flags_of(&rl->segment, id)) ? 0 : -EINVAL;
}

uint64_t
rl_fill(const struct rl *rl)
{
	struct rl *here = rl_here(rl), *before = rl_before(here);

	return rl_table_fill(&here->segment.table) +
	       (before ? rl_table_fill(&before->segment.table) : 0);
}

/* A change that was killed half way: see change.h. One that is merely slow ends as its own. */
static void
give_up_changes(struct rl *rl, uint64_t now_ns)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t seen_ns = rl_atomic_load(&rl->handle->changes_seen_ns), version;

	if (now_ns >= seen_ns && now_ns - seen_ns < CHANGE_NS)
		return;
	if (!rl_atomic_cas(&rl->handle->changes_seen_ns, seen_ns, now_ns))
		return;
	if (rl_change_is_quiet(s, &version) || rl_ban_mend(s, now_ns)) /* first: see filter.h */
		rl_change_give_up(s, &rl->handle->changes_seen);
}

/*
 * Clear the bits that lifted bans left in their filter. If another process does it, or configures,
 * nothing is done.
 */
static void
tidy_bans(struct rl *rl, uint64_t now_ns)
{
	struct rl_lock lock;

	rl_ban_mend(&rl->segment, now_ns);
	if (!rl_ban_is_crowded(&rl->segment) || rl_lock_try(rl, &lock) < 0)
		return;
	rl_ban_rebuild(&rl->segment, now_ns);
	rl_lock_drop(&lock);
}

/*
 * Who has died: of this pid namespace, and of others, whom a request cannot judge. Where not all
 * can be seen, those live.
 */
static void
look_around(struct rl *rl)
{
	uint64_t seen_ns = rl_atomic_load(&rl->handle->looked_around_ns),
		 now_ns = rl_holders_now_ns();

	if (now_ns - seen_ns >= LOOK_AROUND_NS &&
	    rl_atomic_cas(&rl->handle->looked_around_ns, seen_ns, now_ns)) {
		rl_holders_look_here(rl->handle->holders);
		rl_holders_look_elsewhere(rl->handle->holders);
	}
}

/* What the dead hold of a key that has yet to move. All else of it is seen to when it moves. */
static void
reclaim(struct rl *before, uint64_t index)
{
	struct rl_budget budget = {RL_DECIDE_STEPS};
	const struct rl_table *t = &before->segment.table;
	struct rl_slot slot = {.index = index, .tag = rl_atomic_load(rl_table_tag(t, index))};
	const struct rl_compiled *limit = rl_tag_status(slot.tag) == RL_TAG_LIVE
	                                          ? rl_handle_limit(before, rl_tag_limit(slot.tag))
	                                          : NULL;

	if (limit && limit->limiter.is_held && rl_compiled_owns(limit, slot.tag))
		rl_units_reclaim(before, limit, slot, &budget);
}

/* Of the table before, such a part as the slots from `first` to `end` are of the table in force. */
static void
reclaim_before(struct rl *rl, uint64_t first, uint64_t end)
{
	struct rl *before = rl_before(rl);
	unsigned __int128 slots = before ? rl_segment_slots(&before->segment) : 0;
	uint64_t all = rl_segment_slots(&rl->segment);

	for (uint64_t i = (uint64_t)(first * slots / all); i < (uint64_t)(end * slots / all); i++)
		reclaim(before, i);
}

int
rl_sweep_slots_at(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns,
                  struct rl_swept *swept)
{
	const struct rl_table *t;
	uint64_t slots;

	rl = rl_here(rl);
	t = &rl->segment.table;
	slots = rl_segment_slots(&rl->segment);
	if (!rl->segment.is_writable)
		return -EROFS;
	if (first >= slots)
		return -EINVAL;
	if (count > slots - first)
		count = slots - first;
	give_up_changes(rl, rl_clamp_now(now_ns));
	rl_history_sweep(rl, rl_clamp_now(now_ns));
	if (first == 0) {
		tidy_bans(rl, rl_clamp_now(now_ns));
		look_around(rl);
	}
	for (uint64_t i = first; i < first + count; i++) {
		rl_table_look_ahead(t, i);
		if (!rl_tag_is_free(rl_atomic_load(rl_table_tag(t, i))))
			rl_evict_stale(rl, i, rl_clamp_now(now_ns), swept);
	}
	reclaim_before(rl, first, first + count);
	swept->seen += count;
	return 0;
}

int64_t
rl_sweep_at(struct rl *rl, uint64_t now_ns)
{
	struct rl_swept swept = {0};
	int error = rl_sweep_slots_at(rl, 0, UINT64_MAX, now_ns, &swept);

	return error < 0 ? error : (int64_t)(swept.retired + swept.unused);
}

int
rl_heartbeat_at(struct rl *rl, uint64_t now_ns)
{
	struct rl_header *h = rl->segment.header;

	if (!rl->segment.is_writable)
		return -EROFS;
	rl_atomic_store(&h->sweeper, now_ns > 0 ? rl_namespace_pid() : 0);
	if (now_ns > 0)
		rl_atomic_store(&h->heartbeat_ns, now_ns);
	return 0;
}

/* The lock is on the file's first byte; the other byte is who configures. */
int
rl_supervise(struct rl *rl, pid_t *holder)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	int fd;

	*holder = 0;
	if (!rl->segment.is_writable)
		return -EROFS;
	if (rl->handle->lock >= 0)
		return 0;
	fd = rl_segment_reopen(&rl->segment, rl->handle->name);
	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		int error = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
		close(fd);
		*holder = rl_namespace_pid_here(rl_atomic_load(&rl->segment.header->sweeper));
		if (*holder < 0)
			*holder = 0;
		return error;
	}
	rl->handle->lock = fd;
	return 0;
}
