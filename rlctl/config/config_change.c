/* SPDX-License-Identifier: BSD-2-Clause */

#include <edit/history.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"
#include "config/config_change.h"
#include "text/digits.h"

bool
change_lock(const struct context *context, unsigned wait_ms, struct locked_file *file)
{
	const char *path = config_file(context);
	int error = file_lock(path, wait_ms, file);

	if (error == 0)
		return true;
	if (error == -EWOULDBLOCK)
		complain("%s: another process is changing it", path);
	else
		complain("%s: %s", path, config_read_error(error));
	return false;
}

/* With sudo, whoever called it. */
static uint32_t
who(void)
{
	const char *sudo = getuid() == 0 ? secure_getenv("SUDO_UID") : NULL;
	uint64_t uid;

	if (sudo && number_read(&sudo, &uid) && *sudo == '\0' && uid < UINT32_MAX)
		return (uint32_t)uid;
	return getuid();
}

/* A change is made whether the text is kept or not. */
static void
keep(const struct locked_file *file, const char *text, size_t len, uint32_t uid, time_t at)
{
	int error = history_keep(file->path, text, len, uid, at > 0 ? (uint64_t)at : 0);

	if (error < 0)
		complain("%s: this text is not kept in its history: %s", file->path,
		         strerror(-error));
}

static bool
replace(const struct locked_file *file, const char *text, size_t len)
{
	int error;

	keep(file, file->text, file->len, file->was.st_uid, file->was.st_mtim.tv_sec);
	error = file_replace(file, text, len);
	if (error == 0) {
		keep(file, text, len, who(), time(NULL));
		return true;
	}
	if (error == -ESTALE)
		complain("%s: somebody else has changed it meanwhile; it stays as it is",
		         file->path);
	else
		complain("%s: %s; it stays as it is", file->path, strerror(-error));
	return false;
}

int
change_commit(const struct context *context, const struct locked_file *file, const char *text,
              size_t len, bool *is_bad)
{
	struct config *config = config_parse(config_file(context), text, len, config_say, NULL);
	int status = EXIT_NO;

	*is_bad = config == NULL;
	if (config && option_value(context, "dry-run"))
		status = config_foresee(context, config);
	else if (config)
		status = replace(file, text, len) ? config_follow(context, config) : EXIT_TROUBLE;
	config_free(config);
	return status;
}
