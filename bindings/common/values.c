/* SPDX-License-Identifier: BSD-2-Clause */
#include "values.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define GROUP_SIZE 65536 /* bytes that the entry of a group may take */

int
rlb_value_ns(const struct rlb_value *v, uint64_t *ns)
{
	switch (v->kind) {
	case RLB_NS:
		*ns = v->ns;
		return 0;
	case RLB_WORDS:
		return rlb_duration(v->words, v->len, ns);
	case RLB_INTEGER:
		return v->integer < 0 || __builtin_mul_overflow((uint64_t)v->integer, RL_SECOND, ns)
		               ? -EINVAL
		               : 0;
	default:
		return v->kind == RLB_REAL ? rlb_seconds(v->real, ns) : -EINVAL;
	}
}

/* Nothing where a segment may do without is said as 0, as in rl.json(5), or as false. */
static int
count_of(const struct rl_field *field, const struct rlb_value *v, uint64_t *number)
{
	int is_none = field->none > 0 && v->integer == 0;

	if (v->kind != RLB_INTEGER && !(is_none && v->kind == RLB_FLAG))
		return -EINVAL;
	*number = is_none ? field->none : (uint64_t)v->integer;
	return v->integer < 0 ? -EINVAL : 0;
}

/* Digits, for not every language has 64 bits in a number. */
static int
digits_of(const struct rlb_value *v, uint64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < v->len; i++)
		if (v->words[i] < '0' || v->words[i] > '9' ||
		    __builtin_mul_overflow(*number, UINT64_C(10), number) ||
		    __builtin_add_overflow(*number, (uint64_t)(v->words[i] - '0'), number))
			return -EINVAL;
	return v->len > 0 ? 0 : -EINVAL;
}

/* By the member's own name nanoseconds, by the field's word a duration. */
static int
duration_of(const struct rl_field *field, const char *name, const struct rlb_value *v,
            uint64_t *number)
{
	if (strcmp(name, field->name) != 0)
		return rlb_value_ns(v, number);
	if (v->kind == RLB_WORDS && digits_of(v, number) == 0)
		return 0;
	if (v->kind != RLB_INTEGER)
		return rlb_value_ns(v, number);
	*number = (uint64_t)v->integer;
	return v->integer < 0 ? -EINVAL : 0;
}

static int
flag_of(const struct rl_field *field, const struct rlb_value *v, uint64_t *number)
{
	if (v->kind == RLB_WORDS)
		return rl_field_number(field, v->words, v->len, number);
	*number = (uint64_t)v->integer;
	return v->kind == RLB_FLAG || (v->kind == RLB_INTEGER && (v->integer & ~1) == 0) ? 0
	                                                                                 : -EINVAL;
}

static int
group_by_name(const struct rlb_value *v, uint64_t *number)
{
	char *text = malloc(GROUP_SIZE + v->len + 1), *name = text + GROUP_SIZE;
	struct group entry, *found = NULL;

	if (!text)
		return -ENOMEM;
	memcpy(name, v->words, v->len);
	name[v->len] = '\0';
	getgrnam_r(name, &entry, text, GROUP_SIZE, &found);
	if (found)
		*number = found->gr_gid;
	free(text);
	return found ? 0 : -EINVAL;
}

static int
octal(const struct rlb_value *v, uint64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < v->len; i++) {
		if (v->words[i] < '0' || v->words[i] > '7' || *number > UINT32_MAX / 8)
			return -EINVAL;
		*number = *number * 8 + (uint64_t)(v->words[i] - '0');
	}
	return v->len > 0 ? 0 : -EINVAL;
}

static int
other_of(const struct rl_field *field, const struct rlb_value *v, uint64_t *number)
{
	if (v->kind == RLB_WORDS)
		return strcmp(field->name, "group") == 0 ? group_by_name(v, number)
		                                         : octal(v, number);
	*number = (uint64_t)v->integer;
	return v->kind == RLB_INTEGER && v->integer >= 0 && *number <= field->most ? 0 : -EINVAL;
}

static int
number_of(const struct rl_field *field, const char *name, const struct rlb_value *v,
          uint64_t *number)
{
	switch (field->kind) {
	case RL_FIELD_COUNT:
		return count_of(field, v, number);
	case RL_FIELD_FLAG:
		return flag_of(field, v, number);
	case RL_FIELD_DURATION:
		return duration_of(field, name, v, number);
	case RL_FIELD_WORD:
		return v->kind == RLB_WORDS ? rl_field_number(field, v->words, v->len, number)
		                            : -EINVAL;
	default:
		return other_of(field, v, number);
	}
}

/* "a", "b" or "c" */
static void
say_words(const struct rl_field *field, char *text, size_t size)
{
	uint64_t count = 0, said = 0;
	size_t len = 0;

	for (uint64_t i = 0; i <= field->most; i++)
		count += field->words[i] != NULL;
	for (uint64_t i = 0; i <= field->most && len < size; i++) {
		if (!field->words[i])
			continue;
		said++;
		len += (size_t)snprintf(text + len, size - len, "%s\"%s\"",
		                        said == 1       ? ""
		                        : said == count ? " or "
		                                        : ", ",
		                        field->words[i]);
	}
}

static int
expected(const struct rl_field *field, const char *name, char text[RLB_TEXT_SIZE])
{
	int len = snprintf(text, RLB_TEXT_SIZE, "%s: expected ", name);
	char *to = text + len;
	size_t size = RLB_TEXT_SIZE - (size_t)len;

	if (field->kind == RL_FIELD_WORD || (field->words && strcmp(name, field->word) == 0))
		say_words(field, to, size);
	else if (field->kind == RL_FIELD_COUNT)
		snprintf(to, size, "an integer from 0 to %" PRIu64, field->most);
	else if (field->kind == RL_FIELD_FLAG)
		snprintf(to, size, "true or false");
	else if (field->kind == RL_FIELD_DURATION)
		snprintf(to, size, "a duration such as \"10m\", or %s",
		         strcmp(name, field->word) == 0 ? "seconds" : "nanoseconds");
	else
		snprintf(to, size,
		         strcmp(name, "group") == 0
		                 ? "the name or the number of a group that is there"
		                 : "permission bits, as a number or as octal digits");
	return -EINVAL;
}

int
rlb_field_set(const struct rl_field *field, const char *name, void *to,
              const struct rlb_value *value, char text[RLB_TEXT_SIZE])
{
	uint64_t number;

	if (field->marks & RL_FIELD_NOT_IN_BINDINGS) {
		snprintf(text, RLB_TEXT_SIZE, "%s: not to be said here: %s", name, field->why);
		return -EINVAL;
	}
	if (number_of(field, name, value, &number) < 0 || rl_field_set(field, to, number) < 0)
		return expected(field, name, text);
	return 0;
}

void
rlb_field_show(const struct rl_field *field, const void *from, rlb_show *show, void *to)
{
	uint64_t number = rl_field_get(field, from);
	struct rlb_value v = {.kind = RLB_INTEGER, .integer = (int64_t)number};

	if (field->kind == RL_FIELD_FLAG) {
		v.kind = RLB_FLAG;
	} else if (field->kind == RL_FIELD_DURATION) {
		v = (struct rlb_value){.kind = RLB_NS, .ns = number};
	} else if (field->kind == RL_FIELD_WORD) {
		const char *word = number <= field->most ? field->words[number] : NULL;
		v = (struct rlb_value){.kind = RLB_WORDS, .words = word ? word : "unknown"};
		v.len = strlen(v.words);
	}
	show(to, field->name, &v);
}

void
rlb_fields_show(enum rl_structure of, const void *from, rlb_show *show, void *to)
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(of, i)); i++)
		if (of != RL_OF_RESULT || (field->kind != RL_FIELD_ERROR && i > 0))
			rlb_field_show(field, from, show, to);
}
