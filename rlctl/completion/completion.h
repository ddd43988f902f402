/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_COMPLETION_H
#define RLCTL_COMPLETION_H

/*
 * Completions for shells, made from the command table. What a value can be is read off its name
 * in the help: RULE, FILE, VERB, or words as in "used|denied".
 */

#include <stdbool.h>

#include "base/command.h"

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

void completion_bash(const struct command *verbs);
void completion_zsh(const struct command *verbs);
void completion_fish(const struct command *verbs);

/*
 * Shell commands that print the segments, the rules of the segment in $segment, and what can be set
 * in the file in $config.
 */
#define LIST_SEGMENTS                                                           \
	"find /dev/shm /dev/shm/rl -maxdepth 1 -name 'rl.*' 2>/dev/null | sed " \
	"'s,.*/rl\\.,,' | sort -u"
#define RULES_ONLY "awk '$NF != \"(total)\" { print $NF }' | sort -u"
#define PATTERNS_ONLY "awk -F'\\t' '$10 == \"call\" { print $4 }'"
/* Of what `config show` says: a blank line and a name begin a rule, and its limits follow. */
#define PATHS_ONLY                                                                               \
	"awk 'function put(at, i) { for (i = 1; i <= 4; i++) print \"/rules/\" rule at word[i] " \
	"}\n"                                                                                    \
	"\tfunction end(i) { if (limits == 1) put(\"\")\n"                                       \
	"\t\tif (limits > 1) print \"/rules/\" rule \"/limits\"\n"                               \
	"\t\tfor (i = 0; limits > 1 && i < limits; i++) put(\"/limits/\" i)\n"                   \
	"\t\tlimits = 0 }\n"                                                                     \
	"\tBEGIN { split(\"/limit /granularity /hard /mode\", word, \" \") }\n"                  \
	"\tNF == 0 { end(); getline rule; next }\n"                                              \
	"\trule && /^  [a-z_]+, [0-9]+ (per|at) / { limits++ }\n"                                \
	"\tEND { end() }'"
#define LIST_RULES "rlctl ${segment:+\"--segment=$segment\"} stats 2>/dev/null | " RULES_ONLY
#define LIST_PATTERNS \
	"rlctl ${segment:+\"--segment=$segment\"} bans -H -o tsv 2>/dev/null | " PATTERNS_ONLY
#define LIST_PATHS "rlctl config show ${config:+\"--config=$config\"} 2>/dev/null | " PATHS_ONLY

#endif
