/* SPDX-License-Identifier: BSD-2-Clause */
/* Every word of help comes from the command table and the option tables. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/help.h"
#include "base/width.h"

#define LEFT_COLUMNS 24

/* Two columns; a terminal has the second below a first that is too wide for it. */
static void
print_row(const char *left, const char *text)
{
	bool is_wide = strlen(left) > LEFT_COLUMNS && terminal_columns() > 0;
	int indent = LEFT_COLUMNS + 4;

	if (is_wide) {
		printf("  ");
		print_wrapped(left, 2);
		printf("%*s", indent, "");
	} else {
		indent = printf("  %-*s  ", LEFT_COLUMNS, left);
	}
	print_wrapped(text, (size_t)indent);
}

static void
print_option(const struct command_option *option)
{
	char left[192];
	int used = 0;

	if (option->letter)
		used = snprintf(left, sizeof(left), "-%c, ", option->letter);
	else
		used = snprintf(left, sizeof(left), "    ");
	snprintf(left + used, sizeof(left) - (size_t)used, "--%s%s%s", option->name,
	         option->argument ? " " : "", option_argument(option).text);
	print_row(left, option->text);
}

static void
print_options(const char *title, const struct command_option *options)
{
	printf("\n%s:\n", title);
	for (; options->name; options++)
		print_option(options);
}

static void
print_subverbs(const struct command *of)
{
	const struct command *verb = subverb_next(of, NULL);
	char left[80];

	if (verb)
		printf("\nverbs of %s:\n", of->name);
	for (; verb; verb = subverb_next(of, verb)) {
		snprintf(left, sizeof(left), "%s %s", verb->name, verb->synopsis);
		print_row(left, verb->summary);
	}
}

static void
print_usage(const char *program, const struct command *command)
{
	char usage[384];

	snprintf(usage, sizeof(usage), "%s%s%s%s", program, command->name,
	         command->synopsis[0] ? " " : "", command->synopsis);
	printf("usage: ");
	print_wrapped(usage, strlen("usage: "));
	printf("\n%s: ", command->name);
	print_wrapped(command->summary, strlen(command->name) + 2);
}

void
help_command(const struct command *command)
{
	print_usage("rlctl [OPTION...] ", command);
	print_subverbs(command);
	if (command->options->name)
		print_options("options", command->options);
	print_options("options of every verb", global_options);
}

void
help_program(const struct context *context)
{
	const struct command *program = context->command;

	print_usage("", program);
	print_options("options", program->options);
	print_options("other options", context->globals);
}

void
help_all(const struct command *verbs)
{
	puts("usage: rlctl [OPTION...] VERB [ARGUMENT...]\n\nverbs:");
	for (const struct command *command = verbs; command->name; command++)
		printf("  %-10s  %s\n", command->name, command->summary);
	print_options("options of every verb", global_options);
	puts("\n'rlctl help VERB' explains a verb.\n"
	     "Exit status: 0 yes, 1 no, 2 trouble.");
}

int
run_help(const struct context *context)
{
	const struct command *command;

	if (context->operand_count == 0) {
		help_all(context->verbs);
		return EXIT_YES;
	}
	command = verb_need(context->verbs, context->operands[0]);
	if (!command)
		return EXIT_TROUBLE;
	help_command(command);
	return EXIT_YES;
}
