/* SPDX-License-Identifier: BSD-2-Clause */
/* What a cluster's daemon tells the segment, and has it tell people. */
#include <string.h>

#include "cluster/clustered.h"
#include "rl_cluster.h"
#include "rule/named.h"
#include "segment/event.h"

int
rl_cluster_info(const struct rl *rl, struct rl_cluster_info *info)
{
	const struct rl_header *h = rl->segment.header;
	uint64_t blind;

	if (!rl_is_clustered(rl))
		return RL_ECLUSTER;
	*info = (struct rl_cluster_info){
		.shares_until_ns = rl_atomic_load(&h->shares_until),
		.hosts = (uint32_t)rl_atomic_load(&h->cluster_hosts),
		.has_secret = rl_named_has_secret(&rl->segment),
	};
	blind = rl_atomic_load(&h->blind_until);
	info->blind_until_ns = blind & ~RL_BLIND_STEP_MASK;
	info->blind_hosts = blind > 0 ? UINT64_C(1) << (blind & RL_BLIND_STEP_MASK) : 0;
	return 0;
}

int
rl_cluster_secret(struct rl *rl, const unsigned char secret[32])
{
	int error = rl_cluster_may_write(rl);

	if (error == 0)
		rl_named_secret(&rl->segment, secret);
	return error;
}

int
rl_cluster_hosts(struct rl *rl, uint32_t hosts)
{
	int error = rl_cluster_may_write(rl);

	if (error == 0 && hosts == 0)
		error = -EINVAL;
	if (error == 0)
		rl_atomic_store(&rl->segment.header->cluster_hosts, hosts);
	return error;
}

int
rl_cluster_blind(struct rl *rl, uint64_t hosts, uint64_t until_ns)
{
	int error = rl_cluster_may_write(rl);

	if (error == 0 && (hosts == 0 || hosts > RL_BLIND_HOSTS_MAX || (hosts & (hosts - 1)) != 0))
		error = -EINVAL;
	if (error == 0)
		rl_atomic_store(&rl->segment.header->blind_until,
		                (until_ns & ~RL_BLIND_STEP_MASK) |
		                        (unsigned)__builtin_ctzll(hosts));
	return error;
}

int
rl_cluster_report(struct rl *rl, enum rl_event_kind kind, int rule, const char *text,
                  uint64_t value, uid_t author)
{
	int error = rl_cluster_may_write(rl);

	if (error == 0 && (kind < RL_EVENT_ORDER || kind > RL_EVENT_HOST_GONE))
		error = -EINVAL;
	if (error == 0)
		rl_event_report(&rl->segment,
		                &(struct rl_event_note){.kind = kind,
		                                        .rule = rule,
		                                        .time_ns = rl_now(rl),
		                                        .key = text,
		                                        .key_len = text ? strlen(text) : 0,
		                                        .retry_ns = value,
		                                        .author = author});
	return error;
}
