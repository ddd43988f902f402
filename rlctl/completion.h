/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_COMPLETION_H
#define RLCTL_COMPLETION_H

/*
 * Completions for shells, made from the command table. What a value can be is read off its name
 * in the help: RULE, FILE, VERB, or words as in "used|denied".
 */

#include <stdbool.h>

#include "command.h"

enum value_kind {
	VALUE_NONE,
	VALUE_ANY, /* nothing to propose */
	VALUE_WORDS,
	VALUE_RULE,
	VALUE_FILE,
	VALUE_SEGMENT,
	VALUE_VERB,
};

struct value_words {
	enum value_kind kind;
	char words[160]; /* of VALUE_WORDS, with blanks between them */
};

struct value_words option_words(const struct command_option *option);
struct value_words operand_words(const struct command *command);

/* The text with a backslash before each of `special`, and a quote as '\'' where `is_quoted`. */
void print_escaped(const char *text, const char *special, bool is_quoted);

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

/* Shell commands that print the segments, and the rules of the segment in $segment. */
#define LIST_SEGMENTS                                                           \
	"find /dev/shm /dev/shm/rl -maxdepth 1 -name 'rl.*' 2>/dev/null | sed " \
	"'s,.*/rl\\.,,' | sort -u"
#define LIST_RULES                                                     \
	"rlctl --segment \"${segment:-default}\" stats 2>/dev/null | " \
	"awk '$NF != \"(total)\" { print $NF }' | sort -u"

#endif
