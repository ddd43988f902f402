/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a list of addresses behind proxies: of each answer one of the addresses is told, and
 * of an answer that is sure nothing that stands before the list takes it back.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rl_http.h"

#define BEFORE_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool is_so)
{
	if (!is_so)
		abort();
}

static struct rl_http_client
ask(const struct rl_http_trust *trust, const char *text, size_t len)
{
	struct rl_http_value line = {text, len};
	struct rl_http_client client;
	unsigned char bytes[16];

	require(rl_http_client(trust, (struct rl_http_value){"10.0.0.1", 8}, &line, 1, &client) ==
	        0);
	require(inet_pton(AF_INET, client.address, bytes) == 1 ||
	        inet_pton(AF_INET6, client.address, bytes) == 1 ||
	        strcmp(client.address, "unix:") == 0);
	require(client.hops <= RL_HTTP_HOPS_MAX && (unsigned)client.end <= RL_HTTP_CLIENT_FAR);
	return client;
}

/* The first bytes of the input, a comma, and the rest. */
static void
put_before(const struct rl_http_trust *trust, const char *text, size_t len)
{
	size_t before = len < BEFORE_MAX ? len : BEFORE_MAX;
	struct rl_http_client client = ask(trust, text, len), again;
	char *longer = malloc(before + 1 + len);

	require(longer != NULL);
	memcpy(longer, text, before);
	longer[before] = ',';
	memcpy(longer + before + 1, text, len);
	again = ask(trust, longer, before + 1 + len);
	if (client.end == RL_HTTP_CLIENT_FOUND)
		require(strcmp(client.address, again.address) == 0 && again.hops == client.hops &&
		        again.end == RL_HTTP_CLIENT_FOUND);
	free(longer);
}

static void
parse_network(const char *text, size_t len)
{
	struct rl_http_network network;
	char copy[64];

	if (len >= sizeof copy)
		return;
	memcpy(copy, text, len);
	copy[len] = '\0';
	rl_http_network(copy, &network);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rl_http_network proxies[3];
	struct rl_http_trust trust = {.networks = proxies, .count = 3};

	require(rl_http_network("10.0.0.0/8", &proxies[0]) == 0);
	require(rl_http_network("2001:db8::/32", &proxies[1]) == 0);
	require(rl_http_network("unix:", &proxies[2]) == 0);
	put_before(&trust, (const char *)data, size);
	trust.field = RL_HTTP_FORWARDED;
	put_before(&trust, (const char *)data, size);
	parse_network((const char *)data, size);
	return 0;
}
