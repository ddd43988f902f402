/* SPDX-License-Identifier: BSD-2-Clause */

#include "config/config_verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/width.h"

const char *
config_file(const struct context *context)
{
	return config_path(option_value(context, "config"));
}

void
config_say(enum config_level level, const char *text, void *arg)
{
	(void)arg;
	if (level == CONFIG_NOTE)
		print_wrapped(text, 0);
	else
		fprintf(stderr, "%s\n", text);
}

bool
config_is_readable(const char *path)
{
	struct stat now;
	int error = 0;

	if (access(path, R_OK) < 0 || stat(path, &now) < 0)
		error = errno;
	else if (!S_ISREG(now.st_mode))
		error = S_ISDIR(now.st_mode) ? EISDIR : EINVAL;
	if (error == EINVAL)
		complain("%s: is no regular file; 'rlctl config check -' checks standard input",
		         path);
	else if (error)
		complain("%s: %s", path, strerror(error));
	return error == 0;
}

struct config *
config_need(const char *path, int *status)
{
	struct config *config;

	if (!config_is_readable(path)) {
		*status = EXIT_TROUBLE;
		return NULL;
	}
	config = config_load(path, config_say, NULL);
	*status = EXIT_NO;
	return config;
}

const char *
config_segment(const struct context *context, const struct config *config)
{
	const char *name = segment_asked(context);

	return name ? name : config->name;
}
