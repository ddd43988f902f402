/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SUBVERBS_H
#define RLCTL_SUBVERBS_H

/*
 * The verbs below a verb, in the order of its usage: SUBVERB(verb, name, operands_min,
 * operands_max, synopsis). They share the options of their verb. Declarations, usage, completions,
 * dispatch and the fuzzer's words are made from a line; <verb>_<name>() runs it, in a file
 * cmd_<verb>_*.c, and its context has the operands behind its name.
 */

#include "base/command.h"

#define CONFIG_VERBS(SUBVERB)                    \
	SUBVERB(config, check, 0, 1, "[FILE]")   \
	SUBVERB(config, show, 0, 0, "")          \
	SUBVERB(config, diff, 0, 0, "")          \
	SUBVERB(config, reload, 0, 0, "")        \
	SUBVERB(config, edit, 0, 0, "")          \
	SUBVERB(config, set, 2, 2, "PATH VALUE") \
	SUBVERB(config, unset, 1, 1, "PATH")     \
	SUBVERB(config, history, 0, 1, "[N]")    \
	SUBVERB(config, undo, 0, 1, "[N]")

#define CLUSTER_VERBS(SUBVERB)                                                 \
	SUBVERB(cluster, status, 0, 0, "")                                     \
	SUBVERB(cluster, hosts, 0, 0, "")                                      \
	SUBVERB(cluster, show, 2, 2, "RULE KEY")                               \
	SUBVERB(cluster, override, 2, 3, "RULE KEY [CAPACITY|unlimited|none]") \
	SUBVERB(cluster, push, 1, 1, "FILE")                                   \
	SUBVERB(cluster, pull, 0, 0, "")                                       \
	SUBVERB(cluster, diff, 1, 1, "FILE")                                   \
	SUBVERB(cluster, reset, 1, 2, "RULE [KEY]")                            \
	SUBVERB(cluster, ban, 1, 1, "PATTERN [--for D | --until TIME]")        \
	SUBVERB(cluster, allow, 1, 1, "PATTERN [--for D | --until TIME]")      \
	SUBVERB(cluster, unban, 1, 1, "PATTERN")                               \
	SUBVERB(cluster, forget, 1, 1, "HOST")

/* "check|show [ARGUMENT...]" */
#define SUBVERB_WORD(verb, name, ...) "|" #name
#define SUBVERBS_SYNOPSIS(VERBS) &VERBS(SUBVERB_WORD) " [ARGUMENT...]"[1]

#define SUBVERB_CALL(verb, name, ...) int verb##_##name(const struct context *context);
CONFIG_VERBS(SUBVERB_CALL)
CLUSTER_VERBS(SUBVERB_CALL)
#undef SUBVERB_CALL

/* Of the table that subverb_run() takes; it ends with {0}. */
#define SUBVERB_ROW(verb, name, operands_min, operands_max, synopsis) \
	{#name, synopsis, NULL, NULL, operands_min, operands_max, verb##_##name},

/* Run the verb that the first operand names, with those behind it. Returns the exit status. */
int subverb_run(const struct context *context, const struct command *verbs);

#endif
