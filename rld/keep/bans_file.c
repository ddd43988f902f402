/* SPDX-License-Identifier: BSD-2-Clause */
#include "keep/bans_file.h"

#include <edit/new_file.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text/file.h>

#include "base/hash.h"
#include "base/log.h"
#include "keep/ban_line.h"
#include "text/error_text.h"

#define VERSION 1
#define REPORTED 3 /* lines that are refused, one by one */

struct waiting_ban {
	struct waiting_ban *next;
	struct ban_line line;
};

/* Of what a file says. */
struct reading {
	struct bans_file *file;
	struct rl *rl;
	uint64_t number; /* of the line */
	uint64_t lines, set, ended, there, waiting, refused;
};

static void
refuse(struct reading *reading, const char *wrong)
{
	if (reading->refused++ < REPORTED)
		log_line(LOG_WARNING, "%s:%" PRIu64 ": %s; the line is left out",
		         reading->file->path, reading->number, wrong);
}

/* 1 done or not wanted any more, 0 its rule is not there, or -errno. */
static int
try_ban(struct rl *rl, struct ban_line *line, bool *is_there)
{
	struct rl_ban_info *ban = &line->ban, before;
	int error;

	ban->pattern.key = line->key;
	ban->rule = line->rule[0] ? rl_find(rl, line->rule) : RL_ANY_RULE;
	if (line->rule[0] && ban->rule < 0)
		return 0;
	*is_there = (ban->capacity > 0
	                     ? rl_override_of(rl, ban->rule, ban->limit, ban->pattern.key,
	                                      ban->pattern.key_len, rl_now(rl), &before)
	                     : rl_ban_info(rl, ban->rule, &ban->pattern, rl_now(rl), &before)) == 1;
	if (*is_there)
		return 1;
	error = rl_ban_set(rl, ban);
	return error < 0 ? error : 1;
}

static void
wait_for_rule(struct bans_file *file, const struct ban_line *line)
{
	struct waiting_ban *waiting = malloc(sizeof *waiting);

	if (!waiting)
		return;
	waiting->line = *line;
	waiting->next = file->waiting;
	file->waiting = waiting;
}

static void
take_ban(struct reading *reading, struct ban_line *line)
{
	bool is_there = false;
	int done;

	if (line->ban.until_ns <= rl_now(reading->rl)) {
		reading->ended++;
		return;
	}
	done = try_ban(reading->rl, line, &is_there);
	if (done < 0)
		refuse(reading, error_text(done).text);
	else if (done == 0)
		wait_for_rule(reading->file, line);
	reading->waiting += done == 0;
	reading->there += is_there;
	reading->set += done == 1 && !is_there;
}

/* The header, or the end: what `name` says there. */
static bool
read_frame(const char *text, size_t len, const char *name, uint64_t *value, uint64_t *created_ns)
{
	json_t *root = len <= BAN_LINE_MAX ? json_loadb(text, len, 0, NULL) : NULL;
	const json_t *member = json_object_get(root, name);
	bool is_read = json_is_integer(member) && json_integer_value(member) >= 0;

	*value = (uint64_t)json_integer_value(member);
	*created_ns = (uint64_t)json_integer_value(json_object_get(root, "created_ns"));
	json_decref(root);
	return is_read;
}

static size_t
line_len(const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len);

	return end ? (size_t)(end - text) : len;
}

static bool
is_of_this_segment(struct rl *rl, uint64_t created_ns)
{
	struct rl_info info;

	rl_info(rl, &info);
	return info.created_ns == created_ns;
}

/* True if the last line was the end, and says how many there were. */
static bool
read_lines(struct reading *reading, const char *text, size_t len)
{
	uint64_t count, unused;

	while (len > 0) {
		size_t here = line_len(text, len);
		struct ban_line line;
		const char *wrong;

		reading->number++;
		if (here + 1 >= len && read_frame(text, here, "rl_bans_end", &count, &unused))
			return count == reading->lines;
		reading->lines++;
		wrong = ban_line_read(text, here, &line);
		if (wrong)
			refuse(reading, wrong);
		else
			take_ban(reading, &line);
		len -= here < len ? here + 1 : here;
		text += here + 1;
	}
	return false;
}

static void
report(const struct reading *reading, bool is_whole)
{
	if (!is_whole)
		log_line(LOG_WARNING, "%s: was cut short; what is there of it is in force",
		         reading->file->path);
	if (reading->refused > REPORTED)
		log_line(LOG_WARNING, "%s: %" PRIu64 " lines are left out in all",
		         reading->file->path, reading->refused);
	log_line(LOG_NOTICE,
	         "%s: %" PRIu64 " bans, exemptions and overrides restored, %" PRIu64
	         " have ended, %" PRIu64 " stood already, %" PRIu64 " wait for their rule",
	         reading->file->path, reading->set, reading->ended, reading->there,
	         reading->waiting);
}

static int
read_text(struct bans_file *file, struct rl *rl, const char *text, size_t len)
{
	struct reading reading = {.file = file, .rl = rl, .number = 1};
	uint64_t version, created_ns;
	size_t head = line_len(text, len);

	if (!read_frame(text, head, "rl_bans", &version, &created_ns) || version != VERSION) {
		log_line(LOG_ERR, "--bans-file %s: is no file of bans that this rld wrote",
		         file->path);
		return -1;
	}
	if (is_of_this_segment(rl, created_ns))
		return 0;
	head += head < len;
	report(&reading, read_lines(&reading, text + head, len - head));
	return 0;
}

int
bans_file_open(struct bans_file *file, const char *path, struct rl *rl)
{
	int error = path ? new_file_check(path) : 0, status;
	char *text = NULL;
	size_t len = 0;

	*file = (struct bans_file){.path = path};
	if (!path)
		return 0;
	if (error == 0)
		error = file_read(path, CONFIG_BYTES_MAX, &text, &len);
	if (error == -ENOENT)
		return 0;
	if (error < 0) {
		log_line(LOG_ERR, "--bans-file %s: %s", path, new_file_strerror(error));
		return -1;
	}
	status = read_text(file, rl, text, len);
	free(text);
	return status;
}

/* Bans that waited long enough, and those that have ended, go. */
static void
try_waiting(struct bans_file *file, struct rl *rl)
{
	struct waiting_ban **at = &file->waiting;

	while (*at) {
		struct waiting_ban *waiting = *at;
		bool is_there;

		if (waiting->line.ban.until_ns > rl_now(rl) &&
		    try_ban(rl, &waiting->line, &is_there) == 0) {
			at = &waiting->next;
			continue;
		}
		*at = waiting->next;
		free(waiting);
	}
}

struct writing {
	FILE *out;
	struct rl *rl;
	uint64_t count;
	uint64_t hash; /* of all but the hits */
};

static int
write_ban(const struct rl_ban_info *ban, void *arg)
{
	struct writing *writing = arg;

	if (!ban_line_write(writing->out, writing->rl, ban))
		return 0;
	writing->count++;
	writing->hash = hash_more(writing->hash, &ban->since_ns, sizeof ban->since_ns);
	writing->hash = hash_more(writing->hash, &ban->until_ns, sizeof ban->until_ns);
	writing->hash = hash_more(writing->hash, &ban->is_exemption, sizeof ban->is_exemption);
	writing->hash = hash_more(writing->hash, &ban->capacity, sizeof ban->capacity);
	writing->hash = hash_more(writing->hash, &ban->limit, sizeof ban->limit);
	writing->hash = hash_more(writing->hash, ban->pattern.key, ban->pattern.key_len);
	return 0;
}

static void
write_header(FILE *out, struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	fprintf(out, "{\"rl_bans\":%d,\"segment\":\"%s\",\"created_ns\":%" PRIu64 "}\n", VERSION,
	        info.name, info.created_ns);
}

/* NULL: no memory. To be freed. */
static char *
render(const struct bans_file *file, struct rl *rl, size_t *size, uint64_t *hash)
{
	char *text = NULL;
	struct writing writing = {
		.rl = rl, .out = open_memstream(&text, size), .hash = HASH_OF_NONE};

	if (!writing.out)
		return NULL;
	write_header(writing.out, rl);
	rl_bans_walk(rl, rl_now(rl), write_ban, &writing);
	rl_overrides_walk(rl, rl_now(rl), write_ban, &writing);
	for (const struct waiting_ban *w = file->waiting; w; w = w->next, writing.count++)
		ban_line_write_again(writing.out, &w->line);
	fprintf(writing.out, "{\"rl_bans_end\":%" PRIu64 "}\n", writing.count);
	*hash = hash_more(writing.hash, &writing.count, sizeof writing.count);
	if (fclose(writing.out) == 0)
		return text;
	free(text);
	return NULL;
}

int
bans_file_keep(struct bans_file *file, struct rl *rl, bool in_any_case)
{
	uint64_t hash;
	size_t size;
	char *text;
	int error = 0;

	if (!file->path)
		return 0;
	try_waiting(file, rl);
	text = render(file, rl, &size, &hash);
	if (!text)
		return -ENOMEM;
	if (in_any_case || hash != file->written)
		error = new_file_put(file->path, 0600, text, size, true, NULL);
	if (error == 0)
		file->written = hash;
	free(text);
	return error;
}

void
bans_file_close(struct bans_file *file)
{
	while (file->waiting) {
		struct waiting_ban *next = file->waiting->next;

		free(file->waiting);
		file->waiting = next;
	}
}
