/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/syslog_line.h"

#define SYSLOG_STAMP "Nov 22 10:00:00"
#define PRIORITY_MAX 5 /* "<191>" */

/* The word in front, which is cut off with the blank behind it; false without a blank. */
static bool
take_word(struct slice *text, struct slice *word)
{
	*word = slice_until(*text, ' ');
	if (word->len == 0 || word->len == text->len)
		return false;
	*text = slice_skip(*text, word->len + 1);
	return true;
}

static void
skip_priority(struct slice *text)
{
	struct slice priority = slice_until(*text, '>');

	if (slice_begins(*text, "<") && priority.len < PRIORITY_MAX && priority.len < text->len)
		*text = slice_skip(*text, priority.len + 1);
}

/* "program[123]: message" */
static bool
take_program(struct slice *text, struct slice *program)
{
	struct slice tag = slice_until(*text, ' ');

	if (tag.len < 2 || tag.len == text->len || tag.at[tag.len - 1] != ':')
		return false;
	*text = slice_skip(*text, tag.len + 1);
	*program = slice_until((struct slice){tag.at, tag.len - 1}, '[');
	return program->len > 0;
}

/* "host program 123 id - message" */
static bool
take_rfc5424(struct slice text, struct stamps *stamps, struct syslog_line *out)
{
	struct slice time, ignored;

	if (!slice_begins(text, "1 "))
		return false;
	text = slice_skip(text, 2);
	if (!take_word(&text, &time) || !stamp_read(stamps, time, &out->time_ns) ||
	    !take_word(&text, &ignored) || !take_word(&text, &out->program) ||
	    !take_word(&text, &ignored) || !take_word(&text, &ignored))
		return false;
	if (slice_begins(text, "[")) {
		ignored = slice_until(text, ']');
		text = slice_skip(text, ignored.len);
	}
	if (!take_word(&text, &ignored))
		return false;
	out->message = text;
	return true;
}

static bool
take_time(struct slice *text, struct stamps *stamps, uint64_t *ns)
{
	size_t len = strlen(SYSLOG_STAMP);
	struct slice word = {text->at, len};

	if (text->len <= len || text->at[0] > 'S')
		return false;
	if (text->at[0] >= 'A' && text->at[len] == ' ') {
		*text = slice_skip(*text, len + 1);
		return stamp_read(stamps, word, ns);
	}
	return text->at[4] == '-' && take_word(text, &word) && stamp_read(stamps, word, ns);
}

bool
syslog_line_read(struct slice line, struct stamps *stamps, struct syslog_line *out)
{
	struct slice host;

	if (line.len == 0)
		return false;
	skip_priority(&line);
	if (take_rfc5424(line, stamps, out))
		return true;
	if (!take_time(&line, stamps, &out->time_ns) || !take_word(&line, &host) ||
	    !take_program(&line, &out->program))
		return false;
	out->message = line;
	return true;
}

/* The last " from ", for a user may be called anything. */
static const char *
find_from(struct slice text)
{
	static const char from[] = " from ";
	const char *last = NULL, *at = text.at, *end = at + text.len;

	while ((at = memmem(at, (size_t)(end - at), from, strlen(from)))) {
		last = at;
		at++;
	}
	return last;
}

bool
sshd_attempt_read(struct slice message, struct sshd_attempt *out)
{
	static const char invalid[] = "invalid user ";
	struct slice word;
	const char *from;

	if (!take_word(&message, &out->verdict) ||
	    (!slice_is(out->verdict, "Failed") && !slice_is(out->verdict, "Accepted")) ||
	    !take_word(&message, &out->method) || !take_word(&message, &word) ||
	    !slice_is(word, "for"))
		return false;
	if (slice_begins(message, invalid))
		message = slice_skip(message, strlen(invalid));
	from = find_from(message);
	if (!from)
		return false;
	out->user = slice_make(message.at, from);
	message = slice_skip(message, out->user.len + strlen(" from "));
	return take_word(&message, &out->client) && slice_begins(message, "port ");
}
