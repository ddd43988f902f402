/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SHOW_H
#define CONFIG_SHOW_H

/* A configuration in full, as a file would say it that left nothing out. */

#include <jansson.h>
#include <stdbool.h>

#include "model/config.h"

/* A file's object, which config_parse() reads as the same configuration. NULL: no memory. */
json_t *config_json(const struct config *config);
json_t *config_override_json(const struct rl_override *override, size_t limit_count);

/* Would its name mean another pattern, or none, unless the file says "exact"? */
bool config_is_exact(const struct rl_pattern *pattern);

/* The name under which a file has the override. To be freed; NULL: no memory. */
char *config_pattern_text(const struct rl_pattern *pattern);

#endif
