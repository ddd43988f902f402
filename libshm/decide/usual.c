/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/usual.h"

int
rl_usual_denied(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
                struct rl_result *result, const struct rl_compiled *limit, struct rl_slot slot,
                const struct rl_decision *denial)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_part p;

	p.rl = rl;
	p.segment = &rl->segment;
	p.limit = limit;
	p.index = 0;
	p.rule = rule;
	p.now_ns = now_ns;
	p.key = key;
	p.key_len = key_len;
	p.slot = slot;
	p.is_asked = true;
	p.result = r;
	rl_part_answer(&p, denial, RL_DENIED);
	rl_answered_denied(&p, key, key_len);
	return RL_DENIED;
}

void
rl_usual_wish(struct rl *rl, const void *key, size_t key_len, const struct rl_compiled *limit,
              struct rl_slot slot)
{
	struct rl_part p;

	p.segment = &rl->segment;
	p.limit = limit;
	p.key = key;
	p.key_len = key_len;
	p.hash = rl_hash_of_key(rl->segment.key_start, key, key_len);
	p.slot = slot;
	rl_share_ask(&p);
}
