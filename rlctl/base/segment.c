/* SPDX-License-Identifier: BSD-2-Clause */

#include <dirent.h>
#include <errno.h>
#include <rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/command.h"
#include "base/output.h"

const char *
segment_name(const struct context *context)
{
	const char *name = option_value(context, "segment");

	return name ? name : "default";
}

#define PREFIX "rl."

struct names {
	char **at;
	size_t count, room;
};

static int
has_prefix(const struct dirent *entry)
{
	return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0;
}

/* One that may not be opened, or is there twice, is a segment all the same. */
static bool
is_segment(const char *name)
{
	struct rl_options options = {.flags = RL_OPEN_EXISTING | RL_OPEN_READONLY};
	struct rl *rl;
	int error = rl_open(name, &options, &rl);

	if (error == 0)
		rl_close(rl);
	return error != RL_EFOREIGN && error != RL_ETRUNCATED && error != -EINVAL &&
	       error != -ENOENT;
}

static void
add_names(struct names *names, const char *directory)
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

/* Each once behind a blank. The names are gone then. */
static char *
join(struct names *names)
{
	char *text = NULL;
	size_t size;
	FILE *out = need(open_memstream(&text, &size));

	if (names->count > 0)
		qsort(names->at, names->count, sizeof(*names->at), compare);
	for (size_t i = 0; i < names->count; i++)
		if (i == 0 || strcmp(names->at[i], names->at[i - 1]) != 0)
			fprintf(out, " %s", names->at[i]);
	for (size_t i = 0; i < names->count; i++)
		free(names->at[i]);
	free(names->at);
	fclose(out);
	return text;
}

/* Who left out --segment, or mistyped it, need not look for the names. */
static void
complain_absent(const char *name)
{
	struct names names = {0};
	char *text;

	add_names(&names, "/dev/shm/rl");
	add_names(&names, "/dev/shm");
	text = join(&names);
	if (text[0])
		complain("segment '%s': no such segment; --segment takes one of:%s", name, text);
	else
		complain("segment '%s': no such segment, and no other either", name);
	free(text);
}

static struct rl *
open_with(const struct context *context, unsigned flags)
{
	struct rl_options options = {.flags = RL_OPEN_EXISTING | flags};
	const char *name = segment_name(context);
	struct rl *rl;
	int error = rl_open(name, &options, &rl);

	if (error == 0)
		return rl;
	if (error == -ENOENT)
		complain_absent(name);
	else
		complain("segment '%s': %s", name, rl_strerror(error));
	return NULL;
}

struct rl *
open_segment(const struct context *context)
{
	return open_with(context, RL_OPEN_READONLY);
}

/* Whoever made it: the workers trust it already, and this is the tool to mend it with. */
struct rl *
open_segment_writable(const struct context *context)
{
	return open_with(context, RL_OPEN_ANY_OWNER);
}
