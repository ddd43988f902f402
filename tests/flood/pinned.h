/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FLOOD_PINNED_H
#define RL_FLOOD_PINNED_H

#include <stdint.h>

/*
 * What is refused to users who need slots, for counters by key and for units in flight, while
 * another rule's take them: see pinned.c. `divisor` is of the scale; prints lines, or with
 * `is_table` rows. How many promises it breaks.
 */
int pinned(uint32_t divisor, int is_table);

#endif
