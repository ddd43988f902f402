/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

#define NAME_SIZE 64
#define OWNER_BITS 0600U
#define FORMER "%s: \"%s\" is gone, taken as \"%s\", and refused by the next release"

const struct rl_options rlb_options = {.ring = RLB_RING};

static const struct {
	const char *name;
	unsigned flag;
} flags[] = {
	{"readonly", RL_OPEN_READONLY},   {"existing", RL_OPEN_EXISTING},
	{"any_owner", RL_OPEN_ANY_OWNER}, {"huge_pages", RL_OPEN_HUGE_PAGES},
	{"populate", RL_OPEN_POPULATE},   {"at_least", RL_OPEN_AT_LEAST},
};

static int
refuse(char text[RLB_TEXT_SIZE], const char *name, const char *why)
{
	snprintf(text, RLB_TEXT_SIZE, "%s: %s", name, why);
	return -EINVAL;
}

static int
set_flag(struct rl_options *o, const char *name, const struct rlb_value *v,
         char text[RLB_TEXT_SIZE])
{
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		if (strcmp(flags[i].name, name) != 0)
			continue;
		if (v->kind != RLB_FLAG && v->kind != RLB_INTEGER)
			return refuse(text, name, "expected true or false");
		o->flags |= v->integer ? flags[i].flag : 0;
		return 0;
	}
	return refuse(text, name, "a segment has no such option");
}

/* Nobody else judges them by name. */
static int
judge(const struct rl_field *field, const struct rl_options *o, char text[RLB_TEXT_SIZE])
{
	uint64_t number = rl_field_get(field, o);

	if (field->offset == offsetof(struct rl_options, mode) && number > 0 &&
	    (number & OWNER_BITS) != OWNER_BITS)
		return refuse(text, field->word,
		              "expected permission bits such as 0660, with 6 for the owner");
	if (number <= field->most || (field->none > 0 && number == field->none))
		return 0;
	snprintf(text, RLB_TEXT_SIZE, "%s: %llu; 0 to %llu is allowed", field->word,
	         (unsigned long long)number, (unsigned long long)field->most);
	return -EINVAL;
}

static bool
is_former(const struct rl_field *field, const struct rlb_value *v)
{
	return field->former && v->kind == RLB_WORDS && strlen(field->former) == v->len &&
	       memcmp(field->former, v->words, v->len) == 0;
}

int
rlb_option_set(struct rl_options *o, const char *name, size_t len, const struct rlb_value *value,
               char text[RLB_TEXT_SIZE])
{
	const struct rl_field *field = rl_field_find(RL_OF_OPTIONS, name, len);
	char word[NAME_SIZE];

	snprintf(word, sizeof word, "%.*s", (int)(len < NAME_SIZE ? len : NAME_SIZE - 1), name);
	if (!field)
		return set_flag(o, word, value, text);
	if (rlb_field_set(field, word, o, value, text) < 0 || judge(field, o, text) < 0)
		return -EINVAL;
	if (is_former(field, value)) {
		snprintf(text, RLB_TEXT_SIZE, FORMER, word, field->former,
		         field->words[field->usual]);
		return 1;
	}
	if (field->offset == offsetof(struct rl_options, ring) && o->ring == 0)
		o->ring = RLB_RING;
	if (field->offset == offsetof(struct rl_options, group))
		o->flags |= RL_OPEN_GROUP;
	return 0;
}

int
rlb_options_check(const struct rl_options *o, char text[RLB_TEXT_SIZE])
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++) {
		uint64_t number = rl_field_get(field, o);

		if (field->marks & RL_FIELD_POWER && number & (number - 1))
			return refuse(text, field->word, "expected a power of two");
		if (field->marks & RL_FIELD_RESERVE && number > 0 && o->on_full != RL_FULL_RESERVE)
			return refuse(text, field->word,
			              "only a segment with on_full reserve has any");
	}
	return 0;
}

/* What is less than was asked for. 1, or 0: that is no longer so. */
static int
say_less(const char *name, const struct rl_options *asked, char text[RL_OPEN_TEXT_SIZE])
{
	struct rl_options any = *asked;
	struct rl_info info;
	struct rl *rl;
	int error;

	any.flags = (asked->flags & (RL_OPEN_GROUP | RL_OPEN_ANY_OWNER)) | RL_OPEN_EXISTING |
	            RL_OPEN_READONLY;
	if (rl_open(name, &any, &rl) < 0)
		return 0;
	rl_info(rl, &info);
	error = rl_open_compare(&info, asked, text, RL_OPEN_TEXT_SIZE);
	rl_close(rl);
	return error < 0;
}

/* Which argument it is that is wrong. */
static int
say_wrong(const char *name, const struct rl_options *asked, char text[RL_OPEN_TEXT_SIZE])
{
	char why[RLB_TEXT_SIZE];
	struct rl_place place;

	if (rl_place(name, NULL, &place) == -EINVAL)
		snprintf(text, RL_OPEN_TEXT_SIZE, "a name has 1 to %d letters, digits and . _ -",
		         RL_NAME_MAX);
	else if (rlb_options_check(asked, why) < 0)
		snprintf(text, RL_OPEN_TEXT_SIZE, "%s", why);
	else
		return 0;
	return 1;
}

void
rlb_open_why(int error, const char *name, const struct rl_options *asked,
             char text[RLB_OPEN_TEXT_SIZE])
{
	char said[RL_OPEN_TEXT_SIZE];

	if (error == RL_ELESS && say_less(name, asked, said))
		snprintf(text, RLB_OPEN_TEXT_SIZE, "%s: %s", said, rl_error_remedy(error));
	else if (error == -EINVAL && say_wrong(name, asked, said))
		snprintf(text, RLB_OPEN_TEXT_SIZE, "%s", said);
	else
		rlb_why(error, text);
}
