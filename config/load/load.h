/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

/* From a file, or its text, to a checked struct config. Shared by rlctl and rld. */

#include "model/config.h"
#include "read/sink.h"

#define CONFIG_DEFAULT_PATH "/etc/rl/rl.json"

/* `option` if given, else $RL_CONFIG (not when AT_SECURE), else CONFIG_DEFAULT_PATH. */
const char *config_path(const char *option);

/*
 * Read and check a regular file. NULL after at least one CONFIG_ERROR was told. Of warnings that
 * say the same of many places, a few are told, and how many more there are.
 */
struct config *config_load(const char *path, config_sink *sink, void *arg);
const char *config_read_error(int error); /* why one could not be read, for people */

/* The same, but every warning is told. */
struct config *config_load_to_check(const char *path, config_sink *sink, void *arg);

/* The same of a text. `path` is used in messages; the text may be freed afterwards. */
struct config *config_parse(const char *path, const char *text, size_t len, config_sink *sink,
                            void *arg);
struct config *config_parse_to_check(const char *path, const char *text, size_t len,
                                     config_sink *sink, void *arg);

#endif
