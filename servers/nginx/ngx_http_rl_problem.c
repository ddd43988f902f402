/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answer to a request that is refused where `rl_problem` is on: a body of problem+json, in
 * place of nginx's page or that of error_page.
 */
#include "ngx_http_rl.h"

static ssize_t
write_body(const struct ngx_rl_outcome *outcome, ngx_int_t status, char *to)
{
	struct rl_http_problem problem = {.status = (unsigned)status};

	if (outcome->error == 0 && outcome->rule != NULL) {
		problem.policy = (const char *)outcome->rule->name.data;
		problem.result = &outcome->result;
	}
	return rl_http_problem(&problem, to, RL_HTTP_PROBLEM_SIZE);
}

ngx_int_t
ngx_http_rl_problem(ngx_http_request_t *r, const struct ngx_rl_outcome *outcome, ngx_int_t status)
{
	ngx_str_t type = ngx_string(RL_HTTP_PROBLEM_TYPE);
	ngx_http_complex_value_t body = {0};
	char *text = ngx_pnalloc(r->pool, RL_HTTP_PROBLEM_SIZE);
	ssize_t len = text == NULL ? 0 : write_body(outcome, status, text);

	if (len <= 0 || len >= RL_HTTP_PROBLEM_SIZE)
		return status;
	body.value = (ngx_str_t){(size_t)len, (u_char *)text};
	ngx_http_finalize_request(r, ngx_http_send_response(r, (ngx_uint_t)status, &type, &body));
	return NGX_DONE;
}
