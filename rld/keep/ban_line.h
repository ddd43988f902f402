/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_BAN_LINE_H
#define RLD_BAN_LINE_H

/*
 * A ban as a line of JSON:
 *
 *	{"effect":"ban","rule":null,"match":"key","key":"bob","until_ns":null,
 *	 "since_ns":N,"author":0,"hits":3,"reason":"scraping"}
 *
 * An override for a time has the effect "override", and "limit_number" and "capacity" beside it.
 * "rule" null is every rule, "until_ns" null no end. What is no UTF-8, or has a NUL in it, is
 * "key_hex", or "reason_hex", in its place. Whoever wrote the file, what is read is checked before
 * it is used.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>

#define BAN_LINE_MAX 4096 /* bytes; the longest that is written has 2,600 */

struct ban_line {
	struct rl_ban_info ban;     /* its rule is not looked up, its key is `key` */
	char rule[RL_NAME_MAX + 1]; /* "": every rule */
	char key[RL_KEY_MAX];
};

/*
 * False if it has no name: not all bytes of its pattern are kept, or, of an override, it is not
 * known whose it is.
 */
bool ban_line_write(FILE *out, struct rl *rl, const struct rl_ban_info *ban);

/* NULL, or in a few words what is wrong with it. */
const char *ban_line_read(const char *text, size_t len, struct ban_line *line);

/* The same as it was read. */
void ban_line_write_again(FILE *out, const struct ban_line *line);

#endif
