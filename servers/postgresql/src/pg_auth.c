/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logins. A failed one is charged before it is told, and who is over the limit is refused with the
 * right password as with a wrong one. So a guess that is one of more than the limit tells nothing.
 */
#include "rl_pg.h"

#include <common/ip.h>
#include <libpq/auth.h>
#include <libpq/libpq-be.h>
#include <rl_http.h>

static ClientAuthentication_hook_type next_hook;

/* The client's address, of IPv6 its /64. Empty: it has none, or came by a unix socket. */
static void
take_address(Port *port, char address[RL_HTTP_ADDRESS_SIZE])
{
	struct rl_http_client client = {.address = ""};
	struct rl_http_trust trust = {.prefix_v6 = 64};
	char peer[NI_MAXHOST] = "";

	address[0] = '\0';
	if (port->raddr.addr.ss_family == AF_UNIX ||
	    pg_getnameinfo_all(&port->raddr.addr, port->raddr.salen, peer, sizeof peer, NULL, 0,
	                       NI_NUMERICHOST) != 0)
		return;
	if (rl_http_client(&trust, (struct rl_http_value){peer, strlen(peer)}, NULL, 0, &client) ==
	    0)
		strlcpy(address, client.address, RL_HTTP_ADDRESS_SIZE);
}

/* Charge a failure, or look. Refused: it is over the limit, or banned. */
static void
judge(const char *rule, const char *key, bool is_failure)
{
	struct rl_item item = {.key = key, .key_len = strlen(key), .cost = 1};
	struct rl_result result;

	if (rule[0] == '\0' || key[0] == '\0')
		return;
	rlpg_decide(rule, &item, is_failure ? RL_CHECK : RL_PEEK, &result);
	if (result.error < 0)
		ereport(LOG, errmsg("rl: logins of \"%s\" under the rule \"%s\": %s", key, rule,
		                    rl_strerror(result.error)));
	if (result.error == 0 ? result.verdict == RL_ALLOWED : rlpg_on_error != RLPG_DENY)
		return;
	ereport(FATAL, errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
	        errmsg("too many failed logins, try again later"),
	        errdetail_log("Rule \"%s\", key \"%s\".", rule, key));
}

/*
 * Of a client that has gone in the midst, as psql does to ask for a password, nothing is charged.
 * Nobody who is on this machine is locked out: that is the administrator.
 */
static void
judge_login(Port *port, int status)
{
	char address[RL_HTTP_ADDRESS_SIZE];

	if (next_hook)
		next_hook(port, status);
	take_address(port, address);
	if (status == STATUS_EOF || address[0] == '\0')
		return;
	judge(rlpg_auth_rule, address, status != STATUS_OK);
	judge(rlpg_auth_user_rule, port->user_name, status != STATUS_OK);
}

void
rlpg_auth_init(void)
{
	next_hook = ClientAuthentication_hook;
	ClientAuthentication_hook = judge_login;
}
