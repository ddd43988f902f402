/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop/sweeper.h"

#include "base/clock.h"
#include "base/log.h"

static uint64_t
slots_of(struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	return info.slots;
}

void
sweeper_start(struct sweeper *s, struct rl *rl, uint64_t interval_ns, uint64_t now_ns)
{
	*s = (struct sweeper){
		.rl = rl,
		.interval_ns = interval_ns,
		.slots = slots_of(rl),
		.due_ns = now_ns,
		.used = rl_fill(rl),
	};
}

void
sweeper_set_interval(struct sweeper *s, uint64_t interval_ns, uint64_t now_ns)
{
	if (interval_ns < s->interval_ns)
		s->due_ns = now_ns;
	s->interval_ns = interval_ns;
}

/*
 * A table is made for a fill of 3/5. Above 3/4, each further key has a worse chance to find its
 * slots used, and stale keys are what can be had at no cost: they are looked for sooner.
 */
unsigned
sweeper_haste(uint64_t used, uint64_t slots)
{
	uint64_t eighths = slots > 0 ? used * 8 / slots : 0;

	if (eighths >= 7)
		return 16;
	return eighths >= 6 ? 4 : 1;
}

uint64_t
sweeper_used(const struct sweeper *s)
{
	uint64_t ahead = s->slots - s->at;

	/* Places are given by a hash, so that any part of the table stands for the whole. */
	return s->pass.used + s->used * ahead / s->slots; /* both below 2^32 */
}

static void
add(struct rl_swept *to, const struct rl_swept *swept)
{
	to->seen += swept->seen;
	to->used += swept->used;
	to->retired += swept->retired;
	to->unused += swept->unused;
}

struct rl_swept
sweeper_total(const struct sweeper *s)
{
	struct rl_swept total = s->ended;

	add(&total, &s->pass);
	return total;
}

static void
end_pass(struct sweeper *s)
{
	log_line(LOG_DEBUG,
	         "swept %llu slots: %llu used, %llu retired, %llu half claimed or unused",
	         (unsigned long long)s->pass.seen, (unsigned long long)s->pass.used,
	         (unsigned long long)s->pass.retired, (unsigned long long)s->pass.unused);
	add(&s->ended, &s->pass);
	s->passes++;
	s->used = s->pass.used;
	s->pass = (struct rl_swept){0};
	limited_free(&s->denied);
	s->denied = s->limited;
	s->limited = (struct limited){0};
	s->at = 0;
}

void
sweeper_end(struct sweeper *s)
{
	limited_free(&s->limited);
	limited_free(&s->denied);
}

struct slice {
	uint64_t count; /* slots */
	uint64_t took_ns;
};

static uint64_t
step(struct sweeper *s)
{
	uint64_t left = s->slots - s->at;
	uint64_t count = left < SWEEPER_STEP ? left : SWEEPER_STEP;
	uint64_t now_ns = rl_now(s->rl);

	rl_sweep_slots_at(s->rl, s->at, count, now_ns, &s->pass);
	limited_add(&s->limited, s->rl, s->at, count, now_ns);
	s->at += count;
	return count;
}

static struct slice
sweep_slice(struct sweeper *s)
{
	uint64_t start = clock_cpu_ns();
	struct slice slice = {0};

	while (s->at < s->slots && slice.took_ns < SWEEPER_SLICE_NS) {
		slice.count += step(s);
		slice.took_ns = clock_cpu_ns() - start;
	}
	s->cpu_ns += slice.took_ns;
	if (slice.took_ns > s->longest_ns)
		s->longest_ns = slice.took_ns;
	return slice;
}

/* The gap that follows a slice. */
static uint64_t
gap_ns(const struct sweeper *s, struct slice slice)
{
	unsigned haste = sweeper_haste(sweeper_used(s), s->slots);
	double share = (double)slice.count / (double)s->slots;
	uint64_t gap = (uint64_t)((double)s->interval_ns / haste * share);
	uint64_t rest = slice.took_ns * SWEEPER_REST / haste;

	return gap > rest ? gap : rest;
}

uint64_t
sweeper_run(struct sweeper *s, uint64_t now_ns)
{
	struct slice slice;
	uint64_t gap;

	if (now_ns < s->due_ns)
		return s->due_ns;
	if (s->at == 0) /* it may have another table since */
		s->slots = slots_of(s->rl);
	slice = sweep_slice(s);
	gap = gap_ns(s, slice);
	if (s->at >= s->slots)
		end_pass(s);
	/* Keep the beat, but do not run after what was missed while the process stood still. */
	s->due_ns = s->due_ns + gap > now_ns ? s->due_ns + gap : now_ns + gap;
	return s->due_ns;
}
