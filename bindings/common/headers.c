/* SPDX-License-Identifier: BSD-2-Clause */
#include "headers.h"

#include <errno.h>
#include <string.h>

static void
add(struct rlb_headers *h, const char *name, const char *value)
{
	if (value[0] != '\0')
		h->field[h->count++] = (struct rlb_field){name, value};
}

/* What a window has; `limit` of a bucket is its burst. */
static void
take_quota(struct rl *rl, int id, const struct rl_result *result, struct rl_http_policy *policy)
{
	const struct rl_algorithm_info *algorithm;
	struct rl_rule_info info;

	policy->quota = result->limit;
	if (rl_rule_info(rl, id, &info) != 1 || result->index >= info.limit_count)
		return;
	algorithm = rl_algorithm_info(info.limits[result->index].algorithm);
	if (algorithm && algorithm->flags & RL_IS_BUCKET)
		policy->quota = info.limits[result->index].capacity;
	if (algorithm && algorithm->flags & RL_IS_HELD)
		policy->unit = "concurrent-requests";
}

/* A result that no limit counted (a ban, an exemption, an error) has nothing to tell. */
static int
is_of_a_limit(const struct rl_result *result)
{
	return result->verdict != RL_UNDECIDED && result->limit > 0;
}

static int
of_limit(struct rl *rl, int id, const char *name, const struct rl_result *result,
         enum rl_http_set set, struct rlb_headers *h)
{
	struct rl_http_limit limit = {.name = name, .result = result};
	struct rl_http_policy policy = {.name = name, .window_ns = result->window_ns};

	take_quota(rl, id, result, &policy);
	if (rl_http_ratelimit_policy(set, &policy, 1, h->policy, sizeof h->policy) < 0 ||
	    rl_http_ratelimit(set, &limit, 1, h->ratelimit, sizeof h->ratelimit) < 0)
		return -EINVAL;
	add(h, "RateLimit-Policy", h->policy);
	add(h, "RateLimit", h->ratelimit);
	return 0;
}

int
rlb_headers(struct rl *rl, int id, const char *name, const struct rl_result *result,
            uint64_t now_ns, struct rlb_how how, struct rlb_headers *h)
{
	memset(h, 0, sizeof *h);
	if (rl_http_retry_after(result, h->retry_after, sizeof h->retry_after) < 0)
		return -EINVAL;
	add(h, "Retry-After", h->retry_after);
	if (!is_of_a_limit(result))
		return 0;
	if (of_limit(rl, id, name, result, how.set, h) < 0 ||
	    rl_http_x_ratelimit(result, how.reset, now_ns, &h->triple) < 0)
		return -EINVAL;
	add(h, "X-RateLimit-Limit", h->triple.limit);
	add(h, "X-RateLimit-Remaining", h->triple.remaining);
	add(h, "X-RateLimit-Reset", h->triple.reset);
	return 0;
}

ssize_t
rlb_problem(const char *name, const struct rl_result *result, unsigned status,
            char to[RL_HTTP_PROBLEM_SIZE])
{
	struct rl_http_problem problem = {.status = status};

	if (result && result->error == 0 && result->verdict != RL_UNDECIDED) {
		problem.policy = name;
		problem.result = result;
	}
	return rl_http_problem(&problem, to, RL_HTTP_PROBLEM_SIZE);
}
