/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "completion/completion.h"

/* A function that proposes the lines of a command. */
#define ZSH_LIST(name, command)                                                       \
	"_rlctl_" name "() {\n\tlocal -a found\n"                                     \
	"\tlocal segment=${rlctl_segment:-${opt_args[--segment]:-${opt_args[-s]}}}\n" \
	"\tlocal config=${opt_args[--config]:-${opt_args[-c]}}\n"                     \
	"\tfound=(${(f)\"$(" command ")\"})\n\tcompadd -a found\n}\n\n"

/* The characters that have a meaning within the words of _arguments. */
#define SPECIAL "[]:\\"

static void
print_action(const struct value_words *value)
{
	switch (value->kind) {
	case VALUE_WORDS:
	case VALUE_CONFIG:
		printf("(%s)", value->words);
		break;
	case VALUE_PATTERN:
		fputs("_rlctl_patterns", stdout);
		break;
	case VALUE_RULE:
		fputs("_rlctl_rules", stdout);
		break;
	case VALUE_SEGMENT:
		fputs("_rlctl_segments", stdout);
		break;
	case VALUE_FILE:
		fputs("_files", stdout);
		break;
	case VALUE_VERB:
		fputs("_rlctl_verbs", stdout);
		break;
	case VALUE_NONE:
	case VALUE_ANY:
		putchar(' ');
		break;
	}
}

static void
print_spec(const struct command_option *option, const char *form)
{
	struct value_words value = option_words(option);

	printf(" \\\n\t\t'%s[", form);
	print_escaped(option->text, SPECIAL, true);
	putchar(']');
	if (value.kind != VALUE_NONE) {
		putchar(':');
		print_escaped(option->argument, SPECIAL, true);
		putchar(':');
		print_action(&value);
	}
	putchar('\'');
}

static void
print_options(const struct command_option *options)
{
	char form[40];

	for (; options->name; options++) {
		snprintf(form, sizeof(form), "--%s", options->name);
		print_spec(options, form);
		if (!options->letter)
			continue;
		snprintf(form, sizeof(form), "-%c", options->letter);
		print_spec(options, form);
	}
}

static void
print_verbs(const struct command *verbs)
{
	puts("_rlctl_verbs() {\n\tlocal -a verbs\n\tverbs=(");
	for (const struct command *command = verbs; command->name; command++) {
		printf("\t\t'%s:", command->name);
		print_escaped(command->summary, SPECIAL, true);
		puts("'");
	}
	puts("\t)\n\t_describe verb verbs\n}\n");
}

static void
print_case(const struct command *command)
{
	struct value_words value = operand_words(command);

	printf("\t%s) _arguments -s", command->name);
	print_options(global_options);
	print_options(command->options);
	if (value.kind != VALUE_NONE) {
		printf(" \\\n\t\t'%s:operand:", value.kind == VALUE_FILE ? "*" : "1");
		print_action(&value);
		putchar('\'');
	}
	if (value.kind == VALUE_RULE)
		fputs(" \\\n\t\t'2:key: '", stdout);
	if (value.kind == VALUE_CONFIG)
		fputs(" \\\n\t\t'2:path:_rlctl_paths'", stdout);
	puts(" ;;");
}

void
completion_zsh(const struct command *verbs)
{
	puts("#compdef rlctl rl-replay\n"
	     "# Completion of rlctl for zsh, made by 'rlctl completion zsh'.\n\n"
	     "_rlctl_segments() {\n\tlocal -a found\n\tfound=(${(f)\"$(" LIST_SEGMENTS ")\"})\n"
	     "\tcompadd -a found\n}\n\n" ZSH_LIST("rules", LIST_RULES)
	             ZSH_LIST("patterns", LIST_PATTERNS) ZSH_LIST("paths", LIST_PATHS));
	print_verbs(verbs);
	fputs("_rlctl() {\n\tlocal curcontext=$curcontext state line rlctl_segment\n"
	      "\ttypeset -A opt_args\n"
	      "\tif [[ $service == rl-replay ]]; then\n"
	      "\t\twords=(rlctl replay \"${(@)words[2,-1]}\")\n"
	      "\t\t(( CURRENT++ ))\n"
	      "\tfi\n"
	      "\t_arguments -s -C",
	      stdout);
	print_options(global_options);
	puts(" \\\n\t\t'1:verb:_rlctl_verbs' '*::argument:->argument'\n"
	     "\t[[ $state == argument ]] || return\n"
	     "\trlctl_segment=${opt_args[--segment]:-$opt_args[-s]}\n"
	     "\tcase $line[1] in");
	for (const struct command *command = verbs; command->name; command++)
		print_case(command);
	puts("\tesac\n}\n\n"
	     "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n\t_rlctl \"$@\"\nelse\n"
	     "\tcompdef _rlctl rlctl rl-replay\nfi");
}
