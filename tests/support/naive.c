/* SPDX-License-Identifier: BSD-2-Clause */
#include "naive.h"

typedef unsigned __int128 wide;

void
naive_init(struct naive *n, uint64_t width_ns, uint32_t count, bool is_hard, uint32_t capacity)
{
	n->width_ns = width_ns;
	n->count = count;
	n->is_hard = is_hard;
	n->capacity = capacity;
	n->newest = 0;
	n->used = 0;
}

static uint64_t
epoch_of(const struct naive *n, uint64_t now_ns)
{
	uint64_t epoch = now_ns / n->width_ns;

	return epoch < n->newest ? n->newest : epoch;
}

static uint64_t
cost_in(const struct naive *n, uint64_t epoch)
{
	uint64_t cost = 0;

	for (uint32_t i = 0; i < n->used; i++)
		if (n->entry[i].epoch == epoch)
			cost += n->entry[i].cost;
	return cost;
}

bool
naive_allows(const struct naive *n, uint64_t now_ns, uint64_t cost)
{
	uint64_t epoch = epoch_of(n, now_ns);
	uint64_t start = epoch * n->width_ns;
	uint64_t elapsed = now_ns > start ? now_ns - start : 0;
	wide counted = (wide)cost * n->width_ns;

	for (uint32_t back = 0; back <= n->count && back <= epoch; back++) {
		bool is_partial = back == n->count && n->count > 0 && !n->is_hard;
		uint64_t weight = is_partial ? n->width_ns - elapsed : n->width_ns;
		counted += (wide)cost_in(n, epoch - back) * weight;
	}
	return counted <= (wide)n->capacity * n->width_ns;
}

/* Entries that can never count again make room. */
static void
forget_old(struct naive *n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n->used; i++)
		if (n->entry[i].epoch + n->count >= n->newest && n->entry[i].cost > 0)
			n->entry[kept++] = n->entry[i];
	n->used = kept;
}

static void
add(struct naive *n, uint64_t epoch, uint64_t cost)
{
	for (uint32_t i = 0; i < n->used; i++) {
		if (n->entry[i].epoch == epoch) {
			n->entry[i].cost += cost;
			return;
		}
	}
	forget_old(n);
	n->entry[n->used].epoch = epoch;
	n->entry[n->used++].cost = cost;
}

bool
naive_check(struct naive *n, uint64_t now_ns, uint64_t cost)
{
	if (!naive_allows(n, now_ns, cost))
		return false;
	n->newest = epoch_of(n, now_ns);
	add(n, n->newest, cost);
	return true;
}

bool
naive_refund(struct naive *n, uint64_t epoch, uint64_t cost)
{
	if (epoch != n->newest || cost_in(n, epoch) < cost)
		return false;
	for (uint32_t i = 0; i < n->used; i++)
		if (n->entry[i].epoch == epoch)
			n->entry[i].cost -= cost;
	return true;
}

uint32_t
naive_remaining(const struct naive *n, uint64_t now_ns)
{
	uint64_t low = 0, high = (uint64_t)n->capacity + 1;

	if (!naive_allows(n, now_ns, 0))
		return 0;
	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;
		if (naive_allows(n, now_ns, middle))
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}
