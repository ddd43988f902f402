/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapters/nginx_zone.h"

#include <errno.h>

int
nginx_zone(struct rl *rl, const char *name, uint32_t rate, char per)
{
	struct rl_rule rule = {.name = name,
	                       .limit = {.algorithm = RL_LEAKY_BUCKET,
	                                 .capacity = rate,
	                                 .window_ns = (per == 's' ? 1 : 60) * RL_SECOND}};

	return rl_define(rl, &rule);
}

static struct rl_item
item_of(const struct nginx_limit *l, const struct key *k)
{
	return (struct rl_item){.rule = l->zone,
	                        .key = k->bytes,
	                        .key_len = k->len,
	                        .cost = 1,
	                        .burst = l->burst,
	                        .undelayed = l->undelayed,
	                        .flags = RL_ITEM_BURST | RL_ITEM_UNDELAYED};
}

static uint64_t
longest_ms(const struct rl_result *results, size_t count)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		ns = results[i].delay_ns > ns ? results[i].delay_ns : ns;
	return ns / RL_MILLISECOND;
}

int
nginx_limit_req(struct rl *rl, const struct nginx_limit *limits, const struct key *keys,
                size_t count, int is_dry_run, uint64_t now_ns, uint64_t *delay_ms)
{
	struct rl_item items[NGINX_LIMITS_MAX];
	struct rl_result results[NGINX_LIMITS_MAX];
	size_t decided;

	*delay_ms = 0;
	if (count > NGINX_LIMITS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		items[i] = item_of(&limits[i], &keys[i]);
		items[i].now_ns = now_ns;
	}
	switch (rl_check_all(rl, items, count, results, &decided)) {
	case RL_ALLOWED:
		break;
	case RL_UNDECIDED:
		return results[decided].error;
	default:
		return is_dry_run ? NGINX_REJECTED_DRY_RUN : NGINX_REJECTED;
	}
	*delay_ms = is_dry_run ? 0 : longest_ms(results, count);
	if (longest_ms(results, count) == 0)
		return NGINX_PASSED;
	return is_dry_run ? NGINX_DELAYED_DRY_RUN : NGINX_DELAYED;
}
