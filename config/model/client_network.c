/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/client_network.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALF 8 /* bytes of a /64 */

/* The address, and how many of its bits count; false for what is no IPv6. */
static bool
read_address(const struct rl_pattern *pattern, unsigned char bytes[16], unsigned long *bits)
{
	char text[INET6_ADDRSTRLEN + sizeof("/128")];
	char *slash;

	if (pattern->match == RL_MATCH_PREFIX || pattern->key_len >= sizeof(text))
		return false;
	memcpy(text, pattern->key, pattern->key_len);
	text[pattern->key_len] = '\0';
	slash = pattern->match == RL_MATCH_NETWORK ? strchr(text, '/') : NULL;
	*bits = slash ? strtoul(slash + 1, NULL, 10) : 128;
	if (slash)
		*slash = '\0';
	return inet_pton(AF_INET6, text, bytes) == 1;
}

bool
client_network(const struct rl_pattern *pattern, char network[CLIENT_NETWORK_MAX])
{
	static const unsigned char first[HALF];
	unsigned char bytes[16];
	unsigned long bits;

	if (!read_address(pattern, bytes, &bits) || bits <= 8ul * HALF ||
	    memcmp(bytes + HALF, first, HALF) == 0)
		return false;
	memset(bytes + HALF, 0, HALF);
	inet_ntop(AF_INET6, bytes, network, INET6_ADDRSTRLEN);
	strcat(network, "/64");
	return true;
}
