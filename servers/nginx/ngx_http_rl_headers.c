/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of an answer, as rl_http.h writes them: Retry-After of a denial, RateLimit-Policy and
 * RateLimit with an item for each rule that was asked, the three X-RateLimit of the tightest.
 */
#include "ngx_http_rl.h"

static ngx_uint_t
wanted(const struct ngx_http_rl_conf *conf, int name)
{
	ngx_uint_t headers = conf->headers;

	if (conf->sets[name].limits == NULL || conf->sets[name].dry_run)
		return 0; /* of a dry run, nobody is to act on it */
	if (headers == 0 && name == NGX_RL_OWN)
		headers = NGX_HTTP_RL_HEADERS_IETF;
	return headers & ~(ngx_uint_t)NGX_HTTP_RL_HEADERS_OFF;
}

void
ngx_http_rl_settle_headers(struct ngx_http_rl_conf *conf)
{
	conf->tells = conf->problem;
	for (int i = 0; i < NGX_RL_SETS; i++) {
		conf->wants[i] = wanted(conf, i);
		conf->tells |= conf->wants[i] != 0;
	}
}

/* Adds a field whose value stays as long as the request. */
static ngx_int_t
add(ngx_http_request_t *r, ngx_str_t name, const char *value, size_t len)
{
	ngx_table_elt_t *field;

	if (len == 0)
		return NGX_OK;
	field = ngx_list_push(&r->main->headers_out.headers);
	if (field == NULL)
		return NGX_ERROR;
	ngx_memzero(field, sizeof *field);
	field->value.data = (u_char *)value;
	field->value.len = len;
	field->key = name;
	field->hash = 1;
	return NGX_OK;
}

static ngx_int_t
add_copy(ngx_http_request_t *r, ngx_str_t name, const char *value)
{
	size_t len = ngx_strlen(value);
	char *copy = ngx_pnalloc(r->main->pool, len + 1);

	if (copy == NULL)
		return NGX_ERROR;
	ngx_memcpy(copy, value, len + 1);
	return add(r, name, copy, len);
}

#define ITEM_SIZE (sizeof((struct ngx_rl_policy *)0)->text)
#define NUMBERS_SIZE 80 /* of r and t, and the NUL that rl_http.h writes */

/* What the answers of all sets come to: a policy and a limit for each. */
struct fields {
	size_t count;
	enum rl_http_set set;
	size_t policies_len; /* with ", " behind each */
	const struct ngx_rl_policy *policies[NGX_RL_SETS * RL_ITEMS_MAX];
	struct rl_http_limit limits[NGX_RL_SETS * RL_ITEMS_MAX];
};

/* Of a bucket the result has the burst; its quota is what comes in a window. */
static uint64_t
quota_of(const struct ngx_rl_answer *answer, const struct rl_limit *limit)
{
	const struct rl_algorithm_info *info = rl_algorithm_info(limit->algorithm);

	if (info == NULL || (info->flags & RL_IS_BUCKET) == 0)
		return answer->result->limit;
	return answer->capacity != 0 && answer->result->index == 0 ? answer->capacity
	                                                           : limit->capacity;
}

/* The policy that an answer is of, as text; NULL: there is none. */
static const struct ngx_rl_policy *
policy_of(const struct ngx_rl_answer *answer, enum rl_http_set set)
{
	struct ngx_rl_rule_now *now = &answer->rule->now;
	const struct rl_limit *limit = &now->limits[answer->result->index];
	struct ngx_rl_policy *kept = &now->policies[answer->result->index];
	struct rl_http_policy policy;
	ssize_t len;

	if (kept->len > 0 && kept->limit == answer->result->limit &&
	    kept->window_ns == answer->result->window_ns && kept->capacity == answer->capacity &&
	    kept->set == (int)set)
		return kept;
	policy = (struct rl_http_policy){
		.name = (const char *)answer->rule->name.data,
		.quota = quota_of(answer, limit),
		.window_ns = answer->result->window_ns,
		.unit = limit->algorithm == RL_IN_FLIGHT ? "concurrent-requests" : NULL};
	len = rl_http_ratelimit_policy(set, &policy, 1, kept->text, ITEM_SIZE);
	kept->len = len > 0 && (size_t)len + 2 < ITEM_SIZE ? (size_t)len : 0;
	kept->limit = answer->result->limit;
	kept->window_ns = answer->result->window_ns;
	kept->capacity = answer->capacity;
	kept->set = (int)set;
	return kept->len > 0 ? kept : NULL;
}

static void
describe(const struct ngx_rl_answer *answer, struct fields *fields)
{
	const struct rl_result *result = answer->result;
	const struct ngx_rl_policy *policy;

	if (result->verdict == RL_UNDECIDED || result->reason == RL_BY_BAN ||
	    result->reason == RL_BY_EXEMPTION || result->limit == 0 ||
	    result->index >= answer->rule->now.limit_count)
		return;
	policy = policy_of(answer, fields->set);
	if (policy == NULL)
		return;
	fields->policies[fields->count] = policy;
	fields->policies_len += policy->len + 2;
	fields->limits[fields->count++] = (struct rl_http_limit){
		.name = (const char *)answer->rule->name.data, .result = result};
}

static void
describe_all(const struct ngx_http_rl_state *state, struct fields *fields)
{
	fields->count = fields->policies_len = 0;
	for (int i = 0; i < NGX_RL_SETS; i++) {
		const struct ngx_rl_outcome *outcome = state->outcomes[i];

		if (outcome == NULL || outcome->status == NGX_RL_NONE)
			continue;
		for (ngx_uint_t j = 0; j < outcome->answer_count; j++)
			describe(&outcome->answers[j], fields);
	}
}

static char *
put_policies(const struct fields *fields, char *to)
{
	for (size_t i = 0; i < fields->count; i++) {
		to = (char *)ngx_cpymem(to, fields->policies[i]->text, fields->policies[i]->len);
		*to++ = ',';
		*to++ = ' ';
	}
	return to;
}

/* A policy's text has the rule's name, as a limit's has: so much is enough for both. */
static ngx_int_t
add_ietf(ngx_http_request_t *r, const struct fields *fields)
{
	static const ngx_str_t policy_name = ngx_string("RateLimit-Policy"),
			       limit_name = ngx_string("RateLimit");
	size_t size = fields->policies_len + fields->count * NUMBERS_SIZE;
	char *policies = ngx_pnalloc(r->main->pool, fields->policies_len + size), *limits;
	ssize_t len;

	if (policies == NULL)
		return NGX_ERROR;
	limits = put_policies(fields, policies);
	if (add(r, policy_name, policies, fields->policies_len - 2) != NGX_OK)
		return NGX_ERROR;
	len = rl_http_ratelimit(fields->set, fields->limits, fields->count, limits, size);
	return len > 0 && (size_t)len < size ? add(r, limit_name, limits, (size_t)len) : NGX_OK;
}

/* A denial before what remains. */
static const struct rl_result *
tightest(const struct fields *fields)
{
	const struct rl_result *best = fields->limits[0].result;

	for (size_t i = 1; i < fields->count; i++) {
		const struct rl_result *other = fields->limits[i].result;

		if (other->verdict > best->verdict ||
		    (other->verdict == best->verdict && other->remaining < best->remaining))
			best = other;
	}
	return best;
}

static ngx_int_t
add_x(ngx_http_request_t *r, const struct fields *fields, enum rl_http_reset reset)
{
	static const ngx_str_t names[] = {ngx_string("X-RateLimit-Limit"),
	                                  ngx_string("X-RateLimit-Remaining"),
	                                  ngx_string("X-RateLimit-Reset")};
	struct ngx_rl_main *main = ngx_http_get_module_main_conf(r, ngx_http_rl_module);
	struct rl_http_triple triple;

	if (main->segment.handle == NULL ||
	    rl_http_x_ratelimit(tightest(fields), reset, rl_now(main->segment.handle->rl),
	                        &triple) <= 0)
		return NGX_OK;
	if (add_copy(r, names[0], triple.limit) != NGX_OK ||
	    add_copy(r, names[1], triple.remaining) != NGX_OK ||
	    add_copy(r, names[2], triple.reset) != NGX_OK)
		return NGX_ERROR;
	return NGX_OK;
}

static ngx_int_t
add_retry_after(ngx_http_request_t *r, const struct ngx_rl_outcome *outcome)
{
	static const ngx_str_t name = ngx_string("Retry-After");
	char value[RL_HTTP_SECONDS_SIZE];
	ssize_t len = 0;

	if (outcome->status == NGX_RL_REJECTED && outcome->error == 0)
		len = rl_http_retry_after(&outcome->result, value, sizeof value);
	return len > 0 ? add_copy(r, name, value) : NGX_OK;
}

ngx_int_t
ngx_http_rl_add_headers(ngx_http_request_t *r, const struct ngx_http_rl_state *state)
{
	ngx_uint_t headers = state->wants;
	struct fields fields;

	if (state->last_wants != 0 && add_retry_after(r, state->last) != NGX_OK)
		return NGX_ERROR;
	fields.set = (enum rl_http_set)(headers >> NGX_HTTP_RL_HEADERS_SET);
	describe_all(state, &fields);
	if (fields.count == 0)
		return NGX_OK;
	if (headers & NGX_HTTP_RL_HEADERS_IETF && add_ietf(r, &fields) != NGX_OK)
		return NGX_ERROR;
	if (headers & NGX_HTTP_RL_HEADERS_X)
		return add_x(r, &fields, RL_HTTP_RESET_DELTA);
	if (headers & NGX_HTTP_RL_HEADERS_X_UNIX)
		return add_x(r, &fields, RL_HTTP_RESET_UNIX);
	return NGX_OK;
}
