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

/* What a change has done, or would do. */
struct told {
	json_t *changes; /* the lines, for JSON; NULL: they are printed */
	const char *name;
	bool is_changed, is_dry, is_missing;
	uint64_t generation;
};

static void
tell(enum config_level level, const char *text, void *arg)
{
	struct told *told = arg;

	if (told->changes && level == CONFIG_NOTE)
		json_push(told->changes, json_text(text));
	else if (!told->changes || level != CONFIG_DETAIL)
		config_say(level, text, NULL);
}

static void
write_json(const struct told *told)
{
	json_t *root = need(json_object());

	json_put(root, "segment", json_text(told->name));
	json_put(root, "exists", json_boolean(!told->is_missing));
	json_put(root, "dry_run", json_boolean(told->is_dry));
	json_put(root, "changed", json_boolean(told->is_changed));
	json_put(root, "changes", told->changes);
	json_put(root, "generation",
	         told->is_dry || told->is_missing ? json_null() : json_count(told->generation));
	output_json(root);
}

/* A request to a segment. */
struct task {
	unsigned flags; /* to open it with */
	bool must_exist;
	int if_changed; /* the exit status if a dry run finds a difference */
	int (*run)(const struct task *task, struct rl *rl, const struct config *config,
	           struct told *told);
};

static int
apply(const struct task *task, struct rl *rl, const struct config *config, struct told *told)
{
	struct rl_config_outcome outcome;
	int error = config_apply(rl, config, 0, &outcome, tell, told);

	(void)task;
	told->is_changed = outcome.is_changed;
	told->generation = outcome.generation;
	if (error < 0)
		complain("segment '%s' keeps the configuration it had", told->name);
	else if (!told->changes && outcome.is_changed)
		printf("segment '%s': generation %" PRIu64 "\n", told->name, outcome.generation);
	else if (!told->changes)
		printf("segment '%s': nothing has changed\n", told->name);
	return status_of(error);
}

static int
compare(const struct task *task, struct rl *rl, const struct config *config, struct told *told)
{
	struct rl_config_outcome outcome;
	int error = config_apply(rl, config, RL_CONFIGURE_DRY, &outcome, tell, told);

	told->is_dry = true;
	told->is_changed = outcome.is_changed;
	if (error < 0)
		return status_of(error);
	if (outcome.is_changed)
		return task->if_changed;
	if (!told->changes)
		puts("no difference");
	return EXIT_YES;
}

static int
perform(const struct task *task, const struct context *context, const struct config *config)
{
	const char *name = config_segment(context, config);
	bool is_json = option_value(context, "json") != NULL;
	struct told told = {.name = name,
	                    .is_dry = task->run == compare,
	                    .changes = is_json ? need(json_array()) : NULL};
	struct rl_options options = {.flags = task->flags | RL_OPEN_EXISTING};
	struct rl *rl;
	int status, error = rl_open(name, &options, &rl);

	told.is_missing = error == -ENOENT && !task->must_exist;
	if (told.is_missing && !is_json)
		printf("segment '%s' does not exist yet\n", name);
	if (error < 0 && !told.is_missing)
		complain("segment '%s': %s", name, error_text(error).text);
	status = error < 0 ? (told.is_missing ? EXIT_YES : EXIT_TROUBLE)
	                   : task->run(task, rl, config, &told);
	if (is_json && (status == EXIT_YES || status == task->if_changed))
		write_json(&told);
	else
		json_decref(told.changes);
	if (error == 0)
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
