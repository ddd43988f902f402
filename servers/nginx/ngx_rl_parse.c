/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts of directives: numbers, durations, rates, and what may stand behind a rate. */
#include "ngx_rl.h"

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

static ngx_int_t
parse_algorithm(const ngx_str_t *text, struct rl_limit *limit)
{
	for (int i = 0; i <= RL_ALGORITHM_LAST; i++) {
		const struct rl_algorithm_info *info = rl_algorithm_info((enum rl_algorithm)i);

		if (info != NULL && is_text(text, info->name)) {
			limit->algorithm = (enum rl_algorithm)i;
			return NGX_OK;
		}
	}
	return NGX_ERROR;
}

static ngx_int_t
parse_flag(const ngx_str_t *text, int *flag)
{
	*flag = is_text(text, "on");
	return *flag || is_text(text, "off") ? NGX_OK : NGX_ERROR;
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

static ngx_int_t
parse_uint32(const ngx_str_t *text, uint64_t most, uint32_t *value)
{
	uint64_t number;

	if (ngx_rl_parse_number(text, most, &number) != NGX_OK)
		return NGX_ERROR;
	*value = (uint32_t)number;
	return NGX_OK;
}

static ngx_int_t
parse_prefix(const ngx_str_t *text, uint64_t most, uint8_t *prefix)
{
	uint64_t number;

	if (ngx_rl_parse_number(text, most, &number) != NGX_OK || number == 0)
		return NGX_ERROR;
	*prefix = (uint8_t)number;
	return NGX_OK;
}

static ngx_int_t
parse_mode(const ngx_str_t *text, struct rl_limit *limit)
{
	limit->shadow = is_text(text, "shadow");
	return limit->shadow || is_text(text, "enforce") ? NGX_OK : NGX_ERROR;
}

static ngx_int_t
parse_prefetch(const ngx_str_t *text, struct rl_limit *limit)
{
	uint32_t number = 0;
	ngx_int_t rc = parse_uint32(text, RL_PREFETCH_MAX, &number);

	limit->prefetch = (uint16_t)number;
	return rc;
}

/* The words are those of rl.json(5). */
ngx_int_t
ngx_rl_parse_limit_option(const ngx_str_t *word, struct rl_limit *limit, const char **why)
{
	ngx_str_t v;

	if (ngx_rl_option(word, "algorithm", &v)) {
		*why = "an algorithm of rl(7) is allowed, but for in_flight";
		return limit->algorithm == RL_IN_FLIGHT ? NGX_ERROR : parse_algorithm(&v, limit);
	}
	*why = "a number of sub-buckets, or a duration that divides the window into at most 64";
	if (ngx_rl_option(word, "granularity", &v))
		return parse_granularity(&v, limit);
	*why = "\"on\" or \"off\" is allowed";
	if (ngx_rl_option(word, "hard", &v))
		return parse_flag(&v, &limit->hard);
	if (ngx_rl_option(word, "count_denied", &v))
		return parse_flag(&v, &limit->count_denied);
	*why = "a number below 268435455 is allowed";
	if (ngx_rl_option(word, "burst", &v))
		return parse_uint32(&v, RL_CAPACITY_MAX - 1, &limit->burst);
	if (ngx_rl_option(word, "undelayed", &v))
		return parse_uint32(&v, RL_CAPACITY_MAX - 1, &limit->undelayed);
	*why = "0 to 4095 is allowed";
	if (ngx_rl_option(word, "prefetch", &v))
		return parse_prefetch(&v, limit);
	*why = "1 to 32 bits are allowed";
	if (ngx_rl_option(word, "v4", &v))
		return parse_prefix(&v, 32, &limit->prefix_v4);
	*why = "1 to 128 bits are allowed";
	if (ngx_rl_option(word, "v6", &v))
		return parse_prefix(&v, 128, &limit->prefix_v6);
	*why = "\"enforce\" or \"shadow\" is allowed";
	if (ngx_rl_option(word, "mode", &v))
		return parse_mode(&v, limit);
	*why = "unknown word";
	return NGX_ERROR;
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
