/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ADDRESSES_MAX 16 /* of a name, that are tried */

void
stream_init(struct stream *s, int epoll, struct tls_context *tls,
            const struct store_address *address)
{
	*s = (struct stream){.epoll = epoll, .fd = -1, .tls_context = tls, .address = address};
}

static int
fail(struct stream *s, const char *what, const char *why)
{
	snprintf(s->why, sizeof s->why, "%s%s", what, why);
	return -1;
}

int
stream_connect(struct stream *s)
{
	s->lookup = lookup_start(s->address);
	if (!s->lookup)
		return fail(s, "look-up: ", strerror(ENOMEM));
	s->phase = STREAM_LOOKUP;
	return 0;
}

static int
watch(struct stream *s, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.fd = s->fd};

	if (s->watched == events)
		return 0;
	if (epoll_ctl(s->epoll, s->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->fd, &e) < 0)
		return fail(s, "epoll: ", strerror(errno));
	s->watched = events;
	return 0;
}

static int
dial(struct stream *s, const struct sockaddr_storage *to, socklen_t size)
{
	const int on = 1;

	s->fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return fail(s, "socket: ", strerror(errno));
	setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(s->fd, (const struct sockaddr *)to, size) < 0 && errno != EINPROGRESS)
		return fail(s, "", strerror(errno));
	s->phase = STREAM_CONNECT;
	return watch(s, EPOLLOUT);
}

static int
run_lookup(struct stream *s)
{
	struct sockaddr_storage to;
	socklen_t size;
	int error = lookup_done(s->lookup, s->which, &to, &size);

	if (error == -EAGAIN)
		return 0;
	lookup_free(s->lookup);
	s->lookup = NULL;
	return error < 0 ? fail(s, "", "its name has no address") : dial(s, &to, size);
}

static int
start_tls(struct stream *s)
{
	s->phase = s->tls_context ? STREAM_TLS : STREAM_OPEN;
	if (!s->tls_context)
		return 0;
	s->tls = tls_new(s->tls_context, s->fd, s->address->host);
	return s->tls ? 0 : fail(s, "TLS: ", strerror(ENOMEM));
}

static int
run_connect(struct stream *s)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof peer, error_size = sizeof(int);
	int error = 0;

	getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
	if (error != 0)
		return fail(s, "", strerror(error));
	if (getpeername(s->fd, (struct sockaddr *)&peer, &size) < 0)
		return 0; /* not yet */
	return start_tls(s);
}

static int
run_tls(struct stream *s)
{
	int error = tls_handshake(s->tls);

	if (error == 0)
		s->phase = STREAM_OPEN;
	return error == 0 || error == -EAGAIN ? 0 : fail(s, "", tls_error(s->tls));
}

/* Returns -1 after an error that lasts; else as send(), 0 for not now. */
static ssize_t
put(struct stream *s, const char *bytes, size_t size)
{
	ssize_t n =
		s->tls ? tls_write(s->tls, bytes, size) : send(s->fd, bytes, size, MSG_NOSIGNAL);

	if (n >= 0)
		return n;
	if (s->tls)
		return n == -EAGAIN ? 0 : fail(s, "", tls_error(s->tls));
	return errno == EAGAIN || errno == EINTR ? 0 : fail(s, "", strerror(errno));
}

static int
flush(struct stream *s)
{
	ssize_t n = 1;

	while (s->out_at < s->out_size && n > 0) {
		n = put(s, s->out + s->out_at, s->out_size - s->out_at);
		if (n < 0)
			return -1;
		s->out_at += (size_t)n;
		s->sent += (uint64_t)n;
	}
	if (s->out_at == s->out_size)
		s->out_at = s->out_size = 0;
	return 0;
}

static int
watch_open(struct stream *s)
{
	bool wants_write = s->out_size > 0 || (s->tls && tls_wants_write(s->tls));

	return watch(s, wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

int
stream_run(struct stream *s)
{
	if (s->phase == STREAM_LOOKUP && run_lookup(s) < 0)
		return -1;
	if (s->phase == STREAM_CONNECT && run_connect(s) < 0)
		return -1;
	if (s->phase == STREAM_TLS && run_tls(s) < 0)
		return -1;
	if (s->phase == STREAM_OPEN && flush(s) < 0)
		return -1;
	return s->phase == STREAM_TLS || s->phase == STREAM_OPEN ? watch_open(s) : 0;
}

bool
stream_has_room(const struct stream *s, size_t size)
{
	return size <= STREAM_OUT_MAX && s->out_size <= STREAM_OUT_MAX - size;
}

static int
make_room(struct stream *s, size_t size)
{
	size_t room = s->out_room ? s->out_room : 4096;
	char *out;

	while (room < s->out_size + size)
		room *= 2;
	if (room == s->out_room)
		return 0;
	out = realloc(s->out, room);
	if (!out)
		return fail(s, "", strerror(ENOMEM));
	s->out = out;
	s->out_room = room;
	return 0;
}

int
stream_write(struct stream *s, const char *bytes, size_t size)
{
	if (!stream_has_room(s, size))
		return 0;
	if (make_room(s, size) < 0)
		return -1;
	memcpy(s->out + s->out_size, bytes, size);
	s->out_size += size;
	return 0;
}

ssize_t
stream_read(struct stream *s, char *to, size_t size)
{
	ssize_t n = s->tls ? tls_read(s->tls, to, size) : recv(s->fd, to, size, 0);

	if (n > 0) {
		s->received += (uint64_t)n;
		return n;
	}
	if (n == 0)
		return fail(s, "", "it has closed the connection");
	if (s->tls)
		return n == -EAGAIN ? 0 : fail(s, "", tls_error(s->tls));
	return errno == EAGAIN || errno == EINTR ? 0 : fail(s, "", strerror(errno));
}

void
stream_close(struct stream *s)
{
	if (s->phase == STREAM_LOOKUP || s->phase == STREAM_CONNECT)
		s->which = (s->which + 1) % ADDRESSES_MAX;
	lookup_free(s->lookup);
	tls_free(s->tls);
	if (s->fd >= 0)
		close(s->fd);
	free(s->out);
	s->lookup = NULL;
	s->tls = NULL;
	s->fd = -1;
	s->out = NULL;
	s->out_at = s->out_size = s->out_room = 0;
	s->watched = 0;
	s->phase = STREAM_CLOSED;
}
