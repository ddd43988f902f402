/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include "headers.h"
#include "item.h"

#include <rl_http.h>

/* Enough for eight items with names of 63 bytes, each byte escaped. */
#define FIELD_SIZE (8 * (2 * RL_NAME_MAX + 80))

/* A result as put_result() wrote it, of which fields of HTTP need this. */
static struct rl_result
result_of(const struct answer *in)
{
	return (struct rl_result){
		.verdict = (enum rl_verdict)in->whole[WHOLE_VERDICT],
		.error = in->whole[WHOLE_ERROR],
		.reason = (enum rl_reason)in->whole[WHOLE_REASON],
		.limit = (uint32_t)in->whole[WHOLE_LIMIT],
		.remaining = (uint32_t)in->whole[WHOLE_REMAINING],
		.retry_after_ns = in->ns[0],
		.reset_after_ns = in->ns[1],
		.window_ns = in->ns[3],
	};
}

/* A field's value; undefined: it has none. */
static napi_value
value_or_throw(napi_env env, ssize_t len, const char *value, const char *what)
{
	if (len < 0)
		return throw_rl(env, (int)len, what, "a name or a number is out of range");
	return len == 0 || len >= FIELD_SIZE ? NULL : text(env, value);
}

/* retryAfter(numbers) -> text */
NATIVE(retryAfter)
{
	struct call c;
	struct rl_result r;
	char to[FIELD_SIZE];
	struct answer *in;

	if (!call_begin(&c, env, info) || (in = call_answer(&c, 0, 1)) == NULL)
		return NULL;
	r = result_of(in);
	return value_or_throw(env, rl_http_retry_after(&r, to, sizeof to), to, "Retry-After");
}

/* Which set, by its word at `at`; the default without. */
static bool
call_set(struct call *c, size_t at, enum rl_http_set *set)
{
	char word[NAME_SIZE];
	int found = RL_HTTP_IETF_11;

	if (call_has(c, at) && !call_name(c, at, "a set", word, sizeof word))
		return false;
	if (call_has(c, at))
		found = rl_http_set(word);
	if (found < 0)
		throw_rl(c->env, found, "set", "'ietf', 'ietf-11' or 'ietf-7' is allowed");
	*set = (enum rl_http_set)found;
	return found >= 0;
}

/* rateLimit(numbers, count, name, set) -> text: the results have one name */
NATIVE(rateLimit)
{
	struct call c;
	struct rl_result r[RL_LIMITS_MAX];
	struct rl_http_limit limits[RL_LIMITS_MAX];
	char name[NAME_SIZE], to[FIELD_SIZE];
	enum rl_http_set set;
	struct answer *in;
	double count;

	if (!call_begin(&c, env, info) || !call_whole(&c, 1, "count", 0, RL_LIMITS_MAX, &count) ||
	    (in = call_answer(&c, 0, (size_t)count)) == NULL ||
	    !call_name(&c, 2, "a rule's name", name, sizeof name) || !call_set(&c, 3, &set))
		return NULL;
	for (size_t i = 0; i < (size_t)count; i++) {
		r[i] = result_of(&in[i]);
		limits[i] = (struct rl_http_limit){.name = name, .result = &r[i]};
	}
	return value_or_throw(env, rl_http_ratelimit(set, limits, (size_t)count, to, sizeof to), to,
	                      "RateLimit");
}

/* rateLimitPolicy(name, quota, window, unit, set) -> text */
NATIVE(rateLimitPolicy)
{
	struct call c;
	char name[NAME_SIZE], unit[NAME_SIZE], to[FIELD_SIZE];
	struct rl_http_policy policy = {.name = name};
	enum rl_http_set set;
	double quota;

	if (!call_begin(&c, env, info) || !call_name(&c, 0, "a rule's name", name, sizeof name) ||
	    !call_whole(&c, 1, "quota", 0, (double)RL_HTTP_INTEGER_MAX, &quota) ||
	    !call_ns(&c, 2, "windowMs", &policy.window_ns) || !call_set(&c, 4, &set))
		return NULL;
	policy.quota = (uint64_t)quota;
	if (call_has(&c, 3)) {
		if (!call_name(&c, 3, "unit", unit, sizeof unit))
			return NULL;
		policy.unit = unit;
	}
	return value_or_throw(env, rl_http_ratelimit_policy(set, &policy, 1, to, sizeof to), to,
	                      "RateLimit-Policy");
}

/*
 * xRateLimit(numbers, now) -> [limit, remaining, reset], or undefined. With `now` Reset is Unix
 * time.
 */
NATIVE(xRateLimit)
{
	struct call c;
	struct rl_result r;
	struct rl_http_triple triple;
	napi_value to;
	uint64_t now_ns = 0;
	struct answer *in;

	if (!call_begin(&c, env, info) || (in = call_answer(&c, 0, 1)) == NULL ||
	    (call_has(&c, 1) && !call_ns(&c, 1, "now", &now_ns)))
		return NULL;
	r = result_of(in);
	if (rl_http_x_ratelimit(&r, call_has(&c, 1) ? RL_HTTP_RESET_UNIX : RL_HTTP_RESET_DELTA,
	                        now_ns, &triple) != 1)
		return NULL;
	napi_create_array(env, &to);
	napi_set_element(env, to, 0, text(env, triple.limit));
	napi_set_element(env, to, 1, text(env, triple.remaining));
	napi_set_element(env, to, 2, text(env, triple.reset));
	return to;
}

/* problem(status, name, numbers) -> text; without numbers nothing could be decided */
NATIVE(problem)
{
	struct call c;
	struct rl_result r;
	struct answer *in = NULL;
	char name[NAME_SIZE] = "", to[RL_HTTP_PROBLEM_SIZE];
	double status;
	ssize_t len;

	if (!call_begin(&c, env, info) || !call_whole(&c, 0, "status", 100, 599, &status) ||
	    (call_has(&c, 1) && !call_name(&c, 1, "a rule's name", name, sizeof name)) ||
	    (call_has(&c, 2) && (in = call_answer(&c, 2, 1)) == NULL))
		return NULL;
	if (in)
		r = result_of(in);
	len = rlb_problem(name, in ? &r : NULL, (unsigned)status, to);
	return len < 0 ? throw_rl(env, (int)len, "problem", "there is no rule of that name")
	               : text(env, to);
}
