/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "serve/assets.h"
#include "serve/clients.h"
#include "serve/host.h"
#include "serve/openmetrics.h"
#include "serve/page.h"

/* Clients are counted here. The server would not listen any more at its own limit. */
#define SERVER_MAX (2u * CLIENTS_MAX)
#define PAGE_NS RL_SECOND              /* for so long an answer to the page is the same */
#define REST_NS (100 * RL_MILLISECOND) /* after no descriptor was to be had */

struct http {
	struct MHD_Daemon *daemon;
	struct report report;
	const struct options *options;
	struct kept_page {
		struct MHD_Response *json; /* for whoever asks until then */
		uint64_t until_ns;
		char history[RL_NAME_MAX + 1]; /* of which rule */
	} plain, historic;
	uint64_t now_ns; /* of this http_run() */
	struct clients clients;
	int listener;
	uint64_t rest_until_ns;
	struct log_pace pace;
};

/* Takes the response; without one the connection is closed. One answer is all that a client gets
 * of a connection: so one deadline is enough. */
static enum MHD_Result
answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
       const char *type)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
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

/* The text is the response's from now on. NULL without memory. */
static struct MHD_Response *
response_of(char *text, size_t size)
{
	struct MHD_Response *response =
		text ? MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE) : NULL;

	if (!response)
		free(text);
	return response;
}

static enum MHD_Result
answer_metrics(struct MHD_Connection *connection, const struct report *report)
{
	bool is_open = openmetrics_is_accepted(
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	struct MHD_Response *response;
	size_t size;
	char *text = report_text(report, &size);

	if (text && is_open) {
		char *plain = text;

		text = openmetrics_text(plain, &size);
		free(plain);
	}
	response = response_of(text, size);
	if (!response)
		return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	return answer(connection, MHD_HTTP_OK, response,
	              is_open ? OPENMETRICS_TYPE : "text/plain; version=0.0.4; charset=utf-8");
}

/* Nothing from elsewhere, nothing inline, and nobody else's frame. */
static void
guard(struct MHD_Response *response)
{
	MHD_add_response_header(response, "Content-Security-Policy",
	                        "default-src 'none'; script-src 'self'; style-src 'self'; "
	                        "connect-src 'self'; base-uri 'none'; form-action 'none'; "
	                        "frame-ancestors 'none'; require-trusted-types-for 'script'");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
}

static enum MHD_Result
answer_asset(struct MHD_Connection *connection, const struct asset *asset)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		(size_t)(asset->end - asset->start), (char *)(uintptr_t)asset->start,
		MHD_RESPMEM_PERSISTENT);

	if (response)
		guard(response);
	return answer(connection, MHD_HTTP_OK, response, asset->type);
}

static void
forget_page(struct kept_page *page)
{
	if (page->json)
		MHD_destroy_response(page->json);
	page->json = NULL;
}

/* However many ask, the segment is read once in PAGE_NS. */
static void
refresh_page(struct http *http, struct kept_page *page, const char *history)
{
	size_t size;
	char *text;

	if (page->json && http->now_ns < page->until_ns && strcmp(page->history, history) == 0)
		return;
	forget_page(page);
	snprintf(page->history, sizeof page->history, "%s", history);
	text = page_text(&http->report, page->history, &size);
	page->json = response_of(text, size);
	page->until_ns = http->now_ns + PAGE_NS;
	if (!page->json)
		return;
	guard(page->json);
	MHD_add_response_header(page->json, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	MHD_add_response_header(page->json, MHD_HTTP_HEADER_CONNECTION, "close");
}

static enum MHD_Result
answer_page(struct http *http, struct MHD_Connection *connection)
{
	const char *history =
		MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "history");
	struct kept_page *page = history ? &http->historic : &http->plain;

	refresh_page(http, page, history ? history : "");
	if (!page->json)
		return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	return MHD_queue_response(connection, MHD_HTTP_OK, page->json);
}

static const char *
host_of(struct MHD_Connection *connection)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
}

/* They name rules and tell rates: a stranger's page must not read them either. */
static bool
may_have_metrics(const struct http *http, const char *host)
{
	for (size_t i = 0; i < http->options->metrics_host_count; i++)
		if (host_is(host, http->options->metrics_hosts[i]))
			return true;
	return host_is_this(host);
}

static enum MHD_Result
route_metrics(struct http *http, struct MHD_Connection *connection)
{
	if (may_have_metrics(http, host_of(connection)))
		return answer_metrics(connection, &http->report);
	return refuse(connection, MHD_HTTP_FORBIDDEN,
	              "only for localhost, 127.0.0.1, [::1], and names that rld is given by "
	              "--metrics-host\n");
}

static enum MHD_Result
route_page(struct http *http, struct MHD_Connection *connection, const char *url)
{
	const struct asset *asset = asset_find(url);
	bool is_data = strcmp(url, "/status.json") == 0;

	if (!asset && !is_data)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "only / and /metrics\n");
	if (!host_is_this(host_of(connection)))
		return refuse(connection, MHD_HTTP_FORBIDDEN,
		              "only for localhost, 127.0.0.1 and [::1]\n");
	return is_data ? answer_page(http, connection) : answer_asset(connection, asset);
}

static enum MHD_Result
handle(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
       const char *version, const char *data, size_t *data_size, void **state)
{
	struct http *http = arg;

	(void)version;
	(void)data;
	if (!*state || *data_size > 0) { /* first the head, then what a body there may be */
		*state = arg;
		*data_size = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (strcmp(url, "/metrics") == 0)
		return route_metrics(http, connection);
	if (http->options->is_page)
		return route_page(http, connection, url);
	return refuse(connection, MHD_HTTP_NOT_FOUND, "only /metrics\n");
}

/* Told before the descriptor is closed, so that its number cannot be another's yet. */
static void
notice(void *arg, struct MHD_Connection *connection, void **context,
       enum MHD_ConnectionNotificationCode what)
{
	struct http *http = arg;

	(void)context;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED)
		clients_remove(
			&http->clients,
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd);
}

/* RLIM_INFINITY is a large number, too. */
static uint64_t
descriptors(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

struct http *
http_start(int fd, const struct report *report, const struct options *options)
{
	struct http *http = calloc(1, sizeof *http);

	if (http) {
		clients_start(&http->clients, descriptors());
		http->listener = fd;
		http->report = *report;
		http->options = options;
		http->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL,
		                                NULL, handle, http, MHD_OPTION_CONNECTION_LIMIT,
		                                SERVER_MAX, MHD_OPTION_NOTIFY_CONNECTION, notice,
		                                http, MHD_OPTION_END);
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
	if (!http)
		return;
	MHD_stop_daemon(http->daemon);
	forget_page(&http->plain);
	forget_page(&http->historic);
	close(http->listener);
	free(http);
}

static bool
may_accept(const struct http *http, uint64_t now_ns)
{
	return now_ns >= http->rest_until_ns && clients_have_room(&http->clients, now_ns);
}

void
http_watch(const struct http *http, uint64_t now_ns, struct pollfd fds[static HTTP_FDS])
{
	fds[0] = fds[1] = (struct pollfd){.fd = -1, .events = POLLIN};
	if (!http)
		return;
	fds[0].fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	if (may_accept(http, now_ns))
		fds[1].fd = http->listener;
}

/* The server sees the end of it at once, and the kernel keeps no bytes for one that never reads. */
static void
drop(struct http *http, int fd)
{
	const struct linger none = {.l_onoff = 1};

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	shutdown(fd, SHUT_RDWR);
	MHD_run(http->daemon);
}

/* A client that has been here for long has a descriptor that another could use. */
static void
rest(struct http *http, uint64_t now_ns)
{
	if (log_may(&http->pace, now_ns))
		log_line(LOG_WARNING, "metrics: a connection cannot be taken: %s", strerror(errno));
	http->rest_until_ns = now_ns + REST_NS;
	drop(http, clients_take_older(&http->clients, CLIENTS_MOMENT_NS, now_ns));
}

/* False when nobody waits, or nobody can be taken in. */
static bool
accept_one(struct http *http, uint64_t now_ns)
{
	struct sockaddr_storage from = {0};
	socklen_t size = sizeof from;
	int fd = accept4(http->listener, (struct sockaddr *)&from, &size,
	                 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			rest(http, now_ns);
		return false;
	}
	drop(http, clients_add(&http->clients, fd, now_ns));
	if (MHD_add_connection(http->daemon, fd, (struct sockaddr *)&from, size) != MHD_YES)
		clients_remove(&http->clients, fd); /* it is closed */
	return true;
}

/* As many at a time as there are places: the sweep and signals have their turn, too. */
static void
accept_waiting(struct http *http, uint64_t now_ns)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (!may_accept(http, now_ns) || !accept_one(http, now_ns))
			return;
}

static uint64_t
due_ns(const struct http *http, uint64_t now_ns)
{
	uint64_t due = clients_due_ns(&http->clients, now_ns);
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(http->daemon, &ms) == MHD_YES && now_ns + ms * RL_MILLISECOND < due)
		due = now_ns + ms * RL_MILLISECOND;
	if (http->rest_until_ns > now_ns && http->rest_until_ns < due)
		due = http->rest_until_ns;
	return due;
}

uint64_t
http_run(struct http *http, uint64_t now_ns)
{
	int fd;

	if (!http)
		return UINT64_MAX;
	http->now_ns = now_ns;
	while ((fd = clients_take_older(&http->clients, CLIENTS_DEADLINE_NS, now_ns)) >= 0)
		drop(http, fd);
	accept_waiting(http, now_ns);
	MHD_run(http->daemon);
	return due_ns(http, now_ns);
}
