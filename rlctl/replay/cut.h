/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_CUT_H
#define RLCTL_CUT_H

/* Fields that are a part of another: the path of a request, an address without its port. */

#include "replay/slice.h"

enum cut {
	CUT_NOTHING,
	CUT_METHOD,     /* of "GET /path?query HTTP/1.1" */
	CUT_URI,        /* likewise */
	CUT_PATH,       /* likewise */
	CUT_QUERY,      /* the query off "/path?query" */
	CUT_PORT,       /* the port, and brackets, off "[2001:db8::1]:443" */
	CUT_COMMA,      /* what follows the first of a list: "192.0.2.1," */
	CUT_WORD,       /* the first word */
	CUT_AFTER_SLASH /* "200" of "TCP_MISS/200" */
};

/* Which field that a log has the wanted one can be cut from. */
struct derivation {
	const char *name, *from;
	enum cut cut;
};
extern const struct derivation derivations[]; /* ends with a NULL name */

struct slice cut_apply(enum cut cut, struct slice text);

/* An IP address as text. */
bool is_address(struct slice text);

#endif
