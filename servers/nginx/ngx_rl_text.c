/* SPDX-License-Identifier: BSD-2-Clause */
/* What was decided, as text: for the log, and for variables. */
#include "ngx_rl.h"

#include <stdio.h>

static ngx_str_t statuses[] = {
	ngx_null_string,         ngx_string("PASSED"),          ngx_string("DELAYED"),
	ngx_string("REJECTED"),  ngx_string("DELAYED_DRY_RUN"), ngx_string("REJECTED_DRY_RUN"),
	ngx_string("UNDECIDED"),
};

const ngx_str_t ngx_rl_variable_names[NGX_RL_VARS] = {
	ngx_string("rl_status"),    ngx_string("rl_rule"),        ngx_string("rl_limit"),
	ngx_string("rl_remaining"), ngx_string("rl_retry_after"), ngx_string("rl_delay"),
	ngx_string("rl_reason"),
};

static ngx_str_t
text_of(const char *text)
{
	return (ngx_str_t){ngx_strlen(text), (u_char *)text};
}

static ngx_str_t
format_number(char *room, uint32_t number)
{
	return (ngx_str_t){(size_t)snprintf(room, NGX_RL_TEXT_SIZE, "%u", number), (u_char *)room};
}

static int
is_denied(const struct ngx_rl_outcome *outcome)
{
	return outcome->status == NGX_RL_REJECTED || outcome->status == NGX_RL_REJECTED_DRY_RUN;
}

/* By a limit, whether the key was counted alone or, without a slot, together with others. */
static int
is_by_limit(const struct rl_result *result)
{
	return result->reason == RL_BY_LIMIT || result->reason == RL_BY_RESERVE ||
	       result->reason == RL_BY_SHARE;
}

static int
error_of(const struct ngx_rl_outcome *outcome)
{
	return outcome->error != 0 ? outcome->error : outcome->result.error;
}

/* Why, in a word: what decided, or the error. */
static ngx_str_t
reason_of(const struct ngx_rl_outcome *outcome)
{
	if (error_of(outcome) != 0)
		return text_of(rl_error_name(error_of(outcome)));
	switch (outcome->result.reason) {
	case RL_BY_BAN:
		return text_of("ban");
	case RL_BY_EXEMPTION:
		return text_of("exemption");
	case RL_BY_RESERVE:
		return text_of("reserve");
	case RL_BY_SHARE:
		return text_of("share");
	case RL_BY_LIMIT:
		break;
	}
	return text_of(outcome->result.verdict == RL_NEVER ? "cost" : "limit");
}

/* The result means something: some rule decided, and by a counter. */
static int
has_count(const struct ngx_rl_outcome *outcome)
{
	return outcome->status != NGX_RL_UNDECIDED && outcome->rule != NULL &&
	       outcome->result.limit > 0 && is_by_limit(&outcome->result);
}

static ngx_str_t
format_retry_after(char *room, const struct ngx_rl_outcome *outcome)
{
	ssize_t len = outcome->status == NGX_RL_UNDECIDED
	                      ? 0
	                      : rl_http_retry_after(&outcome->result, room, NGX_RL_TEXT_SIZE);

	return (ngx_str_t){len > 0 ? (size_t)len : 0, (u_char *)room};
}

static ngx_str_t
format_delay(char *room, ngx_msec_t delay)
{
	int len = snprintf(room, NGX_RL_TEXT_SIZE, "%lu.%03lu", (unsigned long)(delay / 1000),
	                   (unsigned long)(delay % 1000));

	return (ngx_str_t){(size_t)len, (u_char *)room};
}

static ngx_str_t
variable_text(enum ngx_rl_variable variable, const struct ngx_rl_outcome *outcome, char *room)
{
	ngx_str_t none = ngx_null_string;

	switch (variable) {
	case NGX_RL_VAR_STATUS:
		return statuses[outcome->status];
	case NGX_RL_VAR_RULE:
		return outcome->rule == NULL ? none : outcome->rule->name;
	case NGX_RL_VAR_LIMIT:
		return has_count(outcome) ? format_number(room, outcome->result.limit) : none;
	case NGX_RL_VAR_REMAINING:
		return has_count(outcome) ? format_number(room, outcome->result.remaining) : none;
	case NGX_RL_VAR_RETRY_AFTER:
		return format_retry_after(room, outcome);
	case NGX_RL_VAR_DELAY:
		return format_delay(room, outcome->delay);
	case NGX_RL_VAR_REASON:
		return reason_of(outcome);
	case NGX_RL_VARS:
		break;
	}
	return none;
}

void
ngx_rl_variable_store(ngx_variable_value_t *v, ngx_str_t text)
{
	v->valid = text.len > 0;
	v->not_found = text.len == 0;
	v->no_cacheable = 0;
	v->data = text.data;
	v->len = (unsigned)text.len;
}

ngx_int_t
ngx_rl_variable_get(ngx_variable_value_t *v, enum ngx_rl_variable variable,
                    const struct ngx_rl_outcome *outcome, ngx_pool_t *pool)
{
	char *room = outcome == NULL ? NULL : ngx_pnalloc(pool, NGX_RL_TEXT_SIZE);
	ngx_str_t none = ngx_null_string;

	if (outcome != NULL && room == NULL)
		return NGX_ERROR;
	ngx_rl_variable_store(v, outcome == NULL ? none : variable_text(variable, outcome, room));
	return NGX_OK;
}

/*
 * What nginx calls excess: how far a bucket is filled beyond one request, in thousandths of one.
 * The time in which a bucket of librl is empty again is that many times the time for one request; a
 * request that was let in is among them.
 */
static uint64_t
excess_of(struct ngx_rl_request *request, const struct ngx_rl_outcome *outcome)
{
	struct ngx_rl_handle *handle = request->main->segment.handle;
	struct rl_rule_info info;
	uint64_t one_ns, excess;

	if (handle == NULL || rl_rule_info(handle->rl, outcome->rule->id, &info) != 1 ||
	    outcome->result.index >= info.limit_count || outcome->result.window_ns == 0 ||
	    info.limits[outcome->result.index].capacity == 0)
		return 0;
	one_ns = outcome->result.window_ns / info.limits[outcome->result.index].capacity;
	if (one_ns == 0)
		return 0;
	excess = outcome->result.reset_after_ns / one_ns * 1000 +
	         outcome->result.reset_after_ns % one_ns * 1000 / one_ns;
	if (outcome->result.verdict != RL_ALLOWED)
		return excess;
	return excess > 1000 ? excess - 1000 : 0;
}

static const char *
what_is_done(const struct ngx_rl_outcome *outcome)
{
	switch (outcome->status) {
	case NGX_RL_DELAYED:
		return "delaying request";
	case NGX_RL_DELAYED_DRY_RUN:
		return "delaying request, dry run";
	case NGX_RL_REJECTED_DRY_RUN:
		return "limiting requests, dry run";
	default:
		return "limiting requests";
	}
}

static const char *
owner(const struct ngx_rl_outcome *outcome)
{
	return outcome->rule->kind == NGX_RL_REQ_ZONE || outcome->rule->kind == NGX_RL_CONN_ZONE
	               ? "zone"
	               : "rule";
}

static void
log_reason(struct ngx_rl_request *request, ngx_uint_t level, const struct ngx_rl_outcome *outcome)
{
	ngx_str_t reason = reason_of(outcome);
	int error = error_of(outcome);

	if (error == 0) {
		ngx_log_error(level, request->log, 0, "%s, %V, by %s \"%V\"", what_is_done(outcome),
		              &reason, owner(outcome), &outcome->rule->name);
		return;
	}
	ngx_log_error(level, request->log, 0, "%s, %s: %s, by %s \"%V\"", what_is_done(outcome),
	              rl_strerror(error), rl_error_remedy(error), owner(outcome),
	              &outcome->rule->name);
}

static void
log_own(struct ngx_rl_request *request, ngx_uint_t level, const struct ngx_rl_outcome *outcome)
{
	char room[NGX_RL_TEXT_SIZE];
	ngx_str_t seconds;

	if (outcome->status == NGX_RL_DELAYED || outcome->status == NGX_RL_DELAYED_DRY_RUN) {
		seconds =
			format_delay(room, (ngx_msec_t)(outcome->result.delay_ns / RL_MILLISECOND));
		ngx_log_error(level, request->log, 0, "%s, by %Vs, by rule \"%V\"",
		              what_is_done(outcome), &seconds, &outcome->rule->name);
		return;
	}
	seconds = format_retry_after(room, outcome);
	if (seconds.len == 0) {
		log_reason(request, level, outcome);
		return;
	}
	ngx_log_error(level, request->log, 0, "%s, retry after: %Vs, by rule \"%V\"",
	              what_is_done(outcome), &seconds, &outcome->rule->name);
}

static void
log_req(struct ngx_rl_request *request, ngx_uint_t level, const struct ngx_rl_outcome *outcome)
{
	uint64_t excess = excess_of(request, outcome);
	int is_delay =
		outcome->status == NGX_RL_DELAYED || outcome->status == NGX_RL_DELAYED_DRY_RUN;

	ngx_log_error(level, request->log, 0, "%s, excess: %uL.%03uL%s by zone \"%V\"",
	              what_is_done(outcome), excess / 1000, excess % 1000, is_delay ? "," : "",
	              &outcome->rule->name);
}

void
ngx_rl_log_outcome(struct ngx_rl_request *request, const struct ngx_rl_set *set,
                   enum ngx_rl_set_name name, const struct ngx_rl_outcome *outcome)
{
	int is_delay =
		outcome->status == NGX_RL_DELAYED || outcome->status == NGX_RL_DELAYED_DRY_RUN;
	ngx_uint_t level = is_delay ? set->delay_log_level : set->log_level;

	if (outcome->rule == NULL || (!is_delay && !is_denied(outcome)))
		return;
	if (request->log->log_level < level)
		return; /* to find out what there is to say takes as long as the decision */
	if (outcome->error != 0 || !is_by_limit(&outcome->result))
		log_reason(request, level, outcome);
	else if (name == NGX_RL_REQ)
		log_req(request, level, outcome);
	else if (name == NGX_RL_OWN)
		log_own(request, level, outcome);
	else
		ngx_log_error(level, request->log, 0, "limiting connections%s by zone \"%V\"",
		              outcome->status == NGX_RL_REJECTED_DRY_RUN ? ", dry run," : "",
		              &outcome->rule->name);
}
