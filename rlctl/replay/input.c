/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/input.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/progress.h"
#include "replay/unpack.h"

#define RAW_BYTES ((size_t)64 << 10)

struct input {
	const char *name;
	FILE *file;
	bool is_stdin;
	bool is_growing;
	bool is_packed, is_begun; /* what `raw` began with has been looked at */
	struct unpack unpack;
	bool is_between;    /* of two compressed streams */
	bool is_read;       /* the file is at its end */
	unsigned char *raw; /* read and not yet handed out */
	size_t at, len;
};

static ssize_t
trouble(const struct input *input, const char *what)
{
	progress_erase();
	complain("%s: %s", input->name, what);
	return -1;
}

struct input *
input_open(const char *name, bool is_growing)
{
	struct input *input = need(calloc(1, sizeof(*input)));

	input->is_growing = is_growing;
	input->is_stdin = strcmp(name, "-") == 0;
	input->name = input->is_stdin ? "stdin" : name;
	input->raw = need(malloc(RAW_BYTES));
	input->file = input->is_stdin ? stdin : fopen(name, "re");
	if (input->file)
		return input;
	trouble(input, strerror(errno));
	input_close(input);
	return NULL;
}

const char *
input_name(const struct input *input)
{
	return input->name;
}

/* A file always is; a pipe, when something is in it, or nobody can write to it any more. */
static bool
is_ready(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) != 0;
}

/* What is there, without waiting until there is as much as asked for; streams of memory have no
 * descriptor. */
static ssize_t
read_file(struct input *input, void *bytes, size_t room)
{
	int fd = fileno(input->file);
	ssize_t got;

	if (fd < 0) {
		got = (ssize_t)fread(bytes, 1, room, input->file);
		input->is_read = got == 0;
		return got;
	}
	if (input->is_growing && !is_ready(fd))
		return 0;
	do {
		got = read(fd, bytes, room);
	} while (got < 0 && errno == EINTR);
	input->is_read = got == 0;
	return got < 0 ? trouble(input, strerror(errno)) : got;
}

static bool
fill(struct input *input)
{
	ssize_t got = read_file(input, input->raw + input->len, RAW_BYTES - input->len);

	if (got < 0)
		return false;
	input->is_read = got == 0;
	input->len += (size_t)got;
	return true;
}

static void
bad_packing(const struct input *input, const char *name)
{
	char text[80];

	snprintf(text, sizeof(text), "its data are %s, which is not read: unpack them into a pipe",
	         name);
	trouble(input, text);
}

/* As many bytes as tell what it is. */
static bool
begin(struct input *input)
{
	const struct codec *codec;
	const char *unknown;

	while (input->len < UNPACK_MAGIC_MAX && !input->is_read)
		if (!fill(input))
			return false;
	if (input->len == 0)
		return true;
	input->is_begun = true;
	unknown = unpack_unknown(input->raw, input->len);
	if (unknown) {
		bad_packing(input, unknown);
		return false;
	}
	codec = unpack_find(input->raw, input->len);
	input->is_packed = codec && unpack_begin(&input->unpack, codec);
	if (codec && !input->is_packed)
		trouble(input, "out of memory");
	return input->is_packed == (codec != NULL);
}

static ssize_t
read_plain(struct input *input, char *bytes, size_t room)
{
	size_t held = input->len - input->at;

	if (held == 0)
		return read_file(input, bytes, room);
	if (held > room)
		held = room;
	memcpy(bytes, input->raw + input->at, held);
	input->at += held;
	return (ssize_t)held;
}

static ssize_t
bad_data(const struct input *input, const char *what)
{
	char text[80];

	snprintf(text, sizeof(text), "its %s data %s", unpack_name(input->unpack.codec), what);
	return trouble(input, text);
}

/* Zeros may fill up a file behind its last stream. */
static bool
is_padding(const struct input *input)
{
	for (size_t i = input->at; i < input->len; i++)
		if (input->raw[i] != 0)
			return false;
	return true;
}

/* How many bytes a step made; -1 after a message. */
static ssize_t
step(struct input *input, char *bytes, size_t room)
{
	struct unpack_io io = {input->raw + input->at, input->len - input->at,
	                       (unsigned char *)bytes, room, input->is_read};
	enum unpack_state state = unpack_step(&input->unpack, &io);

	if (state == UNPACK_BAD)
		return bad_data(input, "are damaged, or ask for too much memory");
	input->is_between = state == UNPACK_END;
	input->at = input->len - io.in_len;
	return (ssize_t)(room - io.out_len);
}

static ssize_t
read_packed(struct input *input, char *bytes, size_t room)
{
	for (;;) {
		ssize_t made;

		if (input->at == input->len && !input->is_read) {
			input->at = input->len = 0;
			if (!fill(input))
				return -1;
		}
		if (input->is_between && is_padding(input)) {
			input->at = input->len;
			if (input->is_read)
				return 0;
			continue;
		}
		made = step(input, bytes, room);
		if (made != 0)
			return made;
		if (input->is_read && input->at == input->len && !input->is_between)
			return bad_data(input, "end too early");
	}
}

ssize_t
input_read(struct input *input, char *bytes, size_t room)
{
	if (input->is_growing)
		return read_file(input, bytes, room);
	if (!input->is_begun && !begin(input))
		return -1;
	if (!input->is_begun)
		return 0;
	return input->is_packed ? read_packed(input, bytes, room) : read_plain(input, bytes, room);
}

bool
input_is_ended(const struct input *input)
{
	struct stat open;
	int fd = fileno(input->file);

	return input->is_read && (fd < 0 || fstat(fd, &open) < 0 || !S_ISREG(open.st_mode));
}

bool
input_is_replaced(const struct input *input)
{
	struct stat open, named;
	int fd = fileno(input->file);

	if (input->is_stdin || fd < 0 || fstat(fd, &open) < 0)
		return false;
	return (stat(input->name, &named) == 0 &&
	        (named.st_ino != open.st_ino || named.st_dev != open.st_dev)) ||
	       (S_ISREG(open.st_mode) && lseek(fd, 0, SEEK_CUR) > open.st_size);
}

void
input_close(struct input *input)
{
	if (input->is_packed)
		unpack_end(&input->unpack);
	if (input->file && !input->is_stdin)
		fclose(input->file);
	free(input->raw);
	free(input);
}
