/* SPDX-License-Identifier: BSD-2-Clause */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edit/history.h"
#include "edit/new_file.h"
#include "text/file.h"

/* "/etc/rl/rl.json" -> "/etc/rl/.rl.json.history", to be freed. */
static char *
directory_of(const char *path)
{
	const char *base = strrchr(path, '/');
	char *directory;

	base = base ? base + 1 : path;
	if (asprintf(&directory, "%.*s.%s.history", (int)(base - path), path, base) < 0)
		return NULL;
	return directory;
}

static char *
path_of(const char *path, const struct version *version)
{
	char *directory = directory_of(path), *name = NULL;

	if (directory && asprintf(&name, "%s/%06" PRIu32 "-%" PRIu64 "-%" PRIu32, directory,
	                          version->number, version->at_s, version->uid) < 0)
		name = NULL;
	free(directory);
	return name;
}

/* Nothing behind the three numbers: what a killed process has left has. */
static bool
read_name(const char *name, struct version *version)
{
	int end = 0;

	return sscanf(name, "%6" SCNu32 "-%20" SCNu64 "-%10" SCNu32 "%n", &version->number,
	              &version->at_s, &version->uid, &end) == 3 &&
	       name[end] == '\0' && version->number > 0;
}

static int
compare(const void *left, const void *right)
{
	const struct version *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

static int
take_names(DIR *directory, struct history *history)
{
	const struct dirent *entry;
	struct version version, *grown;

	while ((entry = readdir(directory))) {
		if (!read_name(entry->d_name, &version))
			continue;
		grown = realloc(history->at, (history->count + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		history->at = grown;
		history->at[history->count++] = version;
	}
	return 0;
}

int
history_read(const char *path, struct history *history)
{
	char *name = directory_of(path);
	DIR *directory = name ? opendir(name) : NULL;
	int error = 0;

	*history = (struct history){0};
	if (!name)
		error = -ENOMEM;
	else if (!directory)
		error = errno == ENOENT ? 0 : -errno;
	else
		error = take_names(directory, history);
	if (directory)
		closedir(directory);
	free(name);
	if (history->count > 0)
		qsort(history->at, history->count, sizeof(*history->at), compare);
	return error;
}

void
history_free(struct history *history)
{
	free(history->at);
}

int
history_text(const char *path, const struct version *version, char **text, size_t *len)
{
	char *name = path_of(path, version);
	int error = name ? file_read(name, CONFIG_BYTES_MAX, text, len) : -ENOMEM;

	free(name);
	return error;
}

static bool
is_text_of(const char *path, const struct version *version, const char *text, size_t len)
{
	char *kept = NULL;
	size_t kept_len;
	bool is_same = history_text(path, version, &kept, &kept_len) == 0 && kept_len == len &&
	               memcmp(kept, text, len) == 0;

	free(kept);
	return is_same;
}

/* The oldest go, so that one more has room. */
static void
make_room(const char *path, const struct history *history)
{
	for (size_t i = 0; history->count - i >= HISTORY_MAX; i++) {
		char *name = path_of(path, &history->at[i]);

		if (name)
			unlink(name);
		free(name);
	}
}

static int
write_version(const char *path, const struct version *version, const char *text, size_t len)
{
	char *directory = directory_of(path), *name = path_of(path, version);
	int error = directory && name ? 0 : -ENOMEM;

	if (error == 0 && mkdir(directory, 0700) < 0 && errno != EEXIST)
		error = -errno;
	if (error == 0)
		error = new_file_put(name, 0600, text, len, true, NULL);
	free(directory);
	free(name);
	return error;
}

int
history_keep(const char *path, const char *text, size_t len, uint32_t uid, uint64_t at_s)
{
	struct history history;
	struct version version = {.number = 1, .uid = uid, .at_s = at_s};
	int error = history_read(path, &history);
	const struct version *newest = history.count > 0 ? &history.at[history.count - 1] : NULL;

	if (newest)
		version.number = newest->number + 1;
	if (error == 0 && !(newest && is_text_of(path, newest, text, len))) {
		error = write_version(path, &version, text, len);
		if (error == 0)
			make_room(path, &history);
	}
	history_free(&history);
	return error;
}
