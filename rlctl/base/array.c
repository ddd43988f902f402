/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdlib.h>

#include "base/array.h"
#include "base/output.h"

#define FIRST_ROOM 64

void *
array_grow(void *array, size_t count, size_t *room, size_t element_size)
{
	if (count < *room)
		return array;
	*room = *room ? *room * 2 : FIRST_ROOM;
	return need(reallocarray(array, *room, element_size));
}
