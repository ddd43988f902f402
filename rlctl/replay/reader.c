/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/reader.h"

#include <stdio.h>

#include "replay/w3c.h"

/* Fields of sshd, in the order of their numbers. */
static const char *const sshd_fields[] = {"client", "user", "method", "verdict", NULL};

const char *
reader_of_layout(struct reader *reader, const char *name, const char *format)
{
	reader->kind = READER_LAYOUT;
	reader->name = name;
	return layout_make(format, &reader->layout);
}

static bool
find_in_layout(const struct layout *layout, const char *name, struct source *out)
{
	out->field = layout_find(layout, name);
	out->cut = strcmp(name, "client") == 0 ? CUT_COMMA : CUT_NOTHING;
	if (out->field < layout->count)
		return true;
	for (const struct derivation *d = derivations; d->name; d++) {
		if (strcmp(d->name, name) != 0)
			continue;
		out->field = layout_find(layout, d->from);
		out->cut = d->cut;
		if (out->field < layout->count)
			return true;
	}
	return false;
}

static bool
find_in_sshd(const char *name, struct source *out)
{
	for (size_t i = 0; sshd_fields[i]; i++) {
		if (strcmp(sshd_fields[i], name) != 0)
			continue;
		*out = (struct source){i, CUT_NOTHING};
		return true;
	}
	return false;
}

const char *
reader_bind(struct reader *reader, const struct wants *wants)
{
	reader->last = reader->layout.time;
	for (size_t i = 0; i < wants->count; i++) {
		const char *name = wants->want[i].name.text;
		struct source *source = &reader->sources[i];

		if (reader->kind == READER_SSHD ? !find_in_sshd(name, source)
		                                : !find_in_layout(&reader->layout, name, source))
			return wants->want[i].text;
		if (reader->kind != READER_SSHD && source->field > reader->last)
			reader->last = source->field;
	}
	return NULL;
}

static enum line_kind
read_layout(struct reader *reader, const struct wants *wants, struct slice line,
            struct stamps *stamps, struct line_values *out, const char **wrong)
{
	struct layout_match match;

	if (!layout_match(&reader->layout, line, reader->last, stamps, &match)) {
		*wrong = NO_TIME;
		return LINE_WRONG;
	}
	out->time_ns = match.time_ns;
	for (size_t i = 0; i < wants->count; i++)
		out->value[i] =
			cut_apply(reader->sources[i].cut, match.fields[reader->sources[i].field]);
	return LINE_EVENT;
}

/* The members wanted are the first paths, the time is the one behind them. */
static enum line_kind
read_json(struct reader *reader, const struct wants *wants, struct slice line,
          struct stamps *stamps, struct line_values *out, const char **wrong)
{
	struct slice values[JSON_PATHS_MAX];

	if (!json_line_read(&reader->paths, line, values)) {
		*wrong = "no JSON object";
		return LINE_WRONG;
	}
	if (!stamp_read(stamps, values[wants->count], &out->time_ns)) {
		*wrong = values[wants->count].at ? "its time is none that is known"
		                                 : "it has no time";
		return LINE_WRONG;
	}
	for (size_t i = 0; i < wants->count; i++) {
		struct slice value = values[i];

		if (value.at && memchr(value.at, '\\', value.len))
			value = (struct slice){
				reader->plain[i],
				json_unescape(value, reader->plain[i], sizeof(reader->plain[i]))};
		out->value[i] = cut_apply(reader->sources[i].cut, value);
	}
	return LINE_EVENT;
}

static enum line_kind
read_sshd(const struct reader *reader, const struct wants *wants, const struct syslog_line *syslog,
          struct line_values *out)
{
	struct sshd_attempt attempt;

	if (!slice_begins(syslog->program, "sshd") || !sshd_attempt_read(syslog->message, &attempt))
		return LINE_OTHER;
	for (size_t i = 0; i < wants->count; i++) {
		const struct slice fields[] = {attempt.client, attempt.user, attempt.method,
		                               attempt.verdict};

		out->value[i] = fields[reader->sources[i].field];
	}
	out->time_ns = syslog->time_ns;
	return LINE_EVENT;
}

/* A layout that lacks what is wanted is none. */
static const char *
learn_w3c(struct reader *reader, const struct wants *wants, struct slice line)
{
	const char *wrong = w3c_layout(line, &reader->layout);

	if (wrong || !reader_bind(reader, wants))
		return wrong;
	layout_free(&reader->layout);
	return "a field that is wanted is not among the fields";
}

static enum line_kind
read_w3c(struct reader *reader, const struct wants *wants, struct slice line, struct stamps *stamps,
         struct line_values *out, const char **wrong)
{
	if (slice_begins(line, W3C_FIELDS)) {
		*wrong = learn_w3c(reader, wants, line);
		return *wrong ? LINE_WRONG : LINE_OTHER;
	}
	if (slice_begins(line, "#"))
		return LINE_OTHER;
	if (reader->layout.count > 0)
		return read_layout(reader, wants, line, stamps, out, wrong);
	*wrong = "no '" W3C_FIELDS "' line that is understood stands before it";
	return LINE_WRONG;
}

enum line_kind
reader_read(struct reader *reader, const struct wants *wants, struct slice line,
            struct stamps *stamps, struct line_values *out, const char **wrong)
{
	struct syslog_line inside;
	bool goes_on;

	if (reader->envelope.kind != ENVELOPE_NONE) {
		if (!envelope_open(&reader->envelope, line, stamps, &inside, &goes_on)) {
			snprintf(reader->why, sizeof(reader->why), "no line of %s",
			         envelope_name(reader->envelope.kind));
			*wrong = reader->why;
			return LINE_WRONG;
		}
		if (goes_on)
			return LINE_OTHER;
		if (reader->kind == READER_SSHD)
			return read_sshd(reader, wants, &inside, out);
		if (!slice_is(inside.program, reader->program))
			return LINE_OTHER;
		line = inside.message;
	}
	return reader_read_inside(reader, wants, line, stamps, out, wrong);
}

enum line_kind
reader_read_inside(struct reader *reader, const struct wants *wants, struct slice line,
                   struct stamps *stamps, struct line_values *out, const char **wrong)
{
	if (reader->is_quoted && slice_begins(line, "\""))
		line = slice_skip(line, 1);
	if (reader->kind == READER_JSON)
		return read_json(reader, wants, line, stamps, out, wrong);
	if (reader->kind == READER_W3C)
		return read_w3c(reader, wants, line, stamps, out, wrong);
	return read_layout(reader, wants, line, stamps, out, wrong);
}

void
reader_free(struct reader *reader)
{
	layout_free(&reader->layout);
	envelope_free(&reader->envelope);
}
