/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADAPTER_NGINX_ZONE_H
#define RL_ADAPTER_NGINX_ZONE_H

/*
 * nginx's limit_req: a zone has the rate and the keys; each place that uses it has a burst of its
 * own. A zone is a rule. An error is -errno.
 */
#include "key.h"

/* limit_req_zone KEY zone=NAME rate=RATEr/s, or r/m: the zone, or an error. */
int nginx_zone(struct rl *rl, const char *name, uint32_t rate, char per);

/* limit_req zone=ZONE burst=BURST, and: nothing; delay=UNDELAYED; nodelay, all of them undelayed */
struct nginx_limit {
	int zone;
	uint32_t burst;
	uint32_t undelayed;
};

/* $limit_req_status */
enum nginx_status {
	NGINX_PASSED,
	NGINX_DELAYED,
	NGINX_REJECTED,
	NGINX_DELAYED_DRY_RUN,
	NGINX_REJECTED_DRY_RUN,
};

#define NGINX_LIMITS_MAX 8 /* in one place */

/*
 * One request under all limits of its place, each with the key that its zone gives it; an empty key
 * is not limited. Charged to all zones, or to none. A delay is the longest of any, in ms as nginx
 * has it.
 */
int nginx_limit_req(struct rl *rl, const struct nginx_limit *limits, const struct key *keys,
                    size_t count, int is_dry_run, uint64_t now_ns, uint64_t *delay_ms);

#endif
