/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapters/express.h"

#include <rl_admin.h>

int
express_init(struct express *s, struct rl *rl, const char *prefix, uint64_t window_ms,
             uint32_t limit)
{
	struct rl_rule rule = {.name = prefix,
	                       .limit = {.algorithm = RL_ANCHORED_WINDOW,
	                                 .capacity = limit > 0 ? limit : RL_CAPACITY_MAX,
	                                 .window_ns = window_ms * RL_MILLISECOND,
	                                 .count_denied = 1}};

	*s = (struct express){rl, rl_define(rl, &rule)};
	return s->rule < 0 ? s->rule : 0;
}

static struct rl_item
item_of(const struct express *s, const struct key *k, uint64_t cost, uint64_t now_ns)
{
	return (struct rl_item){.rule = s->rule,
	                        .key = k->bytes,
	                        .key_len = k->len,
	                        .cost = cost,
	                        .now_ns = now_ns};
}

/* Cost 0 looks. */
static int
ask(const struct express *s, const struct key *k, uint64_t cost, uint64_t now_ns,
    struct express_client *client)
{
	struct rl_item item = item_of(s, k, cost, now_ns);
	struct rl_result r;
	uint64_t end_ns;

	rl_check_item(s->rl, &item, &r);
	client->total_hits = r.reason == RL_BY_BAN ? (uint64_t)r.limit + 1 : r.used;
	end_ns = r.reset_after_ns == RL_NEVER_NS ? RL_NEVER_NS : now_ns + r.reset_after_ns;
	client->reset_ms = end_ns / RL_MILLISECOND + (end_ns % RL_MILLISECOND > 0);
	return r.error;
}

int
express_increment(const struct express *s, const struct key *k, uint64_t now_ns,
                  struct express_client *client)
{
	return ask(s, k, 1, now_ns, client);
}

int
express_get(const struct express *s, const struct key *k, uint64_t now_ns,
            struct express_client *client)
{
	return ask(s, k, 0, now_ns, client);
}

int
express_decrement(const struct express *s, const struct key *k, uint64_t now_ns)
{
	struct rl_item item = item_of(s, k, 1, now_ns);

	return rl_refund_key(s->rl, &item);
}

int
express_reset_key(const struct express *s, const struct key *k)
{
	return rl_reset(s->rl, s->rule, k->bytes, k->len);
}

int
express_reset_all(const struct express *s)
{
	return rl_reset_matching(s->rl, s->rule, NULL, NULL);
}
