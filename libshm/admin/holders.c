/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes that hold units in flight, for people. */
#include <errno.h>

#include "decide/decide.h"
#include "decide/request.h"
#include "holder/holder.h"
#include "holder/units.h"
#include "move/migrate.h"
#include "rl_admin.h"

#define TRIES 1000

typedef int visit_fn(const struct rl_holder *holder, void *arg);

/* The key's tallies, of one instant; how many, -ENOENT, -EBUSY. */
static int
list(struct rl_part *p, struct rl_tally tallies[static RL_IN_FLIGHT_PLACES_MAX])
{
	struct rl_slot slot;

	for (int tries = 0; tries < TRIES; tries++, rl_atomic_pause()) {
		int count;

		if (rl_must_migrate(p->rl) && rl_part_migrate(p) < 0)
			continue;
		if (!rl_table_find(&p->segment->table, &p->candidates, &slot))
			return -ENOENT;
		count = rl_units_list(p->segment, &p->limit->limiter, slot, tallies);
		if (count != -EAGAIN)
			return count;
	}
	return -EBUSY;
}

static struct rl_holder
holder_of(struct rl *rl, const struct rl_part *p, struct rl_tally tally)
{
	static const enum rl_holder_state states[] = {
		[RL_ALIVE] = RL_HOLDER_ALIVE,
		[RL_DEAD] = RL_HOLDER_DEAD,
		[RL_ELSEWHERE] = RL_HOLDER_ELSEWHERE,
	};
	struct rl_holder holder = {.limit = p->index, .units = tally.units};

	holder.state = states[rl_holders_look(rl->handle->holders, tally.label, &holder.pid)];
	return holder;
}

/* Under one limit. */
static int
walk(struct rl *rl, struct rl_part *p, visit_fn *visit, void *arg)
{
	struct rl_tally tallies[RL_IN_FLIGHT_PLACES_MAX];
	int count = list(p, tallies), result = 0;

	if (count < 0)
		return count;
	for (int i = 0; i < count && result == 0; i++) {
		struct rl_holder holder = holder_of(rl, p, tallies[i]);
		result = visit(&holder, arg);
	}
	return result;
}

int
rl_holders_walk(struct rl *rl, int rule, const void *key, size_t key_len, visit_fn *visit,
                void *arg)
{
	struct rl_part parts[RL_LIMITS_MAX];
	int limits = rl_request_of_key(rl, rule, key, key_len, parts), result = 0;
	bool is_there = false;

	if (limits < 0)
		return limits;
	for (int i = 0; i < limits && result == 0; i++) {
		if (!parts[i].limit->limiter.is_held)
			continue;
		result = walk(rl, &parts[i], visit, arg);
		is_there |= result != -ENOENT;
		result = result == -ENOENT ? 0 : result;
	}
	return is_there ? result : -ENOENT;
}
