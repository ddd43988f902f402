/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/layout.h"

#include <stdlib.h>

#define BLANKS "  "
#define TIME_WORDS_MAX 3
#define TIME_BYTES_MAX 64 /* with what stands behind it */

size_t
layout_find(const struct layout *layout, const char *name)
{
	size_t i = 0;

	while (i < layout->count && strcmp(layout->names[i].text, name) != 0)
		i++;
	return i;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
is_escaped(const char *start, const char *quote)
{
	const char *at = quote;

	while (at > start && at[-1] == '\\')
		at--;
	return (quote - at) % 2 == 1;
}

static const char *
find_blank(const char *at, const char *end)
{
	const char *blank = memchr(at, ' ', (size_t)(end - at));
	const char *tab = memchr(at, '\t', (size_t)((blank ? blank : end) - at));

	return tab ? tab : blank;
}

/* Where the literal first stands; NULL if it does not. */
static const char *
find(const char *literal, const char *at, const char *end)
{
	size_t len = strlen(literal);
	const char *start = at;

	if (strcmp(literal, BLANKS) == 0)
		return find_blank(at, end);
	for (; (size_t)(end - at) >= len; at++) {
		at = memchr(at, literal[0], (size_t)(end - at) - len + 1);
		if (!at)
			return NULL;
		if (memcmp(at, literal, len) == 0 && (literal[0] != '"' || !is_escaped(start, at)))
			return at;
	}
	return NULL;
}

/* Behind the literal, which is to stand here; else NULL. */
static const char *
pass(const char *literal, const char *at, const char *end)
{
	size_t len = strlen(literal);

	if (strcmp(literal, BLANKS) == 0) {
		if (at == end || !is_blank(*at))
			return NULL;
		while (at < end && is_blank(*at))
			at++;
		return at;
	}
	if ((size_t)(end - at) < len || memcmp(at, literal, len) != 0)
		return NULL;
	return at + len;
}

/* Where field `i` ends that begins at `at`: NULL, nowhere. */
static const char *
end_of(const struct layout *layout, size_t i, const char *at, const char *end)
{
	const char *literal = layout->before[i + 1];

	return *literal ? find(literal, at, end) : end;
}

/* The next place where the time may end: in front of the first byte of what stands behind it, for a
 * line may end with it. */
static const char *
end_of_time(const struct layout *layout, const char *at, const char *end)
{
	const char *literal = layout->before[layout->time + 1];
	const char *stop =
		*literal == ' ' ? find_blank(at, end) : memchr(at, *literal, (size_t)(end - at));

	return stop || (*literal != ' ' && *literal != '\0') ? stop : end;
}

/* The time, which begins at `at`. It may have in it what stands behind it, as "2026-11-22 10:00:00"
 * with a blank behind it. */
static bool
match_time(const struct layout *layout, const char *at, const char *end, struct stamps *stamps,
           struct layout_match *out)
{
	const char *stop = at;

	if (end - at > TIME_BYTES_MAX) /* or a line of brackets would be searched again from each */
		end = at + TIME_BYTES_MAX;
	for (int tries = 0; tries < TIME_WORDS_MAX; tries++, stop++) {
		stop = end_of_time(layout, stop, end);
		if (!stop)
			return false;
		out->fields[layout->time] = slice_make(at, stop);
		if (stamp_read(stamps, out->fields[layout->time], &out->time_ns))
			return true;
		if (stop == end)
			return false;
	}
	return false;
}

/* The end of the field in front of the time. */
static const char *
end_before_time(const struct layout *layout, const char *at, const char *end, struct stamps *stamps,
                struct layout_match *out)
{
	const char *literal = layout->before[layout->time];

	while ((at = find(literal, at, end))) {
		if (match_time(layout, pass(literal, at, end), end, stamps, out))
			return at;
		at++;
	}
	return NULL;
}

static const char *
end_of_field(const struct layout *layout, size_t i, const char *at, const char *end,
             struct stamps *stamps, struct layout_match *out)
{
	if (i + 1 == layout->time)
		return end_before_time(layout, at, end, stamps, out);
	if (i == layout->time)
		return out->fields[i].at + out->fields[i].len;
	return end_of(layout, i, at, end);
}

bool
layout_match(const struct layout *layout, struct slice line, size_t last, struct stamps *stamps,
             struct layout_match *out)
{
	const char *end = line.at + line.len, *at = pass(layout->before[0], line.at, end);
	size_t i = 0;

	last = last > layout->time ? last : layout->time;
	if (at && layout->time == 0 && !match_time(layout, at, end, stamps, out))
		return false;
	for (; at && i <= last; i++) {
		const char *stop = end_of_field(layout, i, at, end, stamps, out);

		if (!stop)
			break;
		out->fields[i] = slice_make(at, stop);
		at = pass(layout->before[i + 1], stop, end);
	}
	for (size_t absent = i; absent <= last; absent++)
		out->fields[absent] = (struct slice){0};
	return i > layout->time;
}

void
layout_free(struct layout *layout)
{
	for (size_t i = 0; i <= layout->count; i++)
		free(layout->before[i]);
	layout->count = 0;
	layout->before[0] = NULL;
}
