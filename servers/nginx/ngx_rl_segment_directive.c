/* SPDX-License-Identifier: BSD-2-Clause */
/* rl_segment: what the shared memory is called, and how it is made. Nothing is opened here. */
#include "ngx_rl.h"

#include <grp.h>
#include <rl_fields.h>

/* rl_segment: numbers, by the names of rl.json(5). */
static const struct {
	const char *name;
	size_t offset;
	uint64_t most;
} segment_numbers[] = {
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

static ngx_int_t
segment_number(const ngx_str_t *word, struct rl_options *options)
{
	ngx_str_t text;
	uint64_t number;

	for (size_t i = 0; i < sizeof segment_numbers / sizeof *segment_numbers; i++) {
		if (!ngx_rl_option(word, segment_numbers[i].name, &text))
			continue;
		if (ngx_rl_parse_number(&text, segment_numbers[i].most, &number) != NGX_OK ||
		    number == 0)
			return NGX_ERROR;
		*(uint32_t *)((u_char *)options + segment_numbers[i].offset) = (uint32_t)number;
		return NGX_OK;
	}
	return NGX_DECLINED;
}

/* A number, or "none". */
static ngx_int_t
segment_number_or_none(const ngx_str_t *text, uint64_t most, uint32_t none, uint32_t *to)
{
	uint64_t number;

	if (text->len == 4 && ngx_strncmp(text->data, "none", 4) == 0) {
		*to = none;
		return NGX_OK;
	}
	if (ngx_rl_parse_number(text, most, &number) != NGX_OK || number == 0)
		return NGX_ERROR;
	*to = (uint32_t)number;
	return NGX_OK;
}

static ngx_int_t
segment_on_full(ngx_conf_t *cf, const ngx_str_t *text, struct rl_options *options)
{
	const struct rl_field *field = rl_field_find(RL_OF_OPTIONS, "on_full", 7);
	uint64_t number;
	int error = rl_field_number(field, (const char *)text->data, text->len, &number);

	if (error < 0)
		return NGX_ERROR;
	if (error > 0)
		ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
		                   "rl_segment: on_full=%V is gone, taken as %s, and refused by "
		                   "the next release",
		                   text, field->words[number]);
	options->on_full = (enum rl_on_full)number;
	return NGX_OK;
}

static ngx_int_t
segment_mode(const ngx_str_t *text, struct rl_options *options)
{
	ngx_int_t mode = 0;

	if (text->len < 3 || text->len > 4)
		return NGX_ERROR;
	for (size_t i = 0; i < text->len; i++) {
		if (text->data[i] < '0' || text->data[i] > '7')
			return NGX_ERROR;
		mode = mode * 8 + (text->data[i] - '0');
	}
	options->mode = (mode_t)mode;
	return mode > 0 && mode <= 0777 ? NGX_OK : NGX_ERROR;
}

static ngx_int_t
segment_group(const ngx_str_t *text, struct ngx_rl_segment *segment)
{
	struct group *group = getgrnam((const char *)text->data);

	if (group == NULL)
		return NGX_ERROR;
	segment->group = *text;
	segment->options.group = group->gr_gid;
	segment->options.flags |= RL_OPEN_GROUP;
	return NGX_OK;
}

static ngx_int_t
segment_flag(const ngx_str_t *word, struct rl_options *options)
{
	static const struct {
		const char *name;
		unsigned flag;
	} flags[] = {
		{"existing", RL_OPEN_EXISTING},
		{"huge_pages", RL_OPEN_HUGE_PAGES},
		{"populate", RL_OPEN_POPULATE},
	};

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (word->len == ngx_strlen(flags[i].name) &&
		    ngx_strncmp(word->data, flags[i].name, word->len) == 0) {
			options->flags |= flags[i].flag;
			return NGX_OK;
		}
	}
	return NGX_ERROR;
}

static ngx_int_t
segment_word(ngx_conf_t *cf, const ngx_str_t *word, struct ngx_rl_segment *segment)
{
	ngx_int_t rc = segment_number(word, &segment->options);
	ngx_str_t text;

	if (rc != NGX_DECLINED)
		return rc;
	if (ngx_rl_option(word, "key_bytes", &text))
		return segment_number_or_none(&text, RL_KEY_MAX, RL_KEY_BYTES_NONE,
		                              &segment->options.key_bytes);
	if (ngx_rl_option(word, "events", &text))
		return segment_number_or_none(&text, RL_EVENTS_MAX, RL_EVENTS_NONE,
		                              &segment->options.events);
	if (ngx_rl_option(word, "on_full", &text))
		return segment_on_full(cf, &text, &segment->options);
	if (ngx_rl_option(word, "mode", &text))
		return segment_mode(&text, &segment->options);
	if (ngx_rl_option(word, "group", &text))
		return segment_group(&text, segment);
	if (ngx_rl_option(word, "buffer", &text))
		return ngx_rl_parse_duration(&text, &segment->options.buffer_ns);
	return segment_flag(word, &segment->options);
}

/* Of words that are right each by itself; NULL: they are. */
static char *
wrong_reserve(const struct rl_options *options)
{
	if (options->cells & (options->cells - 1))
		return "has a number of cells that is no power of two";
	if (options->on_full != RL_FULL_RESERVE && (options->cells || options->reserves))
		return "has cells or reserves, which only a segment with on_full=reserve has";
	return NULL;
}

/* rl_segment NAME [WORD...] */
char *
ngx_rl_segment_directive(ngx_conf_t *cf, struct ngx_rl_main *main)
{
	ngx_str_t *words = cf->args->elts;
	struct ngx_rl_segment *segment = &main->segment;
	struct rl_place place;
	char *wrong;

	if (segment->name.len > 0)
		return "is duplicate";
	segment->name = words[1];
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++)
		if (segment_word(cf, &words[i], segment) != NGX_OK)
			return ngx_rl_bad_word(cf, &words[i]);
	wrong = wrong_reserve(&segment->options);
	if (wrong != NULL)
		return wrong;
	if (rl_place((const char *)segment->name.data, &segment->options, &place) == -EINVAL) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
		                   "a segment cannot have the name \"%V\" and these options",
		                   &words[1]);
		return NGX_CONF_ERROR;
	}
	return NGX_CONF_OK;
}
