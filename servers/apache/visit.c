/* SPDX-License-Identifier: BSD-2-Clause */
#include "visit.h"

#include <apr_strings.h>
#include <rl_http.h>

struct visit *
visit_of(request_rec *r, int is_new)
{
	struct visit *visit;

	while (r->main || r->prev)
		r = r->main ? r->main : r->prev;
	visit = ap_get_module_config(r->request_config, &rl_module);
	if (visit || !is_new)
		return visit;
	visit = apr_pcalloc(r->pool, sizeof(*visit));
	visit->top = r;
	visit->judged = apr_array_make(r->pool, 4, sizeof(const void *));
	visit->decided = apr_array_make(r->pool, 4, sizeof(struct decided *));
	ap_set_module_config(r->request_config, &rl_module, visit);
	return visit;
}

int
visit_judged(const struct visit *visit, const void *limit)
{
	for (int i = 0; visit && i < visit->judged->nelts; i++)
		if (APR_ARRAY_IDX(visit->judged, i, const void *) == limit)
			return 1;
	return 0;
}

void
visit_judge(struct visit *visit, const void *limit)
{
	APR_ARRAY_PUSH(visit->judged, const void *) = limit;
}

int
visit_has(const struct visit *visit, const struct rule *rule, const char *key, size_t key_len)
{
	for (int i = 0; i < visit->decided->nelts; i++) {
		const struct decided *d = APR_ARRAY_IDX(visit->decided, i, const struct decided *);

		if (d->limit && d->rule == rule && d->key_len == key_len &&
		    memcmp(d->key, key, key_len) == 0)
			return 1;
	}
	return 0;
}

const char *
client_of(request_rec *r)
{
	const struct section *section = section_of(r);
	unsigned v4 = (unsigned)or_default(section->prefix_v4, DEFAULT_PREFIX_V4);
	unsigned v6 = (unsigned)or_default(section->prefix_v6, DEFAULT_PREFIX_V6);
	struct rl_http_trust trust = {.prefix_v4 = v4, .prefix_v6 = v6};
	struct rl_http_value peer = {r->useragent_ip, strlen(r->useragent_ip)};
	struct rl_http_client client;

	if (r->useragent_addr->family == APR_INET && v4 == 32)
		return r->useragent_ip; /* as it would be written anew */
	if (rl_http_client(&trust, peer, NULL, 0, &client) < 0)
		return r->useragent_ip;
	return apr_pstrdup(r->pool, client.address);
}
