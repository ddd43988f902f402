/* SPDX-License-Identifier: BSD-2-Clause */

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <rl_admin.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/output.h"
#include "text/suggest.h"

/*
 * getopt_long() answers FIRST_ID + index for a long option: above every letter, so that
 * optopt tells which form was wrong.
 */
#define FIRST_ID 256

const struct command_option global_options[] = {
	{"segment", 's', "NAME", "the segment (default: $RL_SEGMENT, rl.json's, or the only one)"},
	/* tool_options begin here */
	{"json", 'j', NULL, "write JSON"},
	{"help", 'h', NULL, "explain, and do nothing else"},
	{"version", 'V', NULL, "print the version, and do nothing else"},
	{0},
};

const struct command_option *const tool_options = global_options + 1;

const struct command_option no_options[] = {{0}};

/* Global options and the verb's as one list, in the order of context->values. */
struct option_set {
	int count;
	const struct command_option *option[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 1];
	char shorts[3 + 2 * OPTIONS_MAX];
};

static void
set_append(struct option_set *set, const struct command_option *options)
{
	for (; options->name; options++) {
		assert(set->count < OPTIONS_MAX);
		set->option[set->count++] = options;
	}
}

static void
set_gather(struct option_set *set, const struct context *context)
{
	memset(set, 0, sizeof(*set));
	set_append(set, context->globals);
	if (context->command)
		set_append(set, context->command->options);
}

/* A colon in front makes getopt_long() tell a missing argument from an unknown option. */
static void
set_compile(struct option_set *set, bool stops_at_operand)
{
	char *shorts = stpcpy(set->shorts, stops_at_operand ? "+:" : ":");

	for (int i = 0; i < set->count; i++) {
		const struct command_option *option = set->option[i];

		set->longs[i] = (struct option){
			.name = option->name,
			.has_arg = option->argument ? required_argument : no_argument,
			.val = FIRST_ID + i,
		};
		if (!option->letter)
			continue;
		*shorts++ = option->letter;
		if (option->argument)
			*shorts++ = ':';
	}
}

static int
set_index(const struct option_set *set, int id)
{
	for (int i = 0; i < set->count; i++)
		if (id == FIRST_ID + i || id == set->option[i]->letter)
			return i;
	return -1;
}

static void
complain_unknown_long(const struct option_set *set, const char *word)
{
	const char *names[OPTIONS_MAX + 1] = {0};
	const char *near;

	for (int i = 0; i < set->count; i++)
		names[i] = set->option[i]->name;
	near = suggest(word + strspn(word, "-"), names);
	if (near)
		complain("unknown option '%s'; did you mean '--%s'?", word, near);
	else
		complain("unknown option '%s'; see '%s --help'", word,
		         program_invocation_short_name);
}

/* `answer` is '?' or ':' from getopt_long(), which has left the details in globals. */
static void
complain_option(const struct option_set *set, int answer, const char *word)
{
	int index = set_index(set, optopt);

	if (optopt == 0)
		complain_unknown_long(set, word);
	else if (index < 0)
		complain("unknown option '-%c'; see '%s --help'", optopt,
		         program_invocation_short_name);
	else if (answer == ':')
		complain("option '--%s' needs %s", set->option[index]->name,
		         set->option[index]->argument);
	else
		complain("option '--%s' takes no value", set->option[index]->name);
}

static bool
take_option(struct context *context, int option, const char *value)
{
	if (context->use_count == USES_MAX) {
		complain("more than %d options", USES_MAX);
		return false;
	}
	context->values[option] = value;
	context->uses[context->use_count++] = (struct option_use){option, value};
	return true;
}

/* Take options into context->values; false after a message. optind is left at the rest. */
static bool
take_options(struct context *context, int argc, char **argv)
{
	struct option_set set;
	int answer;

	set_gather(&set, context);
	set_compile(&set, !context->command);
	opterr = 0;
	optind = 0; /* start again */
	while ((answer = getopt_long(argc, argv, set.shorts, set.longs, NULL)) != -1) {
		if (answer == '?' || answer == ':') {
			complain_option(&set, answer, argv[optind - 1]);
			return false;
		}
		if (!take_option(context, set_index(&set, answer), optarg ? optarg : ""))
			return false;
	}
	return true;
}

/*
 * 'rlctl reload' was the name of 'rlctl config reload' until 0.9, and goes on to work in that
 * release.
 */
static bool
is_renamed(const char *word)
{
	return strcmp(word, "reload") == 0;
}

/* The word of the verb of before is the first operand of the verb of now. */
static void
take_renamed(struct context *context, char *word)
{
	complain("warning: 'rlctl %s' is 'rlctl config %s' now; the next release does not know the "
	         "old name",
	         word, word);
	context->operand_count++;
	*--context->operands = word;
}

/* Options and operands of the command that argv begins with. */
static bool
take_words(struct context *context, int argc, char **argv)
{
	if (!take_options(context, argc, argv))
		return false;
	context->operands = argv + optind;
	context->operand_count = argc - optind;
	return true;
}

/* The verb's word, in front of the options that stand before it. */
static void
put_first(struct context *context, char **argv, int verb)
{
	char *word = argv[verb];

	memmove(argv + 2, argv + 1, (size_t)(verb - 1) * sizeof(*argv));
	context->words = argv + 1;
	context->words[0] = word;
}

static bool
take_verb(struct context *context, int argc, char **argv, int verb)
{
	char *word = argv[verb];

	context->command = verb_need(context->verbs, word);
	if (!context->command || !take_words(context, argc - verb, argv + verb))
		return false;
	put_first(context, argv, verb);
	if (is_renamed(word))
		take_renamed(context, word);
	return true;
}

bool
options_parse(struct context *context, int argc, char **argv)
{
	if (context->command)
		return take_words(context, argc, argv);
	if (!take_options(context, argc, argv))
		return false;
	return optind >= argc || take_verb(context, argc, argv, optind);
}

/* Its place in context->values. */
static int
option_place(const struct context *context, const char *name)
{
	struct option_set set;

	set_gather(&set, context);
	for (int i = 0; i < set.count; i++)
		if (strcmp(set.option[i]->name, name) == 0)
			return i;
	abort(); /* in neither table */
}

const char *
option_value(const struct context *context, const char *name)
{
	return context->values[option_place(context, name)];
}

const char *
option_next(const struct context *context, const char *name, int *at)
{
	int option = option_place(context, name);

	for (; *at < context->use_count; (*at)++)
		if (context->uses[*at].option == option)
			return context->uses[(*at)++].value;
	return NULL;
}

const char *
option_before(const struct context *context, const char *name, int at)
{
	int option = option_place(context, name);

	while (at-- > 0)
		if (context->uses[at].option == option)
			return context->uses[at].value;
	return NULL;
}

const struct command *
command_need(const struct command *verbs, const char *of, const char *name)
{
	const char *names[VERB_COUNT + 1] = {0}, *near;
	int count = 0;

	for (; verbs->name; verbs++) {
		if (verbs->of && strcmp(verbs->of, of) != 0)
			continue;
		if (strcmp(verbs->name, name) == 0)
			return verbs;
		names[count++] = verbs->name;
	}
	near = suggest(name, names);
	if (near)
		complain("%s%sunknown verb '%s'; did you mean '%s'?", of, of[0] ? ": " : "", name,
		         near);
	else
		complain("%s%sunknown verb '%s'; see 'rlctl help%s%s'", of, of[0] ? ": " : "", name,
		         of[0] ? " " : "", of);
	return NULL;
}

const struct command *
verb_need(const struct command *verbs, const char *word)
{
	return command_need(verbs, "", is_renamed(word) ? "config" : word);
}

bool
key_need(size_t len)
{
	if (len > 0 && len <= RL_KEY_MAX)
		return true;
	complain("KEY has %zu bytes; it must have 1 to %d", len, RL_KEY_MAX);
	return false;
}
