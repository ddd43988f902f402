/* SPDX-License-Identifier: BSD-2-Clause */
#include "directive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../bindings/common/text.h"

#define DIGITS "0123456789"
#define DIGITS_MAX 18
#define RATE_SIZE 64

const char *
rlb_word_value(const char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, name, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

int
rlb_word_number(const char *text, size_t len, uint64_t least, uint64_t most, uint64_t *number)
{
	if (len == 0 || len > DIGITS_MAX)
		return -EINVAL;
	*number = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		*number = *number * 10 + (uint64_t)(text[i] - '0');
	}
	return *number >= least && *number <= most ? 0 : -EINVAL;
}

int
rlb_word_duration(const char *text, uint64_t *ns)
{
	return rlb_period(text, strlen(text), ns) < 0 || *ns == 0 || *ns > RL_WINDOW_MAX ? -EINVAL
	                                                                                 : 0;
}

/* Without the r of "10r/s". */
static int
read_rate(const char *word, size_t digits, struct rl_limit *limit)
{
	size_t skipped = word[digits] == 'r' && word[digits + 1] == '/';
	char rate[RATE_SIZE];
	int len = snprintf(rate, sizeof rate, "%.*s%s", (int)digits, word, word + digits + skipped);

	return len >= RATE_SIZE ? -EINVAL
	                        : rlb_rate(rate, (size_t)len, &limit->capacity, &limit->window_ns);
}

int
rlb_word_begins(const char *word, struct rlb_limit *l)
{
	const char *held = rlb_word_value(word, "in_flight");
	size_t digits = strspn(word, DIGITS);
	uint64_t number = 0;

	*l = (struct rlb_limit){.step_ns = 0};
	if (!held)
		return digits == 0 ? 0 : read_rate(word, digits, &l->limit) < 0 ? -EINVAL : 1;
	if (rlb_word_number(held, strlen(held), 1, RL_IN_FLIGHT_MAX, &number) < 0)
		return -EINVAL;
	l->limit.algorithm = RL_IN_FLIGHT;
	l->limit.capacity = (uint32_t)number;
	return 1;
}

static int
refuse(char text[RLB_TEXT_SIZE], const char *name, const char *why)
{
	snprintf(text, RLB_TEXT_SIZE, "%s: %s", name, why);
	return -EINVAL;
}

static int
number_of(const struct rl_field *field, const char *v, struct rlb_value *value,
          char text[RLB_TEXT_SIZE])
{
	uint64_t least = field->none > 0 ? 0 : field->least, number = 0;

	if ((field->none == 0 || strcmp(v, "none") != 0) &&
	    rlb_word_number(v, strlen(v), least, field->most, &number) < 0) {
		snprintf(text, RLB_TEXT_SIZE,
		         "%s: expected a number from %" PRIu64 " to %" PRIu64 "%s", field->word,
		         least, field->most, field->none > 0 ? ", or none" : "");
		return -EINVAL;
	}
	*value = (struct rlb_value){.kind = RLB_INTEGER, .integer = (int64_t)number};
	return 0;
}

static int
flag_of(const struct rl_field *field, const char *v, struct rlb_value *value,
        char text[RLB_TEXT_SIZE])
{
	bool is_on = strcmp(v, "on") == 0;

	*value = (struct rlb_value){.kind = RLB_FLAG, .integer = is_on};
	return is_on || strcmp(v, "off") == 0 ? 0 : refuse(text, field->word, "expected on or off");
}

static int
duration_of(const struct rl_field *field, const char *v, struct rlb_value *value,
            char text[RLB_TEXT_SIZE])
{
	*value = (struct rlb_value){.kind = RLB_NS};
	return rlb_word_duration(v, &value->ns) == 0
	               ? 0
	               : refuse(text, field->word, "expected a duration such as 10m");
}

/* A length of sub-buckets is a duration in place of their number. */
static bool
is_step(const struct rl_field *field, const char *v)
{
	return strcmp(field->name, "granularity") == 0 && v[strspn(v, DIGITS)] != '\0';
}

static int
value_of(const struct rl_field *field, const char *v, struct rlb_value *value,
         char text[RLB_TEXT_SIZE])
{
	if (field->kind == RL_FIELD_DURATION || is_step(field, v))
		return duration_of(field, v, value, text);
	if (field->kind == RL_FIELD_COUNT)
		return number_of(field, v, value, text);
	if (field->kind == RL_FIELD_FLAG && !field->words)
		return flag_of(field, v, value, text);
	*value = (struct rlb_value){.kind = RLB_WORDS, .words = v, .len = strlen(v)};
	return 0;
}

/* The field of "word=value", or NULL with a sentence. */
static const struct rl_field *
field_of(enum rl_structure of, const char *word, char text[RLB_TEXT_SIZE])
{
	size_t len = strcspn(word, "=");
	const struct rl_field *field = rl_field_find(of, word, len);

	if (!field || word[len] == '\0' || strlen(field->word) != len ||
	    strncmp(word, field->word, len) != 0) {
		snprintf(text, RLB_TEXT_SIZE, "%.*s: unknown word", (int)(len < 64 ? len : 64),
		         word);
		return NULL;
	}
	if (field->marks & RL_FIELD_NOT_IN_DIRECTIVES) {
		refuse(text, field->word, field->why);
		return NULL;
	}
	return field;
}

int
rlb_word_of_limit(const char *word, struct rlb_limit *l, char text[RLB_TEXT_SIZE])
{
	const struct rl_field *field = field_of(RL_OF_LIMIT, word, text);
	const char *name = field ? field->word : "";
	struct rlb_value value;

	if (!field || value_of(field, word + strlen(name) + 1, &value, text) < 0)
		return -EINVAL;
	if (field->offset == offsetof(struct rl_limit, capacity) ||
	    field->offset == offsetof(struct rl_limit, window_ns))
		return refuse(text, name, "the rate says it");
	return rlb_limit_set(l, name, strlen(name), &value, text);
}

int
rlb_word_of_segment(const char *word, struct rl_options *o, char text[RLB_TEXT_SIZE])
{
	static const char *const flags[] = {"existing", "huge_pages", "populate"};
	const struct rl_field *field;
	struct rlb_value value = {.kind = RLB_FLAG, .integer = 1};

	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (strcmp(word, flags[i]) == 0)
			return rlb_option_set(o, word, strlen(word), &value, text);
	field = field_of(RL_OF_OPTIONS, word, text);
	if (!field || value_of(field, word + strlen(field->word) + 1, &value, text) < 0)
		return -EINVAL;
	return rlb_option_set(o, field->word, strlen(field->word), &value, text);
}
