/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a segment: how large it is, what its header says, and where its areas are. */
#include "segment/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "rl_admin.h"
#include "segment/huge_pages.h"
#include "segment/namespace.h"
#include "segment/segment_file.h"

#define KEYS_DEFAULT 24576
#define KEYS_MAX UINT32_C(1500000000)
#define KEY_BYTES_DEFAULT 48
#define RULES_DEFAULT 64
#define LIMITS_PER_RULE 16 /* eight in force, and as many that are to come */
#define OVERRIDES_DEFAULT 1024
#define BANS_DEFAULT 1024
#define BUFFER_DEFAULT (10 * RL_SECOND)
#define BUFFER_MAX (86400 * RL_SECOND)

/* How often to try again when the name comes and goes between open and link. */
#define OPEN_TRIES 100

struct areas {
	uint64_t rows, limits, overrides, bans, stats, table, rings, records, bytes;
};

static uint64_t
area(uint64_t *at, uint64_t bytes)
{
	uint64_t start = *at;

	*at = (start + bytes + RL_AREA_ALIGN - 1) / RL_AREA_ALIGN * RL_AREA_ALIGN;
	return start;
}

/* Cannot overflow: a valid geometry stays below 2^48 bytes. */
static struct areas
areas_of(const struct rl_geometry *g)
{
	uint64_t slots = (uint64_t)g->buckets * RL_BUCKET_SLOTS;
	uint64_t at = RL_HEADER_BYTES;
	struct areas a;

	a.rows = area(&at, (uint64_t)g->rules * sizeof(struct rl_row));
	a.limits = area(&at, (uint64_t)g->limits * sizeof(struct rl_limit_row));
	a.overrides = area(&at, 2 * (uint64_t)g->override_slots * sizeof(struct rl_override_slot));
	a.bans = area(&at, (uint64_t)g->ban_slots * sizeof(struct rl_word16));
	a.stats = area(&at, (uint64_t)g->stripes * g->rules * sizeof(struct rl_stat));
	a.table = area(&at, (uint64_t)g->buckets * sizeof(struct rl_bucket));
	a.rings = area(&at, slots * g->ring * sizeof(uint64_t));
	a.records = area(&at, (slots + g->ban_slots) * g->record_bytes);
	a.bytes = at;
	return a;
}

static bool
within(uint64_t value, uint64_t low, uint64_t high)
{
	return value >= low && value <= high;
}

static bool
geometry_is_valid(const struct rl_geometry *g)
{
	return within(g->buckets, RL_BUCKETS_MIN, RL_BUCKETS_MAX) &&
	       within(g->ring, 1, RL_RING_MAX) &&
	       within(g->record_bytes, sizeof(struct rl_record) + 8,
	              sizeof(struct rl_record) + RL_KEY_MAX) &&
	       g->record_bytes % 8 == 0 && within(g->rules, 1, RL_RULES_MAX) &&
	       within(g->limits, 1, RL_LIMIT_ROWS_MAX) &&
	       within(g->override_slots, 1, RL_SLOTS_PER_ENTRY * RL_OVERRIDES_MAX) &&
	       within(g->ban_slots, 1, RL_SLOTS_PER_ENTRY * RL_BANS_MAX) &&
	       within(g->stripes, 1, RL_STRIPES_MAX) && g->on_full <= RL_FULL_ALLOW &&
	       g->huge_pages <= 1 && g->buffer_ns <= BUFFER_MAX;
}

static uint32_t
or_default(uint32_t value, uint32_t fallback)
{
	return value > 0 ? value : fallback;
}

/* A stripe of counters for each CPU there can be. */
static uint32_t
stripes_here(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (cpus < 1)
		return 1;
	return cpus > RL_STRIPES_MAX ? RL_STRIPES_MAX : (uint32_t)cpus;
}

static int
geometry_from(const struct rl_options *o, struct rl_geometry *g)
{
	uint32_t keys = or_default(o->keys, KEYS_DEFAULT);
	uint32_t key_bytes = or_default(o->key_bytes, KEY_BYTES_DEFAULT);
	uint32_t rules = or_default(o->rules, RULES_DEFAULT), limits = LIMITS_PER_RULE * rules;
	uint32_t overrides = or_default(o->overrides, OVERRIDES_DEFAULT);
	uint32_t bans = or_default(o->bans, BANS_DEFAULT);

	if (keys > KEYS_MAX || key_bytes > RL_KEY_MAX || rules > RL_RULES_MAX ||
	    overrides > RL_OVERRIDES_MAX || bans > RL_BANS_MAX)
		return -EINVAL;
	*g = (struct rl_geometry){
		.buckets = rl_table_buckets_for(keys),
		.ring = or_default(o->ring, RL_GRANULARITY_MAX),
		.record_bytes = (uint32_t)sizeof(struct rl_record) + (key_bytes + 7) / 8 * 8,
		.rules = rules,
		.limits = limits < RL_LIMIT_ROWS_MAX ? limits : RL_LIMIT_ROWS_MAX,
		.override_slots = RL_SLOTS_PER_ENTRY * overrides,
		.ban_slots = RL_SLOTS_PER_ENTRY * bans,
		.stripes = stripes_here(),
		.on_full = (uint32_t)o->on_full,
		.huge_pages = (o->flags & RL_OPEN_HUGE_PAGES) != 0,
		.buffer_ns = o->buffer_ns > 0 ? o->buffer_ns : BUFFER_DEFAULT,
	};
	return geometry_is_valid(g) ? 0 : -EINVAL;
}

int
rl_segment_bytes(const struct rl_options *o, uint64_t *bytes)
{
	struct rl_geometry g;

	if (geometry_from(o, &g) < 0)
		return -EINVAL;
	*bytes = areas_of(&g).bytes;
	return 0;
}

/*
 * One word that differs when any shared struct does: a build that disagrees is refused. How many
 * counters there are is no such fact, for their words are there before they are.
 */
static uint64_t
layout_signature(void)
{
	static const uint64_t facts[] = {
		sizeof(struct rl_header),
		offsetof(struct rl_header, geometry),
		offsetof(struct rl_header, hash_key),
		offsetof(struct rl_header, boot_id),
		offsetof(struct rl_header, unix_offset_ns),
		offsetof(struct rl_header, time_namespace),
		offsetof(struct rl_header, clock_shift_ns),
		offsetof(struct rl_header, checksum),
		offsetof(struct rl_header, heartbeat_ns),
		offsetof(struct rl_header, generation),
		offsetof(struct rl_header, successor),
		sizeof(struct rl_geometry),
		offsetof(struct rl_header, any_bans),
		sizeof(struct rl_row),
		offsetof(struct rl_row, name),
		offsetof(struct rl_row, overrides),
		offsetof(struct rl_row, bans),
		sizeof(struct rl_limit_row),
		offsetof(struct rl_limit_row, quota),
		sizeof(struct rl_override_slot),
		sizeof(struct rl_stat),
		sizeof(struct rl_record),
		sizeof(struct rl_bucket),
		offsetof(struct rl_bucket, state),
		RL_BUCKET_SLOTS,
		RL_TAG_HASH_BITS,
		RL_TAG_GEN_SHIFT,
		RL_STATE_DEAD,
		RL_STATE_SERIALS,
		RL_AREA_ALIGN,
	};
	struct rl_hash_key key = {.k0 = RL_MAGIC, .k1 = RL_LAYOUT_VERSION};

	return rl_hash_with(key, 0, facts, sizeof facts).a;
}

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

uint64_t
rl_segment_now(const struct rl_segment *s)
{
	return clock_ns(CLOCK_BOOTTIME) + s->unix_offset_ns;
}

/* The kernel's id of this boot, hashed; zeros, which match any, where it cannot be read. */
static void
read_boot_id(uint64_t id[2])
{
	char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text);

	if (fd >= 0)
		close(fd);
	id[0] = id[1] = 0;
	if (len > 0) {
		struct rl_hash h = rl_hash_with((struct rl_hash_key){0}, 0, text, (size_t)len);
		id[0] = h.a;
		id[1] = h.b;
	}
}

/* Over all that stands before it, and never changes. */
static uint64_t
header_checksum(const struct rl_header *h)
{
	struct rl_hash_key key = {.k0 = RL_MAGIC};

	return rl_hash_with(key, 0, h, offsetof(struct rl_header, checksum)).a;
}

int
rl_segment_header_fill(struct rl_header *h, const struct rl_geometry *g)
{
	struct rl_time_namespace here = rl_namespace_time();
	uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME);

	*h = (struct rl_header){
		.magic = RL_MAGIC,
		.layout = RL_LAYOUT_VERSION,
		.header_bytes = RL_HEADER_BYTES,
		.signature = layout_signature(),
		.bytes = areas_of(g).bytes,
		.geometry = *g,
		.created_ns = clock_ns(CLOCK_REALTIME),
		.time_namespace = here.id,
		.clock_shift_ns = here.shift_ns,
	};
	h->unix_offset_ns = h->created_ns - boot_ns;
	read_boot_id(h->boot_id);
	if (getrandom(h->hash_key, sizeof h->hash_key, 0) != (ssize_t)sizeof h->hash_key)
		return -EIO;
	h->checksum = header_checksum(h);
	return 0;
}

int
rl_segment_header_check(const struct rl_header *h, size_t have, uint64_t file_bytes)
{
	uint64_t boot_id[2];

	if (have < sizeof h->magic || h->magic != RL_MAGIC)
		return RL_EFOREIGN;
	if (have < offsetof(struct rl_header, geometry))
		return RL_ETRUNCATED;
	if (h->layout != RL_LAYOUT_VERSION || h->header_bytes != RL_HEADER_BYTES ||
	    h->signature != layout_signature())
		return RL_EVERSION;
	if (have < sizeof *h)
		return RL_ETRUNCATED;
	if (!geometry_is_valid(&h->geometry) || h->bytes != areas_of(&h->geometry).bytes)
		return RL_EDAMAGED;
	if (file_bytes != h->bytes)
		return file_bytes < h->bytes ? RL_ETRUNCATED : RL_EDAMAGED;
	read_boot_id(boot_id);
	if (boot_id[0] != 0 && h->boot_id[0] != 0 &&
	    (boot_id[0] != h->boot_id[0] || boot_id[1] != h->boot_id[1]))
		return RL_EBOOT;
	return h->checksum == header_checksum(h) ? 0 : RL_EDAMAGED;
}

/* The segment's clock is the creator's, who may be in another time namespace. */
int
rl_segment_follow_clock(struct rl_segment *s, const struct rl_header *checked)
{
	struct rl_time_namespace mine = rl_namespace_time();
	struct rl_time_namespace theirs = {checked->time_namespace, checked->clock_shift_ns};
	uint64_t shift_ns;

	if (!rl_namespace_shift(&mine, &theirs, &shift_ns))
		return RL_ECLOCK;
	s->unix_offset_ns = checked->unix_offset_ns + shift_ns;
	/* Nothing tells which namespace this is: the wall clock, which has no namespace, is asked. */
	if (mine.id == 0 && theirs.id != 0 &&
	    !rl_namespace_clocks_agree(rl_segment_now(s), clock_ns(CLOCK_REALTIME)))
		return RL_ECLOCK;
	return 0;
}

/* Take what is needed from a header that was checked. */
static void
segment_place(struct rl_segment *s, const struct rl_header *checked, void *base)
{
	struct areas a = areas_of(&checked->geometry);
	unsigned char *at = base;

	s->header = base;
	s->bytes = checked->bytes;
	s->geometry = checked->geometry;
	s->key = (struct rl_hash_key){.k0 = checked->hash_key[0], .k1 = checked->hash_key[1]};
	s->unix_offset_ns = checked->unix_offset_ns;
	s->created_ns = checked->created_ns;
	s->rows = (struct rl_row *)(void *)(at + a.rows);
	s->limits = (struct rl_limit_row *)(void *)(at + a.limits);
	s->overrides = (struct rl_override_slot *)(void *)(at + a.overrides);
	s->bans = (struct rl_word16 *)(void *)(at + a.bans);
	s->stats = (struct rl_stat *)(void *)(at + a.stats);
	s->table.bucket = (struct rl_bucket *)(void *)(at + a.table);
	s->table.buckets = checked->geometry.buckets;
	s->rings = (uint64_t *)(void *)(at + a.rings);
	s->records = at + a.records;
}

int
rl_segment_map(struct rl_segment *s, const struct rl_header *checked, int fd, bool is_writable)
{
	int protection = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	bool is_huge = checked->geometry.huge_pages != 0;
	void *hint = is_huge ? rl_huge_page_hint(checked->bytes) : NULL;
	void *base = mmap(hint, checked->bytes, protection, flags, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	if (is_huge && fd < 0) /* as it is touched; refused: as if not asked */
		madvise(base, checked->bytes, MADV_HUGEPAGE);
	s->is_writable = is_writable;
	segment_place(s, checked, base);
	return 0;
}

int
rl_segment_open(const char *name, const struct rl_options *o, struct rl_segment *s)
{
	const unsigned known = RL_OPEN_READONLY | RL_OPEN_EXISTING | RL_OPEN_GROUP |
	                       RL_OPEN_ANY_OWNER | RL_OPEN_HUGE_PAGES;
	struct rl_geometry geometry;
	int error = geometry_from(o, &geometry);

	if (error < 0 || (o->flags & ~known) || (o->mode & ~0777u))
		return -EINVAL;
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		*s = (struct rl_segment){0};
		error = rl_segment_attach(name, o, s);
		if (error != -ENOENT || (o->flags & (RL_OPEN_READONLY | RL_OPEN_EXISTING)))
			return error;
		error = rl_segment_attach_or_create(name, o, &geometry, s);
		if (error != -EEXIST)
			return error;
	}
	return -EAGAIN;
}

int
rl_segment_private(const struct rl_options *o, struct rl_segment *s)
{
	struct rl_geometry geometry;
	struct rl_header header;
	int error = geometry_from(o, &geometry);

	*s = (struct rl_segment){0};
	if (error == 0)
		error = rl_segment_header_fill(&header, &geometry);
	if (error == 0)
		error = rl_segment_map(s, &header, -1, true);
	if (error == 0)
		memcpy(s->header, &header, sizeof header);
	return error;
}

void
rl_segment_close(struct rl_segment *s)
{
	if (s->header)
		munmap(s->header, s->bytes);
	s->header = NULL;
}
