/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_KEY_H
#define RLCTL_REPLAY_KEY_H

/*
 * --key: whom the limit counts. Fields with commas between them, which become one key with "|"
 * between them; behind the field of an address "/24", or "/24/64", the network it is in: bits of
 * IPv4, and of IPv6. `client` alone is the key that servers and languages have where none is given.
 */

#include <rl_admin.h>

#include "replay/reader.h"

#define KEY_PARTS_MAX 4

struct key_part {
	size_t want;
	unsigned v4, v6; /* 0: the field as it is */
	bool is_client;  /* the key of a client: rl_http_client() */
};

struct key_spec {
	size_t count;
	struct key_part part[KEY_PARTS_MAX];
	char *text; /* the names, cut apart */
	char bytes[RL_KEY_MAX];
};

/* NULL, or what is wrong with the text. */
const char *key_parse(const char *text, struct wants *wants, struct key_spec *spec);

/* The key of a line. LINE_OTHER: it has none, "-" being none, too. */
enum line_kind key_of(struct key_spec *spec, const struct line_values *values, struct slice *key,
                      const char **wrong);

void key_free(struct key_spec *spec);

#endif
