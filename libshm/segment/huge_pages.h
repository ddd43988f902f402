/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HUGE_PAGES_H
#define RL_HUGE_PAGES_H

#include <stddef.h>

/*
 * A page table maps a huge page only where address and file offset agree, so the mapping is to
 * begin at a multiple of one: inside a place that has room for one more. It is a hint. Should
 * another thread be faster to take the place, the mapping lies elsewhere, on small pages.
 */
void *rl_huge_page_hint(size_t bytes);

/*
 * Move a new segment's pages together into huge ones. It takes longer than all else that a
 * creator does, so others have the name already and use the segment meanwhile: one who touches a
 * page under way waits milliseconds until that has moved. In pieces, between which a signal ends
 * us. Pages that are busy are left; a kernel that has none to give, or cannot, is not asked again.
 */
void rl_huge_pages_collapse(void *segment, size_t bytes);

#endif
