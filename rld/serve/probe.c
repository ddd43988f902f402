/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/probe.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (2 * RL_SECOND)    /* longer than a full queue takes to be served */
#define PAUSE_NS (50 * RL_MILLISECOND) /* after a try that failed */

/*
 * Without a Host, and so nothing but a refusal: that there is an answer is all, and this one costs
 * nothing.
 */
static const char request[] = "GET / HTTP/1.0\r\n\r\n";
static const char answer[] = "HTTP/1.";

void
probe_open(struct probe *p, int listener)
{
	*p = (struct probe){.fd = -1, .size = sizeof p->to};
	if (getsockname(listener, (struct sockaddr *)&p->to, &p->size) < 0)
		p->size = 0; /* no try will succeed, and each says so */
}

void
probe_close(struct probe *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

void
probe_start(struct probe *p, uint64_t now_ns)
{
	if (p->is_wanted)
		return;
	p->is_wanted = true;
	p->due_ns = now_ns;
}

static void
give_up(struct probe *p, const char *why, uint64_t now_ns)
{
	probe_close(p);
	p->due_ns = now_ns + PAUSE_NS;
	if (log_may(&p->pace, now_ns))
		log_line(LOG_WARNING,
		         "rld has asked for its own metrics in vain (%s): the watchdog is not fed "
		         "until they answer",
		         why);
}

static void
begin(struct probe *p, uint64_t now_ns)
{
	p->is_sent = false;
	p->fd = socket(p->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd >= 0 &&
	    (connect(p->fd, (struct sockaddr *)&p->to, p->size) == 0 || errno == EINPROGRESS))
		p->due_ns = now_ns + PATIENCE_NS;
	else
		give_up(p, strerror(errno), now_ns);
}

/* Whether it is to be tried again later, rather than given up. */
static bool
is_early(ssize_t done)
{
	return done < 0 && (errno == EAGAIN || errno == EINTR);
}

static void
ask(struct probe *p, uint64_t now_ns)
{
	ssize_t sent = send(p->fd, request, strlen(request), MSG_NOSIGNAL);

	p->is_sent = sent == (ssize_t)strlen(request);
	if (!p->is_sent && !is_early(sent))
		give_up(p, sent < 0 ? strerror(errno) : "cut short", now_ns);
}

static bool
hear(struct probe *p, uint64_t now_ns)
{
	char text[sizeof answer - 1];
	ssize_t got = recv(p->fd, text, sizeof text, 0);

	if (is_early(got))
		return false;
	if (got != (ssize_t)sizeof text || memcmp(text, answer, sizeof text) != 0) {
		give_up(p, got < 0 ? strerror(errno) : "no answer", now_ns);
		return false;
	}
	probe_close(p);
	p->is_wanted = false;
	return true;
}

bool
probe_run(struct probe *p, uint64_t now_ns)
{
	if (!p->is_wanted)
		return false;
	if (p->fd >= 0 && now_ns >= p->due_ns)
		give_up(p, "none within 2 s", now_ns);
	if (p->fd < 0 && now_ns >= p->due_ns)
		begin(p, now_ns);
	if (p->fd >= 0 && !p->is_sent)
		ask(p, now_ns);
	return p->fd >= 0 && p->is_sent && hear(p, now_ns);
}

int
probe_fd(const struct probe *p)
{
	return p->is_wanted ? p->fd : -1;
}

short
probe_events(const struct probe *p)
{
	return p->is_sent ? POLLIN : POLLOUT;
}

uint64_t
probe_due_ns(const struct probe *p)
{
	return p->is_wanted ? p->due_ns : UINT64_MAX;
}
