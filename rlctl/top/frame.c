/* SPDX-License-Identifier: BSD-2-Clause */

#include "top/frame.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/array.h"
#include "base/output.h"

/* Where the first `columns` columns of the text end. */
static size_t
cut_at(const char *text, size_t columns)
{
	size_t at = 0, used = 0, size;
	mbstate_t state = {0};
	wchar_t character;
	int width;

	for (; text[at]; at += size) {
		size = mbrtowc(&character, text + at, MB_LEN_MAX, &state);
		if (size == 0 || size > MB_LEN_MAX)
			return at; /* not of this locale, so it cannot be shown in it */
		width = wcwidth(character);
		used += width > 0 ? (size_t)width : 0;
		if (used > columns)
			return at;
	}
	return at;
}

/* One ? for each character that is not ASCII. */
static void
make_ascii(char *text)
{
	char *out = text;

	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if ((byte & 0xc0) != 0x80)
			*out++ = byte < 0x80 ? *text : '?';
	}
	*out = '\0';
}

static void
keep(struct frame *frame, enum style style, char *text)
{
	if (!frame->is_utf8)
		make_ascii(text);
	if (frame->columns > 0)
		text[cut_at(text, frame->columns)] = '\0';
	frame->lines = array_grow(frame->lines, frame->count, &frame->room, sizeof(*frame->lines));
	frame->lines[frame->count++] = (struct frame_line){style, text};
}

void
frame_add(struct frame *frame, enum style style, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		need(NULL);
	va_end(arguments);
	keep(frame, style, text);
}

void
frame_add_text(struct frame *frame, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		frame_add(frame, STYLE_PLAIN, "%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

void
frame_cut(struct frame *frame, size_t rows)
{
	while (frame->count > rows)
		free(frame->lines[--frame->count].text);
}

void
frame_print(FILE *out, const struct frame *frame)
{
	for (size_t i = 0; i < frame->count; i++)
		fprintf(out, "%s\n", frame->lines[i].text);
}

void
frame_free(struct frame *frame)
{
	for (size_t i = 0; i < frame->count; i++)
		free(frame->lines[i].text);
	free(frame->lines);
	frame->lines = NULL;
	frame->count = frame->room = 0;
}
