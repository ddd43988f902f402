/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_HTTP_H
#define RLD_HTTP_H

/* GET /metrics, as part of a poll loop: no thread, and a slow client delays nothing. */

#include <stdint.h>

#include "report.h"

struct http;

/* Takes the listening descriptor. NULL after saying why; the descriptor is closed then, too. */
struct http *http_start(int fd, const struct report *report);
void http_stop(struct http *http);

/* Readable when http_run() is to be called, or -1 for NULL. */
int http_fd(const struct http *http);
void http_run(struct http *http);

/* Close the connections that have been silent for too long. Returns when to come again. */
uint64_t http_due_ns(struct http *http, uint64_t now_ns);

#endif
