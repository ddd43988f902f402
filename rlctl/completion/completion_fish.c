/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "completion/completion.h"

#define NO_VERB "__fish_use_subcommand"

static void
print_values(const struct value_words *value, const struct command *verbs)
{
	switch (value->kind) {
	case VALUE_WORDS:
	case VALUE_CONFIG:
		printf(" -a '%s'", value->words);
		break;
	case VALUE_RULE:
		fputs(" -a '(__rlctl_rules)'", stdout);
		break;
	case VALUE_PATTERN:
		fputs(" -a '(__rlctl_patterns)'", stdout);
		break;
	case VALUE_SEGMENT:
		fputs(" -a '(__rlctl_segments)'", stdout);
		break;
	case VALUE_FILE:
		fputs(" -F", stdout);
		break;
	case VALUE_VERB:
		fputs(" -a '", stdout);
		for (const struct command *command = verbs; command->name; command++)
			printf("%s%s", command == verbs ? "" : " ", command->name);
		putchar('\'');
		break;
	case VALUE_NONE:
	case VALUE_ANY:
		break;
	}
}

static void
print_option(const char *condition, const struct command_option *option,
             const struct command *verbs)
{
	struct value_words value = option_words(option);

	printf("complete -c rlctl%s -l %s", condition, option->name);
	if (option->letter)
		printf(" -s %c", option->letter);
	if (value.kind != VALUE_NONE)
		fputs(value.kind == VALUE_FILE ? " -r" : " -x", stdout);
	print_values(&value, verbs);
	fputs(" -d '", stdout);
	print_escaped(option->text, "'\\", false);
	puts("'");
}

static void
print_verb(const struct command *command, const struct command *verbs)
{
	struct value_words value = operand_words(command);
	bool is_first = value.kind == VALUE_RULE || value.kind == VALUE_CONFIG;
	char condition[96], first[96];

	printf("complete -c rlctl -n " NO_VERB " -a %s -d '", command->name);
	print_escaped(command->summary, "'\\", false);
	puts("'");
	snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %s'",
	         command->name);
	snprintf(first, sizeof(first), " -n '__rlctl_last %s'", command->name);
	if (value.kind > VALUE_ANY) {
		printf("complete -c rlctl%s", is_first ? first : condition);
		print_values(&value, verbs);
		putchar('\n');
	}
	if (value.kind == VALUE_CONFIG)
		puts("complete -c rlctl -n '__rlctl_last set unset' -a '(__rlctl_paths)'");
	for (const struct command_option *option = command->options; option->name; option++)
		print_option(condition, option, verbs);
}

void
completion_fish(const struct command *verbs)
{
	puts("# Completion of rlctl for fish, made by 'rlctl completion fish'.\n\n"
	     "function __rlctl_segments\n\t" LIST_SEGMENTS "\nend\n\n"
	     "function __rlctl_segment\n"
	     "\tset -l words (commandline -opc)\n"
	     "\tset -l at (contains -i -- --segment $words; or contains -i -- -s $words)\n"
	     "\tand echo --segment=$words[(math $at + 1)]\n"
	     "end\n\n"
	     "function __rlctl_last\n\tcontains -- (commandline -opc)[-1] $argv\nend\n\n"
	     "function __rlctl_rules\n\tset -l segment (__rlctl_segment)\n\t"
	     "rlctl $segment stats 2>/dev/null | " RULES_ONLY "\nend\n\n"
	     "function __rlctl_patterns\n\tset -l segment (__rlctl_segment)\n"
	     "\trlctl $segment bans -H -o tsv 2>/dev/null | " PATTERNS_ONLY "\nend\n\n"
	     "function __rlctl_paths\n"
	     "\tset -l words (commandline -opc)\n"
	     "\tset -l file\n"
	     "\tset -l at (contains -i -- --config $words; or contains -i -- -c $words)\n"
	     "\tand set file --config $words[(math $at + 1)]\n"
	     "\trlctl config show $file 2>/dev/null | " PATHS_ONLY "\nend\n\n"
	     "complete -c rlctl -f");
	for (const struct command_option *option = global_options; option->name; option++)
		print_option("", option, verbs);
	for (const struct command *command = verbs; command->name; command++)
		print_verb(command, verbs);
	puts("\ncomplete -c rl-replay -w 'rlctl replay'");
}
