/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop/limited.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool
is_before(const struct limited_limit *l, int rule, unsigned limit)
{
	return l->rule < rule || (l->rule == rule && l->limit < limit);
}

/* Where it stands, or would. */
static size_t
find(const struct limited *limited, int rule, unsigned limit)
{
	size_t low = 0, high = limited->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_before(&limited->limits[middle], rule, limit))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is_at(const struct limited *limited, size_t at, int rule, unsigned limit)
{
	return at < limited->count && limited->limits[at].rule == rule &&
	       limited->limits[at].limit == limit;
}

static void
insert(struct limited *limited, size_t at, int rule, unsigned limit)
{
	size_t room = limited->room > 0 ? 2 * limited->room : 16;
	struct limited_limit *grown = limited->limits;

	if (limited->count == limited->room) {
		grown = realloc(grown, room * sizeof *grown);
		if (!grown)
			return;
		limited->room = room;
		limited->limits = grown;
	}
	memmove(grown + at + 1, grown + at, (limited->count++ - at) * sizeof *grown);
	grown[at] = (struct limited_limit){rule, limit, 0};
}

static int
may_be_limited(const struct rl_prefilter *prefilter, void *arg)
{
	(void)arg;
	return !prefilter->is_stale && prefilter->remaining_least == 0;
}

static int
count_entry(const struct rl_entry *entry, void *arg)
{
	struct limited *limited = arg;
	size_t at;

	if (!entry->is_limited || entry->rule < 0)
		return 0;
	at = find(limited, entry->rule, entry->limit);
	if (!is_at(limited, at, entry->rule, entry->limit))
		insert(limited, at, entry->rule, entry->limit);
	if (is_at(limited, at, entry->rule, entry->limit))
		limited->limits[at].keys++;
	return 0;
}

void
limited_add(struct limited *limited, struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns)
{
	rl_walk_slots(rl, first, count, now_ns, may_be_limited, count_entry, limited);
}

uint64_t
limited_keys(const struct limited *limited, int rule, unsigned limit)
{
	size_t at = find(limited, rule, limit);

	return is_at(limited, at, rule, limit) ? limited->limits[at].keys : 0;
}

void
limited_free(struct limited *limited)
{
	free(limited->limits);
	*limited = (struct limited){0};
}
