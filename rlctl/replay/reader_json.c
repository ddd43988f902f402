/* SPDX-License-Identifier: BSD-2-Clause */
/* Which members of a JSON line are what is wanted. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "replay/reader.h"

/* Where servers put a field: nginx as its configuration names it, Caddy, Traefik, and others. */
static const struct member {
	const char *name, *path;
	enum cut cut;
} members[] = {
	{"time", "ts", CUT_NOTHING},
	{"time", "StartUTC", CUT_NOTHING},
	{"time", "time", CUT_NOTHING},
	{"time", "timestamp", CUT_NOTHING},
	{"time", "@timestamp", CUT_NOTHING},
	{"time", "time_iso8601", CUT_NOTHING},
	{"time", "msec", CUT_NOTHING},
	{"time", "time_local", CUT_NOTHING},
	{"time", "datetime", CUT_NOTHING},
	{"time", "date", CUT_NOTHING},
	{"client", "request.client_ip", CUT_NOTHING},
	{"client", "request.remote_ip", CUT_NOTHING},
	{"client", "ClientHost", CUT_NOTHING},
	{"client", "remote_addr", CUT_NOTHING},
	{"client", "client_ip", CUT_NOTHING},
	{"client", "clientip", CUT_NOTHING},
	{"client", "remote_ip", CUT_NOTHING},
	{"client", "client", CUT_NOTHING},
	{"client", "ip", CUT_NOTHING},
	{"client", "source.ip", CUT_NOTHING},
	{"client", "source.address", CUT_NOTHING},
	{"client", "request.remote_addr", CUT_PORT}, /* Caddy before 2.5 */
	{"user", "user_id", CUT_NOTHING},
	{"user", "ClientUsername", CUT_NOTHING},
	{"user", "remote_user", CUT_NOTHING},
	{"user", "user", CUT_NOTHING},
	{"method", "request.method", CUT_NOTHING},
	{"method", "RequestMethod", CUT_NOTHING},
	{"method", "request_method", CUT_NOTHING},
	{"method", "method", CUT_NOTHING},
	{"method", "request", CUT_METHOD},
	{"uri", "request.uri", CUT_NOTHING},
	{"uri", "RequestPath", CUT_NOTHING},
	{"uri", "request_uri", CUT_NOTHING},
	{"uri", "uri", CUT_NOTHING},
	{"uri", "url", CUT_NOTHING},
	{"uri", "path", CUT_NOTHING},
	{"uri", "request", CUT_URI},
	{"path", "request.uri", CUT_QUERY},
	{"path", "RequestPath", CUT_QUERY},
	{"path", "request_uri", CUT_QUERY},
	{"path", "uri", CUT_QUERY},
	{"path", "url", CUT_QUERY},
	{"path", "path", CUT_QUERY},
	{"path", "request", CUT_PATH},
	{"status", "status", CUT_NOTHING},
	{"status", "DownstreamStatus", CUT_NOTHING},
	{"bytes", "size", CUT_NOTHING},
	{"bytes", "DownstreamContentSize", CUT_NOTHING},
	{"bytes", "body_bytes_sent", CUT_NOTHING},
	{"bytes", "bytes_sent", CUT_NOTHING},
	{"bytes", "bytes", CUT_NOTHING},
	{"vhost", "request.host", CUT_NOTHING},
	{"vhost", "RequestHost", CUT_NOTHING},
	{"vhost", "host", CUT_NOTHING},
	{"vhost", "server_name", CUT_NOTHING},
	{"agent", "request.headers.User-Agent", CUT_NOTHING},
	{"agent", "request_User-Agent", CUT_NOTHING},
	{"agent", "http_user_agent", CUT_NOTHING},
	{"agent", "user_agent", CUT_NOTHING},
	{"referer", "request.headers.Referer", CUT_NOTHING},
	{"referer", "request_Referer", CUT_NOTHING},
	{"referer", "http_referer", CUT_NOTHING},
};

#define MEMBERS (sizeof(members) / sizeof(members[0]))

static bool
has_member(struct slice line, const char *path)
{
	const struct json_paths paths = {1, {path}};
	struct slice value;

	return json_line_read(&paths, line, &value) && value.at;
}

/* Any other name is the member's own, as the user has written it. */
static bool
find_member(const char *name, const char *own, struct slice line, const char **path, enum cut *cut)
{
	bool is_known = false;

	for (size_t i = 0; i < MEMBERS; i++) {
		if (strcmp(members[i].name, name) != 0)
			continue;
		is_known = true;
		*path = members[i].path;
		*cut = members[i].cut;
		if (has_member(line, *path))
			return true;
	}
	*path = own;
	*cut = CUT_NOTHING;
	return !is_known || has_member(line, own);
}

/*
 * Where servers put a header: nginx in a variable's name, Caddy and Traefik under its own. Where
 * the line has none of them, Caddy's is taken.
 */
static const char *
find_header(const char *header, const char *variable, struct slice line,
            char path[static 2 * FIELD_NAME_MAX])
{
	if (has_member(line, variable))
		return variable;
	snprintf(path, 2 * FIELD_NAME_MAX, "request_%s", header);
	if (!has_member(line, path))
		snprintf(path, 2 * FIELD_NAME_MAX, "request.headers.%s", header);
	return path;
}

const char *
reader_bind_json(struct reader *reader, const struct wants *wants, const char *time_name,
                 struct slice line)
{
	enum cut ignored;

	reader->kind = READER_JSON;
	reader->paths.count = wants->count + 1;
	if (time_name)
		reader->paths.path[wants->count] = time_name;
	else if (!find_member("time", "time", line, &reader->paths.path[wants->count], &ignored))
		return "time";
	for (size_t i = 0; i < wants->count; i++) {
		const struct want *want = &wants->want[i];
		static const char prefix[] = "header:";

		reader->sources[i].cut = CUT_NOTHING;
		if (strncmp(want->text, prefix, strlen(prefix)) == 0)
			reader->paths.path[i] =
				find_header(want->text + strlen(prefix), want->name.text, line,
			                    reader->headers[i]);
		else if (!find_member(want->name.text, want->text + (*want->text == '$'), line,
		                      &reader->paths.path[i], &reader->sources[i].cut))
			return want->text;
	}
	return NULL;
}

const char *
json_flavour(struct slice line)
{
	if (has_member(line, "request.remote_ip") || has_member(line, "request.remote_addr"))
		return "caddy";
	return has_member(line, "ClientHost") ? "traefik" : "json";
}
