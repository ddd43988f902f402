/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/plan.h"

#include <string.h>

#include "holder/units.h"

/*
 * The hash is the limit's own, so a charge is of one incarnation of the limit's row: in another one
 * the same key lies elsewhere, and nothing of it is given back.
 */
void
rl_part_hand_out(const struct rl_part *p, uint64_t charge_id, uint32_t memory)
{
	uint64_t table = p->segment->table.number % RL_CHARGE_TABLES;

	*p->charge = (struct rl_charge){
		.key = p->hash ^ p->limit->salt,
		.epoch = charge_id,
		.cost = p->cost,
		.capacity = p->quota.capacity,
		.memory = memory,
		.limit = (uint16_t)((unsigned)p->limit->id | (unsigned)table
	                                                             << RL_CHARGE_LIMIT_BITS),
		.gen = rl_tag_gen(p->slot.tag),
		.place = (uint8_t)(rl_table_place(&p->candidates, p->slot.index) |
	                           (p->limit->limiter.is_held ? RL_CHARGE_HELD : 0)),
	};
}

void
rl_part_hand_out_overflow(const struct rl_part *p)
{
	uint64_t network = 0;

	if (p->limit->has_prefix)
		memcpy(&network, p->network, sizeof network);
	rl_part_hand_out(p, network, 0);
	p->charge->gen = 0;
	p->charge->place = RL_CHARGE_CELL;
}
