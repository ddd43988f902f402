/* SPDX-License-Identifier: BSD-2-Clause */
#include "key/share_view.h"

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

struct share_view
share_view_read(struct rl *rl, const struct rl_entry *entry, uint64_t now_ns)
{
	return (struct share_view){.lease = lease_view_read(rl, now_ns),
	                           .share = share_of(rl, entry, now_ns)};
}

void
share_view_print(FILE *out, const struct share_view *share, const struct rl_limit *limit)
{
	fprintf(out, "share        %" PRIu32, share->share);
	if (share->lease.left_ns > 0)
		fprintf(out, ", for %s without news of the store\n",
		        duration_format(share->lease.left_ns).text);
	else
		fprintf(out, ", and its lease is over: away %s\n", away_name(limit->away));
	if (limit->blind > 0)
		fprintf(out, "blind        %" PRIu32 ", admitted beside the share\n", limit->blind);
	else
		fputs("blind        0: strict\n", out);
}

json_t *
share_view_json(const struct share_view *share)
{
	json_t *object = lease_view_json(&share->lease);

	json_put(object, "share", json_count(share->share));
	return object;
}
