/* SPDX-License-Identifier: BSD-2-Clause */
#include "reference.h"

void
reference_clear(struct reference *r)
{
	*r = (struct reference){.short_host = -1};
}

/* A host's own share is its own until it asks, however late. */
static void
forget(struct reference *r, int but, uint64_t now)
{
	if (now >= r->gone)
		reference_clear(r);
	for (int i = 0; i < r->hosts; i++)
		if (i != but && r->of[i].is_there && r->of[i].expires <= now)
			r->of[i] = (struct reference_share){0};
}

static uint64_t
sum_of(const struct reference *r)
{
	uint64_t sum = 0;

	for (int i = 0; i < r->hosts; i++)
		sum += r->of[i].share;
	return sum;
}

static uint64_t
hosts_of(const struct reference *r)
{
	uint64_t hosts = 0;

	for (int i = 0; i < r->hosts; i++)
		hosts += r->of[i].share > 0;
	return hosts;
}

static uint64_t
grant(const struct reference_ask *a, uint64_t own, uint64_t others, bool *is_short)
{
	uint64_t free = a->limit > others ? a->limit - others : 0;
	uint64_t keep = a->want < own ? a->want : own, g = a->want, half;

	if (g > free) {
		g = a->need > free ? keep : free; /* a part would help nobody */
		*is_short = a->is_short || a->need > free;
	} else if (g > own) {
		half = own + (free - own + 1) / 2;
		half = a->need > half ? a->need : half;
		g = half < g ? half : g;
	}
	return g > keep ? g : keep;
}

/* Who is short calls those who hold something; who gives back tells those who have called. */
static bool
calls(struct reference *r, const struct reference_ask *a, uint64_t now, uint64_t ms)
{
	if (!a->is_call || sum_of(r) == r->of[a->host].share ||
	    (r->has_called && now - r->called_at < REFERENCE_CALL_MS * ms))
		return false;
	r->has_called = true;
	r->called_at = now;
	return true;
}

static bool
tells_room(struct reference *r, const struct reference_ask *a, uint64_t now, uint64_t ms)
{
	if (!r->has_called || r->short_host < 0 || r->short_host == a->host ||
	    now - r->short_at >= a->starve ||
	    (r->has_told && now - r->room_at < REFERENCE_ROOM_MS * ms))
		return false;
	r->has_told = true;
	r->room_at = now;
	return true;
}

struct reference_answer
reference_take(struct reference *r, const struct reference_ask *a, uint64_t now, uint64_t ms)
{
	struct reference_share *own = &r->of[a->host];
	bool is_short = false, is_call = false, is_room = false;

	r->hosts = a->host >= r->hosts ? a->host + 1 : r->hosts;
	forget(r, a->host, now);
	r->hosts = a->host >= r->hosts ? a->host + 1 : r->hosts;
	if (a->seq > own->seq) {
		uint64_t before = own->share;

		own->share = grant(a, own->share, sum_of(r) - own->share, &is_short);
		own->seq = a->seq;
		own->expires = now + a->life;
		own->is_there = true;
		r->gone = own->expires > r->gone ? own->expires : r->gone;
		is_room = !is_short && own->share < before && tells_room(r, a, now, ms);
	}
	if (is_short) {
		is_call = calls(r, a, now, ms);
		r->short_at = now;
		r->short_host = a->host;
	}
	return (struct reference_answer){
		.share = own->share,
		.sum = sum_of(r),
		.hosts = hosts_of(r),
		.seq = own->seq,
		.other_starves = r->short_host >= 0 && r->short_host != a->host &&
	                         now - r->short_at < a->starve,
		.calls = is_call,
		.tells_room = is_room,
	};
}
