/* SPDX-License-Identifier: BSD-2-Clause */
/* Which segment is meant, and opening it. */

#include <errno.h>
#include <load/segment_name.h>
#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/output.h"
#include "base/segment_names.h"
#include "text/error_text.h"
#include "text/layout.h"

/*
 * --segment, else RL_SEGMENT, else the name that the configuration gives, else the only one there
 * is. The first of them that is there decides, whether there is such a segment or not: a tool that
 * acted on another one than was meant would be worse than an error.
 */
static char chosen[RL_NAME_MAX + 1];
static const char *origin = ""; /* where the name comes from, if nobody typed it */

const char *
segment_asked(const struct context *context)
{
	const char *option = option_value(context, "segment");
	const char *environment = secure_getenv("RL_SEGMENT");

	if (option)
		return option;
	if (!environment || !*environment)
		return NULL;
	origin = " (of RL_SEGMENT)";
	return environment;
}

static void
complain_unclear(const struct segment_names *names)
{
	char *text = segment_names_text(names, NULL);

	if (names->count > 0)
		complain("which segment? --segment, or RL_SEGMENT, takes one of:%s", text);
	else
		complain("there is no segment on this host; a worker or rld makes one");
	free(text);
}

static bool
take_only_one(void)
{
	struct segment_names names = segment_names_find();
	bool is_one = names.count == 1;

	if (is_one)
		snprintf(chosen, sizeof(chosen), "%s", names.at[0]);
	else
		complain_unclear(&names);
	segment_names_free(&names);
	return is_one;
}

/* The name that was asked for; NULL if none can be so. */
static const char *
take_asked(const char *asked)
{
	struct rl_place place;

	if (rl_place(asked, NULL, &place) != -EINVAL)
		return asked;
	complain("segment '%s'%s: a name has 1 to %d letters, digits and . _ -", asked, origin,
	         RL_NAME_MAX);
	return NULL;
}

const char *
segment_name(const struct context *context)
{
	const char *asked = segment_asked(context);

	if (asked || chosen[0])
		return asked ? take_asked(asked) : chosen;
	if (config_segment_name(config_path(NULL), chosen)) {
		origin = " (named by the configuration)";
		return chosen;
	}
	return take_only_one() ? chosen : NULL;
}

/* The message has the names, for a name may be mistyped. */
static void
complain_absent(const char *name)
{
	struct segment_names names = segment_names_find();
	char *text = segment_names_text(&names, name);

	if (text[0])
		complain("segment '%s'%s: no such segment; --segment takes one of:%s", name, origin,
		         text);
	else
		complain("segment '%s'%s: no such segment, and no other either", name, origin);
	free(text);
	segment_names_free(&names);
}

static void
complain_version(const char *name)
{
	struct other_layout other;

	other_layout(name, &other);
	complain("segment '%s'%s: %s: %s; %s", name, origin, rl_strerror(RL_EVERSION), other.text,
	         other.is_released ? "'rlctl upgrade' carries its counters over"
	                           : LAYOUT_UNRELEASED);
}

/* Of what was opened last; for messages. */
static char label[RL_NAME_MAX + 16] = "a segment";

const char *
segment_label(void)
{
	return label;
}

static struct rl *opened;

void
close_segment(void)
{
	rl_close(opened);
	opened = NULL;
}

static struct rl *
open_with(const struct context *context, unsigned flags)
{
	struct rl_options options = {.flags = RL_OPEN_EXISTING | flags};
	const char *name = segment_name(context);
	int error;

	close_segment();
	if (!name)
		return NULL;
	error = rl_open(name, &options, &opened);
	snprintf(label, sizeof(label), "segment '%s'", name);
	if (error == 0)
		return opened;
	if (error == -ENOENT)
		complain_absent(name);
	else if (error == RL_EVERSION)
		complain_version(name);
	else
		complain("segment '%s'%s: %s", name, origin, error_text(error).text);
	return NULL;
}

struct rl *
open_segment(const struct context *context)
{
	return open_with(context, RL_OPEN_READONLY);
}

/* Any owner will do: the workers trust the segment already, and this tool is there to fix it. */
struct rl *
open_segment_writable(const struct context *context)
{
	return open_with(context, RL_OPEN_ANY_OWNER);
}
