/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_VALUE_H
#define RLD_STORE_VALUE_H

/* A store's answer, as a tree. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum store_type {
	STORE_NIL,
	STORE_INTEGER,
	STORE_TEXT,
	STORE_ARRAY,
	STORE_ERROR
};

struct store_value {
	enum store_type type;
	int64_t integer;
	char *text; /* of a text or an error; a 0 byte follows */
	size_t size;
	struct store_value **items; /* of an array */
	size_t count;
};

void store_value_free(struct store_value *v);

/* An error whose first word is this: "MOVED". */
bool store_is_error(const struct store_value *v, const char *word);

/* Item `i` of an array, or NULL: `v` is none, or is shorter. */
const struct store_value *store_item(const struct store_value *v, size_t i);

/* An integer, or a text that is one; else `otherwise`. Both of NULL. */
int64_t store_integer(const struct store_value *v, int64_t otherwise);

/* A text; "" of anything else, and of NULL. */
const char *store_text(const struct store_value *v);

/* Of INFO's text the value of "name:value"; "" where there is none. */
void store_line(const char *text, const char *name, char *to, size_t room);

#endif
