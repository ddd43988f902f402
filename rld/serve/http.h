/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_HTTP_H
#define RLD_HTTP_H

/*
 * GET /metrics and, if asked for, the status page, as part of a poll loop: no thread, and a slow
 * client delays nothing. Who is taken in, and when one has to go, is decided here (clients.h);
 * requests and answers are libmicrohttpd's.
 */

#include <poll.h>
#include <stdint.h>

#include "base/options.h"
#include "serve/report.h"

struct http;

/*
 * Takes the listening descriptor; the options stay where they are. NULL after saying why; the
 * descriptor is closed then, too.
 */
struct http *http_start(int fd, const struct report *report, const struct options *options);
void http_stop(struct http *http);

/* The descriptors to poll until the next http_run(); NULL: none. */
#define HTTP_FDS 2
void http_watch(const struct http *http, uint64_t now_ns, struct pollfd fds[static HTTP_FDS]);

/*
 * Take in who waits, answer what is asked, close what is overdue. To be called in each round,
 * whether or not there was an event: what the server is about shows in no descriptor. Returns when
 * to come again; NULL: never.
 */
uint64_t http_run(struct http *http, uint64_t now_ns);

#endif
