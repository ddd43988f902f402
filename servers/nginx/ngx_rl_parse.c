/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts of directives: numbers, durations, rates, and what may stand behind a rate. */
#include "ngx_rl.h"

#include <rl_fields.h>

ngx_int_t
ngx_rl_parse_number(const ngx_str_t *text, uint64_t most, uint64_t *number)
{
	uint64_t value = 0;

	if (text->len == 0 || text->len > 18)
		return NGX_ERROR;
	for (size_t i = 0; i < text->len; i++) {
		if (text->data[i] < '0' || text->data[i] > '9')
			return NGX_ERROR;
		value = value * 10 + (uint64_t)(text->data[i] - '0');
	}
	*number = value;
	return value <= most ? NGX_OK : NGX_ERROR;
}

static int
is_text(const ngx_str_t *text, const char *word)
{
	return text->len == ngx_strlen(word) && ngx_strncmp(text->data, word, text->len) == 0;
}

int
ngx_rl_option(const ngx_str_t *word, const char *name, ngx_str_t *text)
{
	size_t len = ngx_strlen(name);

	if (word->len <= len || ngx_strncmp(word->data, name, len) != 0 || word->data[len] != '=')
		return 0;
	text->data = word->data + len + 1;
	text->len = word->len - len - 1;
	return 1;
}

static uint64_t
unit_ns(const ngx_str_t *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"ms", RL_MILLISECOND},     {"s", RL_SECOND},           {"sec", RL_SECOND},
		{"second", RL_SECOND},      {"m", 60 * RL_SECOND},      {"min", 60 * RL_SECOND},
		{"minute", 60 * RL_SECOND}, {"h", 3600 * RL_SECOND},    {"hour", 3600 * RL_SECOND},
		{"d", 86400 * RL_SECOND},   {"day", 86400 * RL_SECOND},
	};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (is_text(unit, units[i].name))
			return units[i].ns;
	return 0;
}

ngx_int_t
ngx_rl_parse_duration(const ngx_str_t *text, uint64_t *ns)
{
	ngx_str_t digits = {0, text->data}, unit;
	uint64_t number = 1, length;

	while (digits.len < text->len && digits.data[digits.len] >= '0' &&
	       digits.data[digits.len] <= '9')
		digits.len++;
	unit.data = text->data + digits.len;
	unit.len = text->len - digits.len;
	length = unit_ns(&unit);
	if (length == 0)
		return NGX_ERROR;
	if (digits.len > 0 &&
	    ngx_rl_parse_number(&digits, RL_WINDOW_MAX / length, &number) != NGX_OK)
		return NGX_ERROR;
	*ns = number * length;
	return NGX_OK;
}

/* CAPACITY/WINDOW: 5/min, 100/10s, 10r/s. */
ngx_int_t
ngx_rl_parse_rate(const ngx_str_t *text, struct rl_limit *limit)
{
	u_char *slash = ngx_strlchr(text->data, text->data + text->len, '/');
	ngx_str_t capacity, window;
	uint64_t number;

	if (slash == NULL)
		return NGX_ERROR;
	capacity = (ngx_str_t){(size_t)(slash - text->data), text->data};
	window = (ngx_str_t){text->len - capacity.len - 1, slash + 1};
	if (capacity.len > 1 && slash[-1] == 'r')
		capacity.len--;
	if (ngx_rl_parse_number(&capacity, RL_CAPACITY_MAX, &number) != NGX_OK || number == 0 ||
	    ngx_rl_parse_duration(&window, &limit->window_ns) != NGX_OK)
		return NGX_ERROR;
	limit->capacity = (uint32_t)number;
	return NGX_OK;
}

/* A number of sub-buckets, or the length of one. */
static ngx_int_t
parse_granularity(const ngx_str_t *text, struct rl_limit *limit)
{
	uint64_t number, step;

	if (ngx_rl_parse_number(text, RL_GRANULARITY_MAX, &number) == NGX_OK && number > 0) {
		limit->granularity = (uint32_t)number;
		return NGX_OK;
	}
	if (ngx_rl_parse_duration(text, &step) != NGX_OK || step == 0 ||
	    limit->window_ns % step != 0 || limit->window_ns / step > RL_GRANULARITY_MAX)
		return NGX_ERROR;
	limit->granularity = (uint32_t)(limit->window_ns / step);
	return NGX_OK;
}

/* "on" or "off", one of the field's words, or a number. */
static ngx_int_t
parse_field(const struct rl_field *field, const ngx_str_t *text, struct rl_limit *limit)
{
	uint64_t number = is_text(text, "on");

	if (field->words != NULL) {
		if (rl_field_number(field, (const char *)text->data, text->len, &number) < 0)
			return NGX_ERROR;
	} else if (field->kind == RL_FIELD_FLAG) {
		if (number == 0 && !is_text(text, "off"))
			return NGX_ERROR;
	} else if (ngx_rl_parse_number(text, field->most, &number) != NGX_OK ||
	           number < field->least) {
		return NGX_ERROR;
	}
	return rl_field_set(field, limit, number) < 0 ? NGX_ERROR : NGX_OK;
}

/* The field of "word=", of those that may stand behind a rate. */
static const struct rl_field *
option_of(const ngx_str_t *word, ngx_str_t *text)
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)) != NULL; i++)
		if (ngx_rl_option(word, field->word, text) &&
		    !(field->marks & RL_FIELD_NOT_IN_DIRECTIVES) &&
		    field->offset != offsetof(struct rl_limit, capacity) &&
		    field->offset != offsetof(struct rl_limit, window_ns))
			return field;
	return NULL;
}

/* What is allowed of a field, for a message. */
static const char *
allowed(const struct rl_field *field)
{
	static char text[96];

	if (field->offset == offsetof(struct rl_limit, algorithm))
		return "an algorithm of rl(7) is allowed, but for in_flight";
	if (field->offset == offsetof(struct rl_limit, granularity))
		return "a number of sub-buckets, or a duration that divides the window into at "
		       "most 64";
	if (field->words != NULL)
		snprintf(text, sizeof text, "\"%s\" or \"%s\" is allowed", field->words[0],
		         field->words[1]);
	else if (field->kind == RL_FIELD_FLAG)
		return "\"on\" or \"off\" is allowed";
	else
		snprintf(text, sizeof text, "%llu to %llu is allowed",
		         (unsigned long long)field->least, (unsigned long long)field->most);
	return text;
}

/* The words are those of rl.json(5). */
ngx_int_t
ngx_rl_parse_limit_option(const ngx_str_t *word, struct rl_limit *limit, const char **why)
{
	ngx_str_t v;
	const struct rl_field *field = option_of(word, &v);

	*why = "unknown word";
	if (field == NULL)
		return NGX_ERROR;
	*why = allowed(field);
	if (field->offset == offsetof(struct rl_limit, algorithm) &&
	    limit->algorithm == RL_IN_FLIGHT)
		return NGX_ERROR;
	if (field->offset == offsetof(struct rl_limit, granularity))
		return parse_granularity(&v, limit);
	return parse_field(field, &v, limit);
}

static uint64_t
step_unit(uint64_t window_ns)
{
	if (window_ns >= 60 * RL_SECOND)
		return RL_SECOND;
	return window_ns >= 60 * RL_MILLISECOND ? RL_MILLISECOND : RL_MILLISECOND / 1000;
}

/*
 * As rl.json(5) has it: without a granularity 60 sub-buckets, or as many of 59 to 31 as make whole
 * units; hard.
 */
void
ngx_rl_limit_defaults(struct rl_limit *limit, uint32_t ring)
{
	uint32_t best = 60;
	int is_sliding = limit->algorithm == RL_SLIDING_WINDOW;

	if (limit->hard == NGX_RL_HARD_UNSET)
		limit->hard = is_sliding && limit->granularity == 0;
	if (!is_sliding || limit->granularity != 0)
		return;
	if (ring < best)
		best = ring;
	limit->granularity = best;
	for (uint32_t n = best; n > best / 2; n--) {
		if (limit->window_ns % (n * step_unit(limit->window_ns)) == 0) {
			limit->granularity = n;
			break;
		}
	}
}
