/* SPDX-License-Identifier: BSD-2-Clause */
/* config history, config undo: the texts that the file has had, and one of them again. */

#include <apply/apply.h>
#include <edit/history.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/output.h"
#include "base/user.h"
#include "config/config_change.h"
#include "config/version_config.h"

/* The file's own path, to be freed; NULL after a message. */
static char *
real_path(const struct context *context)
{
	const char *path = config_file(context);
	char *real = realpath(path, NULL);

	if (!real)
		complain("%s: %s", path, strerror(errno));
	return real;
}

static bool
read_history(const char *path, struct history *history)
{
	int error = history_read(path, history);

	if (error == 0)
		return true;
	complain("%s: its history: %s", path, strerror(-error));
	history_free(history);
	return false;
}

static const struct version *
find_number(const struct history *history, const char *what, const char *text)
{
	uint64_t number;

	if (!number_need(what, text, 1, UINT32_MAX, &number))
		return NULL;
	for (size_t i = 0; i < history->count; i++)
		if (history->at[i].number == number)
			return &history->at[i];
	complain("config: there is no version %s; 'rlctl config history' lists them", text);
	return NULL;
}

static int
print_version(const char *path, const struct history *history, const char *number)
{
	const struct version *version = find_number(history, "N", number);
	char *text = NULL;
	size_t len;
	int error = version ? history_text(path, version, &text, &len) : 0;

	if (error < 0)
		complain("%s: version %s: %s", path, number, strerror(-error));
	if (!version || error < 0)
		return EXIT_TROUBLE;
	fwrite(text, 1, len, stdout);
	free(text);
	return EXIT_YES;
}

/* What a version has changed of the one before, a text for each line that config set prints. */
static void
note_change(enum config_level level, const char *text, void *arg)
{
	if (level == CONFIG_NOTE)
		json_push(arg, json_text(text));
}

/* For each version, by its place; null where nobody knows. */
static json_t *
changes_of_all(const char *path, const struct history *history)
{
	json_t *all = need(json_array());
	struct config *before = NULL;

	for (size_t i = 0; i < history->count; i++) {
		struct config *config = version_config(path, &history->at[i]);
		json_t *changes = need(json_array());

		if (!before || !config ||
		    config_difference(before, config, note_change, changes) < 0) {
			json_decref(changes);
			changes = json_null();
		}
		json_push(all, changes);
		config_free(before);
		before = config;
	}
	config_free(before);
	return all;
}

static void
print_changes(const json_t *changes)
{
	size_t i;
	json_t *line;

	if (json_is_array(changes) && json_array_size(changes) == 0)
		puts("        no limit has changed");
	json_array_foreach(changes, i, line) printf("        %s\n", json_string_value(line));
}

static void
print_list(const char *path, const struct history *history)
{
	json_t *changes = changes_of_all(path, history);

	if (history->count > 0)
		printf("%6s  %-19s  %s\n", "number", "UTC", "by");
	for (size_t i = history->count; i-- > 0;) {
		const struct version *version = &history->at[i];

		printf("%6" PRIu32 "  %-19s  %s\n", version->number,
		       time_format(version->at_s * RL_SECOND, false).text,
		       user_format(version->uid).text);
		print_changes(json_array_get(changes, i));
	}
	json_decref(changes);
}

static void
write_json(const char *path, const struct history *history)
{
	json_t *root = need(json_object()), *array = need(json_array());
	json_t *changes = changes_of_all(path, history);

	json_put(root, "file", json_text(path));
	json_put(root, "versions", array);
	for (size_t i = history->count; i-- > 0;) {
		json_t *object = need(json_object());

		json_put(object, "number", json_count(history->at[i].number));
		json_put(object, "at_ns", json_count(history->at[i].at_s * RL_SECOND));
		json_put(object, "author", json_count(history->at[i].uid));
		json_put(object, "changes", json_incref(json_array_get(changes, i)));
		json_push(array, object);
	}
	json_decref(changes);
	output_json(root);
}

int
config_history(const struct context *context)
{
	char *path = real_path(context);
	struct history history;
	int status = EXIT_YES;

	if (!path || !read_history(path, &history)) {
		free(path);
		return EXIT_TROUBLE;
	}
	if (context->operand_count > 0)
		status = print_version(path, &history, context->operands[0]);
	else if (option_value(context, "json"))
		write_json(path, &history);
	else
		print_list(path, &history);
	history_free(&history);
	free(path);
	return status;
}

/* The newest version that says something else than the file does. */
static const struct version *
find_other(const struct locked_file *file, const struct history *history)
{
	for (size_t i = history->count; i-- > 0;) {
		char *text = NULL;
		size_t len;
		bool is_other = history_text(file->path, &history->at[i], &text, &len) == 0 &&
		                (len != file->len || memcmp(text, file->text, len) != 0);

		free(text);
		if (is_other)
			return &history->at[i];
	}
	complain("config undo: no other text of %s is kept", file->path);
	return NULL;
}

static int
take_back(const struct context *context, const struct locked_file *file,
          const struct version *version)
{
	char *text = NULL;
	size_t len;
	bool is_bad;
	int error = history_text(file->path, version, &text, &len), status;

	if (error < 0) {
		complain("%s: version %" PRIu32 ": %s", file->path, version->number,
		         strerror(-error));
		return EXIT_TROUBLE;
	}
	status = change_commit(context, file, text, len, &is_bad);
	if (status == EXIT_YES && !option_value(context, "dry-run") &&
	    !option_value(context, "json"))
		printf("%s is version %" PRIu32 " again, of %s UTC, by %s\n", file->path,
		       version->number, time_format(version->at_s * RL_SECOND, false).text,
		       user_format(version->uid).text);
	free(text);
	return status;
}

int
config_undo(const struct context *context)
{
	const struct version *version = NULL;
	const char *to = option_value(context, "to");
	struct locked_file file;
	struct history history;
	int status = EXIT_TROUBLE;

	if (!change_lock(context, LOCK_WAIT_MS, &file))
		return EXIT_TROUBLE;
	if (read_history(file.path, &history)) {
		version = to ? find_number(&history, "--to", to) : find_other(&file, &history);
		if (version)
			status = take_back(context, &file, version);
		else if (!to)
			status = EXIT_NO;
		history_free(&history);
	}
	file_unlock(&file);
	return status;
}
