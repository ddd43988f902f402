/* SPDX-License-Identifier: BSD-2-Clause */
/* What a decision looks like: header fields, notes and environment, lines of the error log. */
#include "visit.h"

#include <apr_strings.h>
#include <http_log.h>
#include <http_protocol.h>
#include <rl_http.h>

APLOG_USE_MODULE(rl);

#define DEFAULT_FIELDS (FIELDS_IETF | FIELDS_RETRY)
#define DEFAULT_LOG_LEVEL APLOG_WARNING
#define FIELD_SIZE 512 /* bytes; a longer field is written a second time */

static const char *const outcomes[] = {
	"NONE",  "PASSED",           "EXEMPT",  "DELAYED", "DELAYED_DRY_RUN",
	"ERROR", "REJECTED_DRY_RUN", "REJECTED"};

/* What decided, where it was not the key's own counter. */
static const char *const reasons[] = {
	[RL_BY_LIMIT] = NULL,        [RL_BY_BAN] = "ban",     [RL_BY_EXEMPTION] = "exemption",
	[RL_BY_RESERVE] = "reserve", [RL_BY_SHARE] = "share",
};
#define REASONS (sizeof(reasons) / sizeof(*reasons)) /* a later library may have more */

/* Fields */

/* Of a bucket the result's limit is the burst; what comes in a window is the capacity. */
uint64_t
quota_of(struct rl *rl, const struct rl_item *item, const struct rl_result *result, int *is_held)
{
	const struct rl_limit *limit;
	struct rl_rule_info info;
	unsigned flags;

	*is_held = 0;
	if (rl_rule_info(rl, item->rule, &info) != 1 || result->index >= info.limit_count)
		return result->limit;
	limit = &info.limits[result->index];
	flags = rl_algorithm_info(limit->algorithm)->flags;
	*is_held = (flags & RL_IS_HELD) != 0;
	if (!(flags & RL_HAS_BURST))
		return result->limit;
	if (flags & RL_BURST_IS_CAPACITY && limit->burst == 0 && !(item->flags & RL_ITEM_BURST))
		return result->limit;
	return item->capacity && result->index == 0 ? item->capacity : limit->capacity;
}

struct shown {
	struct rl_http_policy policies[RL_ITEMS_MAX];
	struct rl_http_limit limits[RL_ITEMS_MAX];
	size_t policy_count, limit_count;
};

/* A ban has no quota to tell, and who is exempt has no limit. */
static void
show(struct shown *shown, const struct decided *d)
{
	if (d->result.reason == RL_BY_EXEMPTION || shown->limit_count == RL_ITEMS_MAX)
		return;
	if (!d->limit && d->result.verdict != RL_DENIED)
		return;
	shown->limits[shown->limit_count++] =
		(struct rl_http_limit){.name = d->rule->name, .result = &d->result};
	if (!d->limit)
		return;
	shown->policies[shown->policy_count++] =
		(struct rl_http_policy){.name = d->rule->name,
	                                .quota = d->quota,
	                                .window_ns = d->result.window_ns,
	                                .unit = d->is_held ? "concurrent-requests" : NULL};
}

typedef ssize_t write_field(enum rl_http_set set, const void *items, size_t count, char *to,
                            size_t size);

static ssize_t
write_limits(enum rl_http_set set, const void *items, size_t count, char *to, size_t size)
{
	return rl_http_ratelimit(set, items, count, to, size);
}

static ssize_t
write_policies(enum rl_http_set set, const void *items, size_t count, char *to, size_t size)
{
	return rl_http_ratelimit_policy(set, items, count, to, size);
}

static void
set_field(request_rec *top, const char *name, write_field *write, enum rl_http_set set,
          const void *items, size_t count)
{
	char text[FIELD_SIZE], *value;
	ssize_t len = write(set, items, count, text, sizeof(text));

	if (len <= 0)
		return;
	value = apr_palloc(top->pool, (size_t)len + 1);
	if ((size_t)len < sizeof(text))
		memcpy(value, text, (size_t)len + 1);
	else
		write(set, items, count, value, (size_t)len + 1);
	apr_table_setn(top->err_headers_out, name, value);
}

static void
set_or_leave(request_rec *top, const char *name, const char *value)
{
	if (*value)
		apr_table_set(top->err_headers_out, name, value);
	else
		apr_table_unset(top->err_headers_out, name);
}

static void
set_x_fields(struct visit *visit, int is_unix)
{
	const struct decided *d = visit->decisive;
	struct rl_http_triple triple;

	if (!d ||
	    rl_http_x_ratelimit(&d->result, is_unix ? RL_HTTP_RESET_UNIX : RL_HTTP_RESET_DELTA,
	                        d->now_ns, &triple) != 1)
		return;
	set_or_leave(visit->top, "X-RateLimit-Limit", triple.limit);
	set_or_leave(visit->top, "X-RateLimit-Remaining", triple.remaining);
	set_or_leave(visit->top, "X-RateLimit-Reset", triple.reset);
}

static int
fields_of(const struct section *section)
{
	return or_default(section->fields, DEFAULT_FIELDS);
}

void
answer_fields(struct visit *visit, const struct section *section)
{
	int fields = fields_of(section);
	enum rl_http_set set;
	struct shown shown;

	if (fields & (FIELDS_X | FIELDS_X_UNIX))
		set_x_fields(visit, (fields & FIELDS_X_UNIX) != 0);
	if (!(fields & FIELDS_IETF))
		return;
	shown.limit_count = shown.policy_count = 0;
	for (int i = 0; i < visit->decided->nelts; i++)
		show(&shown, APR_ARRAY_IDX(visit->decided, i, const struct decided *));
	set = (enum rl_http_set)(fields >> FIELDS_SET);
	set_field(visit->top, "RateLimit-Policy", write_policies, set, shown.policies,
	          shown.policy_count);
	set_field(visit->top, "RateLimit", write_limits, set, shown.limits, shown.limit_count);
}

void
answer_retry(struct visit *visit, const struct section *section, const struct rl_result *result)
{
	char value[RL_HTTP_SECONDS_SIZE];

	if (fields_of(section) & FIELDS_RETRY &&
	    rl_http_retry_after(result, value, sizeof(value)) > 0)
		apr_table_set(visit->top->err_headers_out, "Retry-After", value);
}

/* The body */

int
answer_problem(request_rec *r, const struct section *section, int status, const struct decided *d)
{
	struct rl_http_problem problem = {.status = (unsigned)status};
	char text[RL_HTTP_PROBLEM_SIZE];
	ssize_t len;

	if (!or_default(section->has_problem, 0) || r->main)
		return status;
	if (d) {
		problem.policy = d->rule->name;
		problem.result = &d->result;
	}
	len = rl_http_problem(&problem, text, sizeof(text));
	if (len <= 0 || (size_t)len >= sizeof(text))
		return status;
	r->status = status; /* before the body is read: no 100 Continue */
	ap_discard_request_body(r);
	ap_set_content_type(r, RL_HTTP_PROBLEM_TYPE);
	ap_set_content_length(r, (apr_off_t)len);
	ap_rwrite(text, (int)len, r);
	return DONE;
}

/* Notes and environment */

static void
set_both(request_rec *r, const char *name, const char *value)
{
	apr_table_setn(r->notes, name, value);
	apr_table_setn(r->subprocess_env, name, value);
}

static void
set_number(request_rec *r, const char *name, uint64_t n)
{
	set_both(r, name, apr_ltoa(r->pool, (long)n));
}

static void
set_notes(const struct visit *visit, request_rec *r)
{
	const struct decided *d = visit->decisive;
	char seconds[RL_HTTP_SECONDS_SIZE];

	set_both(r, "RL_STATUS", outcomes[visit->outcome]);
	if (visit->reason && (!d || visit->outcome == OUTCOME_ERROR))
		set_both(r, "RL_REASON", visit->reason);
	if (visit->delay_ns)
		set_number(r, "RL_DELAY", visit->delay_ns / RL_MILLISECOND);
	if (!d)
		return;
	set_both(r, "RL_RULE", d->rule->name);
	set_number(r, "RL_LIMIT", d->result.limit);
	set_number(r, "RL_REMAINING", d->result.remaining);
	if (d->result.reason < REASONS && reasons[d->result.reason])
		set_both(r, "RL_REASON", reasons[d->result.reason]);
	if (rl_http_retry_after(&d->result, seconds, sizeof(seconds)) > 0)
		set_both(r, "RL_RETRY_AFTER", apr_pstrdup(r->pool, seconds));
}

void
answer_notes(const struct visit *visit, request_rec *r)
{
	set_notes(visit, r);
	if (visit->top != r)
		set_notes(visit, visit->top);
}

/* The error log */

static const char *
describe(apr_pool_t *pool, const struct decided *d)
{
	char seconds[RL_HTTP_SECONDS_SIZE];

	if (d->result.verdict == RL_NEVER)
		return apr_psprintf(pool, "it costs more than the limit of %u", d->result.limit);
	if (rl_http_retry_after(&d->result, seconds, sizeof(seconds)) <= 0)
		*seconds = '\0';
	if (d->result.reason == RL_BY_BAN)
		return apr_psprintf(pool, "banned%s%s%s", *seconds ? " for " : "", seconds,
		                    *seconds ? " s" : "");
	return apr_psprintf(pool, "%u of %u used%s%s%s", d->result.used, d->result.limit,
	                    *seconds ? ", again after " : "", seconds, *seconds ? " s" : "");
}

void
report_denial(request_rec *r, const struct visit *visit, const struct section *section)
{
	int level = or_default(section->log_level, DEFAULT_LOG_LEVEL);
	const char *what =
		visit->outcome == OUTCOME_REJECTED ? "denied" : "would be denied (dry run)";
	const struct decided *d = visit->decisive;

	if (!APLOG_R_IS_LEVEL(r, level))
		return;
	if (!d)
		ap_log_rerror(APLOG_MARK, level, 0, r, "rl: %s: %s", what, visit->reason);
	else
		ap_log_rerror(APLOG_MARK, level, 0, r, "rl: %s by rule \"%s\": %s", what,
		              d->rule->name, describe(r->pool, d));
}

/* A step below a denial, as nginx has it. */
void
report_delay(request_rec *r, const struct visit *visit, const struct section *section)
{
	int level = or_default(section->log_level, DEFAULT_LOG_LEVEL) + 1;

	ap_log_rerror(APLOG_MARK, level, 0, r, "rl: %s by %" APR_UINT64_T_FMT " ms",
	              visit->outcome == OUTCOME_DELAYED_DRY ? "would be delayed (dry run)"
	                                                    : "delayed",
	              (apr_uint64_t)(visit->delay_ns / RL_MILLISECOND));
}
