/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop/mover.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "text/error_text.h"

void
mover_start(struct mover *m, struct rl *rl, uint64_t least, uint64_t most)
{
	*m = (struct mover){.rl = rl};
	mover_set_bounds(m, least, most);
}

void
mover_set_bounds(struct mover *m, uint64_t least, uint64_t most)
{
	m->least = least > 0 ? least : RL_KEYS_DEFAULT;
	m->most = most > m->least ? most : 0;
}

static void
say_begun(struct mover *m)
{
	struct rl_info info;

	rl_info(m->rl, &info);
	log_line(LOG_INFO,
	         "segment '%s' has room for %" PRIu64 " keys now; its keys are moving there",
	         info.name, info.keys);
	m->is_moving = true;
}

/* A pass is over. What stayed is tried again in a while. */
static uint64_t
end_pass(struct mover *m, uint64_t now_ns)
{
	bool is_over = rl_move_end(m->rl) == 1;

	if (is_over) {
		log_line(LOG_INFO, "all keys have moved, and the memory of the table before is "
		                   "given back");
		m->is_moving = false;
	} else {
		log_line(LOG_DEBUG, "%" PRIu64 " keys stay where they are for now", m->left);
	}
	m->at = m->left = 0;
	m->due_ns = now_ns + MOVER_AGAIN_NS;
	return is_over ? UINT64_MAX : m->due_ns;
}

/* 1: no keys are moving; -EINVAL: the pass is over. */
static int
move_slice(struct mover *m, uint64_t *took_ns)
{
	uint64_t start = clock_cpu_ns(), now_ns = rl_now(m->rl);
	struct rl_moving moving = {0};
	int moved = 0;

	for (*took_ns = 0; moved == 0 && *took_ns < MOVER_SLICE_NS;
	     *took_ns = clock_cpu_ns() - start) {
		moved = rl_move_slots_at(m->rl, m->at, MOVER_STEP, now_ns, &moving);
		m->at += moved == 0 ? MOVER_STEP : 0;
	}
	m->left += moving.left;
	return moved;
}

uint64_t
mover_run(struct mover *m, uint64_t now_ns)
{
	uint64_t took_ns;
	int moved;

	if (m->is_moving && now_ns < m->due_ns)
		return m->due_ns;
	moved = move_slice(m, &took_ns);
	if (moved == 1 && !m->is_moving)
		return UINT64_MAX;
	if (!m->is_moving)
		say_begun(m);
	if (moved != 0)
		return end_pass(m, now_ns);
	m->due_ns = now_ns + MOVER_REST * took_ns;
	return m->due_ns;
}

static void
resize(struct mover *m, uint64_t keys, uint32_t ring, uint64_t now_ns)
{
	struct rl_resize to = {.keys = (uint32_t)keys, .ring = ring};
	int error = rl_resize(m->rl, &to, 0);

	m->low_since_ns = 0;
	if (error < 0 && m->refused_ns == 0)
		log_line(LOG_WARNING,
		         "room for %" PRIu64 " keys with a ring of %" PRIu32 " takes %" PRIu64
		         " bytes: %s; it stays as it is, "
		         "and is tried again",
		         keys, ring, to.bytes, error_text(error).text);
	m->refused_ns = error < 0 ? now_ns : 0;
}

/* As long as a ring may become without anybody's word. */
static uint32_t
ring_allowed(const struct mover *m, const struct rl_info *info)
{
	uint32_t most = m->most > 0 ? RL_GRANULARITY_MAX : 0;
	uint32_t ring = info->ring_asked < most ? info->ring_asked : most;

	return ring > info->ring ? ring : info->ring;
}

static void
report_ring(struct mover *m, const struct rl_info *info)
{
	uint32_t asked = info->ring_asked;

	if (asked <= ring_allowed(m, info) || asked <= m->ring_reported)
		return;
	m->ring_reported = asked;
	log_line(LOG_WARNING,
	         "a definition was refused, for its rule needs a ring of %" PRIu32
	         " and segment '%s' has %" PRIu32 ": 'rlctl --segment %s resize --ring %" PRIu32
	         "'",
	         asked, info->name, info->ring, info->name, asked);
}

static bool
is_low(struct mover *m, uint64_t used, uint64_t keys, uint64_t now_ns)
{
	if (used >= keys / 5 || keys / 2 < m->least) {
		m->low_since_ns = 0;
		return false;
	}
	if (m->low_since_ns == 0)
		m->low_since_ns = now_ns;
	return now_ns - m->low_since_ns >= MOVER_LOW_NS;
}

void
mover_judge(struct mover *m, uint64_t used, uint64_t now_ns)
{
	struct rl_info info;
	bool is_time;

	if (m->is_moving)
		return;
	rl_info(m->rl, &info);
	report_ring(m, &info);
	if (m->most == 0)
		return;
	is_time = m->refused_ns == 0 || now_ns - m->refused_ns >= MOVER_REFUSED_NS;
	if (info.slots_before > 0 || !is_time)
		return;
	if (used > info.keys / 5 * 4 && info.keys < m->most)
		resize(m, info.keys * 2 < m->most ? info.keys * 2 : m->most, ring_allowed(m, &info),
		       now_ns);
	else if (ring_allowed(m, &info) > info.ring)
		resize(m, info.keys, ring_allowed(m, &info), now_ns);
	else if (is_low(m, used, info.keys, now_ns))
		resize(m, info.keys / 2, info.ring, now_ns);
}
