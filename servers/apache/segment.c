/* SPDX-License-Identifier: BSD-2-Clause */
/* RLSegment: which segment, and how it is made. */
#include "directives.h"
#include "text.h"

#include <apr_strings.h>
#include <grp.h>
#include <http_log.h>
#include <rl_fields.h>

APLOG_USE_MODULE(rl);

static const struct {
	const char *name;
	size_t offset;
	uint32_t most;
} sizes[] = {
	{"keys", offsetof(struct rl_options, keys), RL_KEYS_MAX},
	{"ring", offsetof(struct rl_options, ring), RL_RING_MAX},
	{"rules", offsetof(struct rl_options, rules), RL_RULES_MAX},
	{"overrides", offsetof(struct rl_options, overrides), RL_OVERRIDES_MAX},
	{"bans", offsetof(struct rl_options, bans), RL_BANS_MAX},
	{"holders", offsetof(struct rl_options, holders), RL_HOLDERS_MAX},
	{"cells", offsetof(struct rl_options, cells), RL_CELLS_MAX},
	{"reserves", offsetof(struct rl_options, reserves), RL_RESERVES_MAX},
	{"changes", offsetof(struct rl_options, changes), RL_CHANGES_MAX},
};

/* keys=, ring= and so on: 1 stored, 0 wrong, -1 another word. */
static int
read_size(const char *word, struct rl_options *options)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const char *v = value_of(word, sizes[i].name);
		uint64_t n;

		if (!v)
			continue;
		if (!read_number(v, 1, sizes[i].most, &n))
			return 0;
		*(uint32_t *)((char *)options + sizes[i].offset) = (uint32_t)n;
		return 1;
	}
	return -1;
}

/* A number, of which 0 means none. */
static int
read_or_none(const char *text, uint64_t most, uint32_t none, uint32_t *to)
{
	uint64_t n;

	if (!read_number(text, 0, most, &n))
		return 0;
	*to = n ? (uint32_t)n : none;
	return 1;
}

static int
read_full(const char *text, enum rl_on_full *on_full)
{
	const struct rl_field *field = rl_field_find(RL_OF_OPTIONS, "on_full", 7);
	uint64_t number;
	int error = rl_field_number(field, text, strlen(text), &number);

	if (error < 0)
		return 0;
	if (error > 0)
		ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
		             "RLSegment: on_full=%s is gone, taken as %s, and refused by the next "
		             "release",
		             text, field->words[number]);
	*on_full = (enum rl_on_full)number;
	return 1;
}

/* Octal, as chmod(1) reads it. */
static int
read_mode_bits(const char *text, mode_t *mode)
{
	size_t len = strspn(text, "01234567");

	*mode = (mode_t)strtoul(text, NULL, 8);
	return len >= 3 && len <= 4 && text[len] == '\0' && *mode <= 0777 && *mode != 0;
}

static int
read_group(const char *text, struct rl_options *options)
{
	const struct group *group;

	server_conf->has_group = 1;
	if (strcmp(text, "off") == 0)
		return 1;
	group = getgrnam(text);
	if (!group)
		return 0;
	options->group = group->gr_gid;
	options->flags |= RL_OPEN_GROUP;
	return 1;
}

static int
read_flag(const char *word, unsigned *flags)
{
	if (strcmp(word, "existing") == 0)
		*flags |= RL_OPEN_EXISTING;
	else if (strcmp(word, "huge_pages") == 0)
		*flags |= RL_OPEN_HUGE_PAGES;
	else if (strcmp(word, "populate") == 0)
		*flags |= RL_OPEN_POPULATE;
	else
		return 0;
	return 1;
}

static int
read_segment_option(const char *word)
{
	struct rl_options *options = &server_conf->options;
	int size = read_size(word, options);
	const char *v;

	if (size >= 0)
		return size;
	if ((v = value_of(word, "key_bytes")))
		return read_or_none(v, RL_KEY_MAX, RL_KEY_BYTES_NONE, &options->key_bytes);
	if ((v = value_of(word, "events")))
		return read_or_none(v, RL_EVENTS_MAX, RL_EVENTS_NONE, &options->events);
	if ((v = value_of(word, "on_full")))
		return read_full(v, &options->on_full);
	if ((v = value_of(word, "buffer")))
		return read_duration(v, &options->buffer_ns) && options->buffer_ns <= RL_BUFFER_MAX;
	if ((v = value_of(word, "mode")))
		return read_mode_bits(v, &options->mode);
	if ((v = value_of(word, "group")))
		return read_group(v, options);
	return read_flag(word, &options->flags);
}

/* Of words that are right each by itself; NULL: they are. */
static const char *
wrong_reserve(const struct rl_options *options)
{
	if (options->cells & (options->cells - 1))
		return "RLSegment: cells= is no power of two";
	if (options->on_full != RL_FULL_RESERVE && (options->cells || options->reserves))
		return "RLSegment: only a segment with on_full=reserve has cells and reserves";
	return NULL;
}

const char *
set_segment(cmd_parms *cmd, void *section, int argc, char *const argv[])
{
	const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);
	struct rl_place place;

	(void)section;
	if (wrong)
		return wrong;
	if (argc < 1)
		return "RLSegment needs the name of a segment";
	if (server_conf->opened)
		return apr_pstrcat(cmd->pool, "RLSegment stands at ", server_conf->opened,
		                   " already; a server has one segment", NULL);
	server_conf->opened = place_of(cmd);
	server_conf->segment = argv[0];
	for (int i = 1; i < argc; i++)
		if (!read_segment_option(argv[i]))
			return bad_word(cmd, argv[i]);
	wrong = wrong_reserve(&server_conf->options);
	if (wrong)
		return wrong;
	if (rl_place(argv[0], &server_conf->options, &place) == -EINVAL)
		return apr_psprintf(cmd->pool,
		                    "RLSegment: \"%s\" is no name of a segment, or its options are "
		                    "out of range",
		                    argv[0]);
	return NULL;
}
