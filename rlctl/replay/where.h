/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_WHERE_H
#define RLCTL_REPLAY_WHERE_H

/*
 * --where: which requests count.
 *
 *	status = 401      method != GET      path ^= /login (begins with)      bytes >= 1000
 *	agent ~ bot|spider (a POSIX extended regular expression)      uri !~ \.css$
 *	client in 192.0.2.0/24
 *
 * A field that a line does not have is neither equal nor like anything.
 */

#include <regex.h>
#include <rl_admin.h>

#include "replay/reader.h"

enum where_test {
	WHERE_NOT_EQUAL,
	WHERE_NOT_LIKE,
	WHERE_BEGINS,
	WHERE_AT_MOST,
	WHERE_AT_LEAST,
	WHERE_EQUAL,
	WHERE_LIKE,
	WHERE_LESS,
	WHERE_MORE,
	WHERE_IN,
};

struct where {
	size_t want;
	enum where_test test;
	char *text; /* the field's name, and behind its NUL the value */
	const char *value;
	double number;
	regex_t regex;
	struct rl_pattern network;
};

/* NULL, or what is wrong with the text. where_free() is due in any case. */
const char *where_parse(const char *text, struct wants *wants, struct where *where);

bool where_holds(const struct where *where, const struct line_values *values);

void where_free(struct where *where);

#endif
