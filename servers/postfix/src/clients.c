/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections. A client sends requests one after the other, and gets a reply to each. Nothing waits
 * for a client: what it sends is kept until a request is whole, and its next request is not looked
 * at before it has taken the reply. A request that waits for its share is asked again when it is
 * due. Who takes too long is cut off, and so is who has been idle the longest, when all places are
 * taken.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "policyd.h"

#define BUSY_MS 10000   /* for a request that has begun, and for taking its reply */
#define IDLE_MS 1200000 /* between requests; Postfix closes after 300 s, or after 1000 s of use */
#define PAUSE_MS 100    /* after accept() has failed, before it is tried again */
#define TURN_MAX 16     /* requests of a client before the others have their turn */

struct client {
	int fd;
	uint64_t since_ms; /* when it began what it is doing */
	size_t in_len, out_len, out_at;
	size_t searched;  /* bytes of `in` without the end of a request */
	size_t whole;     /* bytes of the first request, once it is whole; else 0 */
	struct wait wait; /* of the first request */
	char in[REQUEST_MAX];
	char out[REPLY_MAX];
};

static struct client *clients[CLIENTS_MAX];
static size_t client_count;

static void
drop(size_t i)
{
	close(clients[i]->fd);
	free(clients[i]);
	clients[i] = clients[--client_count];
}

static bool
is_idle(const struct client *c)
{
	return c->in_len == 0 && c->out_len == 0;
}

/* The one that is idle the longest; if none is, the one that is busy the longest. */
static size_t
pick_oldest(void)
{
	size_t oldest = 0;

	for (size_t i = 1; i < client_count; i++) {
		const struct client *a = clients[i], *b = clients[oldest];
		if (is_idle(a) != is_idle(b) ? is_idle(a) : a->since_ms < b->since_ms)
			oldest = i;
	}
	return oldest;
}

static void
add(int fd)
{
	struct client *client;

	if (client_count == CLIENTS_MAX) {
		say(SAY_FULL, "all %d places for clients are taken; the oldest gives way",
		    CLIENTS_MAX);
		drop(pick_oldest());
	}
	client = malloc(sizeof *client);
	if (!client) {
		close(fd);
		return;
	}
	client->fd = fd;
	client->since_ms = clock_ms();
	client->wait = (struct wait){0};
	client->in_len = client->out_len = client->out_at = client->searched = client->whole = 0;
	clients[client_count++] = client;
}

/* Sends what there is of a reply. false: the client is gone. */
static bool
send_reply(struct client *c)
{
	ssize_t sent = send(c->fd, c->out + c->out_at, c->out_len - c->out_at,
	                    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	c->out_at += (size_t)sent;
	if (c->out_at == c->out_len) {
		c->out_at = c->out_len = 0;
		c->since_ms = clock_ms();
	}
	return true;
}

/* Looks for the end of the first request, in what was not searched yet. */
static bool
find_whole(struct client *c)
{
	size_t from = c->searched > 0 ? c->searched - 1 : 0;

	if (c->whole == 0)
		c->whole = request_length(c->in, from, c->in_len);
	c->searched = c->in_len;
	return c->whole > 0;
}

/* Whether there is a request to answer now. */
static bool
has_more(struct client *c)
{
	return c->out_len == 0 && (c->wait.end_ms == 0 || clock_ms() >= c->wait.next_ms) &&
	       find_whole(c);
}

/* Answers the first request, which is whole. false: it is none of Postfix's. */
static bool
answer(struct server *server, struct client *c)
{
	struct request request = {c->in, c->whole};
	const char *fault = request_fault(&request);

	if (fault) {
		say(SAY_REQUEST, "a request is refused: %s; its client is cut off", fault);
		return false;
	}
	c->out_len = policy_reply(server->segment, server->settings, &request, &c->wait, c->out);
	if (c->out_len == 0)
		return true;
	c->wait = (struct wait){0};
	c->in_len -= c->whole;
	memmove(c->in, c->in + c->whole, c->in_len);
	c->whole = c->searched = 0;
	return send_reply(c);
}

/* Answers requests until none is whole, a reply waits, or others are to have their turn. */
static bool
answer_all(struct server *server, struct client *c)
{
	for (int i = 0; i < TURN_MAX && has_more(c); i++)
		if (!answer(server, c))
			return false;
	if (c->out_len > 0 || c->in_len < REQUEST_MAX || find_whole(c))
		return true;
	say(SAY_REQUEST, "a request has more than %d bytes; its client is cut off", REQUEST_MAX);
	return false;
}

static bool
receive(struct server *server, struct client *c)
{
	ssize_t got = recv(c->fd, c->in + c->in_len, REQUEST_MAX - c->in_len, MSG_DONTWAIT);

	if (got == 0)
		return false;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (c->in_len == 0)
		c->since_ms = clock_ms();
	c->in_len += (size_t)got;
	return answer_all(server, c);
}

static bool
serve(struct server *server, struct client *c, short events)
{
	if (c->out_len > 0 && events & (POLLOUT | POLLERR | POLLHUP) && !send_reply(c))
		return false;
	if (has_more(c))
		return answer_all(server, c);
	if (c->out_len == 0 && events & (POLLIN | POLLERR | POLLHUP))
		return receive(server, c);
	return true;
}

static void
drop_slow(uint64_t now_ms)
{
	for (size_t i = client_count; i-- > 0;) {
		bool idle = is_idle(clients[i]);

		if (now_ms - clients[i]->since_ms < (idle ? IDLE_MS : BUSY_MS))
			continue;
		if (!idle)
			say(SAY_SLOW, "a client takes more than %d s; it is cut off",
			    BUSY_MS / 1000);
		drop(i);
	}
}

/* false: there is no descriptor for another one. */
static bool
accept_all(int listener)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
		add(fd);
	}
}

#define LONGEST_MS 1000

/* Until a request is to be answered that is there already; LONGEST_MS at most. */
static int
work_after_ms(void)
{
	uint64_t now_ms = clock_ms(), first_ms = LONGEST_MS;

	for (size_t i = 0; i < client_count && first_ms > 0; i++) {
		const struct client *c = clients[i];

		if (has_more(clients[i]))
			first_ms = 0;
		else if (c->wait.end_ms > 0 && c->wait.next_ms - now_ms < first_ms)
			first_ms = c->wait.next_ms - now_ms;
	}
	return (int)first_ms;
}

static int
read_signal(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* One entry for signals, one for each listener, one for each client. */
static size_t
fill(const struct server *server, struct pollfd *polled, bool is_paused)
{
	size_t n = 0;

	polled[n++] = (struct pollfd){.fd = server->signals, .events = POLLIN};
	for (size_t i = 0; server->listeners[i] >= 0; i++)
		polled[n++] = (struct pollfd){.fd = is_paused ? -1 : server->listeners[i],
		                              .events = POLLIN};
	for (size_t i = 0; i < client_count; i++)
		polled[n++] = (struct pollfd){.fd = clients[i]->fd,
		                              .events = clients[i]->out_len > 0 ? POLLOUT : POLLIN};
	return n;
}

static void
serve_all(struct server *server, const struct pollfd *polled)
{
	/* From the end: who is dropped is replaced by one that has had its turn. */
	for (size_t i = client_count; i-- > 0;)
		if ((polled[i].revents || has_more(clients[i])) &&
		    !serve(server, clients[i], polled[i].revents))
			drop(i);
}

int
clients_serve(struct server *server, int first_client)
{
	static struct pollfd polled[1 + LISTEN_MAX + CLIENTS_MAX];
	bool is_paused = false;
	size_t listeners = 0;

	while (server->listeners[listeners] >= 0)
		listeners++;
	if (first_client >= 0)
		add(first_client);
	while (listeners > 0 || client_count > 0) {
		size_t n = fill(server, polled, is_paused);

		int patience_ms = work_after_ms();

		if (is_paused && patience_ms > PAUSE_MS)
			patience_ms = PAUSE_MS;
		if (poll(polled, n, patience_ms) < 0 && errno != EINTR)
			break;
		if (polled[0].revents)
			return read_signal(server->signals);
		serve_all(server, polled + 1 + listeners);
		drop_slow(clock_ms());
		is_paused = false;
		for (size_t i = 0; i < listeners; i++)
			if (polled[1 + i].revents && !accept_all(server->listeners[i]))
				is_paused = true;
	}
	return 0;
}
