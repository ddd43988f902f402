/* SPDX-License-Identifier: BSD-2-Clause */
#include "nodes.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#define BUS 10000u /* a node's port for the others, above its own */

static bool
is_free(unsigned port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_port = htons((in_port_t)port),
	                         .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;

	close(fd);
	return is;
}

static unsigned
choose_port(void)
{
	unsigned port;

	do
		port = server_free_port();
	while (port + BUS > UINT16_MAX || !is_free(port + BUS));
	return port;
}

static const char *
who(const struct nodes *n)
{
	return strstr(n->client, "--user") ? "--user rl --pass secret --no-auth-warning" : "";
}

bool
nodes_say(const struct nodes *n, int node, const char *command)
{
	char line[4096];

	snprintf(line, sizeof line, "redis-cli -s %s %s %s >/dev/null 2>&1", n->of[node].socket,
	         who(n), command);
	return system(line) == 0;
}

/* Of how many nodes the command says so. */
static int
count(const struct nodes *n, const char *command, const char *pattern)
{
	int found = 0;

	for (int i = 0; i < NODES; i++) {
		char line[1024];

		snprintf(line, sizeof line, "redis-cli -s %s %s %s 2>/dev/null | grep -q '%s'",
		         n->of[i].socket, who(n), command, pattern);
		found += n->of[i].pid > 0 && system(line) == 0;
	}
	return found;
}

static bool
is_well(const struct nodes *n)
{
	return count(n, "cluster info", "cluster_state:ok") == NODES &&
	       count(n, "cluster info", "cluster_slots_ok:16384") == NODES &&
	       count(n, "info replication", "master_link_status:up") == NODES / 2 &&
	       count(n, "info replication", "connected_slaves:1") == NODES / 2;
}

static void
wait_until_well(const struct nodes *n)
{
	for (int i = 0; i < 600; i++) {
		if (is_well(n))
			return;
		usleep(50000);
	}
	fail_msg("the cluster does not come up: see %s", server_base());
}

/* A node that is late by a second misses a handshake; redis-cli waits for it without end. */
static void
join(const struct nodes *n)
{
	char line[4096];

	snprintf(line, sizeof line,
	         "timeout 60 redis-cli %s --cluster create %s %s %s %s %s %s --cluster-replicas 1 "
	         "--cluster-yes "
	         ">%s/create 2>&1",
	         n->client, n->address[0], n->address[1], n->address[2], n->address[3],
	         n->address[4], n->address[5], server_base());
	for (int tries = 0; tries < 10; tries++) {
		if (system(line) == 0)
			return;
		for (int i = 0; i < NODES; i++)
			nodes_say(n, i, "cluster reset hard");
	}
	fail_msg("no cluster in ten tries: see %s/create", server_base());
}

static void
make_secure(struct nodes *n)
{
	const char *base = server_base();
	char command[2048];

	snprintf(
		command, sizeof command,
		"cd %s && openssl req -x509 -newkey rsa:2048 -nodes -keyout node.key -out node.crt "
		"-days 2 -subj /CN=node -addext subjectAltName=IP:127.0.0.1 2>/dev/null",
		base);
	assert_int_equal(system(command), 0);
	snprintf(n->more, sizeof n->more,
	         "tls-cert-file %s/node.crt\ntls-key-file %s/node.key\ntls-ca-cert-file "
	         "%s/node.crt\n"
	         "tls-auth-clients yes\ntls-replication yes\ntls-cluster yes\n"
	         "user rl on >secret ~* &* +@all\nuser default off\nmasteruser rl\nmasterauth "
	         "secret\n",
	         base, base, base);
	snprintf(n->client, sizeof n->client,
	         "--tls --cacert %s/node.crt --cert %s/node.crt --key %s/node.key --user rl --pass "
	         "secret --no-auth-warning",
	         base, base, base);
}

static void
write_settings(struct nodes *n)
{
	size_t size = strlen(n->more);

	snprintf(n->more + size, sizeof n->more - size,
	         "cluster-enabled yes\ncluster-config-file nodes.conf\ncluster-node-timeout 700\n"
	         "cluster-replica-validity-factor 0\nrepl-diskless-sync-delay 0\n"
	         "repl-ping-replica-period 1\n");
}

void
nodes_start(struct nodes *n, bool is_secure)
{
	char name[16], more[2200];

	*n = (struct nodes){0};
	server_base();
	if (is_secure)
		make_secure(n);
	write_settings(n);
	for (int i = 0; i < NODES; i++) {
		unsigned port = choose_port();

		snprintf(name, sizeof name, "%c%d", is_secure ? 's' : 'n', i);
		snprintf(n->address[i], sizeof n->address[i], "127.0.0.1:%u", port);
		n->addresses[i] = n->address[i];
		snprintf(more, sizeof more, is_secure ? "%s\ntls-port %u" : "%s\n# %u", n->more,
		         port);
		server_start(&n->of[i], name, is_secure ? 0 : port, more);
		n->of[i].port = is_secure ? 0 : port;
	}
	join(n);
	wait_until_well(n);
}

void
nodes_stop(struct nodes *n)
{
	for (int i = 0; i < NODES; i++)
		server_kill(&n->of[i]);
}

void
nodes_mend(struct nodes *n)
{
	char more[2200];

	for (int i = 0; i < NODES; i++) {
		if (n->of[i].pid > 0) {
			server_signal(&n->of[i], SIGCONT);
			continue;
		}
		snprintf(more, sizeof more, n->of[i].port ? "%s\n# %s" : "%s\ntls-port %s", n->more,
		         strchr(n->address[i], ':') + 1);
		server_restart(&n->of[i], more);
	}
	wait_until_well(n);
}

int
nodes_master(const struct nodes *n)
{
	static int last;

	for (int i = 1; i <= NODES; i++) {
		int node = (last + i) % NODES;
		char line[512];

		snprintf(line, sizeof line,
		         "redis-cli -s %s %s role 2>/dev/null | head -1 | grep -q master",
		         n->of[node].socket, who(n));
		if (n->of[node].pid > 0 && system(line) == 0) {
			last = node;
			return node;
		}
	}
	fail_msg("no master");
	return 0;
}
