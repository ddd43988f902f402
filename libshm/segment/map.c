/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/map.h"

#include <errno.h>
#include <sys/mman.h>

#include "segment/geometry.h"
#include "segment/huge_pages.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define PRINT_DOMAIN (UINT64_C(1) << 51) /* apart from the hashes of keys, names and patterns */

static struct rl_filter
place_filter(uint64_t *at, uint32_t slots)
{
	uint32_t words = rl_filter_words(slots);

	return (struct rl_filter){.bank = {at, at + words}, .words = words};
}

static void
place_filters(struct rl_segment *s, void *area)
{
	struct rl_filter_head *head = area;
	struct rl_hash first = rl_hash_with(s->key, PRINT_DOMAIN, NULL, 0);
	struct rl_hash last = rl_hash_with(s->key, PRINT_DOMAIN + 1, NULL, 0);
	uint64_t *words = (uint64_t *)(void *)(head + 1);

	s->ban_epoch = &head->ban_epoch;
	s->ban_filter = place_filter(words, s->geometry.ban_slots);
	words += 2 * (size_t)s->ban_filter.words;
	s->override_filter = place_filter(words, s->geometry.override_slots);
	s->fingerprint_key[0] = first.a;
	s->fingerprint_key[1] = first.b;
	s->fingerprint_key[2] = last.a;
}

/* Take what is needed from a header that was checked. */
static void
segment_place(struct rl_segment *s, const struct rl_header *checked, void *base)
{
	struct rl_areas a = rl_areas_of(&checked->geometry);
	unsigned char *at = base;

	s->header = base;
	s->bytes = checked->bytes;
	s->geometry = checked->geometry;
	s->key = (struct rl_hash_key){.k0 = checked->hash_key[0], .k1 = checked->hash_key[1]};
	s->key_start = rl_sip_start64(s->key);
	s->unix_offset_ns = checked->unix_offset_ns;
	s->created_ns = checked->created_ns;
	s->rows = (struct rl_row *)(void *)(at + a.rows);
	s->limits = (struct rl_limit_row *)(void *)(at + a.limits);
	s->overrides = (struct rl_override_slot *)(void *)(at + a.overrides);
	s->bans = (struct rl_u128 *)(void *)(at + a.bans);
	s->holders = (struct rl_u128 *)(void *)(at + a.holders);
	place_filters(s, at + a.filters);
	s->stats = (struct rl_stat *)(void *)(at + a.stats);
	s->limit_stats = (struct rl_denials *)(void *)(at + a.limit_stats);
	s->history = (struct rl_history_row *)(void *)(at + a.history);
	s->events = (struct rl_events_head *)(void *)(at + a.events);
	s->table.bucket = (struct rl_bucket *)(void *)(at + a.table);
	s->table.buckets = checked->geometry.buckets;
	s->table.now = &s->header->tables.now;
	s->rings = (uint64_t *)(void *)(at + a.rings);
	s->wishes = (uint64_t *)(void *)(at + a.wishes);
	s->overflow_until = &((struct rl_overflow_head *)(void *)(at + a.overflow))->until_ns;
	s->overflow_sets =
		(struct rl_u128 *)(void *)(at + a.overflow + sizeof(struct rl_overflow_head));
	s->overflow_counters =
		(struct rl_u128 *)(void *)(at + a.overflow + rl_overflow_counters_at(&s->geometry));
	s->records = at + a.records;
	s->ban_records = s->records + rl_segment_slots(s) * s->geometry.record_bytes;
	s->auto_bans = (struct rl_auto_row *)(void *)(at + a.auto_bans);
	s->strikes = (struct rl_u128 *)(void *)(at + a.strikes);
	s->notes = (struct rl_ban_note *)(void *)(at + a.notes);
}

int
rl_segment_map(struct rl_segment *s, const struct rl_header *checked, int fd, bool is_writable)
{
	int protection = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	bool is_huge = checked->geometry.huge_pages != 0 || checked->bytes >= RL_HUGE_BYTES;
	void *hint = is_huge ? rl_huge_page_hint(checked->bytes) : NULL;
	void *base = mmap(hint, checked->bytes, protection, flags, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	if (is_huge) /* where the administrator lets the kernel give them; refused: without */
		madvise(base, checked->bytes, MADV_HUGEPAGE);
	s->is_writable = is_writable;
	segment_place(s, checked, base);
	return 0;
}

/* An older kernel does not know how; then pages are mapped as they are touched. */
void
rl_segment_populate(const struct rl_segment *s)
{
	madvise(s->header, s->bytes, s->is_writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

void
rl_segment_close(struct rl_segment *s)
{
	if (s->header)
		munmap(s->header, s->bytes);
	s->header = NULL;
}
