/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/log.h"

#include "algorithm/limiter.h"

#define UNITS_SHIFT 50
#define PENDING_SHIFT 37
#define PENDING_MASK UINT64_C(0x1fff)

struct rl_log
rl_log_unpack(struct rl_u128 word, uint32_t ring_entries)
{
	struct rl_log log = {.newest_ns = word.lo};

	log.units = rl_lesser((uint32_t)(word.hi >> UNITS_SHIFT), 2 * ring_entries - 1);
	log.pending = rl_lesser((uint32_t)(word.hi >> PENDING_SHIFT & PENDING_MASK),
	                        rl_lesser(log.units, rl_log_capacity(ring_entries)));
	return log;
}

struct rl_u128
rl_log_pack(struct rl_log log, uint64_t slot_bits)
{
	return (struct rl_u128){
		.lo = log.newest_ns,
		.hi = (uint64_t)log.units << UNITS_SHIFT | (uint64_t)log.pending << PENDING_SHIFT |
	              slot_bits,
	};
}

uint64_t
rl_log_stored(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries, uint32_t back)
{
	return rl_atomic_load(&ring[(log->units - back) % ring_entries]);
}

uint64_t
rl_log_time(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries, uint32_t back)
{
	return back < log->pending ? log->newest_ns : rl_log_stored(log, ring, ring_entries, back);
}
