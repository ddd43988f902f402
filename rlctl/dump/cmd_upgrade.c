/* SPDX-License-Identifier: BSD-2-Clause */
/* upgrade: carry the counters of a segment of another layout over into one of this. */

#include <apply/apply.h>
#include <inttypes.h>
#include <limits.h>
#include <load/segment_name.h>
#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/confirm.h"
#include "base/interrupt.h"
#include "base/output.h"
#include "config/config_verb.h"
#include "dump/old_tool.h"
#include "dump/restore_lines.h"
#include "dump/successor.h"
#include "text/error_text.h"
#include "text/layout.h"

const struct command_option upgrade_options[] = {
	{"from", 'f', "FILE", "the rlctl of before (default: " OLD_TOOL_PATH ")"},
	{"config", 'c', "FILE",
         "the configuration to put into force (default: of $RL_CONFIG, " CONFIG_DEFAULT_PATH
         " and /etc/rl/NAME.json the one that is of this segment)"},
	{"dry-run", 'n', NULL,
         "say what would be carried over and what not, and leave all as it is"},
	{"yes", 'y', NULL, "do not ask if something cannot be carried over"},
	{0},
};

/*
 * The new segment is filled before it has the name, so what is lost is known before anything has
 * changed:
 *
 *	lock -> dump of the old tool -> segment beside, configured -> lines restored
 *	     -> question -> rename
 */
struct upgrade {
	const struct context *context;
	const char *name;
	struct config *config; /* or NULL */
	struct successor to;
	struct old_tool tool;
	struct restore restore;
	uint32_t from_layout, to_layout;
	uint64_t rules_missing; /* of a configuration that is not known here */
};

static bool
is_of(const char *path, const char *segment)
{
	char name[RL_NAME_MAX + 1];

	return config_segment_name(path, name) && strcmp(name, segment) == 0;
}

/*
 * The one that was asked for, or else one of those that rld's units take; NULL: none is of this
 * segment.
 */
static const char *
find_config(const struct upgrade *u, char room[PATH_MAX])
{
	const char *asked = option_value(u->context, "config"), *path = config_path(asked);

	if (asked || is_of(path, u->name))
		return path;
	snprintf(room, PATH_MAX, "/etc/rl/%s.json", u->name);
	return is_of(room, u->name) ? room : NULL;
}

/* False after a message: it is bad, or of another segment. */
static bool
take_config(struct upgrade *u)
{
	char room[PATH_MAX];
	const char *path = find_config(u, room);
	int status;

	if (!path)
		return true;
	u->config = config_need(path, &status);
	if (u->config && strcmp(u->config->name, u->name) != 0) {
		complain("%s is of segment '%s', and not of '%s'", path, u->config->name, u->name);
		return false;
	}
	return u->config != NULL;
}

static bool
configure(const struct upgrade *u)
{
	struct rl_config_outcome outcome;

	if (!u->config || config_apply(u->to.rl, u->config, 0, &outcome, config_say, NULL) == 0)
		return true;
	complain("%s cannot be put into force in the new segment", u->config->path);
	return false;
}

static bool
begin(struct restore *restore, const struct dump_line *header)
{
	struct upgrade *u = restore->arg;
	const char *segment = json_string_value(json_object_get(header->root, "segment"));
	struct rl_info info;

	if (!segment || strcmp(segment, u->name) != 0) {
		complain("%s: the dump is of another segment: %s", restore->name,
		         segment ? segment : "none");
		return false;
	}
	if (!header->size.is_known) {
		complain("%s: the dump does not say what its segment was made with: it is of an "
		         "rlctl without 'upgrade'",
		         restore->name);
		return false;
	}
	if (!successor_make(&u->to, &header->size.options) || !configure(u))
		return false;
	rl_info(u->to.rl, &info);
	u->from_layout = header->size.layout;
	u->to_layout = info.layout;
	restore->rl = u->to.rl;
	restore->shift_ns = dump_size_shift_ns(&header->size, restore->rl);
	return true;
}

/* A rule of the configuration is as the configuration says. */
static void
define(struct restore *restore, const struct dump_line *line)
{
	struct upgrade *u = restore->arg;
	struct rl_rule rule = {.name = line->rule,
	                       .limit = line->limits[0],
	                       .more = line->limits + 1,
	                       .more_count = line->limit_count - 1};
	int error = rl_find(restore->rl, line->rule);

	if (error >= 0)
		return;
	if (line->is_configured) {
		complain("rule '%s' is of a configuration that is not known here; --config says "
		         "where it is",
		         line->rule);
		u->rules_missing++;
		return;
	}
	error = rl_define(restore->rl, &rule);
	if (error < 0) {
		complain("rule '%s': %s", line->rule, error_text(error).text);
		restore->outcomes[FAILED]++;
	}
}

/* Tell what cannot be carried over, if there is any of it. */
static uint64_t
say_lost(const struct upgrade *u)
{
	const struct restore *restore = &u->restore;
	uint64_t held = restore->outcomes[HELD], left_out = restore_left_out(restore);

	if (held > 0)
		complain("of %" PRIu64 " keys units are in flight: they are counted anew, beside "
		         "those that workers hold in the old segment",
		         held);
	if (restore->cells > 0)
		complain("what %" PRIu64
		         " overflow counters count of keys without a slot is not carried over",
		         restore->cells);
	if (left_out > 0)
		complain("%" PRIu64 " counters and bans are not carried over", left_out);
	return held + restore->cells + left_out + u->rules_missing;
}

static void
report(const struct upgrade *u, bool is_upgraded)
{
	bool is_json = option_value(u->context, "json") != NULL;
	json_t *root = restore_report(&u->restore, !is_json);

	if (is_json) {
		json_put(root, "segment", json_text(u->name));
		json_put(root, "upgraded", json_boolean(is_upgraded));
		json_put(root, "from_layout", json_count(u->from_layout));
		json_put(root, "to_layout", json_count(u->to_layout));
		json_put(root, "rules_missing", json_count(u->rules_missing));
		output_json(root);
		return;
	}
	json_decref(root);
	puts("never carried over: statistics, history, the log, how often keys were denied, and "
	     "strikes");
	if (is_upgraded)
		printf("segment '%s': layout %" PRIu32 " before, %" PRIu32
		       " now; restart the workers\n",
		       u->name, u->from_layout, u->to_layout);
}

/* Everything is in the new segment that can be. */
static int
finish(struct upgrade *u)
{
	bool is_dry = option_value(u->context, "dry-run") != NULL;
	uint64_t lost;

	if (!restore_is_whole(&u->restore))
		return EXIT_TROUBLE;
	lost = say_lost(u);
	if (!is_dry) {
		if (lost > 0 && !confirm(u->context, "Put the new segment in place without that?"))
			return EXIT_TROUBLE;
		if (!successor_commit(&u->to))
			return EXIT_TROUBLE;
	}
	report(u, !is_dry);
	return lost > 0 ? EXIT_NO : EXIT_YES;
}

/* A file's, or standard input's, or what the old tool writes. */
static bool
open_dump(struct upgrade *u, const char *file)
{
	if (file)
		return restore_open(&u->restore, file);
	u->tool.path = option_value(u->context, "from");
	if (!u->tool.path)
		u->tool.path = OLD_TOOL_PATH;
	u->restore.name = u->tool.path;
	u->restore.file = old_tool_dump(&u->tool, u->name);
	return u->restore.file != NULL;
}

static int
carry_over(struct upgrade *u, const char *file)
{
	bool is_good;

	u->restore.begin = begin;
	u->restore.define = define;
	u->restore.arg = u;
	if (!open_dump(u, file))
		return EXIT_TROUBLE;
	is_good = restore_read(&u->restore);
	restore_close(&u->restore);
	if (!file && !old_tool_end(&u->tool))
		is_good = false;
	if (interrupt_came())
		complain("upgrade: interrupted, and has changed nothing");
	return is_good && !interrupt_came() ? finish(u) : EXIT_TROUBLE;
}

/* Or false after a message, whatever tool --from names: no promise holds for its dump. */
static bool
is_released(const char *name)
{
	struct other_layout other;

	other_layout(name, &other);
	if (!other.is_released)
		complain("segment '%s': %s; " LAYOUT_UNRELEASED, name, other.text);
	return other.is_released;
}

/* Whether there is anything to do: 1, 0, or -1 after a message. */
static int
is_needed(const char *name)
{
	const struct rl_options look = {.flags = RL_OPEN_READONLY | RL_OPEN_EXISTING};
	struct rl *rl;
	int error = rl_open(name, &look, &rl);

	if (error == 0) {
		rl_close(rl);
		return 0;
	}
	if (error == RL_EVERSION)
		return is_released(name) ? 1 : -1;
	complain("segment '%s': %s", name, error_text(error).text);
	return -1;
}

static int
upgrade_segment(struct upgrade *u, const char *file)
{
	int status = EXIT_TROUBLE;

	interrupt_catch();
	if (take_config(u) && successor_begin(&u->to, u->name))
		status = carry_over(u, file);
	successor_end(&u->to);
	config_free(u->config);
	return status;
}

static int
say_nothing_to_do(const struct context *context, const char *name)
{
	json_t *root;

	if (!option_value(context, "json")) {
		printf("segment '%s' has the layout of this rlctl: nothing to do\n", name);
		return EXIT_YES;
	}
	root = need(json_object());
	json_put(root, "segment", json_text(name));
	json_put(root, "upgraded", json_false());
	output_json(root);
	return EXIT_YES;
}

int
run_upgrade(const struct context *context)
{
	struct upgrade u = {.context = context, .name = segment_name(context), .to.fd = -1};
	int needed = u.name ? is_needed(u.name) : -1;

	if (needed < 0)
		return EXIT_TROUBLE;
	if (needed == 0)
		return say_nothing_to_do(context, u.name);
	return upgrade_segment(&u, context->operand_count > 0 ? context->operands[0] : NULL);
}
