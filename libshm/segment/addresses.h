/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADDRESSES_H
#define RL_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Addresses for mappings that are to lie side by side, each behind the one before it, and never
 * where one was. *next says where the next goes, and is 0 before the first. Nothing is kept for
 * those to come, so where something else was mapped meanwhile, the row goes on elsewhere. The whole
 * of what is taken is mapped, without any access. A multiple of 2 MiB, or NULL. Any thread.
 */
void *rl_addresses_take(uint64_t *next, size_t bytes);

/*
 * Unmap what nobody has used. If nothing was taken after it, the next is mapped there: else a hole
 * would keep neighbours apart.
 */
void rl_addresses_give_back(uint64_t *next, void *at, size_t bytes);

#endif
