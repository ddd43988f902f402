/* SPDX-License-Identifier: BSD-2-Clause */
/* $rl_client: whom a limit counts where no key is given. */
#include "ngx_rl.h"

#define CLIENT_V6 64 /* bits of IPv6 that one subscriber has */

/* rl_client_v6 BITS */
char *
ngx_rl_client_v6_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	struct ngx_rl_main *main = conf;
	ngx_str_t *words = cf->args->elts;
	uint64_t bits;

	(void)cmd;
	if (main->client_v6 != 0)
		return "is duplicate";
	if (ngx_rl_parse_number(&words[1], 128, &bits) != NGX_OK || bits == 0)
		return "has a number of bits that is not between 1 and 128";
	main->client_v6 = (unsigned)bits;
	return NGX_CONF_OK;
}

/* As rl_http_client() writes it, so that each seat has the same key for a client. */
static ngx_int_t
network_text(const struct ngx_rl_main *main, const ngx_connection_t *c, ngx_pool_t *pool,
             ngx_str_t *text)
{
	struct rl_http_trust trust = {.prefix_v6 =
	                                      main->client_v6 != 0 ? main->client_v6 : CLIENT_V6};
	struct rl_http_value peer = {(const char *)c->addr_text.data, c->addr_text.len};
	struct rl_http_client client;

	if (rl_http_client(&trust, peer, NULL, 0, &client) < 0)
		return NGX_OK; /* then it is what nginx calls it */
	text->len = ngx_strlen(client.address);
	text->data = ngx_pnalloc(pool, text->len);
	if (text->data == NULL)
		return NGX_ERROR;
	ngx_memcpy(text->data, client.address, text->len);
	return NGX_OK;
}

ngx_int_t
ngx_rl_client_text(const struct ngx_rl_main *main, const ngx_connection_t *c, ngx_pool_t *pool,
                   ngx_str_t *text)
{
	*text = c->addr_text;
	return c->sockaddr->sa_family == AF_INET6 ? network_text(main, c, pool, text) : NGX_OK;
}
