/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/header.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "segment/clock.h"
#include "segment/geometry.h"
#include "segment/namespace.h"
#include "shared/hash.h"

/*
 * One word that differs when any shared struct does, or what its bits mean: a build that disagrees
 * is refused. How many counters there are is no such fact, for their words are there before they
 * are.
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
		offsetof(struct rl_header, renewals_ns),
		offsetof(struct rl_header, cluster_key),
		offsetof(struct rl_header, generation),
		offsetof(struct rl_header, tables),
		sizeof(struct rl_tables),
		sizeof(struct rl_geometry),
		offsetof(struct rl_header, any_bans),
		offsetof(struct rl_header, shares_until),
		offsetof(struct rl_header, changes),
		sizeof(struct rl_row),
		offsetof(struct rl_row, name),
		offsetof(struct rl_row, overrides),
		offsetof(struct rl_row, bans),
		sizeof(struct rl_limit_row),
		offsetof(struct rl_limit_row, quota),
		offsetof(struct rl_limit_row, has_tiers),
		offsetof(struct rl_limit_row, oldest),
		offsetof(struct rl_limit_row, overflow_set),
		offsetof(struct rl_limit_row, denied_from),
		sizeof(struct rl_overflow_head),
		sizeof(struct rl_override_slot),
		sizeof(struct rl_filter_head),
		sizeof(struct rl_auto_row),
		sizeof(struct rl_ban_note),
		offsetof(struct rl_ban_note, hits),
		RL_FILTER_SLOTS,
		sizeof(struct rl_stat),
		sizeof(struct rl_denials),
		sizeof(struct rl_history_row),
		sizeof(struct rl_events_head),
		sizeof(struct rl_event_entry),
		sizeof(struct rl_record),
		sizeof(struct rl_bucket),
		offsetof(struct rl_bucket, state),
		RL_BUCKET_SLOTS,
		RL_TAG_HASH_BITS,
		RL_TAG_INCARNATION_SHIFT,
		RL_KEY_HASH,
		RL_TAG_GEN_SHIFT,
		RL_STATE_DEAD,
		RL_STATE_SERIALS,
		RL_AREA_ALIGN,
	};
#define AS_TEXT(in_limit, in_quota, bit) #in_limit " " #bit " "
	static const char flags[] = RL_QUOTA_FLAGS(AS_TEXT);
#undef AS_TEXT
	struct rl_hash_key key = {.k0 = RL_MAGIC,
	                          .k1 = RL_LAYOUT_VERSION | (uint64_t)RL_LAYOUT_REVISION << 32};

	key.k0 ^= rl_hash_with(key, 0, flags, sizeof flags).a;
	return rl_hash_with(key, 0, facts, sizeof facts).a;
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
	uint64_t boot_ns = rl_clock_ns(CLOCK_BOOTTIME);

	*h = (struct rl_header){
		.magic = RL_MAGIC,
		.layout = RL_LAYOUT_VERSION,
		.header_bytes = RL_HEADER_BYTES,
		.signature = layout_signature(),
		.bytes = rl_areas_of(g).bytes,
		.geometry = *g,
		.created_ns = rl_clock_ns(CLOCK_REALTIME),
		.time_namespace = here.id,
		.clock_shift_ns = here.shift_ns,
		.revision = RL_LAYOUT_REVISION,
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
	if (h->revision != RL_LAYOUT_REVISION)
		return RL_EVERSION;
	if (!rl_geometry_is_valid(&h->geometry) || h->bytes != rl_areas_of(&h->geometry).bytes)
		return RL_EDAMAGED;
	if (file_bytes < h->bytes)
		return RL_ETRUNCATED;
	if (file_bytes > h->bytes &&
	    file_bytes < rl_table_at(h->bytes)) /* no table stands behind, nor did one */
		return RL_EDAMAGED;
	read_boot_id(boot_id);
	if (boot_id[0] != 0 && h->boot_id[0] != 0 &&
	    (boot_id[0] != h->boot_id[0] || boot_id[1] != h->boot_id[1]))
		return RL_EBOOT;
	return h->checksum == header_checksum(h) ? 0 : RL_EDAMAGED;
}
