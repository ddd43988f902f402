/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/huge_pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define HUGE_PAGE ((size_t)2 << 20) /* of x86-64, and of arm64 with pages of 4 KiB */

void *
rl_huge_page_hint(size_t bytes)
{
	size_t room = bytes + HUGE_PAGE;
	unsigned char *place =
		mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (place == MAP_FAILED)
		return NULL;
	munmap(place, room);
	return place + (HUGE_PAGE - (uintptr_t)place % HUGE_PAGE) % HUGE_PAGE;
}

void
rl_huge_pages_collapse(void *segment, size_t bytes)
{
	const size_t piece = 8 * HUGE_PAGE;
	unsigned char *base = segment;

	for (size_t at = 0; at < bytes; at += piece) {
		size_t size = bytes - at < piece ? bytes - at : piece;
		if (madvise(base + at, size, MADV_COLLAPSE) < 0 && errno != EAGAIN &&
		    errno != EBUSY)
			return;
	}
}
