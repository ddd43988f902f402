/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/addresses.h"

#include <sys/mman.h>

#include "shared/atomic.h"

#ifndef MAP_FIXED_NOREPLACE /* Linux 4.17; before it the address is a wish */
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define ALIGN (UINT64_C(2) << 20)
#define ROOM (UINT64_C(1) << 40) /* to look for, so that it is long until it ends */
#define TRIES 3

static void *
take(uint64_t at, size_t bytes, int flags)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return mmap((void *)(uintptr_t)at, bytes, PROT_NONE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

/* Where much is free now. The kernel maps from the other end of it. 0: nowhere. */
static uint64_t
find_room(size_t bytes)
{
	for (uint64_t room = ROOM; room >= bytes + ALIGN; room /= 2) {
		void *at = take(0, room, 0);

		if (at == MAP_FAILED)
			continue;
		munmap(at, room);
		return ((uintptr_t)at + ALIGN - 1) / ALIGN * ALIGN;
	}
	return 0;
}

/* Whoever fails to has made room for another. 0: there is none. */
static uint64_t
claim(uint64_t *next, size_t bytes)
{
	for (;;) {
		uint64_t at = rl_atomic_own_load(next);

		if (at != 0 && rl_atomic_own_cas(next, at, at + bytes))
			return at;
		if (at != 0)
			continue;
		at = find_room(bytes);
		if (at == 0)
			return 0;
		rl_atomic_own_cas(next, 0, at);
	}
}

void *
rl_addresses_take(uint64_t *next, size_t bytes)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t at = claim(next, bytes);
		void *map = at == 0 ? MAP_FAILED : take(at, bytes, MAP_FIXED_NOREPLACE);

		if (at != 0 && (uintptr_t)map == at)
			return map;
		if (map != MAP_FAILED)
			munmap(map, bytes);
		rl_atomic_own_cas(next, at + bytes, 0);
	}
	return NULL;
}

void
rl_addresses_give_back(uint64_t *next, void *at, size_t bytes)
{
	munmap(at, bytes);
	rl_atomic_own_cas(next, (uintptr_t)at + bytes, (uintptr_t)at);
}
