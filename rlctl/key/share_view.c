/* SPDX-License-Identifier: BSD-2-Clause */
#include "key/share_view.h"

#include <inttypes.h>
#include <rl_cluster.h>

#include "text/duration.h"
#include "text/names.h"

/* All 0: it has none, or the slot is another key's by now. */
static struct rl_share
share_of(struct rl *rl, const struct rl_entry *entry, uint64_t now_ns)
{
	struct rl_share share;

	if (!entry || rl_share_at(rl, entry->slot, now_ns, &share) < 0 ||
	    share.rule != entry->rule || share.limit != entry->limit)
		return (struct rl_share){0};
	return share;
}

struct share_view
share_view_read(struct rl *rl, const struct rl_entry *entry, uint64_t now_ns)
{
	struct rl_share share = share_of(rl, entry, now_ns);

	return (struct share_view){
		.lease = lease_view_read(rl, now_ns), .share = share.share, .blind = share.blind};
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
	if (limit->blind == RL_BLIND_AUTO)
		fprintf(out, "blind        %" PRIu32 ", by the number of hosts\n", share->blind);
	else if (limit->blind > 0)
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
