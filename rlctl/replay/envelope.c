/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/envelope.h"

#include <stdlib.h>

#include "base/output.h"
#include "replay/lines.h"

const char *
envelope_name(enum envelope_kind kind)
{
	static const char *const names[] = {"", "syslog", "cri", "docker", "journal"};

	return names[kind];
}

static bool
is_stream(struct slice program)
{
	return slice_is(program, "stdout") || slice_is(program, "stderr");
}

static bool
open_cri(struct slice line, struct stamps *stamps, struct syslog_line *out, bool *is_cut)
{
	struct slice time = slice_until(line, ' '), tag;

	if (time.len == line.len || !stamp_read(stamps, time, &out->time_ns))
		return false;
	line = slice_skip(line, time.len + 1);
	out->program = slice_until(line, ' ');
	if (!is_stream(out->program) || out->program.len == line.len)
		return false;
	line = slice_skip(line, out->program.len + 1);
	tag = slice_until(slice_until(line, ' '), ':');
	*is_cut = slice_is(tag, "P");
	if (!*is_cut && !slice_is(tag, "F"))
		return false;
	tag = slice_until(line, ' ');
	out->message = slice_skip(line, tag.len + (tag.len < line.len));
	return true;
}

/* A message that is no UTF-8 is written as numbers: of an array the first is what was found. */
static size_t
read_bytes(const char *at, const char *end, char *out, size_t room)
{
	size_t len = 0;

	while (at < end && *at != ']' && len < room) {
		unsigned byte = 0;

		for (; at < end && *at >= '0' && *at <= '9'; at++)
			byte = byte * 10 + (unsigned)(*at - '0');
		out[len++] = (char)byte;
		while (at < end && (*at == ',' || *at == ' '))
			at++;
		if (at < end && *at != ']' && (*at < '0' || *at > '9'))
			break;
	}
	return len;
}

static struct slice
unescape(struct envelope *envelope, struct slice line, struct slice text)
{
	if (!envelope->plain)
		envelope->plain = need(malloc(LINE_KEPT));
	if (text.at[-1] == '[')
		return (struct slice){envelope->plain, read_bytes(text.at, line.at + line.len,
		                                                  envelope->plain, LINE_KEPT)};
	if (!memchr(text.at, '\\', text.len))
		return text;
	return (struct slice){envelope->plain, json_unescape(text, envelope->plain, LINE_KEPT)};
}

/* The members of a JSON line: what was said, when, and by whom, if that is asked for. */
static bool
open_json(struct envelope *envelope, const struct json_paths *paths, struct slice line,
          struct stamps *stamps, struct syslog_line *out)
{
	struct slice values[JSON_PATHS_MAX];

	if (!slice_begins(line, "{") || !json_line_read(paths, line, values) || !values[0].at ||
	    !stamp_read(stamps, values[1], &out->time_ns))
		return false;
	out->message = unescape(envelope, line, values[0]);
	out->program = paths->count > 2 ? values[2] : (struct slice){"", 0};
	return out->program.at != NULL;
}

static bool
open_docker(struct envelope *envelope, struct slice line, struct stamps *stamps,
            struct syslog_line *out, bool *is_cut)
{
	static const struct json_paths paths = {3, {"log", "time", "stream"}};

	if (!open_json(envelope, &paths, line, stamps, out) || !is_stream(out->program))
		return false;
	*is_cut = out->message.len == 0 || out->message.at[out->message.len - 1] != '\n';
	out->message.len -= !*is_cut;
	return true;
}

static bool
open_journal(struct envelope *envelope, struct slice line, struct stamps *stamps,
             struct syslog_line *out)
{
	static const struct json_paths by[] = {
		{3, {"MESSAGE", "__REALTIME_TIMESTAMP", "SYSLOG_IDENTIFIER"}},
		{3, {"MESSAGE", "__REALTIME_TIMESTAMP", "_COMM"}},
		{2, {"MESSAGE", "__REALTIME_TIMESTAMP"}}, /* --output-fields=MESSAGE */
	};

	for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++)
		if (open_json(envelope, &by[i], line, stamps, out))
			return true;
	return false;
}

/* *is_cut: the message goes on in the next line. */
static bool
open_kind(struct envelope *envelope, enum envelope_kind kind, struct slice line,
          struct stamps *stamps, struct syslog_line *out, bool *is_cut)
{
	*is_cut = false;
	switch (kind) {
	case ENVELOPE_SYSLOG:
		return syslog_line_read(line, stamps, out);
	case ENVELOPE_CRI:
		return open_cri(line, stamps, out, is_cut);
	case ENVELOPE_DOCKER:
		return open_docker(envelope, line, stamps, out, is_cut);
	case ENVELOPE_JOURNAL:
		return open_journal(envelope, line, stamps, out);
	case ENVELOPE_NONE:
		break;
	}
	return false;
}

enum envelope_kind
envelope_find(struct envelope *envelope, struct slice line, struct stamps *stamps,
              struct syslog_line *out)
{
	enum envelope_kind kind = ENVELOPE_JOURNAL;
	bool ignored;

	while (kind > ENVELOPE_NONE && !open_kind(envelope, kind, line, stamps, out, &ignored))
		kind--;
	return kind;
}

bool
envelope_open(struct envelope *envelope, struct slice line, struct stamps *stamps,
              struct syslog_line *out, bool *goes_on)
{
	bool is_cut, *was_cut;

	if (!open_kind(envelope, envelope->kind, line, stamps, out, &is_cut))
		return false;
	was_cut = &envelope->is_cut[slice_is(out->program, "stderr")];
	*goes_on = *was_cut;
	*was_cut = is_cut;
	return true;
}

void
envelope_free(struct envelope *envelope)
{
	free(envelope->plain);
	envelope->plain = NULL;
}
