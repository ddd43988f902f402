/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/json_line.h"

#define DEPTH_MAX 16 /* of objects that a path goes into */

struct scan {
	const char *at, *end;
	const struct json_paths *paths;
	struct slice *values;
	uint32_t missing; /* a bit for each path without a value */
};

/* Where each path goes on within the object that is being read. */
struct level {
	uint32_t live; /* those that lead into it */
	const char *rest[JSON_PATHS_MAX];
};

static bool scan_object(struct scan *s, const struct level *level, unsigned depth);

static void
skip_blanks(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r'))
		s->at++;
}

static bool
pass(struct scan *s, char c)
{
	skip_blanks(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* A string, its opening quote being passed. */
static bool
scan_string(struct scan *s, struct slice *text)
{
	const char *start = s->at, *quote = start;

	while ((quote = memchr(quote, '"', (size_t)(s->end - quote)))) {
		const char *back = quote;

		while (back > start && back[-1] == '\\')
			back--;
		s->at = quote + 1;
		if ((quote - back) % 2 == 0) {
			*text = slice_make(start, quote);
			return true;
		}
		quote++;
	}
	s->at = s->end;
	return false;
}

/* An object or an array whose opening bracket is passed, with all that is in it. */
static bool
skip_nest(struct scan *s)
{
	size_t depth = 1;
	struct slice ignored;

	while (s->at < s->end) {
		char c = *s->at++;

		if (c == '"' && !scan_string(s, &ignored))
			return false;
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']') && --depth == 0)
			return true;
	}
	return false;
}

/* A number or a word. */
static struct slice
scan_word(struct scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && *s->at != ',' && *s->at != '}' && *s->at != ']' && *s->at != ' ')
		s->at++;
	return slice_make(start, s->at);
}

/* What `text` is worth for all paths of the set that end here. */
static void
keep(struct scan *s, uint32_t ended, struct slice text)
{
	for (size_t i = 0; i < s->paths->count; i++)
		if (ended & s->missing & UINT32_C(1) << i)
			s->values[i] = text;
	s->missing &= ~ended;
}

static bool
scan_scalar(struct scan *s, uint32_t ended)
{
	struct slice text;

	if (*s->at == '"') {
		s->at++;
		if (!scan_string(s, &text))
			return false;
		keep(s, ended, text);
		return true;
	}
	text = scan_word(s);
	if (text.len == 0)
		return false;
	if (!slice_is(text, "null"))
		keep(s, ended, text);
	return true;
}

/* Of an array, its first element: what is in it, if that is none of both. */
static bool
scan_array(struct scan *s, uint32_t ended)
{
	skip_blanks(s);
	if (s->at < s->end && *s->at != '{' && *s->at != '[' && *s->at != ']' &&
	    !scan_scalar(s, ended))
		return false;
	return skip_nest(s);
}

static bool
scan_value(struct scan *s, const struct level *inner, uint32_t ended, unsigned depth)
{
	skip_blanks(s);
	if (s->at == s->end)
		return false;
	if (*s->at == '[') {
		s->at++;
		return scan_array(s, ended);
	}
	if (*s->at != '{')
		return scan_scalar(s, ended);
	s->at++;
	return inner->live && depth < DEPTH_MAX ? scan_object(s, inner, depth + 1) : skip_nest(s);
}

/* Which paths a name is the next part of: those that end with it, and those that go on. */
static uint32_t
match_name(const struct scan *s, const struct level *level, struct slice name, struct level *inner)
{
	uint32_t ended = 0;

	inner->live = 0;
	for (size_t i = 0; i < s->paths->count; i++) {
		const char *rest = level->rest[i];

		if (!(level->live & s->missing & UINT32_C(1) << i) ||
		    strnlen(rest, name.len) < name.len || memcmp(rest, name.at, name.len) != 0)
			continue;
		if (rest[name.len] == '\0')
			ended |= UINT32_C(1) << i;
		if (rest[name.len] == '.') {
			inner->live |= UINT32_C(1) << i;
			inner->rest[i] = rest + name.len + 1;
		}
	}
	return ended;
}

/* An object whose opening brace is passed; ends early once nothing is missing. */
static bool
scan_object(struct scan *s, const struct level *level, unsigned depth)
{
	struct level inner;
	struct slice name;
	uint32_t ended;

	if (pass(s, '}'))
		return true;
	do {
		if (!pass(s, '"') || !scan_string(s, &name) || !pass(s, ':'))
			return false;
		ended = match_name(s, level, name, &inner);
		if (!scan_value(s, &inner, ended, depth))
			return false;
		if (!s->missing)
			return true;
	} while (pass(s, ','));
	return pass(s, '}');
}

bool
json_line_read(const struct json_paths *paths, struct slice line, struct slice *values)
{
	struct scan s = {line.at, line.at + line.len, paths, values,
	                 (UINT32_C(1) << paths->count) - 1};
	struct level level = {.live = s.missing};

	for (size_t i = 0; i < paths->count; i++) {
		values[i] = (struct slice){0};
		level.rest[i] = paths->path[i];
	}
	return pass(&s, '{') && scan_object(&s, &level, 0);
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Four digits; -1 if they are none. */
static int32_t
read_unit(const char *at, const char *end)
{
	int32_t unit = 0;

	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		if (hex_digit(at[i]) < 0)
			return -1;
		unit = unit * 16 + hex_digit(at[i]);
	}
	return unit;
}

static size_t
write_utf8(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* "\uXXXX", perhaps the first of a pair, at *at behind the u. */
static size_t
read_escaped(const char **at, const char *end, char out[4])
{
	int32_t unit = read_unit(*at, end), low;

	if (unit < 0) {
		out[0] = 'u';
		return 1;
	}
	*at += 4;
	if (unit >= 0xd800 && unit < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' &&
	    (*at)[1] == 'u') {
		low = read_unit(*at + 2, end);
		if (low >= 0xdc00 && low < 0xe000) {
			*at += 6;
			unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return write_utf8((uint32_t)unit, out);
}

static char
plain_escape(char c)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	const char *found = c ? strchr(from, c) : NULL;

	return found ? to[found - from] : c;
}

size_t
json_unescape(struct slice text, char *out, size_t room)
{
	const char *at = text.at, *end = at + text.len;
	size_t used = 0;

	while (at < end) {
		char bytes[4] = {*at++};
		size_t count = 1;

		if (bytes[0] == '\\' && at < end) {
			bytes[0] = plain_escape(*at++);
			if (at[-1] == 'u')
				count = read_escaped(&at, end, bytes);
		}
		if (used + count > room)
			break;
		memcpy(out + used, bytes, count);
		used += count;
	}
	return used;
}
