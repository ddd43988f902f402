/* SPDX-License-Identifier: BSD-2-Clause */
/* config reload: put the file into force. config diff: what that would do. */

#include <apply/apply.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/output.h"
#include "config/config_verb.h"
#include "text/error_text.h"

/* A mistake in a configuration is the answer no; a fault of the host is trouble. */
static int
status_of(int error)
{
	if (error == 0)
		return EXIT_YES;
	switch (error) {
	case -EINVAL:
	case RL_ERULES:
	case RL_ELIMITS:
	case RL_EOVERRIDES:
	case RL_ERING:
	case RL_EADDRESS:
		return EXIT_NO;
	default:
		return EXIT_TROUBLE;
	}
}

/* A request to a segment. */
struct task {
	unsigned flags; /* to open it with */
	bool must_exist;
	int if_changed; /* the exit status if a dry run finds a difference */
	int (*run)(const struct task *task, struct rl *rl, const char *name,
	           const struct config *config);
};

static int
apply(const struct task *task, struct rl *rl, const char *name, const struct config *config)
{
	struct rl_config_outcome outcome;
	int error = config_apply(rl, config, 0, &outcome, config_say, NULL);

	(void)task;
	if (error < 0)
		complain("segment '%s' keeps the configuration it had", name);
	else if (outcome.is_changed)
		printf("segment '%s': generation %" PRIu64 "\n", name, outcome.generation);
	else
		printf("segment '%s': nothing has changed\n", name);
	return status_of(error);
}

static int
compare(const struct task *task, struct rl *rl, const char *name, const struct config *config)
{
	struct rl_config_outcome outcome;
	int error = config_apply(rl, config, RL_CONFIGURE_DRY, &outcome, config_say, NULL);

	(void)name;
	if (error < 0)
		return status_of(error);
	if (outcome.is_changed)
		return task->if_changed;
	puts("no difference");
	return EXIT_YES;
}

static int
perform(const struct task *task, const struct context *context, const struct config *config)
{
	const char *name = config_segment(context, config);
	struct rl_options options = {.flags = task->flags | RL_OPEN_EXISTING};
	struct rl *rl;
	int status, error = rl_open(name, &options, &rl);

	if (error == -ENOENT && !task->must_exist) {
		printf("segment '%s' does not exist yet\n", name);
		return EXIT_YES;
	}
	if (error < 0) {
		complain("segment '%s': %s", name, error_text(error).text);
		return EXIT_TROUBLE;
	}
	status = task->run(task, rl, name, config);
	rl_close(rl);
	return status;
}

int
config_follow(const struct context *context, const struct config *config)
{
	const struct task follow = {.flags = RL_OPEN_ANY_OWNER, .run = apply};

	return option_value(context, "no-reload") ? EXIT_YES : perform(&follow, context, config);
}

int
config_foresee(const struct context *context, const struct config *config)
{
	const struct task foresee = {.flags = RL_OPEN_READONLY, .run = compare};

	return perform(&foresee, context, config);
}

int
config_reload(const struct context *context)
{
	const struct task reload = {.flags = RL_OPEN_ANY_OWNER, .must_exist = true, .run = apply};
	int status;
	struct config *config = config_need(config_file(context), &status);

	if (!config)
		return status;
	status = option_value(context, "dry-run") ? config_foresee(context, config)
	                                          : perform(&reload, context, config);
	config_free(config);
	return status;
}

int
config_diff(const struct context *context)
{
	const struct task diff = {.flags = RL_OPEN_READONLY,
	                          .must_exist = true,
	                          .if_changed = EXIT_NO,
	                          .run = compare};
	int status;
	struct config *config = config_need(config_file(context), &status);

	if (!config)
		return EXIT_TROUBLE;
	status = perform(&diff, context, config);
	config_free(config);
	return status;
}
