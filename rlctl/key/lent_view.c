/* SPDX-License-Identifier: BSD-2-Clause */
#include "key/lent_view.h"

#include <inttypes.h>
#include <rl_cluster.h>

#include "text/duration.h"
#include "text/names.h"

/* 0: it has none, or the slot is another key's by now. */
static uint32_t
share_of(struct rl *rl, const struct rl_entry *entry, uint64_t now_ns)
{
	struct rl_share share;

	if (!entry || rl_share_at(rl, entry->slot, now_ns, &share) < 0 ||
	    share.rule != entry->rule || share.limit != entry->limit)
		return 0;
	return share.share;
}

struct lent_view
lent_view_read(struct rl *rl, const struct rl_entry *entry, uint64_t now_ns)
{
	return (struct lent_view){.lease = lease_view_read(rl, now_ns),
	                          .share = share_of(rl, entry, now_ns)};
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
