/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/lease_view.h"

#include <rl_cluster.h>

struct lease_view
lease_view_read(const struct rl *rl, uint64_t now_ns)
{
	struct rl_cluster_info info;

	if (rl_cluster_info(rl, &info) < 0)
		return (struct lease_view){0};
	return (struct lease_view){
		.is_clustered = true,
		.left_ns = info.shares_until_ns > now_ns ? info.shares_until_ns - now_ns : 0,
		.hosts = info.hosts,
	};
}

json_t *
lease_view_json(const struct lease_view *lease)
{
	json_t *object;

	if (!lease->is_clustered)
		return json_null();
	object = need(json_object());
	json_put(object, "hosts", json_count(lease->hosts));
	json_put(object, "lease_left_ns", json_count(lease->left_ns));
	return object;
}
