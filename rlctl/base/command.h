/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_COMMAND_H
#define RLCTL_COMMAND_H

/*
 * A verb of rlctl is one row of verbs[] (main.c) and one file cmd_<verb>.c. Usage,
 * help, option parsing and dispatch are all made from the row.
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

#define OPTIONS_MAX 24 /* global ones and one verb's */

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
	const struct command_option *options; /* its own, besides the global ones; or NULL */
	int operands_min;
	int operands_max;
	int (*run)(const struct context *context); /* returns the exit status */
};

/* What the command line said. */
struct context {
	const struct command *verbs;   /* all there are; ends with a NULL name */
	const struct command *command; /* NULL until the verb is known */
	const char *values[OPTIONS_MAX];
	int operand_count;
	char **operands;
};

extern const struct command_option global_options[];
extern const struct command_option list_options[];
extern const struct command_option check_options[];
extern const struct command_option reset_options[];
extern const struct command_option ban_options[];
extern const struct command_option unban_options[];
extern const struct command_option bans_options[];
extern const struct command_option stats_options[];
extern const struct command_option top_options[];
extern const struct command_option restore_options[];
extern const struct command_option forget_options[];
extern const struct command_option unlink_options[];
extern const struct command_option replay_options[];
extern const struct command_option config_command_options[];

/* The verb of that name; NULL after a message. */
const struct command *command_need(const struct context *context, const char *name);

/*
 * The value of an option, "" for one that takes none; NULL if it was not given. Asking
 * for a name that is in neither table is a mistake of the caller.
 */
const char *option_value(const struct context *context, const char *name);

/* Open --segment for reading; or to change what is in it. NULL after a message. */
struct rl *open_segment(const struct context *context);
struct rl *open_segment_writable(const struct context *context);

/* The name of --segment. */
const char *segment_name(const struct context *context);

/* True for a length that a key can have; else false after a message. */
bool key_need(size_t len);

int run_status(const struct context *context);
int run_list(const struct context *context);
int run_get(const struct context *context);
int run_check(const struct context *context);
int run_peek(const struct context *context);
int run_reset(const struct context *context);
int run_ban(const struct context *context);
int run_allow(const struct context *context);
int run_unban(const struct context *context);
int run_bans(const struct context *context);
int run_stats(const struct context *context);
int run_top(const struct context *context);
int run_sweep(const struct context *context);
int run_dump(const struct context *context);
int run_restore(const struct context *context);
int run_doctor(const struct context *context);
int run_forget(const struct context *context);
int run_unlink(const struct context *context);
int run_replay(const struct context *context);
int run_config(const struct context *context);
int run_reload(const struct context *context);
int run_completion(const struct context *context);
int run_help(const struct context *context);

#endif
