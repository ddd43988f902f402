/* SPDX-License-Identifier: BSD-2-Clause */

#include "completion/completion.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/argument.h"

/* "used|denied" as "used denied"; false for anything else. */
static bool
read_words(const char *name, size_t len, struct value_words *out)
{
	if (!memchr(name, '|', len) || !islower((unsigned char)name[0]) ||
	    len >= sizeof(out->words))
		return false;
	for (size_t i = 0; i < len; i++)
		out->words[i] = name[i] == '|' ? ' ' : name[i];
	out->words[len] = '\0';
	out->kind = VALUE_WORDS;
	return true;
}

/* The kind of one word of a synopsis, or of an option's argument. */
static bool
read_kind(const char *name, size_t len, struct value_words *out)
{
	if (len > 0 && name[0] == '[') {
		name++;
		len--;
	}
	if (read_words(name, len, out))
		return true;
	if (strncmp(name, "PATTERN", len) == 0 && len == 7)
		out->kind = VALUE_PATTERN;
	else if (len >= 4 && strncmp(name, "RULE", 4) == 0)
		out->kind = VALUE_RULE;
	else if (len >= 4 && strncmp(name, "FILE", 4) == 0)
		out->kind = VALUE_FILE;
	else if (len >= 4 && strncmp(name, "VERB", 4) == 0)
		out->kind = VALUE_VERB;
	else
		return false;
	return true;
}

struct value_words
option_words(const struct command_option *option)
{
	struct value_words out = {.kind = option->argument ? VALUE_ANY : VALUE_NONE};

	struct argument_text argument = option_argument(option);

	if (strcmp(option->name, "segment") == 0)
		out.kind = VALUE_SEGMENT;
	else
		read_kind(argument.text, strlen(argument.text), &out);
	return out;
}

/* The verbs below it; false if there are none. */
static bool
read_subverbs(const struct command *of, struct value_words *out)
{
	size_t used = 0;

	for (const struct command *verb = subverb_next(of, NULL); verb;
	     verb = subverb_next(of, verb))
		used += (size_t)snprintf(out->words + used, sizeof(out->words) - used, "%s%s",
		                         used > 0 ? " " : "", verb->name);
	if (used > 0)
		out->kind = VALUE_WORDS;
	return used > 0;
}

/* The first word of the synopsis that is neither an option nor an option's value tells. */
struct value_words
operand_words(const struct command *command)
{
	struct value_words out = {.kind = command->operands_max > 0 ? VALUE_ANY : VALUE_NONE};
	const char *at = command->synopsis;
	bool is_value = false;

	if (read_subverbs(command, &out))
		at = "";
	while (out.kind == VALUE_ANY && *at) {
		size_t len = strcspn(at, " ");

		if (!is_value && read_kind(at, len, &out))
			break;
		is_value = strncmp(at, "--", 2) == 0;
		at += len + strspn(at + len, " ");
	}
	if (strcmp(command->name, "config") == 0)
		out.kind = VALUE_CONFIG;
	return out;
}

void
print_escaped(const char *text, const char *special, bool is_quoted)
{
	for (; *text; text++) {
		if (is_quoted && *text == '\'')
			fputs("'\\'", stdout);
		else if (strchr(special, *text))
			putchar('\\');
		putchar(*text);
	}
}
