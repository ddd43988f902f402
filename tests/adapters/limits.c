/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapters/limits.h"

#include <rl_admin.h>
#include <stdio.h>
#include <string.h>

#define NAME "limits/"

int
limits_open(struct limits *s, struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	*s = (struct limits){rl, rl_define_counters(rl, NAME "fixed"), info.ring, info.rules};
	return s->counters;
}

int
limits_check(const struct limits *s)
{
	const struct key any = {.bytes = NAME, .len = sizeof NAME};

	return key_count(s->rl, s->counters, RL_COUNTER_GET, &any, 0, 0, 0, NULL) >= 0;
}

int64_t
limits_incr(const struct limits *s, const struct key *k, uint32_t expiry, uint32_t amount,
            uint64_t now_ns)
{
	struct rl_count count;
	int done = key_count(s->rl, s->counters, RL_COUNTER_ADD, k, amount, expiry * RL_SECOND,
	                     now_ns, &count);

	return done < 0 ? done : (int64_t)count.value;
}

int64_t
limits_get(const struct limits *s, const struct key *k, uint64_t now_ns, uint64_t *end_ns)
{
	struct rl_count count = {0};
	int done = key_count(s->rl, s->counters, RL_COUNTER_GET, k, 0, 0, now_ns, &count);

	*end_ns = now_ns + count.expires_after_ns;
	return done < 0 ? done : (int64_t)count.value;
}

/* A log is exact, and has room for half the ring; parts of a window for any limit. */
static int
rule_of(const struct limits *s, const struct limits_window *w)
{
	uint32_t log = s->ring / 2 < RL_LOG_MAX ? s->ring / 2 : RL_LOG_MAX;
	struct rl_limit limit = {.capacity = RL_CAPACITY_MAX, .window_ns = w->expiry * RL_SECOND};
	char name[RL_NAME_MAX + 1];
	const char *kind = "sliding";

	if (w->kind == LIMITS_MOVING && w->limit <= log) {
		kind = "log";
		limit.algorithm = RL_SLIDING_LOG;
		limit.capacity = log;
	} else if (w->kind == LIMITS_MOVING) {
		kind = "parts";
		limit.granularity = s->ring < RL_GRANULARITY_MAX ? s->ring : RL_GRANULARITY_MAX;
		limit.hard = 1;
	}
	snprintf(name, sizeof name, NAME "%s/%u", kind, w->expiry);
	int rule = rl_find(s->rl, name);
	if (rule < 0)
		rule = rl_define(s->rl, &(struct rl_rule){.name = name, .limit = limit});
	return rule;
}

/* Amount 0 looks, and charges nothing. */
static int
ask(const struct limits *s, const struct limits_window *w, const struct key *k, uint32_t limit,
    uint32_t amount, uint64_t now_ns, struct rl_result *r)
{
	struct rl_item item = {rule_of(s, w), k->bytes, k->len, amount, now_ns, .capacity = limit};

	if (item.rule < 0)
		return item.rule;
	rl_check_item(s->rl, &item, r);
	return r->error != 0 ? r->error : amount == 0 || r->verdict == RL_ALLOWED;
}

int
limits_acquire(const struct limits *s, const struct limits_window *w, const struct key *k,
               uint32_t amount, uint64_t now_ns)
{
	struct rl_result r;

	return ask(s, w, k, w->limit, amount, now_ns, &r);
}

/* One that has as many as it may waits for the oldest. */
int
limits_get_moving(const struct limits *s, const struct limits_window *w, const struct key *k,
                  uint64_t now_ns, uint64_t *start_ns)
{
	struct rl_result r = {0}, full;
	int error = ask(s, w, k, w->limit, 0, now_ns, &r);

	*start_ns = now_ns;
	if (r.used > 0 && (error = ask(s, w, k, r.used, 0, now_ns, &full)) >= 0)
		*start_ns += full.retry_after_ns - w->expiry * RL_SECOND;
	return error < 0 ? error : (int)r.used;
}

/* As the next window begins, all of this one counts, and nothing of the previous. */
int
limits_get_sliding(const struct limits *s, const struct limits_window *w, const struct key *k,
                   uint64_t now_ns, struct limits_sliding *counts)
{
	uint64_t window = w->expiry * RL_SECOND, left = window - now_ns % window;
	unsigned __int128 share;
	struct rl_result r, next;
	int error = ask(s, w, k, 0, 0, now_ns, &r);

	if (error < 0 || (error = ask(s, w, k, 0, 0, now_ns + left, &next)) < 0)
		return error;
	share = r.used > next.used ? r.used - next.used : 0;
	*counts = (struct limits_sliding){.previous = (uint64_t)(share * window / left),
	                                  .current = next.used,
	                                  .previous_ns = share > 0 ? left : 0,
	                                  .current_ns = left + window};
	return 0;
}

/* Under the counters and each rule of the storage, whoever defined it. */
int64_t
limits_forget(const struct limits *s, const struct key *k)
{
	const struct rl_pattern pattern = {RL_MATCH_KEY, k ? k->bytes : NULL, k ? k->len : 0};
	struct rl_reset_counts counts;
	struct rl_rule_info rule;
	int64_t sum = 0;

	for (uint32_t i = 0; i < s->rules; i++) {
		if (!rl_rule_info(s->rl, (int)i, &rule) || strstr(rule.name, NAME) != rule.name)
			continue;
		int error = rl_reset_matching(s->rl, rule.handle, k ? &pattern : NULL, &counts);
		if (error < 0)
			return error;
		sum += (int64_t)counts.forgotten;
	}
	return sum;
}
