/* SPDX-License-Identifier: BSD-2-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "config/config_change.h"

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

static bool
replace(const struct locked_file *file, const char *text, size_t len)
{
	int error = file_replace(file, text, len);

	if (error == 0)
		return true;
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
