/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_COMMAND_H
#define RLCTL_COMMAND_H

/*
 * A verb of rlctl is a line of verbs.def and a file cmd_<verb>.c. Usage, help, option parsing,
 * completion and dispatch are made from the line.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rl;

enum {
	EXIT_YES = 0,
	EXIT_NO = 1,
	EXIT_TROUBLE = 2
};

#define OPTIONS_MAX 40 /* global ones and one verb's */
#define USES_MAX 64    /* of options in one command line */

/* An option; a list of them ends with a NULL name. */
struct command_option {
	const char *name;
	char letter;          /* short form, or 0 */
	const char *argument; /* what it takes, as shown in help; NULL: nothing */
	const char *text;
};

struct context;

struct command {
	const char *name;
	const char *synopsis;
	const char *summary;
	const struct command_option *options; /* its own, besides the global ones */
	int operands_min;
	int operands_max;
	int (*run)(const struct context *context); /* returns the exit status */
	const char *of;                            /* the verb that it is below; NULL: none */
	const struct command *below; /* those below verbs, its own among them; NULL: it is one */
};

/* The options of the command line. */
struct context {
	const struct command *verbs;          /* all there are; ends with a NULL name; NULL: none */
	const struct command *command;        /* NULL until the verb is known */
	const struct command_option *globals; /* those of every verb */
	const char *values[OPTIONS_MAX];      /* the last of each */
	struct option_use {
		int option; /* its place in `values` */
		const char *value;
	} uses[USES_MAX]; /* all of them, in their order */
	int use_count;
	int operand_count;
	char **operands;
	char **words; /* the verb, all options, and the operands; ends with NULL */
};

extern const struct command_option global_options[];
extern const struct command_option *const tool_options; /* those that name no segment */
extern const struct command_option no_options[];

/* The verb of that name, of all or of those below the verb `of`; NULL after a message. */
const struct command *command_need(const struct command *verbs, const char *of, const char *name);

/* The first verb below `of`, or the next one behind `last`; NULL: there is none. */
const struct command *subverb_next(const struct command *of, const struct command *last);

/* Run the verb below it that the first operand names, with those behind it. */
int subverb_run(const struct context *context);

/*
 * The same of all, for a word of a command line: one by which it was called before is known, too.
 */
const struct command *verb_need(const struct command *verbs, const char *word);

/*
 * The value of an option, "" for one that takes none; NULL if it was not given. Asking
 * for a name that is in neither table is a mistake of the caller.
 */
const char *option_value(const struct context *context, const char *name);

/* The next value of an option that may be given several times; NULL behind the last. *at is 0 at
 * first. */
const char *option_next(const struct context *context, const char *name, int *at);

/* The last value of an option that stands before place `at`, as option_next() has left it; NULL. */
const char *option_before(const struct context *context, const char *name, int at);

/*
 * Open --segment for reading; or to change what is in it. NULL after a message. It is open until
 * another is opened so, or the verb has ended.
 */
struct rl *open_segment(const struct context *context);
struct rl *open_segment_writable(const struct context *context);
void close_segment(void);

/* The segment that --segment or RL_SEGMENT names, or NULL. */
const char *segment_asked(const struct context *context);

/*
 * The same, or else the one that the configuration names, or else the only one there is. NULL after
 * a message.
 */
const char *segment_name(const struct context *context);

/* "segment 'NAME'", of what was opened last, for a message. */
const char *segment_label(void);

/* True for a length that a key can have; else false after a message. */
bool key_need(size_t len);

/* Of each verb: run_<name>(), and its options. */
#define VERB(name, options, ...)                       \
	int run_##name(const struct context *context); \
	extern const struct command_option options[];
#define SUBVERB(verb, name, ...) int verb##_##name(const struct context *context);
#include "base/verbs.def"

/* How many there are. */
#define VERB(...) +1
#define SUBVERB(...) +1
enum {
	VERB_COUNT = 0
#include "base/verbs.def"
};

#endif
