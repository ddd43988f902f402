/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The segment, which rld or another program makes and may make anew. Once a second its name and
 * those of the rules are looked up; so the server may be started before all of them, and needs no
 * restart after.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "policyd.h"

#define LOOK_MS 1000

static bool
stat_name(const struct segment *segment, struct stat *st)
{
	struct rl_place place;

	return rl_place(segment->name, NULL, &place) == 0 && stat(place.path, st) == 0;
}

/*
 * Which file has the name is asked before: if another one has it when it is opened, the next look
 * opens it again.
 */
static void
open_anew(struct segment *segment)
{
	struct rl_options options = {.flags = RL_OPEN_EXISTING};
	struct stat st = {0};
	struct rl *rl;
	int error;

	stat_name(segment, &st);
	error = rl_open(segment->name, &options, &rl);

	if (error < 0) {
		segment->error = error;
		say(SAY_SEGMENT, "segment %s: %s%s", segment->name, rl_strerror(error),
		    segment->rl ? "; the one that is open goes on"
		                : "; it is tried again each second");
		return;
	}
	rl_close(segment->rl);
	segment->rl = rl;
	segment->error = 0;
	segment->device = st.st_dev;
	segment->inode = st.st_ino;
}

static void
look(struct segment *segment, const struct settings *settings)
{
	struct stat st;

	if (!segment->rl || !stat_name(segment, &st) || st.st_dev != segment->device ||
	    st.st_ino != segment->inode)
		open_anew(segment);
	for (size_t i = 0; segment->rl && i < settings->check_count; i++) {
		segment->rules[i] = rl_find(segment->rl, settings->checks[i].rule);
		if (segment->rules[i] < 0)
			say(SAY_SEGMENT, "segment %s: rule %s: %s", segment->name,
			    settings->checks[i].rule, "there is none of this name");
	}
}

struct rl *
segment_get(struct segment *segment, const struct settings *settings)
{
	uint64_t now_ms = clock_ms();

	if (strcmp(segment->name, settings->segment) != 0) {
		segment_close(segment);
		strcpy(segment->name, settings->segment);
	}
	if (now_ms >= segment->look_ms) {
		segment->look_ms = now_ms + LOOK_MS;
		look(segment, settings);
	}
	return segment->rl;
}

void
segment_close(struct segment *segment)
{
	rl_close(segment->rl);
	memset(segment, 0, sizeof *segment);
}
