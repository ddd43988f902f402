/* SPDX-License-Identifier: BSD-2-Clause */

#include <stddef.h>
#include <string.h>

#include "suggest.h"

#define WORD_MAX 32
#define ERRORS_MAX 2

static size_t
min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/*
 * Levenshtein distance. row[j] is the distance of the first i letters of `a` from the
 * first j of `b`; `diagonal` is what row[j - 1] was one letter ago.
 */
static size_t
distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1], b_len = strlen(b);

	if (strlen(a) > WORD_MAX || b_len > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_len];
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
