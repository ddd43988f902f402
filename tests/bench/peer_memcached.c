/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memcached over a unix socket: a counter for each key and window. One round trip fetches this
 * window's and the last one's, a second adds to this window's. Nothing ties the two together, so
 * clients that read the same count all add.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

#define NAME 128

static char path[128];
static int client = -1; /* this process's */

static const char *
start(void)
{
	static const char *const argv[] = {"memcached", "-u", "root",   "-m",
	                                   "64",        "-s", "SOCKET", NULL};
	static const char *const argv_user[] = {"memcached", "-m", "64", "-s", "SOCKET", NULL};
	static const char *reason;

	if (path[0] == '\0')
		reason = peer_server_start(geteuid() == 0 ? argv : argv_user, path);
	return reason;
}

static void
send_all(const char *text, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(client, text, len, MSG_NOSIGNAL);
		if (sent < 0)
			bench_die("memcached: %s", strerror(errno));
		text += sent;
		len -= (size_t)sent;
	}
}

/* Read what answers a command, up to its last line, which is one of those. */
static void
read_until(char *text, size_t size, const char *end, const char *other)
{
	size_t len = 0;

	for (;;) {
		ssize_t got = recv(client, text + len, size - 1 - len, 0);
		if (got <= 0)
			bench_die("memcached: %s", got < 0 ? strerror(errno) : "it hung up");
		len += (size_t)got;
		text[len] = '\0';
		size_t line = strlen(end);
		if (len >= line && strcmp(text + len - line, end) == 0)
			return;
		line = strlen(other);
		if (len >= line && strcmp(text + len - line, other) == 0)
			return;
		if (len == size - 1 || strncmp(text, "ERROR", 5) == 0 ||
		    strncmp(text, "CLIENT_ERROR", 12) == 0 ||
		    strncmp(text, "SERVER_ERROR", 12) == 0)
			bench_die("memcached: %s", text);
	}
}

/* The value of a name in what `get` answered; 0 if it is not there. */
static uint64_t
value_of(const char *answer, const char *name)
{
	size_t len = strlen(name);
	const char *at = answer;

	while ((at = strstr(at, "VALUE "))) {
		at += 6;
		if (strncmp(at, name, len) == 0 && at[len] == ' ') {
			at = strchr(at, '\n');
			return at ? strtoull(at + 1, NULL, 10) : 0;
		}
	}
	return 0;
}

static uint64_t
read_used(const char *current, const char *previous, uint64_t now_ns, uint64_t window_ns)
{
	char text[4 * NAME];
	int len = snprintf(text, sizeof text, "get %s %s\r\n", current, previous);

	send_all(text, (size_t)len);
	read_until(text, sizeof text, "END\r\n", "END\r\n");
	return peer_used(value_of(text, current), value_of(text, previous), now_ns, window_ns);
}

/* True if it was there to be added to. */
static bool
add_one(const char *name)
{
	char text[2 * NAME];
	int len = snprintf(text, sizeof text, "incr %s 1\r\n", name);

	send_all(text, (size_t)len);
	read_until(text, sizeof text, "\r\n", "\r\n");
	return strcmp(text, "NOT_FOUND\r\n") != 0;
}

/* True if nobody was quicker. */
static bool
create_one(const char *name, uint64_t window_ns)
{
	char text[2 * NAME];
	int len = snprintf(text, sizeof text, "add %s 0 %" PRIu64 " 1\r\n1\r\n", name,
	                   2 * window_ns / RL_SECOND + 1);

	send_all(text, (size_t)len);
	read_until(text, sizeof text, "NOT_STORED\r\n", "STORED\r\n");
	return strcmp(text, "STORED\r\n") == 0;
}

static bool
check_one(enum peer_limit_name limit, const char *key)
{
	const struct peer_limit *l = &peer_limits[limit];
	uint64_t now_ns = peer_now_ns(), epoch = now_ns / l->window_ns;
	char current[NAME], previous[NAME];

	snprintf(current, sizeof current, "%s:%s:%" PRIu64, l->name, key, epoch);
	snprintf(previous, sizeof previous, "%s:%s:%" PRIu64, l->name, key, epoch - 1);
	if (read_used(current, previous, now_ns, l->window_ns) >= l->capacity)
		return false;
	if (!add_one(current) && !create_one(current, l->window_ns))
		add_one(current);
	return true;
}

static void
check(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	if (client < 0)
		client = peer_server_connect(path);
	if (client < 0)
		bench_die("memcached: %s", strerror(-client));
	for (size_t i = 0; i < count; i++)
		admitted[i] = check_one(limit, keys[i]);
}

const struct peer peer_memcached = {
	"memcached", "memcached, multiget and incr", start, check, 1, 2000, false};
