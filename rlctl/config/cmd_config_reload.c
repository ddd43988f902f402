/* SPDX-License-Identifier: BSD-2-Clause */
/* config reload: put the file into force. config diff: what that would do. */

#include <apply/apply.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/output.h"
#include "config/config_verb.h"

static struct rl *
open_for(const char *name, unsigned flags, int *error)
{
	struct rl_options options = {.flags = flags | RL_OPEN_EXISTING};
	struct rl *rl = NULL;

	*error = rl_open(name, &options, &rl);
	return *error == 0 ? rl : NULL;
}

static void
complain_segment(const char *name, int error)
{
	complain("segment '%s': %s", name, rl_strerror(error));
}

/* What is wrong with a configuration is the answer no; what is wrong with the host, trouble. */
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

static int
apply(struct rl *rl, const char *name, const struct config *config)
{
	struct rl_config_outcome outcome;
	int error = config_apply(rl, config, 0, &outcome, config_say, NULL);

	if (error < 0)
		complain("segment '%s' keeps the configuration it had", name);
	else if (outcome.is_changed)
		printf("segment '%s': generation %" PRIu64 "\n", name, outcome.generation);
	else
		printf("segment '%s': nothing has changed\n", name);
	return status_of(error);
}

static int
enforce(const struct context *context, const struct config *config, bool must_exist)
{
	const char *name = config_segment(context, config);
	int error, status;
	struct rl *rl = open_for(name, RL_OPEN_ANY_OWNER, &error);

	if (!rl && error == -ENOENT && !must_exist) {
		printf("segment '%s' does not exist yet\n", name);
		return EXIT_YES;
	}
	if (!rl) {
		complain_segment(name, error);
		return EXIT_TROUBLE;
	}
	status = apply(rl, name, config);
	rl_close(rl);
	return status;
}

int
config_follow(const struct context *context, const struct config *config)
{
	if (option_value(context, "no-reload"))
		return EXIT_YES;
	return enforce(context, config, false);
}

/* What the exit status is if something would change depends on what was asked. */
static int
compare(struct rl *rl, const struct config *config, int if_changed)
{
	struct rl_config_outcome outcome;
	int error = config_apply(rl, config, RL_CONFIGURE_DRY, &outcome, config_say, NULL);

	if (error < 0)
		return status_of(error);
	if (outcome.is_changed)
		return if_changed;
	puts("no difference");
	return EXIT_YES;
}

static int
foresee(const struct context *context, const struct config *config, bool must_exist, int if_changed)
{
	const char *name = config_segment(context, config);
	int error, status;
	struct rl *rl = open_for(name, RL_OPEN_READONLY, &error);

	if (!rl && error == -ENOENT && !must_exist) {
		printf("segment '%s' does not exist yet\n", name);
		return EXIT_YES;
	}
	if (!rl) {
		complain_segment(name, error);
		return EXIT_TROUBLE;
	}
	status = compare(rl, config, if_changed);
	rl_close(rl);
	return status;
}

int
config_foresee(const struct context *context, const struct config *config)
{
	return foresee(context, config, false, EXIT_YES);
}

int
config_reload(const struct context *context, char **operands)
{
	int status;
	struct config *config = config_need(config_file(context), &status);

	(void)operands;
	if (!config)
		return status;
	status = option_value(context, "dry-run") ? config_foresee(context, config)
	                                          : enforce(context, config, true);
	config_free(config);
	return status;
}

int
config_diff(const struct context *context, char **operands)
{
	int status;
	struct config *config = config_need(config_file(context), &status);

	(void)operands;
	if (!config)
		return EXIT_TROUBLE;
	status = foresee(context, config, true, EXIT_NO);
	config_free(config);
	return status;
}
