/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_CLIENT_NETWORK_H
#define CONFIG_CLIENT_NETWORK_H

/*
 * Servers and languages count a client of IPv6 by its /64, and the first address of that is its
 * key (rl_http_client(3)). What names another address of it meets no such client.
 */

#include <rl_admin.h>
#include <stdbool.h>

#define CLIENT_NETWORK_MAX 64

/*
 * Is the pattern another IPv6 address than the first of its /64, or a longer network? Then
 * `network` is that /64, "2001:db8:0:7::/64".
 */
bool client_network(const struct rl_pattern *pattern, char network[CLIENT_NETWORK_MAX]);

#endif
