/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_PATTERN_TEXT_H
#define CONFIG_PATTERN_TEXT_H

/*
 * Patterns as people write them, on command lines and in files. rl_pattern_of() takes whatever is
 * no network for a key, so that a mistyped network bans nobody and says nothing; here it is
 * refused.
 */

#include <rl_admin.h>
#include <stdbool.h>

#define CANONICAL_MAX 64

/* A pattern. Its key is in the text, or here: it is to stay where it is. */
struct pattern_text {
	struct rl_pattern pattern;
	char canonical[CANONICAL_MAX];
};

/*
 * A prefix, a network, or a key. An address, and that of a network, comes out in its one canonical
 * form: without host bits, and ::ffff:192.0.2.1 as 192.0.2.1. NULL, or what is wrong with a text
 * that looks like one of them and is none, or like an address with a port or a zone, or like a
 * glob, and what was expected, as in "is no network: ...".
 */
const char *pattern_parse(const char *text, size_t len, struct pattern_text *out);

/* The text as it is, for a key that only looks like something else. NULL, or what is wrong. */
const char *pattern_exact(const char *text, size_t len, struct pattern_text *out);

/* Can it match an address: is it one, a network, or a prefix that may begin one? */
bool pattern_is_address(const struct rl_pattern *pattern);

/* The same pattern, a network in its canonical form. */
void pattern_canonical(const struct rl_pattern *pattern, struct pattern_text *out);

#endif
