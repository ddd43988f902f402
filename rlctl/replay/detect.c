/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/detect.h"

#include <stdio.h>

#include "replay/w3c.h"

#define COMMON "$client $ident $user [$time] \"$request\" $status $bytes"
#define UNKNOWN "no format that is known; see --format and --log-format"
#define BEHIND " \"$referer\" \"$agent\""

struct format {
	const char *name;
	const char *layout;
	bool (*is_plausible)(const struct layout *layout, const struct layout_match *match);
};

static struct slice
field(const struct layout *layout, const struct layout_match *match, const char *name)
{
	return match->fields[layout_find(layout, name)];
}

static bool
has_port(const struct layout *layout, const struct layout_match *match)
{
	struct slice text = field(layout, match, "client_port");

	return is_address(cut_apply(CUT_PORT, text)) && memchr(text.at, ':', text.len);
}

/* A time where a client should be is another line's, with something in front. */
static bool
is_client(struct slice text)
{
	struct stamps stamps = {0};
	uint64_t ignored;

	return text.len > 0 &&
	       !(memchr(text.at, ':', text.len) && stamp_read(&stamps, text, &ignored));
}

static bool
is_number(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
	return text.len > 0;
}

/* A common line with a name of four words in place of three. A comma behind the first is a list
 * of addresses, as proxies forward them. */
static bool
is_vhost(const struct layout *layout, const struct layout_match *match)
{
	struct slice vhost = field(layout, match, "vhost"), client = field(layout, match, "client");

	if (!is_client(vhost) || vhost.at[vhost.len - 1] == ',' || slice_is(client, "-"))
		return false;
	return is_address(client) || slice_is(field(layout, match, "ident"), "-");
}

static bool
is_vhost_combined(const struct layout *layout, const struct layout_match *match)
{
	return is_vhost(layout, match) && field(layout, match, "agent").at;
}

static bool
is_combined(const struct layout *layout, const struct layout_match *match)
{
	return is_client(field(layout, match, "client")) && field(layout, match, "agent").at;
}

static bool
is_common(const struct layout *layout, const struct layout_match *match)
{
	return is_client(field(layout, match, "client"));
}

static bool
is_squid(const struct layout *layout, const struct layout_match *match)
{
	struct slice result = field(layout, match, "result");

	return is_number(field(layout, match, "duration")) && result.at &&
	       memchr(result.at, '/', result.len) && field(layout, match, "bytes").at;
}

static bool
is_elb(const struct layout *layout, const struct layout_match *match)
{
	return has_port(layout, match) && field(layout, match, "request").at;
}

static bool
is_seconds(const struct layout *layout, const struct layout_match *match)
{
	return field(layout, match, "rest").len > 0;
}

/* In the order in which a line is tried: what is more than another stands before it. */
static const struct format formats[] = {
	{"alb",
         "$type $time $elb $client_port $target $request_time $target_time $response_time "
         "$status $target_status $received $bytes \"$request\" \"$agent\"",
         is_elb},
	{"elb",
         "$time $elb $client_port $target $request_time $target_time $response_time $status "
         "$target_status $received $bytes \"$request\"",
         is_elb},
	{"vcombined", "$vhost " COMMON BEHIND, is_vhost_combined},
	{"vcommon", "$vhost " COMMON, is_vhost},
	{"combined", COMMON BEHIND, is_combined},
	{"common", COMMON, is_common},
	{"haproxy",
         "$client_port [$time] $frontend $backend $timers $status $bytes $request_cookie "
         "$response_cookie $termination $connections $tail\"$request\"",
         has_port},
	{"squid", "$time  $duration  $client  $result  $bytes  $method  $request_uri  $user  $peer",
         is_squid},
	{"seconds", "$time  $rest", is_seconds},
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

const char *
format_find(const char *name)
{
	static const char *const names[][2] = {
		{"auto", "auto"},
		{"w3c", "w3c"},
		{"cloudfront", "w3c"},
		{"awsalb", "alb"},
		{"awselb", "elb"},
		{"traefikclf", "combined"},
		{"vhost_combined", "vcombined"},
		{"caddy", "caddy"},
		{"traefik", "traefik"},
		{"json", "json"},
		{"sshd", "sshd"},
	};

	for (size_t i = 0; i < FORMATS; i++)
		if (strcasecmp(formats[i].name, name) == 0)
			return formats[i].name;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(names[i][0], name) == 0)
			return names[i][1];
	return NULL;
}

struct attempt {
	struct reader *reader;
	const struct format_choice *choice;
	const struct wants *wants;
	struct stamps *stamps;
	const char *wrong, *missing;
};

static bool
is_auto(const struct attempt *a)
{
	return strcmp(a->choice->name, "auto") == 0 && !a->choice->layout;
}

static bool
is_chosen(const struct attempt *a, const char *name)
{
	return !a->choice->layout && (is_auto(a) || strcmp(a->choice->name, name) == 0);
}

static bool
bind(struct attempt *a)
{
	a->missing = reader_bind(a->reader, a->wants);
	return !a->missing;
}

static void
undo(struct attempt *a)
{
	layout_free(&a->reader->layout);
	a->reader->kind = READER_UNDECIDED;
}

/* A format that was named needs no more than a time in its place. */
static bool
try_layout(struct attempt *a, const struct format *format, struct slice line)
{
	const struct layout *layout = &a->reader->layout;
	struct layout_match match;

	a->wrong = reader_of_layout(a->reader, format->name, format->layout);
	if (!a->wrong && layout_match(layout, line, layout->count - 1, a->stamps, &match) &&
	    (!is_auto(a) || format->is_plausible(layout, &match)))
		return bind(a);
	undo(a);
	return false;
}

static bool
try_layouts(struct attempt *a, struct slice line)
{
	const struct format given = {"as --log-format says", a->choice->layout, NULL};

	if (given.layout)
		return try_layout(a, &given, line);
	for (size_t i = 0; i < FORMATS && !a->missing; i++)
		if (is_chosen(a, formats[i].name) && try_layout(a, &formats[i], line))
			return true;
	return false;
}

static bool
try_json(struct attempt *a, struct slice line)
{
	struct reader *reader = a->reader;
	const char *absent = reader_bind_json(reader, a->wants, a->choice->time_name, line);
	struct line_values values;

	reader->name = json_flavour(line);
	if (!absent &&
	    reader_read_inside(reader, a->wants, line, a->stamps, &values, &a->wrong) == LINE_EVENT)
		return true;
	if (absent) {
		snprintf(reader->why, sizeof(reader->why),
		         "a JSON line without '%s' by any name that is known; see --key and --time",
		         absent);
		a->wrong = reader->why;
	}
	undo(a);
	return false;
}

static bool
is_json_chosen(const struct attempt *a)
{
	return is_chosen(a, "json") || is_chosen(a, "caddy") || is_chosen(a, "traefik");
}

static bool
try_line(struct attempt *a, struct slice line)
{
	if (slice_begins(line, "{") && is_json_chosen(a))
		return try_json(a, line);
	return try_layouts(a, line);
}

/* The message, of whichever program it is. */
static bool
try_inside(struct attempt *a, enum envelope_kind around, const struct syslog_line *inside)
{
	struct reader *reader = a->reader;

	reader->envelope.kind = around;
	if (slice_begins(inside->program, "sshd") && is_chosen(a, "sshd")) {
		reader->kind = READER_SSHD;
		reader->name = "sshd";
		return bind(a);
	}
	snprintf(reader->program, sizeof(reader->program), "%.*s", (int)inside->program.len,
	         inside->program.at);
	if (try_line(a, inside->message))
		return true;
	reader->envelope.kind = ENVELOPE_NONE;
	return false;
}

/* All of the line stands in quotes, as some exports have it. */
static bool
try_quoted(struct attempt *a, struct slice line)
{
	a->reader->is_quoted =
		is_auto(a) && slice_begins(line, "\"") && try_line(a, slice_skip(line, 1));
	return a->reader->is_quoted;
}

static bool
try_w3c(struct attempt *a, struct slice line)
{
	if (!is_chosen(a, "w3c") || !is_w3c_directive(line))
		return false;
	a->reader->kind = READER_W3C;
	a->reader->name = "w3c";
	return true;
}

enum line_kind
detect(struct reader *reader, const struct format_choice *choice, const struct wants *wants,
       struct slice line, struct stamps *stamps, const char **wrong, const char **missing)
{
	struct attempt a = {reader, choice, wants, stamps, NULL, NULL};
	struct syslog_line inside;
	enum envelope_kind around = envelope_find(&reader->envelope, line, stamps, &inside);
	bool is_json = around == ENVELOPE_DOCKER || around == ENVELOPE_JOURNAL;
	bool is_around = around != ENVELOPE_NONE && is_auto(&a);
	bool is_decided = try_w3c(&a, line) ||
	                  (around != ENVELOPE_NONE && try_inside(&a, around, &inside)) ||
	                  ((is_json || !is_around) && !a.missing &&
	                   (try_quoted(&a, line) || try_line(&a, line)));

	*missing = a.missing;
	if (is_decided)
		return LINE_EVENT;
	if (is_around)
		return LINE_OTHER;
	*wrong = a.wrong ? a.wrong : is_auto(&a) ? UNKNOWN : NO_TIME;
	return LINE_WRONG;
}

void
detect_fields(const struct reader *reader, char *text, size_t room)
{
	size_t used = 0;

	snprintf(text, room, "client, user, method, verdict");
	if (reader->kind == READER_SSHD)
		return;
	for (size_t i = 0; i < reader->layout.count && used < room; i++)
		if (*reader->layout.names[i].text)
			used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "",
			                         reader->layout.names[i].text);
}
