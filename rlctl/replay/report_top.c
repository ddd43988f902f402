/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys that are denied most. */

#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "replay/report.h"
#include "replay/tally.h"

struct rank {
	uint64_t first, all; /* requests denied by the first candidate, by all together */
	const struct name *name;
};

static int
compare_names(const struct name *a, const struct name *b)
{
	int order = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int
compare(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->first != b->first)
		return a->first > b->first ? -1 : 1;
	if (a->all != b->all)
		return a->all > b->all ? -1 : 1;
	if (a->name->requests != b->name->requests)
		return a->name->requests > b->name->requests ? -1 : 1;
	return compare_names(a->name, b->name);
}

static struct rank
rank_of(const struct report_of *report, uint32_t key)
{
	struct rank rank = {.name = names_at(&report->events->names, key)};

	for (size_t i = 0; i < report->candidate_count; i++) {
		const struct denied_key *denied = tally_of(&report->candidates[i], key);
		uint32_t count = denied ? denied->denied : 0;

		rank.first = i == 0 ? count : rank.first;
		rank.all += count;
	}
	return rank;
}

/* Each key once: with the first candidate that denies it. */
static bool
is_reported(const struct report_of *report, size_t candidate, uint32_t key)
{
	for (size_t i = 0; i < candidate; i++)
		if (tally_of(&report->candidates[i], key))
			return true;
	return false;
}

static size_t
gather(const struct report_of *report, struct rank *ranks)
{
	size_t count = 0;

	for (size_t i = 0; i < report->candidate_count; i++)
		for (size_t j = 0; j < report->candidates[i].keys_denied; j++) {
			uint32_t key = report->candidates[i].keys[j].key;

			if (!is_reported(report, i, key))
				ranks[count++] = rank_of(report, key);
		}
	return count;
}

uint32_t *
report_top(const struct report_of *report, size_t *count)
{
	struct rank *ranks;
	uint32_t *top;
	size_t most = 1;

	for (size_t i = 0; i < report->candidate_count; i++)
		most += report->candidates[i].keys_denied;
	ranks = need(reallocarray(NULL, most, sizeof(*ranks)));
	*count = gather(report, ranks);
	qsort(ranks, *count, sizeof(*ranks), compare);
	if (*count > report->top)
		*count = report->top;
	top = need(reallocarray(NULL, *count + 1, sizeof(*top)));
	for (size_t i = 0; i < *count; i++)
		top[i] = ranks[i].name->number;
	free(ranks);
	return top;
}
