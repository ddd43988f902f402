/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_WIPED_H
#define RL_WIPED_H

/* Memory of this process alone, of which a child that is forked finds zeros. */

#include <stddef.h>
#include <sys/mman.h>

/* Zeroed; NULL: there is none, or the kernel cannot wipe it. Given back by munmap(). */
static inline void *
rl_wiped_map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (madvise(at, bytes, MADV_WIPEONFORK) == 0)
		return at;
	munmap(at, bytes);
	return NULL;
}

#endif
