/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is in force, beside what the configuration says: rl.json or another program may define a
 * rule otherwise, at any time. The parent looks when it starts, each child once a second, and one
 * of them tells of each change: in memory that they share stands a checksum of each rule's limits
 * as they were told of last.
 *
 * When the configuration is read anew, children of the one before are there for a while: they say
 * nothing any more.
 */
#include "review.h"

#include <apr_hash.h>
#include <http_log.h>
#include <http_main.h>
#include <sys/mman.h>
#include <unistd.h>

APLOG_USE_MODULE(rl);

struct seen {
	int is_over;
	unsigned sums[]; /* by rule.index; 0: none yet */
};

static struct seen *seen; /* NULL: no memory, and nothing is told */

static size_t
size_of_seen(void)
{
	return sizeof(*seen) + (size_t)server_conf->rules->nelts * sizeof(seen->sums[0]);
}

static apr_status_t
end(void *parent)
{
	if (!seen || getpid() != (pid_t)(intptr_t)parent)
		return APR_SUCCESS;
	__atomic_store_n(&seen->is_over, 1, __ATOMIC_RELAXED);
	munmap(seen, size_of_seen());
	seen = NULL;
	return APR_SUCCESS;
}

void
review_start(apr_pool_t *pconf)
{
	void *memory = mmap(NULL, size_of_seen(), PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	seen = memory == MAP_FAILED ? NULL : memory;
	apr_pool_cleanup_register(pconf, (void *)(intptr_t)getpid(), end, apr_pool_cleanup_null);
}

/* Whether the rule's limits are others than were told of, and this process is to tell. */
static int
is_other(const struct rule *rule, const struct rl_rule_info *info)
{
	apr_ssize_t size = (apr_ssize_t)(info->limit_count * sizeof(info->limits[0]));
	unsigned sum = apr_hashfunc_default((const char *)info->limits, &size) | 1, was;

	if (!seen || __atomic_load_n(&seen->is_over, __ATOMIC_RELAXED))
		return 0;
	was = __atomic_load_n(&seen->sums[rule->index], __ATOMIC_RELAXED);
	return was != sum && __atomic_compare_exchange_n(&seen->sums[rule->index], &was, sum, 0,
	                                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int
define_rule(struct rl *rl, const struct rule *rule, unsigned flags)
{
	struct rl_rule def = {.name = rule->name,
	                      .limit = rule->limits[0],
	                      .more = rule->limits + 1,
	                      .more_count = rule->limit_count - 1,
	                      .flags = flags};

	return rule->is_configured ? rl_find(rl, rule->name) : rl_define(rl, &def);
}

static void
review_definition(struct rl *rl, const struct rule *rule)
{
	if (!rule->is_configured && define_rule(rl, rule, RL_DEFINE_KEEP) == RL_EDEFINED)
		ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
		             "rl: segment \"%s\": rule \"%s\" is defined otherwise by another "
		             "program than at %s, and so it is for both; give them two names, or "
		             "define it in rl.json",
		             server_conf->segment, rule->name, rule->defined);
}

static void
review_places(struct rl *rl, const struct rule *rule, const struct rl_limit *first)
{
	char text[RL_RULE_TEXT_SIZE];
	struct rl_info info;

	rl_info(rl, &info);
	for (int i = 0; i < server_conf->limits->nelts; i++) {
		const struct limit *limit =
			APR_ARRAY_IDX(server_conf->limits, i, const struct limit *);

		if (limit->rule == rule && check_limit(limit, first, info.ring, text) < 0)
			ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
			             "rl: segment \"%s\": rule \"%s\" is another than %s asks for: "
			             "%s; until it is changed, requests there go as RLOnError says",
			             server_conf->segment, rule->name, limit->where, text);
	}
}

void
review_rule(struct rl *rl, const struct rule *rule, int handle)
{
	struct rl_rule_info info;

	if (rl_rule_info(rl, handle, &info) != 1 || info.limit_count == 0 || !is_other(rule, &info))
		return;
	review_definition(rl, rule);
	review_places(rl, rule, &info.limits[0]);
}
