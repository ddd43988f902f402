/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DENIED_H
#define RL_DENIED_H

/* A key was denied by a limit, for the first time in a minute: what there is to tell of it. */

#include "decide/decide.h"
#include "rule/handle.h"

/* Of a plain request, by its rule's one limit. `result` is what is told of it, or NULL. */
void rl_tell_denied(struct rl *rl, const struct rl_item *item, const struct rl_compiled *limit,
                    const struct rl_result *result, struct rl_slot slot, uint64_t now_ns);

/*
 * In a flood of denials of ever other keys each waits for its key's record. So while there was one just now,
 * who has found a slot asks for the record, too: what a denial takes is then a third less, and what a key takes
 * that is admitted a tenth more. Written by one request in RL_TELL_EXPECTS_NS / 4, for all threads read it.
 */
#define RL_TELL_EXPECTS_NS UINT64_C(20000)

static inline void
rl_tell_expect(const struct rl *rl, struct rl_slot slot, uint64_t now_ns)
{
	if (now_ns < rl_atomic_own_load(&rl->denials_until_ns))
		__builtin_prefetch(rl_segment_record(&rl->segment, slot.index), 1);
}

/* Of any other, whose key may be a network. */
void rl_tell_request_denied(const struct rl_request *rq, const struct rl_result *result);

#endif
