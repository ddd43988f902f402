/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_TOKENS_H
#define CONFIG_TOKENS_H

/*
 * Where each value of a JSON text stands. jansson says what a text means but not where, so
 * this is read beside what jansson made of it:
 *
 *	{"a": [1, 2], "b": 3}
 *
 *	 number    0      1    2  3   4
 *	 value   {...}  [...]  1  2   3        in the order of the text; the root is 0
 *	 key       -     "a"   -  -  "b"
 *	 parent    0      0    1  1   0
 *	 next      5      4    3  4   5        the first value behind it and what is in it
 *
 * One pass, 20 bytes a value, no recursion. The text must be one that jansson has accepted;
 * of any other the numbers mean nothing, but stay within the text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKENS_TEXT_MAX (UINT32_C(1) << 30) /* bytes */

struct token {
	uint32_t key;   /* where its name's opening quote stands; 0: it has no name */
	uint32_t start; /* the value's first byte */
	uint32_t end;   /* one behind its last */
	uint32_t parent;
	uint32_t next;
};

struct tokens {
	struct token *at;
	uint32_t count;
};

/* 0, -ENOMEM, or -EFBIG for more than TOKENS_TEXT_MAX bytes. */
int tokens_scan(const char *text, size_t len, struct tokens *tokens);
void tokens_free(struct tokens *tokens);

/* The first value inside, and the one beside it; 0 if there is none. */
uint32_t tokens_first(const struct tokens *tokens, uint32_t parent);
uint32_t tokens_sibling(const struct tokens *tokens, uint32_t token);

/* How many values stand directly inside. */
size_t tokens_count(const struct tokens *tokens, uint32_t parent);

/* One behind the string whose opening quote stands at `start`. */
uint32_t text_string_end(const char *text, uint32_t len, uint32_t start);

#endif
