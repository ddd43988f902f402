/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_ARRAY_H
#define RLCTL_ARRAY_H

#include <stddef.h>

/*
 * Make room for one more element behind `count` of them. Returns the array, perhaps moved;
 * *room says how many fit. Ends the program if there is no memory.
 */
void *array_grow(void *array, size_t count, size_t *room, size_t element_size);

#endif
