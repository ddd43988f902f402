/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/segment_names.h"

#include <dirent.h>
#include <errno.h>
#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text/suggest.h>

#include "base/array.h"
#include "base/complain.h"
#include "base/truncation.h"

#define PREFIX "rl."

static int
has_prefix(const struct dirent *entry)
{
	return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0;
}

struct look {
	const char *name;
	int error;
};

static void
look_at(void *arg)
{
	struct rl_options options = {.flags = RL_OPEN_EXISTING | RL_OPEN_READONLY};
	struct look *look = arg;
	struct rl *rl;
	int error = rl_open(look->name, &options, &rl);

	if (error == 0)
		rl_close(rl);
	look->error = error;
}

/* One that may not be opened, or is there twice, is a segment all the same. */
static bool
is_segment(const char *name)
{
	struct look look = {name, RL_ETRUNCATED};

	return truncation_survive(look_at, &look) && look.error != RL_EFOREIGN &&
	       look.error != RL_ETRUNCATED && look.error != -EINVAL && look.error != -ENOENT;
}

static void
add_names(struct segment_names *names, const char *directory)
{
	struct dirent **found = NULL;
	int count = scandir(directory, &found, has_prefix, NULL);

	for (int i = 0; i < count; i++) {
		const char *name = found[i]->d_name + strlen(PREFIX);

		if (is_segment(name)) {
			names->at = array_grow(names->at, names->count, &names->room,
			                       sizeof(*names->at));
			names->at[names->count++] = need(strdup(name));
		}
		free(found[i]);
	}
	free(found);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct segment_names
segment_names_find(void)
{
	struct segment_names names = {0};
	size_t kept = 0;

	add_names(&names, "/dev/shm/rl");
	add_names(&names, "/dev/shm");
	if (names.count > 1)
		qsort(names.at, names.count, sizeof(*names.at), compare);
	for (size_t i = 0; i < names.count; i++) {
		if (kept > 0 && strcmp(names.at[i], names.at[kept - 1]) == 0)
			free(names.at[i]);
		else
			names.at[kept++] = names.at[i];
	}
	names.count = kept;
	names.at = array_grow(names.at, kept, &names.room, sizeof(*names.at));
	names.at[kept] = NULL;
	return names;
}

void
segment_names_free(struct segment_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->at[i]);
	free(names->at);
}

#define NAMES_TOLD 5

char *
segment_names_text(const struct segment_names *names, const char *meant)
{
	const char *near = meant ? suggest(meant, (const char *const *)names->at) : NULL;
	size_t told = 0;
	char *text = NULL;
	size_t size;
	FILE *out = need(open_memstream(&text, &size));

	if (near)
		told += fprintf(out, " %s", near) > 0;
	for (size_t i = 0; i < names->count && told < NAMES_TOLD; i++)
		if (names->at[i] != near)
			told += fprintf(out, " %s", names->at[i]) > 0;
	if (names->count > told)
		fprintf(out, " and %zu more, which 'rlctl segments' shows", names->count - told);
	fclose(out);
	return text;
}
