/* SPDX-License-Identifier: BSD-2-Clause */
#include "hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool
read_hosts(struct hosts *h, const struct store_value *v, size_t from)
{
	size_t room = v->count > from ? v->count - from : 0;

	*h = (struct hosts){.of = calloc(room + 1, sizeof *h->of), .is_known = true};
	if (!h->of)
		return false;
	for (size_t i = from; i < v->count; i++)
		snprintf(h->of[h->count++], sizeof *h->of, "%s", store_text(v->items[i]));
	qsort(h->of, h->count, sizeof *h->of, by_name);
	return true;
}

/* Both in their order: what is on one side alone has come, or gone. */
static void
compare(const struct hosts *before, const struct hosts *now, hosts_report *report, void *arg)
{
	size_t b = 0, n = 0;

	while (b < before->count || n < now->count) {
		int order = b == before->count ? 1
		            : n == now->count  ? -1
		                               : strcmp(before->of[b], now->of[n]);

		if (order < 0)
			report(arg, false, before->of[b]);
		else if (order > 0)
			report(arg, true, now->of[n]);
		b += order <= 0;
		n += order >= 0;
	}
}

void
hosts_take(struct hosts *h, const struct store_value *v, size_t from, hosts_report *report,
           void *arg)
{
	struct hosts now;

	if (!read_hosts(&now, v, from))
		return;
	if (h->is_known)
		compare(h, &now, report, arg);
	hosts_free(h);
	*h = now;
}

void
hosts_free(struct hosts *h)
{
	free(h->of);
	*h = (struct hosts){0};
}

uint64_t
hosts_most(struct hosts_most *m, uint64_t count, uint64_t now_ns)
{
	if (count >= m->count || now_ns - m->at_ns >= HOSTS_LIFE_NS)
		*m = (struct hosts_most){count, now_ns};
	return m->count;
}
