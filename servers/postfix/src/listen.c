/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets: systemd's, or "unix:PATH" and "inet:ADDRESS:PORT" of the settings. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "policyd.h"

#define BACKLOG SOMAXCONN

/* A socket that nobody answers at is what is left of an earlier server. */
static void
remove_stale(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd >= 0 && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
	    errno == ECONNREFUSED)
		unlink(address->sun_path);
	if (fd >= 0)
		close(fd);
}

static int
open_unix(const char *path, mode_t mode)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	remove_stale(&address);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before = umask(0777);
	int bound = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address);
	umask(before);
	if (bound == 0 && chmod(path, mode) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
open_found(const struct addrinfo *found)
{
	int on = 1, fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

/* "127.0.0.1:10040", "[::1]:10040": numbers alone, for a name may be any host's. */
static int
open_inet(const char *text)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	                         .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found;
	const char *colon = strrchr(text, ':');
	char host[128] = "";
	size_t len = colon ? (size_t)(colon - text) : 0;
	int fd;

	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	errno = EINVAL;
	if (len == 0 || len >= sizeof host)
		return -1;
	memcpy(host, text, len);
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return -1;
	fd = open_found(found);
	freeaddrinfo(found);
	return fd;
}

static int
open_one(const char *text, mode_t mode)
{
	if (strncmp(text, "unix:", 5) == 0)
		return open_unix(text + 5, mode);
	if (strncmp(text, "inet:", 5) == 0)
		return open_inet(text + 5);
	errno = EINVAL;
	return -1;
}

/* systemd's sockets would wait in accept(2), unless its unit says otherwise. */
static bool
take_given(int fd)
{
	return sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) > 0 &&
	       fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

bool
listen_open(const struct settings *settings, int fds[LISTEN_MAX + 1])
{
	int given = sd_listen_fds(0);
	size_t count = 0;

	for (int i = 0; i < given && count < LISTEN_MAX; i++)
		if (take_given(SD_LISTEN_FDS_START + i))
			fds[count++] = SD_LISTEN_FDS_START + i;
	for (size_t i = 0; given <= 0 && i < settings->listen_count; i++) {
		fds[count] = open_one(settings->listen[i], settings->mode);
		if (fds[count] < 0) {
			say(SAY_ALWAYS, "cannot listen at %s: %s", settings->listen[i],
			    strerror(errno));
			return false;
		}
		count++;
	}
	fds[count] = -1;
	if (count == 0)
		say(SAY_ALWAYS, "there is nothing to listen at: \"listen\" of the settings, or "
		                "systemd's sockets");
	return count > 0;
}

/* Of its own sockets it removes the names; systemd's stay. */
void
listen_close(const struct settings *settings, int fds[LISTEN_MAX + 1])
{
	bool is_own = sd_listen_fds(0) <= 0;

	for (size_t i = 0; fds[i] >= 0; i++)
		close(fds[i]);
	for (size_t i = 0; is_own && i < settings->listen_count; i++)
		if (strncmp(settings->listen[i], "unix:", 5) == 0)
			unlink(settings->listen[i] + 5);
}
