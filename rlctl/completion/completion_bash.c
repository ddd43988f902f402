/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "completion/completion.h"

static void
print_reply(const struct value_words *value)
{
	switch (value->kind) {
	case VALUE_WORDS:
		printf("words='%s' ;;\n", value->words);
		break;
	case VALUE_RULE:
		puts("words=$(_rlctl_rules \"$segment\") ;;");
		break;
	case VALUE_FILE:
		puts("mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;");
		break;
	case VALUE_SEGMENT:
		puts("words=$(_rlctl_segments) ;;");
		break;
	case VALUE_VERB:
		puts("words=$verbs ;;");
		break;
	case VALUE_PATTERN:
		puts("words=$(_rlctl_patterns \"$segment\") ;;");
		break;
	case VALUE_CONFIG:
		printf("[[ $prev == @(set|unset) ]] && words=$(_rlctl_paths \"$config\")\n"
		       "\t\t[[ $operands -gt 0 ]] || words='%s' ;;\n",
		       value->words);
		break;
	case VALUE_NONE:
	case VALUE_ANY:
		puts("return ;;");
		break;
	}
}

/* The words that may follow an option that takes a value. */
static void
print_option_values(const char *verb, const struct command_option *options)
{
	for (; options->name; options++) {
		struct value_words value = option_words(options);

		if (value.kind == VALUE_NONE)
			continue;
		printf("\t%s:--%s", verb, options->name);
		if (options->letter)
			printf(" | %s:-%c", verb, options->letter);
		fputs(") ", stdout);
		print_reply(&value);
	}
}

static void
print_option_names(const struct command_option *options)
{
	for (; options->name; options++)
		printf(" --%s", options->name);
}

static void
print_verbs(const struct command *verbs)
{
	fputs("\tlocal verbs='", stdout);
	for (const struct command *command = verbs; command->name; command++)
		printf("%s%s", command == verbs ? "" : " ", command->name);
	puts("'");
}

static void
print_options_of_verbs(const struct command *verbs)
{
	puts("\tcase $verb in");
	for (const struct command *command = verbs; command->name; command++) {
		printf("\t%s) options='", command->name);
		print_option_names(global_options);
		print_option_names(command->options);
		puts("' ;;");
	}
	fputs("\t*) options='", stdout);
	print_option_names(global_options);
	puts("' ;;\n\tesac");
}

static void
print_operands_of_verbs(const struct command *verbs)
{
	puts("\tcase $verb in\n\t'') words=$verbs ;;");
	for (const struct command *command = verbs; command->name; command++) {
		struct value_words value = operand_words(command);

		printf("\t%s) ", command->name);
		if (value.kind == VALUE_RULE)
			fputs("[[ $operands -gt 0 ]] || ", stdout); /* a key comes behind it */
		print_reply(&value);
	}
	puts("\tesac");
}

void
completion_bash(const struct command *verbs)
{
	puts("# Completion of rlctl for bash, made by 'rlctl completion bash'.\n\n"
	     "_rlctl_segments() {\n\t" LIST_SEGMENTS "\n}\n\n"
	     "_rlctl_rules() {\n\tlocal segment=$1\n\t" LIST_RULES "\n}\n\n"
	     "_rlctl_patterns() {\n\tlocal segment=$1\n\t" LIST_PATTERNS "\n}\n\n"
	     "_rlctl_paths() {\n\tlocal config=$1\n\t" LIST_PATHS "\n}\n\n"
	     "_rlctl() {\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	     "\tlocal verb='' segment='' words='' options='' config='' operands=0 i");
	print_verbs(verbs);
	puts("\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\tcase ${COMP_WORDS[i]} in\n"
	     "\t\t-s | --segment) segment=${COMP_WORDS[++i]} ;;\n"
	     "\t\t-c | --config) config=${COMP_WORDS[++i]} ;;\n"
	     "\t\t-*) ;;\n"
	     "\t\t*)\n"
	     "\t\t\t[[ -z $verb ]] || operands=$((operands + 1))\n"
	     "\t\t\tverb=${verb:-${COMP_WORDS[i]}}\n"
	     "\t\t\t;;\n"
	     "\t\tesac\n"
	     "\tdone\n"
	     "\tCOMPREPLY=()");
	print_options_of_verbs(verbs);
	puts("\tcase $verb:$prev in");
	print_option_values("*", global_options);
	for (const struct command *command = verbs; command->name; command++)
		print_option_values(command->name, command->options);
	puts("\t*)\n\tif [[ $cur == -* ]]; then\n\t\twords=$options\n\telse");
	print_operands_of_verbs(verbs);
	puts("\tfi\n\t;;\n\tesac\n"
	     "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	     "}\n"
	     "complete -F _rlctl rlctl\n\n"
	     "_rl_replay() {\n"
	     "\tCOMP_WORDS=(rlctl replay \"${COMP_WORDS[@]:1}\")\n"
	     "\tCOMP_CWORD=$((COMP_CWORD + 1))\n"
	     "\t_rlctl\n"
	     "}\n"
	     "complete -F _rl_replay rl-replay");
}
