/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_EXPECT_H
#define RL_EXPECT_H

#include "rule/handle.h"

/*
 * In a flood of denials of ever other keys each waits for its key's record. So while there was one
 * just now, who has found a slot asks for the record, too: what a denial takes is then a third
 * less, and what a key takes that is admitted a tenth more. Written by one request in RL_EXPECT_NS
 * / 4, for all threads read it.
 */
#define RL_EXPECT_NS UINT64_C(20000)

static inline void
rl_expect_record(const struct rl *rl, struct rl_slot slot, uint64_t now_ns)
{
	if (__builtin_expect(now_ns < rl_atomic_own_load(&rl->denials_until_ns), 0))
		__builtin_prefetch(rl_segment_record(&rl->segment, slot.index), 1);
}

#endif
