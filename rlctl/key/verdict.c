/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/verdict.h"

#include <inttypes.h>
#include <model/limit.h>
#include <stdio.h>

#include "base/limit_view.h"
#include "base/width.h"
#include "text/duration.h"

const char *
verdict_name(enum rl_verdict verdict)
{
	switch (verdict) {
	case RL_ALLOWED:
		return "allowed";
	case RL_DENIED:
		return "denied";
	case RL_NEVER:
		return "never";
	case RL_UNDECIDED:
		break;
	}
	return "undecided";
}

static const char *
reason_name(enum rl_reason reason)
{
	switch (reason) {
	case RL_BY_BAN:
		return "ban";
	case RL_BY_EXEMPTION:
		return "exemption";
	case RL_BY_RESERVE:
		return "reserve";
	case RL_BY_SHARE:
		return "share";
	case RL_BY_LIMIT:
		break;
	}
	return "limit";
}

/* By a limit, and not by who said so beside it. */
static bool
is_by_limit(const struct rl_result *result)
{
	return result->reason == RL_BY_LIMIT || result->reason == RL_BY_RESERVE ||
	       result->reason == RL_BY_SHARE;
}

/* Nobody knows when. */
static bool
is_until_released(const struct rl_result *result)
{
	return result->verdict == RL_DENIED &&
	       (result->reason == RL_BY_SHARE ||
	        (result->reason == RL_BY_LIMIT && result->retry_after_ns == 0));
}

/* Of a cluster's limit the store is asked for what was denied, in a moment. */
static void
print_until(FILE *out, const struct decision *decision)
{
	const struct rl_limit *limit = &decision->info.limits[decision->result.index];

	if (limit->scope != RL_SCOPE_CLUSTER)
		fputs(", until units in flight are given back", out);
	else
		fputs(", until its host has a share", out);
}

void
decision_print_verdict(FILE *out, const struct decision *decision)
{
	const struct rl_result *result = &decision->result;

	fputs(verdict_name(result->verdict), out);
	if (!is_by_limit(result))
		fprintf(out, " by %s", reason_name(result->reason));
	else if (decision->count > 1 && result->verdict != RL_ALLOWED)
		fprintf(out, " by limit %u", result->index + 1);
	if (result->verdict == RL_NEVER)
		fprintf(out, ": cost %" PRIu64 " is more than %" PRIu32, decision->cost,
		        result->limit);
	else if (is_until_released(result))
		print_until(out, decision);
	else if (result->verdict == RL_DENIED)
		fprintf(out, ", retry after %s%s",
		        result->reason == RL_BY_RESERVE ? "at most " : "",
		        duration_format(result->retry_after_ns).text);
	if (result->reason == RL_BY_RESERVE)
		fputs(", no slot: counted together with others", out);
	if (result->delay_ns > 0)
		fprintf(out, ", to wait %s", duration_format(result->delay_ns).text);
	fputs(result->is_shadow_denied ? ", a shadow limit would have denied it\n" : "\n", out);
}

#define LIMIT_COLUMN 57

static void
print_limit(const struct decision *decision, size_t i)
{
	const struct rl_result *result = &decision->results[i];

	printf("  %zu  %-7s  %10" PRIu32 "/%-10" PRIu32 "  %8s  %8s  ", i + 1,
	       result->is_shadow_denied ? "shadow" : verdict_name(result->verdict),
	       result->remaining, result->limit,
	       is_until_released(result) ? "-" : duration_format(result->retry_after_ns).text,
	       result->window_ns == 0 ? "-" : duration_format(result->reset_after_ns).text);
	print_wrapped(limit_format(&decision->info.limits[i]).text, LIMIT_COLUMN);
}

void
decision_print(const struct decision *decision)
{
	decision_print_verdict(stdout, decision);
	if (decision->count == 0 || !is_by_limit(&decision->result))
		return;
	printf("     %-7s  %10s/%-10s  %8s  %8s  %s\n", "verdict", "remaining", "limit", "retry",
	       "reset", "limit");
	for (size_t i = 0; i < decision->count; i++)
		print_limit(decision, i);
}

static void
put_result(json_t *object, const struct rl_result *result)
{
	json_put(object, "verdict", json_text(verdict_name(result->verdict)));
	json_put(object, "limit", json_count(result->limit));
	json_put(object, "remaining", json_count(result->remaining));
	json_put(object, "retry_after_ns", json_duration(result->retry_after_ns));
	json_put(object, "reset_after_ns", json_duration(result->reset_after_ns));
	json_put(object, "delay_ns", json_count(result->delay_ns));
	json_put(object, "window_ns", json_duration(result->window_ns));
	json_put(object, "shadow_denied", json_boolean(result->is_shadow_denied));
}

static json_t *
json_result(const struct decision *decision, size_t i)
{
	json_t *object = need(json_object());

	json_put(object, "number", json_count(i + 1));
	put_result(object, &decision->results[i]);
	json_put(object, "shape", json_limit(&decision->info.limits[i]));
	return object;
}

json_t *
decision_json(const struct decision *decision)
{
	const struct rl_result *result = &decision->result;
	json_t *root = need(json_object()), *limits = need(json_array());

	json_put(root, "rule", json_text(decision->rule));
	json_put_key(root, &decision->key);
	json_put(root, "cost", json_count(decision->cost));
	json_put(root, "reason", json_text(reason_name(result->reason)));
	json_put(root, "decided_by",
	         is_by_limit(result) ? json_count(result->index + UINT64_C(1)) : json_null());
	json_put(root, "error",
	         result->error ? json_text(rl_strerror(result->error)) : json_null());
	put_result(root, result);
	json_put(root, "limits", limits);
	if (is_by_limit(result))
		for (size_t i = 0; i < decision->count; i++)
			json_push(limits, json_result(decision, i));
	return root;
}
