/* SPDX-License-Identifier: BSD-2-Clause */
#include "log.h"

#include <string.h>

typedef unsigned __int128 wide;

static struct log_limit
bucket_of(const struct rl_limit *l)
{
	uint64_t burst = l->burst;

	if (l->algorithm == RL_LEAKY_BUCKET)
		burst++;
	else if (burst == 0)
		burst = l->capacity;
	return (struct log_limit){
		.kind = LOG_BUCKET, .capacity = burst, .window_ns = l->window_ns / l->capacity};
}

struct log_limit
log_limit_of(const struct rl_limit *l)
{
	uint64_t granularity = l->granularity > 0 ? l->granularity : 1;
	struct log_limit limit = {.capacity = l->capacity,
	                          .window_ns = l->window_ns,
	                          .granularity = granularity,
	                          .width_ns = l->window_ns / granularity};

	if (l->algorithm == RL_TOKEN_BUCKET || l->algorithm == RL_LEAKY_BUCKET)
		return bucket_of(l);
	if (l->algorithm == RL_FIXED_WINDOW)
		limit.kind = LOG_FIXED;
	else if (l->algorithm == RL_ANCHORED_WINDOW)
		limit.kind = LOG_TWICE;
	else if (l->algorithm == RL_SLIDING_WINDOW && !l->hard)
		limit.kind = LOG_SOFT;
	return limit;
}

void
log_forget(struct log *log)
{
	log->count = 0;
	log->back_ns = 0;
}

static int
soft_holds(const struct log *log, const struct log_limit *l, uint64_t at_ns, uint64_t cost)
{
	uint64_t left = l->width_ns - at_ns % l->width_ns, epoch = at_ns / l->width_ns;
	wide used = (wide)cost * l->width_ns;

	for (uint32_t i = 0; i < log->count; i++) {
		uint64_t age = epoch - log->entry[i].at_ns / l->width_ns;
		if (age < l->granularity)
			used += (wide)log->entry[i].cost * l->width_ns;
		else if (age == l->granularity)
			used += (wide)log->entry[i].cost * left;
	}
	return used <= (wide)l->capacity * l->width_ns;
}

/* What counts only gets less as time goes by. */
static uint64_t
soft_earliest(const struct log *log, const struct log_limit *l, uint64_t from_ns, uint64_t cost)
{
	uint64_t low = from_ns, high = from_ns + l->window_ns + l->width_ns;

	if (soft_holds(log, l, low, cost))
		return low;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (soft_holds(log, l, middle, cost))
			high = middle;
		else
			low = middle;
	}
	return high;
}

static uint64_t
span_earliest(const struct log *log, uint64_t window_ns, uint64_t capacity, uint64_t from_ns,
              uint64_t cost)
{
	uint64_t sum = cost;

	for (uint32_t i = log->count; i-- > 0;) {
		sum += log->entry[i].cost;
		if (sum > capacity) {
			uint64_t gone_ns = log->entry[i].at_ns + window_ns;
			return gone_ns > from_ns ? gone_ns : from_ns;
		}
	}
	return from_ns;
}

static uint64_t
fixed_earliest(const struct log *log, const struct log_limit *l, uint64_t from_ns, uint64_t cost)
{
	uint64_t epoch = from_ns / l->window_ns, sum = cost;

	for (uint32_t i = 0; i < log->count; i++)
		if (log->entry[i].at_ns / l->window_ns == epoch)
			sum += log->entry[i].cost;
	return sum <= l->capacity ? from_ns : (epoch + 1) * l->window_ns;
}

static uint64_t
bucket_earliest(const struct log *log, const struct log_limit *l, uint64_t from_ns, uint64_t cost)
{
	uint64_t back_ns = log->back_ns + cost * l->window_ns, room = l->capacity * l->window_ns;

	return back_ns > from_ns + room ? back_ns - room : from_ns;
}

static uint64_t
earliest(const struct log *log, const struct log_limit *l, uint64_t now_ns, uint64_t cost)
{
	uint64_t from_ns = now_ns;

	if (l->kind == LOG_BUCKET && l->capacity != LOG_DEBT)
		return bucket_earliest(log, l, now_ns, cost);
	if (log->count > 0 && log->entry[log->count - 1].at_ns > from_ns)
		from_ns = log->entry[log->count - 1].at_ns;
	if (l->capacity == LOG_DEBT)
		return from_ns;
	switch (l->kind) {
	case LOG_SOFT:
		return soft_earliest(log, l, from_ns, cost);
	case LOG_FIXED:
		return fixed_earliest(log, l, from_ns, cost);
	case LOG_TWICE:
		return span_earliest(log, l->window_ns, 2 * l->capacity, from_ns, cost);
	default:
		return span_earliest(log, l->window_ns, l->capacity, from_ns, cost);
	}
}

static void
drop_first(struct log *log, uint32_t count)
{
	log->count -= count;
	memmove(log->entry, log->entry + count, log->count * sizeof *log->entry);
}

/* Two windows after it counted nothing holds it against anybody. */
static void
make_room(struct log *log, const struct log_limit *l, uint64_t now_ns)
{
	uint32_t gone = 0;

	while (gone < log->count && log->entry[gone].at_ns + 2 * l->window_ns <= now_ns)
		gone++;
	if (gone == 0 && log->count == LOG_ENTRIES)
		gone = 1;
	if (gone > 0)
		drop_first(log, gone);
}

static void
append(struct log *log, const struct log_limit *l, const struct log_entry *entry)
{
	if (l->kind == LOG_BUCKET) {
		uint64_t from_ns = log->back_ns > entry->at_ns ? log->back_ns : entry->at_ns;
		log->back_ns = from_ns + entry->cost * l->window_ns;
		return;
	}
	make_room(log, l, entry->now_ns);
	log->entry[log->count++] = *entry;
}

int
log_admit(struct log *log, const struct log_limit *limit, uint64_t now_ns, uint64_t real_ns,
          uint64_t cost, uint64_t id)
{
	struct log_entry entry = {.now_ns = now_ns,
	                          .at_ns = earliest(log, limit, now_ns, cost),
	                          .cost = cost,
	                          .capacity = limit->capacity,
	                          .id = id};

	if (cost > limit->capacity || entry.at_ns > real_ns) {
		log_forget(log);
		return 0;
	}
	append(log, limit, &entry);
	return 1;
}

/* Of a bucket the times of all others would be needed: it is forgiven everything. */
void
log_take_back(struct log *log, const struct log_limit *limit, uint64_t real_ns, uint64_t id,
              uint64_t stays)
{
	struct log all = *log;
	struct log_limit own = *limit;

	log_forget(log);
	if (limit->kind == LOG_BUCKET)
		return;
	for (uint32_t i = 0; i < all.count; i++) {
		const struct log_entry *e = &all.entry[i];
		uint64_t cost = e->id == id ? stays : e->cost;

		own.capacity = e->capacity;
		if (cost > 0)
			log_admit(log, &own, e->now_ns, real_ns, cost, e->id);
	}
}

void
log_owe(struct log *log, const struct log_limit *limit, uint64_t now_ns, uint64_t cost)
{
	struct log_limit own = *limit;

	own.capacity = LOG_DEBT;
	if (limit->kind != LOG_TWICE)
		log_admit(log, &own, now_ns, UINT64_MAX, cost, 0);
}
