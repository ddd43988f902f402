/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <edit/new_file.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define BACKLOG 1024      /* each waits its turn of a moment (clients.h), and is not sent away */
#define SOCKET_UMASK 0117 /* the owner and the group may connect */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

static int
fail(const char *address, const char *why)
{
	log_line(LOG_ERR, "--metrics-listen %s: %s", address, why);
	return -1;
}

static int
bind_and_listen(const char *address, const union address *to, socklen_t size)
{
	const int on = 1;
	int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return fail(address, strerror(errno));
	/* Without it a restart would have to wait for the connections of the time before. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, &to->any, size) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	fail(address, strerror(errno));
	close(fd);
	return -1;
}

/* A socket that nobody listens to, as a killed process leaves it. */
static bool
is_stale_socket(const union address *at)
{
	struct stat file;
	bool is_refused;
	int fd;

	if (lstat(at->local.sun_path, &file) < 0 || !S_ISSOCK(file.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	is_refused = connect(fd, &at->any, sizeof at->local) < 0 && errno == ECONNREFUSED;
	close(fd);
	return is_refused;
}

static int
open_unix(struct listener *l, const char *address, const char *path)
{
	union address at = {.local.sun_family = AF_UNIX};
	mode_t mask;

	if (path[0] == '\0' || strlen(path) >= sizeof at.local.sun_path)
		return fail(address, "a socket's path has 1 to 107 bytes");
	snprintf(at.local.sun_path, sizeof at.local.sun_path, "%s", path);
	if (is_stale_socket(&at))
		unlink(path);
	mask = umask(SOCKET_UMASK);
	l->fd = bind_and_listen(address, &at, sizeof at.local);
	umask(mask);
	if (l->fd < 0)
		return -1;
	if (lstat(path, &l->made) == 0)
		l->unix_address = at.local;
	snprintf(l->text, sizeof l->text, "%s", address);
	return 0;
}

/* The port behind the last colon; -1 if it is none. */
static long
port_of(const char *colon)
{
	char *end;
	long port;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return -1;
	errno = 0;
	port = strtol(colon + 1, &end, 10);
	return *end == '\0' && errno == 0 && port <= 65535 ? port : -1;
}

/* "127.0.0.1:PORT" or "[::1]:PORT". The size of the address, 0 if it is none of the loopback. */
static socklen_t
parse_loopback(const char *text, union address *to)
{
	const char *colon = strrchr(text, ':');
	long port = port_of(colon);
	char host[INET6_ADDRSTRLEN + 2];

	if (port < 0 || (size_t)(colon - text) >= sizeof host)
		return 0;
	snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
	if (inet_pton(AF_INET, host, &to->v4.sin_addr) == 1) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons((uint16_t)port);
		return ntohl(to->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ? sizeof to->v4 : 0;
	}
	if (strcmp(host, "[::1]") != 0)
		return 0;
	to->v6.sin6_family = AF_INET6;
	to->v6.sin6_addr = in6addr_loopback;
	to->v6.sin6_port = htons((uint16_t)port);
	return sizeof to->v6;
}

static int
open_loopback(struct listener *l, const char *address)
{
	union address at = {0};
	socklen_t size = parse_loopback(address, &at);

	if (size == 0)
		return fail(address,
		            "expected unix:PATH, 127.0.0.1:PORT or [::1]:PORT; metrics are "
		            "for this host alone");
	l->fd = bind_and_listen(address, &at, size);
	if (l->fd < 0)
		return -1;
	getsockname(l->fd, &at.any, &size);
	snprintf(l->text, sizeof l->text, "http://%.*s:%u/metrics",
	         (int)(strrchr(address, ':') - address), address,
	         ntohs(at.any.sa_family == AF_INET ? at.v4.sin_port : at.v6.sin6_port));
	return 0;
}

int
listen_open(struct listener *listener, const char *address)
{
	static const char prefix[] = "unix:";

	*listener = (struct listener){.fd = -1};
	if (strncmp(address, prefix, strlen(prefix)) == 0)
		return open_unix(listener, address, address + strlen(prefix));
	return open_loopback(listener, address);
}

void
listen_remove(const struct listener *listener)
{
	if (listener->unix_address.sun_path[0] != '\0')
		file_remove_made(listener->unix_address.sun_path, &listener->made);
}
