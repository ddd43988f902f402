/* SPDX-License-Identifier: BSD-2-Clause */

#include <stddef.h>
#include <string.h>

#include "text/suggest.h"

#define WORD_MAX 32
#define ERRORS_MAX 2

static size_t
min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/*
 * How many letters are one too many, missing, another, or two in each other's place. row[i][j] is
 * the distance of the first i letters of `a` from the first j of `b`; three rows are kept.
 */
static size_t
distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], b_len = strlen(b), a_len = strlen(a);

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1,
			              above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min3(row[j], row[j], second[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

const char *
suggest(const char *word, const char *const *names)
{
	const char *best = NULL;
	size_t least = ERRORS_MAX + 1;

	for (; *names; names++) {
		size_t errors = distance(word, *names);

		if (errors < least && errors < strlen(*names) - 1) {
			least = errors;
			best = *names;
		}
	}
	return best;
}
