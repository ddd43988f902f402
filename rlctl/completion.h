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
	VALUE_PATTERN, /* one that is banned or exempt */
	VALUE_CONFIG,  /* a verb of config, and behind some a path */
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
#define RULES_ONLY "awk '$NF != \"(total)\" { print $NF }' | sort -u"
#define PATTERNS_ONLY                  \
	"sed -n '/ as configured /d; " \
	"s/^.*  \\(ban\\|exemption\\) *\\(key\\|prefix\\|network\\) *[^ ]*  //p'"
#define RULES_TO_PATHS \
	"sed 's,.*,/rules/&/limit\\n/rules/&/granularity\\n/rules/&/hard\\n/rules/&/mode,'"
#define LIST_RULES "rlctl --segment \"${segment:-default}\" stats 2>/dev/null | " RULES_ONLY
#define LIST_PATTERNS "rlctl --segment \"${segment:-default}\" bans 2>/dev/null | " PATTERNS_ONLY
#define LIST_PATHS LIST_RULES " | " RULES_TO_PATHS

#endif
