/* SPDX-License-Identifier: BSD-2-Clause */

#include <dirent.h>
#include <errno.h>
#include <rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"

const char *
segment_name(const struct context *context)
{
	const char *name = option_value(context, "segment");

	return name ? name : "default";
}

#define PREFIX "rl."

static int
is_segment(const struct dirent *entry)
{
	return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0;
}

/* The segments in a directory, each behind a blank; returns how many. */
static size_t
put_names(FILE *out, const char *directory)
{
	struct dirent **found = NULL;
	int count = scandir(directory, &found, is_segment, alphasort);

	for (int i = 0; i < count; i++) {
		fprintf(out, " %s", found[i]->d_name + strlen(PREFIX));
		free(found[i]);
	}
	free(found);
	return count > 0 ? (size_t)count : 0;
}

/* Who left out --segment, or mistyped it, need not look for the names. */
static void
complain_absent(const char *name)
{
	char *names = NULL;
	size_t size = 0, count;
	FILE *out = need(open_memstream(&names, &size));

	count = put_names(out, "/dev/shm/rl");
	count += put_names(out, "/dev/shm");
	fclose(out);
	if (count > 0)
		complain("segment '%s': no such segment; --segment takes one of:%s", name, names);
	else
		complain("segment '%s': no such segment, and no other either", name);
	free(names);
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
