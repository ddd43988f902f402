/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/wants.h"

size_t
wants_add(struct wants *wants, const char *text)
{
	size_t i = 0;

	while (i < wants->count && strcmp(wants->want[i].text, text) != 0)
		i++;
	if (i < wants->count || i == WANTS_MAX)
		return i;
	wants->want[wants->count++] = (struct want){text, field_name_of(text)};
	return i;
}
