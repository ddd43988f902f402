/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/version_config.h"

#include <stdlib.h>

static void
be_silent(enum config_level level, const char *text, void *arg)
{
	(void)level;
	(void)text;
	(void)arg;
}

struct config *
version_config(const char *path, const struct version *version)
{
	char *text = NULL;
	size_t len;
	struct config *config = NULL;

	if (history_text(path, version, &text, &len) == 0)
		config = config_parse(path, text, len, be_silent, NULL);
	free(text);
	return config;
}
