/* SPDX-License-Identifier: BSD-2-Clause */
#include "blind.h"

void
blind_begin(struct blind *b, unsigned step, uint64_t until_ns, uint64_t now_ns)
{
	bool is_in_force = now_ns < until_ns;

	*b = (struct blind){
		.step = is_in_force ? step : BLIND_STEP_MAX,
		.is_begun = is_in_force,
		.is_joined = is_in_force,
		.risen_ns = now_ns,
		.first_ns = now_ns,
		.until_ns = is_in_force ? until_ns : 0,
	};
}

uint64_t
blind_age(const struct blind *b, uint64_t now_ns)
{
	return now_ns > b->risen_ns ? now_ns - b->risen_ns : 0;
}

static unsigned
step_for(uint64_t hosts)
{
	unsigned step = 0;

	while (step < BLIND_STEP_MAX && UINT64_C(1) << step < hosts)
		step++;
	return step;
}

/* One that lapsed, or of which the store knows nothing, is as one that has just come. */
static void
be_quiet(struct blind *b, uint64_t now_ns)
{
	b->is_joined = false;
	b->first_ns = now_ns;
	b->until_ns = 0;
}

/* True: it has changed. A smaller one has been as large for as long as the one before. */
static bool
follow(struct blind *b, uint64_t count, uint64_t now_ns)
{
	unsigned step = step_for(count);

	if (step == b->step)
		return false;
	if (step > b->step || !b->is_begun)
		b->risen_ns = now_ns;
	b->step = step;
	return true;
}

bool
blind_announced(struct blind *b, const struct blind_entries *e, uint64_t hold_ns, uint64_t asked_ns,
                uint64_t now_ns)
{
	uint64_t keep_ns = BLIND_LIFE_NS + hold_ns;
	bool has_changed;

	if (!b->is_begun || !e->is_known || (b->is_joined && now_ns >= b->until_ns))
		be_quiet(b, now_ns);
	has_changed = follow(b, e->count, now_ns);
	b->is_begun = true;
	if (now_ns - b->first_ns >= keep_ns && e->least_ns >= hold_ns &&
	    UINT64_C(1) << e->least_step >= e->count)
		b->is_joined = true;
	if (b->is_joined)
		b->until_ns = asked_ns + BLIND_LIFE_NS - BLIND_MARGIN_NS;
	return has_changed;
}
