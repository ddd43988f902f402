/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_H
#define CONFIG_H

/*
 * The configuration file: read, checked and put into force. Shared by rlctl and rld.
 */

#include <rl_admin.h>

#define CONFIG_DEFAULT_PATH "/etc/rl/rl.json"

/* A file as it was read, with every default filled in. */
struct config {
	char *path;
	char name[RL_NAME_MAX + 1]; /* of the segment */
	struct rl_options options;  /* to create it with: 0 where the file says nothing */
	char *group;                /* its group's name, or NULL; options.group is looked up */
	uint64_t gc_interval_ns;    /* rld: aims to sweep every place once in this time */
	struct rl_config_rule *rules;
	size_t rule_count;
	struct config_source *source; /* where in the file each thing stands; private to config */
};

/*
 * Told one line per problem, without a newline: "FILE:LINE:COL: /rules/login/capacity: expected an
 * integer from 1 to 268435455, got "five"". All of them, not only the first; in a warning,
 * "warning: " stands before the path. A note is a line of its own: "login: capacity 200, was 100".
 * A detail belongs to the line before, and shows it to people.
 */
enum config_level {
	CONFIG_ERROR,
	CONFIG_WARNING,
	CONFIG_NOTE,
	CONFIG_DETAIL
};
typedef void config_tell(enum config_level level, const char *text, void *arg);

/* `option` if given, else $RL_CONFIG (not when AT_SECURE), else CONFIG_DEFAULT_PATH. */
const char *config_path(const char *option);

/* The largest file that is read: some millions of overrides. */
#define CONFIG_BYTES_MAX (UINT32_C(256) << 20)

/*
 * Read and check a regular file. NULL after at least one CONFIG_ERROR was told. Of warnings that say
 * the same of many places, a few are told, and how many more there are.
 */
struct config *config_load(const char *path, config_tell *tell, void *arg);
const char *config_read_error(int error); /* why one could not be read, for people */

/* The same, but every warning is told. */
struct config *config_load_to_check(const char *path, config_tell *tell, void *arg);
void config_free(struct config *config);

/* The same of a text, `path` being what it is called by. The text may go afterwards. */
struct config *config_parse(const char *path, const char *text, size_t len, config_tell *tell,
                            void *arg);
struct config *config_parse_to_check(const char *path, const char *text, size_t len,
                                     config_tell *tell, void *arg);

/*
 * rl_configure() with its errors told in the file's words, and with what changed told as notes
 * ("login: limit 2 starts anew, its window has changed"). Compares what the file says of the
 * segment (keys, ring, ...) with what it is, and warns of each difference and what to do.
 * 0 or -errno. `flags` as for rl_configure().
 */
int config_apply(struct rl *rl, const struct config *config, unsigned flags,
                 struct rl_config_outcome *outcome, config_tell *tell, void *arg);

#endif
