/* SPDX-License-Identifier: BSD-2-Clause */
#include "http.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define CONNECTIONS_MAX 16u
#define TIMEOUT_SECONDS 10u

struct http {
	struct MHD_Daemon *daemon;
	struct report report;
};

/* Takes the response; without one the connection is closed. */
static enum MHD_Result
answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
       const char *type)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result
refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(why), (char *)(uintptr_t)why, MHD_RESPMEM_PERSISTENT);

	return answer(connection, status, response, "text/plain");
}

static enum MHD_Result
answer_metrics(struct MHD_Connection *connection, const struct report *report)
{
	struct MHD_Response *response;
	size_t size;
	char *text = report_text(report, &size);

	if (!text)
		return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(text);
	return answer(connection, MHD_HTTP_OK, response,
	              "text/plain; version=0.0.4; charset=utf-8");
}

static enum MHD_Result
handle(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
       const char *version, const char *data, size_t *data_size, void **state)
{
	const struct http *http = arg;

	(void)version;
	(void)data;
	if (!*state || *data_size > 0) { /* first the head, then what a body there may be */
		*state = arg;
		*data_size = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (strcmp(url, "/metrics") != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "only /metrics\n");
	return answer_metrics(connection, &http->report);
}

struct http *
http_start(int fd, const struct report *report)
{
	struct http *http = calloc(1, sizeof *http);

	if (http) {
		http->report = *report;
		http->daemon = MHD_start_daemon(
			MHD_USE_EPOLL, 0, NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, fd,
			MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
			TIMEOUT_SECONDS, MHD_OPTION_END);
	}
	if (http && http->daemon)
		return http;
	log_line(LOG_ERR, "cannot serve metrics: no HTTP server could be started");
	free(http);
	close(fd);
	return NULL;
}

void
http_stop(struct http *http)
{
	if (http)
		MHD_stop_daemon(http->daemon);
	free(http);
}

int
http_fd(const struct http *http)
{
	if (!http)
		return -1;
	return MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

void
http_run(struct http *http)
{
	MHD_run(http->daemon);
}

uint64_t
http_due_ns(struct http *http, uint64_t now_ns)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (!http || MHD_get_timeout(http->daemon, &ms) != MHD_YES)
		return UINT64_MAX;
	if (ms > 0)
		return now_ns + (uint64_t)ms * RL_MILLISECOND;
	MHD_run(http->daemon);
	return MHD_get_timeout(http->daemon, &ms) == MHD_YES ? now_ns + ms * RL_MILLISECOND
	                                                     : UINT64_MAX;
}
