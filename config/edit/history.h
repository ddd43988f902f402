/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_HISTORY_H
#define CONFIG_HISTORY_H

/*
 * The texts that a file has had, so that a change can be taken back: files in ".NAME.history"
 * beside it, named by number, time and user, as "000007-1795388559-1000", each there whole or not
 * at all. The newest HISTORY_MAX are kept. Who changes the file holds its lock (replace.h), and so
 * nobody else keeps a text at the same time; one that is killed in between has kept the text or has
 * not.
 */

#include <stddef.h>
#include <stdint.h>

#define HISTORY_MAX 20

struct version {
	uint32_t number; /* from 1, never given again */
	uint32_t uid;    /* who wrote it */
	uint64_t at_s;   /* Unix time */
};

struct history {
	struct version *at; /* the newest last */
	size_t count;
};

/*
 * `path` is the file's own, as locked_file has it. No directory: no versions. 0 or -errno; to be
 * freed.
 */
int history_read(const char *path, struct history *history);
void history_free(struct history *history);

/* The text of a version, to be freed. 0 or -errno. */
int history_text(const char *path, const struct version *version, char **text, size_t *len);

/* Keep a text, unless it is that of the newest version. 0 or -errno. */
int history_keep(const char *path, const char *text, size_t len, uint32_t uid, uint64_t at_s);

#endif
