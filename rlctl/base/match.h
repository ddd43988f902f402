/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_MATCH_H
#define RLCTL_MATCH_H

/*
 * --match: which keys are meant. "192.0.2.0/24" means addresses in that network, and networks
 * inside it, as rules with prefixes have for keys. Anything else is a glob: * any bytes, ? one
 * character, \ takes the next byte as it is. A text without any of these three that looks like a
 * network or an address and is none is refused, see pattern_text.h.
 */

#include <model/pattern_text.h>
#include <rl_admin.h>
#include <stdbool.h>

#include "base/output.h"

/* Its pattern may point into itself: it is to stay where it is. */
struct match {
	struct rl_pattern pattern; /* a network, or the glob's bytes */
	struct pattern_text network;
};

/* NULL, or in a few words what is wrong with the text, which must outlive the match. */
const char *match_parse(const char *text, struct match *match);

/* The same; false after a message that begins with `what`. */
bool match_make(const char *what, const char *text, struct match *match);

/*
 * Of a key whose bytes are not all there, those that are count: as if they were all, or as the
 * first of a name that is given in full.
 */
bool match_has(const struct match *match, const struct key_view *key);

/* The bits after the slash of a network, or all of an address. */
unsigned network_bits(const struct rl_pattern *network);

/* An address in the network, or a network that is inside it. */
bool network_has(const struct rl_pattern *network, const struct key_view *key);

/* "*": every key, whatever is kept of it. */
bool match_is_all(const struct match *match);

/*
 * A network, or "beginning*", as the library knows it; false for other globs. It points into the
 * match.
 */
bool match_as_pattern(const struct match *match, struct rl_pattern *pattern);

bool glob_matches(const char *glob, size_t glob_len, const char *key, size_t key_len);

#endif
