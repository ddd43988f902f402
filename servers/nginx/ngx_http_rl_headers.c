/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of an answer, as rl_http.h writes them: Retry-After of a denial, RateLimit-Policy and
 * RateLimit with an item for each rule that was asked, the three X-RateLimit of the tightest.
 */
#include "ngx_http_rl.h"

ngx_uint_t
ngx_http_rl_wants_headers(const struct ngx_http_rl_conf *conf, enum ngx_rl_set_name name)
{
	ngx_uint_t headers = conf->headers;

	if (conf->sets[name].dry_run)
		return 0; /* nobody is to act on it */
	if (headers == 0 && name == NGX_RL_OWN)
		headers = NGX_HTTP_RL_HEADERS_IETF;
	return headers & ~(ngx_uint_t)NGX_HTTP_RL_HEADERS_OFF;
}

static ngx_int_t
add(ngx_http_request_t *r, const char *name, const char *value, size_t len)
{
	ngx_table_elt_t *field;

	if (len == 0)
		return NGX_OK;
	field = ngx_list_push(&r->main->headers_out.headers);
	if (field == NULL)
		return NGX_ERROR;
	ngx_memzero(field, sizeof *field);
	field->value.data = ngx_pnalloc(r->main->pool, len);
	if (field->value.data == NULL)
		return NGX_ERROR;
	ngx_memcpy(field->value.data, value, len);
	field->value.len = len;
	field->key.data = (u_char *)name;
	field->key.len = ngx_strlen(name);
	field->hash = 1;
	return NGX_OK;
}

/* What the answers of all sets come to: one item of a field for each. */
struct fields {
	size_t count;
	struct rl_http_policy policies[NGX_RL_SETS * RL_ITEMS_MAX];
	struct rl_http_limit limits[NGX_RL_SETS * RL_ITEMS_MAX];
};

/* Of a bucket the result has the burst; its quota is what comes in a window. */
static uint64_t
quota_of(const struct ngx_rl_answer *answer, const struct rl_limit *limit)
{
	const struct rl_algorithm_info *info = rl_algorithm_info(limit->algorithm);

	if (info == NULL || (info->flags & RL_IS_BUCKET) == 0)
		return answer->result.limit;
	return answer->capacity != 0 && answer->result.index == 0 ? answer->capacity
	                                                          : limit->capacity;
}

static void
describe(struct ngx_rl_main *main, const struct ngx_rl_answer *answer, struct fields *fields)
{
	struct rl_rule_info info;
	const struct rl_limit *limit;
	const char *name = (const char *)answer->rule->name.data;

	if (answer->result.verdict == RL_UNDECIDED || answer->result.reason == RL_BY_BAN ||
	    answer->result.reason == RL_BY_EXEMPTION || answer->result.limit == 0 ||
	    main->segment.handle == NULL ||
	    rl_rule_info(main->segment.handle->rl, answer->rule->id, &info) != 1 ||
	    answer->result.index >= info.limit_count)
		return;
	limit = &info.limits[answer->result.index];
	fields->policies[fields->count] = (struct rl_http_policy){
		.name = name,
		.quota = quota_of(answer, limit),
		.window_ns = answer->result.window_ns,
		.unit = limit->algorithm == RL_IN_FLIGHT ? "concurrent-requests" : NULL};
	fields->limits[fields->count++] =
		(struct rl_http_limit){.name = name, .result = &answer->result};
}

static void
describe_all(ngx_http_request_t *r, const struct ngx_http_rl_state *state, struct fields *fields)
{
	struct ngx_rl_main *main = ngx_http_get_module_main_conf(r, ngx_http_rl_module);

	fields->count = 0;
	for (int i = 0; i < NGX_RL_SETS; i++)
		for (ngx_uint_t j = 0; j < state->outcomes[i].answer_count; j++)
			describe(main, &state->outcomes[i].answers[j], fields);
}

/* The text of an item is its name and less than 128 bytes. */
#define FIELD_SIZE(fields) ((fields)->count * (RL_NAME_MAX + 129) + 1)

static ngx_int_t
add_ietf(ngx_http_request_t *r, const struct fields *fields)
{
	size_t size = FIELD_SIZE(fields);
	char *text = ngx_pnalloc(r->main->pool, size);
	ssize_t len;

	if (text == NULL)
		return NGX_ERROR;
	len = rl_http_ratelimit_policy(fields->policies, fields->count, text, size);
	if (len > 0 && (size_t)len < size &&
	    add(r, "RateLimit-Policy", text, (size_t)len) != NGX_OK)
		return NGX_ERROR;
	len = rl_http_ratelimit(fields->limits, fields->count, text, size);
	if (len > 0 && (size_t)len < size && add(r, "RateLimit", text, (size_t)len) != NGX_OK)
		return NGX_ERROR;
	return NGX_OK;
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
	struct ngx_rl_main *main = ngx_http_get_module_main_conf(r, ngx_http_rl_module);
	struct rl_http_triple triple;

	if (rl_http_x_ratelimit(tightest(fields), reset, rl_now(main->segment.handle->rl),
	                        &triple) <= 0)
		return NGX_OK;
	if (add(r, "X-RateLimit-Limit", triple.limit, ngx_strlen(triple.limit)) != NGX_OK ||
	    add(r, "X-RateLimit-Remaining", triple.remaining, ngx_strlen(triple.remaining)) !=
	            NGX_OK ||
	    add(r, "X-RateLimit-Reset", triple.reset, ngx_strlen(triple.reset)) != NGX_OK)
		return NGX_ERROR;
	return NGX_OK;
}

static ngx_int_t
add_retry_after(ngx_http_request_t *r, const struct ngx_rl_outcome *outcome)
{
	char value[RL_HTTP_SECONDS_SIZE];
	ssize_t len = 0;

	if (outcome->status == NGX_RL_REJECTED && outcome->error == 0)
		len = rl_http_retry_after(&outcome->result, value, sizeof value);
	return len > 0 ? add(r, "Retry-After", value, (size_t)len) : NGX_OK;
}

static ngx_int_t
add_fields(ngx_http_request_t *r, const struct ngx_http_rl_conf *conf,
           struct ngx_http_rl_state *state, ngx_uint_t headers)
{
	struct fields fields;

	if (ngx_http_rl_wants_headers(conf,
	                              (enum ngx_rl_set_name)(state->last - state->outcomes)) != 0 &&
	    add_retry_after(r, state->last) != NGX_OK)
		return NGX_ERROR;
	describe_all(r, state, &fields);
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

ngx_int_t
ngx_http_rl_add_headers(ngx_http_request_t *r, const struct ngx_http_rl_conf *conf,
                        struct ngx_http_rl_state *state)
{
	ngx_uint_t headers = 0;

	for (int i = 0; i < NGX_RL_SETS; i++)
		if (state->outcomes[i].status != NGX_RL_NONE)
			headers |= ngx_http_rl_wants_headers(conf, (enum ngx_rl_set_name)i);
	return headers == 0 ? NGX_OK : add_fields(r, conf, state, headers);
}
