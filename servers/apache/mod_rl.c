/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod_rl: limits of rl in Apache httpd. The README beside this file says what it does; here is
 * where.
 *
 *	conf, directives, segment, text   what the configuration says
 *	store, review                     the segment as this process has it open
 *	visit, collect, decide            one request of a client, and its limits
 *	hold, answer, complain            what it takes, and how the decision shows
 *
 * A request is decided when its section is known, after SetEnvIf and before access control and
 * logins: in header_parser, which runs for the client's request and for internal redirects.
 * (access_checker would not do: with `Satisfy any` a login may stand in for it.) What is left is
 * decided before the handler: limits that are `late`, those of a directory index, and those of a
 * subrequest that is run, not of one that only looks.
 */
#include "visit.h"

#include <ap_expr.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>

APLOG_USE_MODULE(rl);

static APR_OPTIONAL_FN_TYPE(ap_logio_get_last_bytes) * last_bytes; /* NULL: there is no mod_logio */

static int
pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
	(void)plog, (void)ptemp;
	create_server_conf(pconf);
	return OK;
}

/* All that `apachectl configtest` looks at, and it opens nothing. */
static int
check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *server)
{
	const char *wrong = check_rules(pconf);

	(void)plog, (void)ptemp;
	if (!wrong)
		return OK;
	ap_log_error(APLOG_MARK, APLOG_CRIT | APLOG_STARTUP, 0, server, "rl: %s", wrong);
	return !OK;
}

/* The configuration is read twice when the server starts; the first time is to look at it. */
static int
post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *server)
{
	(void)plog, (void)ptemp, (void)server;
	last_bytes = APR_RETRIEVE_OPTIONAL_FN(ap_logio_get_last_bytes);
	if (ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_CREATE_PRE_CONFIG)
		store_start(pconf);
	return OK;
}

static void
child_init(apr_pool_t *pchild, server_rec *server)
{
	(void)server;
	store_child(pchild);
}

/* An internal redirect has an environment of its own. */
static int
decide_request(request_rec *r)
{
	struct visit *visit = visit_of(r, 0);

	if (visit && visit->outcome != OUTCOME_NONE)
		answer_notes(visit, r);
	return decide(r, 0);
}

static int
decide_rest(request_rec *r)
{
	return decide(r, 1);
}

/* Before anybody logs it. */
static int
tell(request_rec *r)
{
	struct visit *visit = visit_of(r, 0);

	for (; visit && visit->outcome != OUTCOME_NONE && r->next; r = r->next)
		answer_notes(visit, r->next);
	return DECLINED;
}

/* Once mod_logio has counted it. */
static int
finish(request_rec *r)
{
	struct visit *visit = visit_of(r, 0);

	if (!visit || visit->outcome == OUTCOME_NONE)
		return DECLINED;
	while (r->next)
		r = r->next;
	visit->is_done = 1;
	settle_all(visit, r);
	return DECLINED;
}

/* %{RL_CLIENT} and %{RL_BYTES} in expressions. */

static const char *
client_variable(ap_expr_eval_ctx_t *ctx, const void *data)
{
	(void)data;
	return ctx->r ? client_of(ctx->r) : "";
}

/* Before the end, mod_logio has those of the request before on the same connection. */
static const char *
bytes_variable(ap_expr_eval_ctx_t *ctx, const void *data)
{
	const struct visit *visit = ctx->r ? visit_of(ctx->r, 0) : NULL;

	(void)data;
	if (!last_bytes || !visit || !visit->is_done)
		return "";
	return apr_off_t_toa(ctx->p, last_bytes(ctx->r->connection));
}

static int
look_up_variable(ap_expr_lookup_parms *parms)
{
	if (parms->type != AP_EXPR_FUNC_VAR)
		return DECLINED;
	if (strcasecmp(parms->name, "RL_CLIENT") == 0)
		*parms->func = client_variable;
	else if (strcasecmp(parms->name, "RL_BYTES") == 0)
		*parms->func = bytes_variable;
	else
		return DECLINED;
	*parms->data = NULL;
	return OK;
}

static void
register_hooks(apr_pool_t *pool)
{
	(void)pool;
	ap_hook_pre_config(pre_config, NULL, NULL, APR_HOOK_MIDDLE);
	ap_hook_check_config(check_config, NULL, NULL, APR_HOOK_MIDDLE);
	ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
	ap_hook_child_init(child_init, NULL, NULL, APR_HOOK_MIDDLE);
	ap_hook_header_parser(decide_request, NULL, NULL, APR_HOOK_LAST);
	ap_hook_handler(decide_rest, NULL, NULL, APR_HOOK_REALLY_FIRST);
	ap_hook_log_transaction(tell, NULL, NULL, APR_HOOK_REALLY_FIRST);
	ap_hook_log_transaction(finish, NULL, NULL, APR_HOOK_REALLY_LAST);
	ap_hook_expr_lookup(look_up_variable, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA rl_module = {
	STANDARD20_MODULE_STUFF, create_section,      merge_sections, NULL, NULL, directives,
	register_hooks,          AP_MODULE_FLAG_NONE,
};
