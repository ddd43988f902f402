/* SPDX-License-Identifier: BSD-2-Clause */

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/output.h"
#include "base/progress.h"
#include "replay/replay_events.h"

#define COMPLAINTS_MAX 5        /* unreadable lines that are told one by one */
#define PROGRESS_LINES 0x3fffff /* told whenever these bits of the line number are 0 */

/* A file being read. */
struct input {
	FILE *file;
	const char *name;
	enum log_format format;
	uint64_t line_number;
};

static int
compare_keys(const void *left, const void *right)
{
	const struct replay_key *a = left, *b = right;

	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->bytes, b->bytes, a->len);
}

static struct replay_key *
add_key(struct events *events, const struct replay_key *probe)
{
	struct replay_key *key = need(malloc(sizeof(*key) + probe->len));

	*key = *probe;
	key->bytes = memcpy(key + 1, probe->bytes, probe->len);
	key->number = (uint32_t)events->key_count;
	events->keys = array_grow(events->keys, events->key_count, &events->key_room,
	                          sizeof(*events->keys));
	events->keys[events->key_count++] = key;
	return key;
}

/* tsearch() puts the probe into the tree if its bytes are new; a lasting key takes over. */
static struct replay_key *
find_key(struct events *events, const struct log_line *line)
{
	struct replay_key probe = {.bytes = line->key, .len = (uint32_t)line->key_len};
	struct replay_key **node = need(tsearch(&probe, &events->tree, compare_keys));

	if (*node == &probe)
		*node = add_key(events, &probe);
	return *node;
}

static void
note_time(struct events *events, uint64_t time_ns)
{
	if (events->count == 0)
		events->start_ns = events->first_ns = events->last_ns = time_ns;
	if (time_ns < events->last_ns)
		events->out_of_order++;
	else
		events->last_ns = time_ns;
	if (time_ns < events->first_ns)
		events->first_ns = time_ns;
}

static void
add_event(struct events *events, const struct log_line *line)
{
	struct replay_key *key = find_key(events, line);

	note_time(events, line->time_ns);
	events->time_ns = array_grow(events->time_ns, events->count, &events->time_room,
	                             sizeof(*events->time_ns));
	events->key =
		array_grow(events->key, events->count, &events->number_room, sizeof(*events->key));
	events->time_ns[events->count] = line->time_ns;
	events->key[events->count] = key->number;
	events->count++;
	key->requests++;
}

static void
add_line(struct events *events, struct input *input, const char *text, size_t len)
{
	struct log_line line;
	const char *wrong = log_parse(&input->format, text, len, &line);

	if (!wrong) {
		add_event(events, &line);
		return;
	}
	if (events->unreadable++ < COMPLAINTS_MAX) {
		progress_erase();
		complain("%s:%" PRIu64 ": %s", input->name, input->line_number, wrong);
	}
}

/* Cut a line feed, with the carriage return before it. */
static size_t
trim_line(char *text, size_t len)
{
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len > 0 && text[len - 1] == '\r')
		len--;
	text[len] = '\0';
	return len;
}

static bool
read_lines(struct events *events, struct input *input)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	int error;

	while (errno = 0, (len = getline(&text, &room, input->file)) >= 0) {
		input->line_number++;
		if ((input->line_number & PROGRESS_LINES) == 0)
			progress_show("reading line", input->line_number);
		add_line(events, input, text, trim_line(text, (size_t)len));
	}
	error = errno;
	free(text);
	if (feof(input->file) && !ferror(input->file))
		return true;
	progress_erase();
	complain("%s: %s", input->name, strerror(error));
	return false;
}

static bool
read_file(struct events *events, const char *name, enum log_format format)
{
	bool is_stdin = strcmp(name, "-") == 0;
	struct input input = {.name = is_stdin ? "stdin" : name, .format = format};
	bool is_read;

	input.file = is_stdin ? stdin : fopen(name, "re");
	if (!input.file) {
		complain("%s: %s", name, strerror(errno));
		return false;
	}
	is_read = read_lines(events, &input);
	if (!is_stdin)
		fclose(input.file);
	return is_read;
}

static bool
read_files(struct events *events, char **files, int file_count, enum log_format format)
{
	if (file_count == 0)
		return read_file(events, "-", format);
	for (int i = 0; i < file_count; i++)
		if (!read_file(events, files[i], format))
			return false;
	return true;
}

bool
events_read(struct events *events, char **files, int file_count, enum log_format format)
{
	bool is_read = read_files(events, files, file_count, format);

	progress_erase();
	if (events->unreadable > COMPLAINTS_MAX)
		complain("%" PRIu64 " unreadable lines in all", events->unreadable);
	return is_read;
}

static void
leave_key(void *key)
{
	(void)key;
}

void
events_free(struct events *events)
{
	tdestroy(events->tree, leave_key);
	for (size_t i = 0; i < events->key_count; i++)
		free(events->keys[i]);
	free(events->keys);
	free(events->time_ns);
	free(events->key);
}
