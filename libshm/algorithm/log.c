/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/log.h"

#define UNITS_SHIFT 50
#define PENDING_SHIFT 37
#define PENDING_MASK UINT64_C(0x1fff)

static uint32_t
min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

struct rl_log
rl_log_unpack(struct rl_u128 word, uint32_t ring_entries)
{
	struct rl_log log = {.newest_ns = word.lo};

	log.units = min32((uint32_t)(word.hi >> UNITS_SHIFT), 2 * ring_entries - 1);
	log.pending = min32((uint32_t)(word.hi >> PENDING_SHIFT & PENDING_MASK),
	                    min32(log.units, rl_log_capacity(ring_entries)));
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
rl_log_time(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries, uint32_t back)
{
	if (back < log->pending)
		return log->newest_ns;
	return rl_atomic_load(&ring[(log->units - back) % ring_entries]);
}

static uint64_t
leaves_at(uint64_t time_ns, uint64_t window_ns)
{
	uint64_t at;

	return __builtin_add_overflow(time_ns, window_ns, &at) ? UINT64_MAX : at;
}

uint32_t
rl_log_used(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries,
            uint64_t window_ns, uint32_t capacity, uint64_t now_ns)
{
	/* Times fall with `back`: the units before `low` count, those from `high` on do not. */
	uint32_t low = 0, high;

	if (!log)
		return 0;
	if (now_ns < log->newest_ns)
		now_ns = log->newest_ns;
	high = min32(log->units, min32(capacity, rl_log_capacity(ring_entries)));
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (leaves_at(rl_log_time(log, ring, ring_entries, middle), window_ns) > now_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t
rl_log_admits_at(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries,
                 uint64_t window_ns, uint32_t capacity, uint32_t cost)
{
	uint32_t back = capacity - cost;

	if (!log || back >= log->units || back >= ring_entries)
		return 0;
	return leaves_at(rl_log_time(log, ring, ring_entries, back), window_ns);
}

uint64_t
rl_log_idle_at(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries,
               uint64_t window_ns)
{
	return leaves_at(rl_log_time(log, ring, ring_entries, 0), window_ns);
}

bool
rl_log_must_store(const struct rl_log *log, uint64_t now_ns)
{
	return log && log->pending > 0 && now_ns > log->newest_ns;
}

uint32_t
rl_log_place(const struct rl_log *log, uint32_t ring_entries, uint32_t i)
{
	return (log->units - i) % ring_entries;
}

struct rl_log
rl_log_add(const struct rl_log *log, uint32_t ring_entries, uint64_t now_ns, uint32_t cost)
{
	struct rl_log next = {.newest_ns = now_ns};

	if (log) {
		next = *log;
		if (now_ns > log->newest_ns) {
			next.newest_ns = now_ns;
			next.pending = 0;
		}
	}
	next.pending = min32(next.pending + cost, rl_log_capacity(ring_entries));
	next.units += cost;
	while (next.units >= 2 * ring_entries)
		next.units -= ring_entries;
	return next;
}
