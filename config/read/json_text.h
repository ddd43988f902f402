/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_JSON_TEXT_H
#define CONFIG_JSON_TEXT_H

#include <jansson.h>

#include "read/sink.h"

/*
 * Read a text. NULL after what is wrong with it was told: in words for what people write that
 * know JSON from elsewhere (comments, a comma too many, single quotes, nothing at all), else in
 * jansson's; and as CONFIG_DETAIL the line, with a caret below the place.
 */
json_t *json_text_read(const char *path, const char *text, size_t len, config_sink *sink,
                       void *arg);

#endif
