/* SPDX-License-Identifier: BSD-2-Clause */
#include "key/lent_view.h"

#include <inttypes.h>
#include <rl_cluster.h>

#include "text/duration.h"
#include "text/names.h"

struct search {
	const struct rl_entry *entry;
	uint32_t share;
};

/* The slot may be another key's by now. */
static int
take_share(const struct rl_share *share, void *arg)
{
	struct search *search = arg;

	if (share->rule == search->entry->rule && share->limit == search->entry->limit)
		search->share = share->share;
	return 0;
}

struct lent_view
lent_view_read(struct rl *rl, const struct rl_entry *entry, uint64_t now_ns)
{
	struct search search = {.entry = entry};

	if (entry)
		rl_share_scan(rl, entry->slot, 1, now_ns, take_share, &search);
	return (struct lent_view){.lease = lease_view_read(rl, now_ns), .share = search.share};
}

void
lent_view_print(FILE *out, const struct lent_view *lent, const struct rl_limit *limit)
{
	fprintf(out, "share        %" PRIu32, lent->share);
	if (lent->lease.left_ns > 0)
		fprintf(out, ", for %s without news of the store\n",
		        duration_format(lent->lease.left_ns).text);
	else
		fprintf(out, ", and its lease is over: away %s\n", away_name(limit->away));
	if (limit->blind > 0)
		fprintf(out, "blind        %" PRIu32 ", admitted beside the share\n", limit->blind);
	else
		fputs("blind        0: strict\n", out);
}

json_t *
lent_view_json(const struct lent_view *lent)
{
	json_t *object = lease_view_json(&lent->lease);

	json_put(object, "share", json_count(lent->share));
	return object;
}
