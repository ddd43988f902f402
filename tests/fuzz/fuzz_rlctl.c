/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any command line of rlctl, with any standard input: what it is given to restore, to replay. An
 * input is the arguments, one a line, up to an empty one; what follows is read by the command. It
 * ends with a status that it has, and writes nothing that a terminal would obey. Nothing outside
 * the segment of this process is changed: what would is not linked, see fuzz_rlctl in the Makefile.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exercise.h"
#include "harmless.h"
#include "rule/handle.h"

#define ARGUMENTS_MAX 16
#define EXIT_MAX 2
#define EXIT_NOT_FOUND 127 /* of hold */

struct context;
struct locked_file;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int rlctl_main(int argc, char **argv);
int __real_rl_open(const char *name, const struct rl_options *options, struct rl **out);
int __wrap_rl_open(const char *name, const struct rl_options *options, struct rl **out);
int __real_rl_unlink(const char *name);
int __wrap_rl_unlink(const char *name);
bool __wrap_interrupt_sleep(uint64_t ns);
int __wrap_run_top(const struct context *context);
int __wrap_run_dump(const struct context *context);
int __wrap_run_upgrade(const struct context *context);
int __wrap_run_replay(const struct context *context);
int replay_run(const struct context *context);
bool __wrap_change_lock(const struct context *context, unsigned wait_ms, struct locked_file *file);
int __wrap_execvp(const char *file, char *const *argv);

static char name[32];
static struct rl *rl;
static unsigned char *whole;

static void
require(bool is_so)
{
	if (!is_so)
		abort();
}

/* There is one segment, by any name that one can have. */
int
__wrap_rl_open(const char *given, const struct rl_options *options, struct rl **out)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	*out = NULL;
	return given[strspn(given, good)] ? -EINVAL : __real_rl_open(name, options, out);
}

int
__wrap_rl_unlink(const char *given)
{
	(void)given;
	return 0;
}

/* Whoever watches has seen enough. */
bool
__wrap_interrupt_sleep(uint64_t ns)
{
	(void)ns;
	return false;
}

/* Nothing is run; it is as if it were not there. */
int
__wrap_execvp(const char *file, char *const *argv)
{
	(void)file;
	(void)argv;
	errno = ENOENT;
	return -1;
}

int
__wrap_run_top(const struct context *context)
{
	(void)context;
	return 0;
}

int
__wrap_run_dump(const struct context *context)
{
	(void)context;
	return 0;
}

int
__wrap_run_upgrade(const struct context *context)
{
	(void)context;
	return 0;
}

/* A replay is a program of its own, and here it is within. */
int
__wrap_run_replay(const struct context *context)
{
	return replay_run(context);
}

bool
__wrap_change_lock(const struct context *context, unsigned wait_ms, struct locked_file *file)
{
	(void)context;
	(void)wait_ms;
	(void)file;
	return false;
}

static void
clean_up(void)
{
	rl_close(rl);
	__real_rl_unlink(name);
}

static void
prepare(void)
{
	snprintf(name, sizeof name, "fuzz-rlctl-%d", (int)getpid());
	atexit(clean_up);
	require(__real_rl_open(name, &exercise_options, &rl) == 0);
	exercise_fill(rl);
	whole = malloc(rl->segment.bytes);
	require(whole != NULL);
	memcpy(whole, rl->segment.header, rl->segment.bytes);
}

/* Cut the arguments off `text`; what is left. */
static char *
take_arguments(char *text, char *argv[static ARGUMENTS_MAX + 1], int *argc)
{
	*argc = 0;
	argv[(*argc)++] = "rlctl";
	while (*text && *text != '\n' && *argc < ARGUMENTS_MAX) {
		char *end = text + strcspn(text, "\n");
		argv[(*argc)++] = text;
		text = *end ? end + 1 : end;
		*end = '\0';
	}
	argv[*argc] = NULL;
	return *text == '\n' ? text + 1 : text;
}

/* list --null, by any short form, writes keys as they are, for other programs. */
static bool
is_raw(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--n", 3) == 0 ||
		    (argv[i][0] == '-' && argv[i][1] != '-' && strchr(argv[i], '0')))
			return true;
	return false;
}

static void
judge_output(char *output)
{
	char *rest;

	for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!is_plain(line)) {
			fprintf(stderr, "said '%s'\n", line);
			abort();
		}
}

static void
run(int argc, char **argv, char *input, size_t input_len)
{
	FILE *streams[3] = {stdin, stdout, stderr};
	char *output = NULL;
	bool is_judged;
	size_t len;
	int status;

	stdin = fmemopen(input, input_len, "r");
	stdout = stderr = open_memstream(&output, &len);
	require(stdin && stdout);
	is_judged = !is_raw(argc, argv); /* getopt_long() moves them about */
	status = rlctl_main(argc, argv);
	fclose(stdin);
	fclose(stdout);
	stdin = streams[0];
	stdout = streams[1];
	stderr = streams[2];
	require((status >= 0 && status <= EXIT_MAX) || status == EXIT_NOT_FOUND);
	if (is_judged)
		judge_output(output);
	free(output);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[ARGUMENTS_MAX + 1], *text, *input;
	int argc;

	if (!rl)
		prepare();
	memcpy(rl->segment.header, whole, rl->segment.bytes);
	text = malloc(size + 2); /* fmemopen() takes no empty buffer */
	require(text != NULL);
	memcpy(text, data, size);
	memset(text + size, 0, 2);
	input = take_arguments(text, argv, &argc);
	run(argc, argv, input, (size_t)(text + size - input));
	free(text);
	return 0;
}
