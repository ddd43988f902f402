/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/report.h"
#include "text/utf8.h"

#define NAME_SHOWN 100 /* bytes of a name, in a pointer */
#define VALUE_SHOWN 40
#define LINE_SHOWN 72 /* characters of a line, and how many of them before the place */
#define LINE_BEFORE 48

/* The longest part of `len` bytes that has at most `most` and cuts no character in two. */
static uint32_t
cut(const char *text, uint32_t len, uint32_t most)
{
	if (len <= most)
		return len;
	while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	return most;
}

/* A member's name as it stands in the text, as a part of a pointer. */
static void
put_name(FILE *out, const struct report *r, const struct token *token)
{
	uint32_t start = token->key + 1, end = text_string_end(r->text, r->len, token->key) - 1;
	uint32_t shown = cut(r->text + start, end - start, NAME_SHOWN);

	for (uint32_t i = 0; i < shown; i++) {
		char c = r->text[start + i];

		if (c == '~' || c == '/')
			fputs(c == '~' ? "~0" : "~1", out);
		else
			fputc(c, out);
	}
	if (shown < end - start)
		fputs("…", out);
}

/* It recurses as deep as the known fields are nested. */
static void
put_pointer(FILE *out, const struct report *r, uint32_t token)
{
	const struct token *t = &r->tokens->at[token];
	unsigned index = 0;

	if (token == 0)
		return;
	put_pointer(out, r, t->parent);
	fputc('/', out);
	if (t->key) {
		put_name(out, r, t);
		return;
	}
	for (uint32_t i = tokens_first(r->tokens, t->parent); i != token && i;
	     i = tokens_sibling(r->tokens, i))
		index++;
	fprintf(out, "%u", index);
}

/* The text that was written to open_memstream(), to be freed; NULL if there was no memory. */
static char *
close_text(FILE *out, char **text)
{
	if (fclose(out) == 0)
		return *text;
	free(*text);
	return NULL;
}

char *
report_pointer(const struct report *report, uint32_t token)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_pointer(out, report, token);
	return close_text(out, &text);
}

/* "/rules/login: has no capacity" */
static char *
compose(const struct report *r, uint32_t token, const char *format, va_list arguments)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_pointer(out, r, token);
	fputs(token ? ": " : "", out);
	vfprintf(out, format, arguments);
	return close_text(out, &text);
}

static void
grow(struct report *r)
{
	size_t room = r->room ? r->room * 2 : 8;
	struct problem *more = reallocarray(r->problems, room, sizeof(*more));

	if (!more)
		return;
	r->problems = more;
	r->room = room;
}

static void
add(struct report *r, uint32_t at, enum config_level level, char *text)
{
	if (r->count == r->room)
		grow(r);
	if (r->count == r->room) {
		r->unreported++;
		free(text);
		return;
	}
	r->problems[r->count++] = (struct problem){at, level, text};
}

/* How many of the format came before; 0 if there are more formats than are told apart. */
static size_t
count_alike(struct report *r, const char *format)
{
	for (size_t i = 0; i < REPORT_KINDS_MAX; i++) {
		struct report_kind *kind = &r->kinds[i];

		if (kind->format && kind->format != format)
			continue;
		kind->format = format;
		return kind->count++;
	}
	return 0;
}

/* A flood of one warning would hide the others, and in a log what else there is. */
static bool
is_reported(struct report *r, enum config_level level, const char *format)
{
	if (level == CONFIG_ERROR)
		r->errors++;
	if (level == CONFIG_WARNING && r->reports_all_warnings)
		return true;
	if (level == CONFIG_WARNING && count_alike(r, format) >= REPORT_ALIKE_MAX)
		return false;
	if (r->count < REPORT_MAX)
		return true;
	r->unreported++;
	return false;
}

void
report_value(struct report *report, enum config_level level, uint32_t token, const char *format,
             ...)
{
	va_list arguments;

	if (!is_reported(report, level, format))
		return;
	va_start(arguments, format);
	add(report, report->tokens->at[token].start, level,
	    compose(report, token, format, arguments));
	va_end(arguments);
}

void
report_name(struct report *report, enum config_level level, uint32_t token, const char *format, ...)
{
	const struct token *t = &report->tokens->at[token];
	va_list arguments;

	if (!is_reported(report, level, format))
		return;
	va_start(arguments, format);
	add(report, t->key ? t->key : t->start, level, compose(report, token, format, arguments));
	va_end(arguments);
}

void
report_memory(struct report *report)
{
	report->errors++;
	add(report, 0, CONFIG_ERROR, NULL);
}

struct value_text
report_got(const struct report *report, uint32_t token)
{
	const struct token *t = &report->tokens->at[token];
	const char *start = report->text + t->start;
	uint32_t shown = cut(start, t->end - t->start, VALUE_SHOWN);
	struct value_text out;

	if (*start == '{' || *start == '[')
		snprintf(out.text, sizeof(out.text), *start == '{' ? "an object" : "an array");
	else
		snprintf(out.text, sizeof(out.text), "%.*s%s", (int)shown, start,
		         shown < t->end - t->start ? "…" : "");
	return out;
}

/* `from` and its place are known, and not behind `at`. */
static struct text_place
advance(const struct report *r, uint32_t from, struct text_place place, uint32_t at)
{
	for (; from < at; from++) {
		unsigned char c = (unsigned char)r->text[from];

		if (c == '\n')
			place = (struct text_place){place.line + 1, 1};
		else if ((c & 0xc0) != 0x80)
			place.column++;
	}
	return place;
}

struct text_place
report_place(const struct report *report, uint32_t at)
{
	return advance(report, 0, (struct text_place){1, 1}, at);
}

static void
put_printable(FILE *out, const char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		uint32_t character;
		size_t size = utf8_decode((const unsigned char *)text, len, &character);

		if (size > 0 && utf8_is_printable(character))
			fwrite(text, 1, size, out);
		else
			fprintf(out, "\\u{%x}", size ? character : (unsigned char)*text);
		text += size ? size : 1;
		len -= size ? size : 1;
	}
}

void
report_line(const char *path, int line, int column, enum config_level level, const char *text,
            config_sink *sink, void *arg)
{
	char *lines = NULL;
	size_t size;
	FILE *out = open_memstream(&lines, &size);

	if (out) {
		put_printable(out, path);
		if (line > 0)
			fprintf(out, ":%d:%d", line, column);
		fputs(level == CONFIG_WARNING ? ": warning: " : ": ", out);
		put_printable(out, text ? text : "out of memory");
		lines = close_text(out, &lines);
	}
	sink(level, lines ? lines : "out of memory", arg);
	free(lines);
}

/* Where line number `line` begins. */
static uint32_t
line_start(const struct report *r, uint32_t line)
{
	uint32_t at = 0;

	for (; line > 1 && at < r->len; at++)
		line -= r->text[at] == '\n';
	return at;
}

/* `count` characters on, or as many as there are before the end of the line. */
static uint32_t
step(const struct report *r, uint32_t at, uint32_t count)
{
	while (count-- > 0 && at < r->len && r->text[at] != '\n') {
		at++;
		while (at < r->len && ((unsigned char)r->text[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}

static void
report_detail(const char *text, config_sink *sink, void *arg)
{
	char *lines = NULL;
	size_t size;
	FILE *out = open_memstream(&lines, &size);

	if (!out)
		return;
	fputs("    ", out);
	put_printable(out, text);
	lines = close_text(out, &lines);
	if (lines)
		sink(CONFIG_DETAIL, lines, arg);
	free(lines);
}

void
report_show(const struct report *report, struct text_place place, config_sink *sink, void *arg)
{
	uint32_t before = place.column - 1,
		 skipped = before > LINE_BEFORE ? before - LINE_BEFORE : 0;
	uint32_t from = step(report, line_start(report, place.line), skipped);
	uint32_t to = step(report, from, LINE_SHOWN);
	char *line = strndup(report->text + from, to - from);
	char caret[LINE_BEFORE + 2];

	if (!line)
		return;
	for (char *at = line; *at; at++)
		if (*at == '\t' || *at == '\r')
			*at = ' ';
	report_detail(line, sink, arg);
	snprintf(caret, sizeof(caret), "%*s^", (int)(before - skipped), "");
	report_detail(caret, sink, arg);
	free(line);
}

/* In the order of the text, and of what is noted of one place, errors first. */
static int
compare(const void *a, const void *b)
{
	const struct problem *first = a, *second = b;

	if (first->at != second->at)
		return first->at < second->at ? -1 : 1;
	if (first->level != second->level)
		return (int)first->level - (int)second->level;
	return strcmp(first->text ? first->text : "", second->text ? second->text : "");
}

/* A field that several limits inherit may be wrong for each of them. */
static bool
is_same(const struct problem *a, const struct problem *b)
{
	return a->at == b->at && a->text && b->text && strcmp(a->text, b->text) == 0;
}

/* The common part of the warnings of one kind: "..." for what differs. */
static void
put_kind(FILE *out, const char *format)
{
	while (*format) {
		size_t len = strcspn(format, "%");

		fprintf(out, "%.*s", (int)len, format);
		format += len;
		if (*format == '\0')
			break;
		fputs(format[1] == '%' ? "%" : "...", out);
		format += 1 + strspn(format + 1, "0123456789.*-+# hlzjt");
		format += *format != '\0';
	}
}

static void
report_kind(const struct report *report, const struct report_kind *kind, config_sink *sink,
            void *arg)
{
	char *more = NULL;
	size_t size;
	FILE *out = open_memstream(&more, &size);

	if (!out)
		return;
	fprintf(out, "and %zu more like these: ", kind->count - REPORT_ALIKE_MAX);
	put_kind(out, kind->format);
	fputs("; 'rlctl config check' shows all", out);
	more = close_text(out, &more);
	if (more)
		report_line(report->path, 0, 0, CONFIG_WARNING, more, sink, arg);
	free(more);
}

/* Of what was left out, how much it is. */
static void
report_rest(struct report *report, config_sink *sink, void *arg)
{
	char more[120];

	for (size_t i = 0; i < REPORT_KINDS_MAX; i++)
		if (report->kinds[i].count > REPORT_ALIKE_MAX)
			report_kind(report, &report->kinds[i], sink, arg);
	if (report->unreported > 0) {
		snprintf(more, sizeof(more), "%zu more problems are not told", report->unreported);
		report_line(report->path, 0, 0, report->errors > 0 ? CONFIG_ERROR : CONFIG_WARNING,
		            more, sink, arg);
	}
}

void
report_flush(struct report *report, config_sink *sink, void *arg)
{
	struct text_place place = {1, 1};
	uint32_t at = 0;

	if (report->count > 1)
		qsort(report->problems, report->count, sizeof(*report->problems), compare);
	for (size_t i = 0; i < report->count; i++) {
		struct problem *problem = &report->problems[i];

		if (i > 0 && is_same(problem, problem - 1))
			continue;
		place = advance(report, at, place, problem->at);
		at = problem->at;
		report_line(report->path, (int)place.line, (int)place.column, problem->level,
		            problem->text, sink, arg);
	}
	for (size_t i = 0; i < report->count; i++)
		free(report->problems[i].text);
	report_rest(report, sink, arg);
	free(report->problems);
	report->problems = NULL;
	report->count = report->room = report->unreported = 0;
	memset(report->kinds, 0, sizeof(report->kinds));
}
