/* SPDX-License-Identifier: BSD-2-Clause */
/* The sliding log by its state and its ring: log.h. */
#include "algorithm/log.h"

#include "algorithm/ops.h"

static uint64_t
leaves_at(const struct rl_limiter *l, uint64_t time_ns)
{
	uint64_t at;

	return __builtin_add_overflow(time_ns, l->window_ns, &at) ? UINT64_MAX : at;
}

/* The view's log, which begins empty. */
static struct rl_log
log_of(const struct rl_ask *a)
{
	return a->v->is_zero ? (struct rl_log){0} : rl_log_unpack(a->v->word, a->l->ring_entries);
}

static uint64_t
time_of(const struct rl_ask *a, const struct rl_log *log, uint32_t back)
{
	return rl_log_time(log, a->v->ring, a->l->ring_entries, back);
}

/* Units then, or at the newest unit's time if that is later; no more than `capacity`. */
static uint32_t
used_of(const struct rl_ask *a, const struct rl_log *log, uint32_t capacity)
{
	/* Times fall with `back`: the units before `low` count, those from `high` on do not. */
	uint64_t now_ns = a->now_ns > log->newest_ns ? a->now_ns : log->newest_ns;
	uint64_t left_ns; /* who came until then */
	uint32_t low, high;

	high = rl_lesser(log->units, rl_lesser(capacity, rl_log_capacity(a->l->ring_entries)));
	if (__builtin_sub_overflow(now_ns, a->l->window_ns, &left_ns))
		return high;
	if (log->newest_ns <= left_ns)
		return 0;
	low = rl_lesser(log->pending, high);
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (rl_log_stored(log, a->v->ring, a->l->ring_entries, middle) > left_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* When a request is first admitted that is not more than the limit; not after now if it is now. */
static uint64_t
admits_at(const struct rl_ask *a, const struct rl_log *log, uint32_t limit)
{
	uint32_t back = limit - a->cost;

	if (back >= log->units || back >= a->l->ring_entries)
		return 0;
	return leaves_at(a->l, time_of(a, log, back));
}

/* Must `pending` be stored before a unit of now can be added? */
static bool
must_store(const struct rl_ask *a, const struct rl_log *log)
{
	return log->pending > 0 && a->now_ns > log->newest_ns;
}

/* The state with the cost more units of now, pending ones being stored if they must. */
static struct rl_log
added(const struct rl_ask *a, const struct rl_log *log)
{
	uint32_t ring_entries = a->l->ring_entries;
	struct rl_log next = *log;

	if (a->now_ns > log->newest_ns) {
		next.newest_ns = a->now_ns;
		next.pending = 0;
	}
	next.pending = rl_lesser(next.pending + a->cost, rl_log_capacity(ring_entries));
	next.units += a->cost;
	while (next.units >= 2 * ring_entries)
		next.units -= ring_entries;
	return next;
}

static uint32_t
limit_of_log(const struct rl_limiter *l, const struct rl_quota *q)
{
	return rl_lesser(q->capacity, rl_log_capacity(l->ring_entries));
}

/* The times of what counts, d->limit - d->remaining. */
static void
fill_times(const struct rl_ask *a, const struct rl_log *log, struct rl_decision *d)
{
	if (d->remaining < d->limit) /* the newest may be older than newest_ns */
		d->reset_at_ns = leaves_at(a->l, time_of(a, log, 0));
	if (a->cost > d->remaining && a->cost <= d->limit)
		d->retry_at_ns = admits_at(a, log, d->limit);
}

static void
peek_log(const struct rl_ask *a, struct rl_decision *d)
{
	const struct rl_log log = log_of(a);

	d->remaining = d->limit - used_of(a, &log, d->limit);
	d->admits = a->cost <= d->remaining;
	fill_times(a, &log, d);
}

static void
decide_log(const struct rl_ask *a, struct rl_plan *p)
{
	const struct rl_log log = log_of(a);
	struct rl_log next;

	p->decision.remaining = p->decision.limit - used_of(a, &log, p->decision.limit);
	p->charges = a->cost <= p->decision.remaining;
	if (!p->charges) {
		p->step = RL_STEP_DENY;
		fill_times(a, &log, &p->decision);
		return;
	}
	next = added(a, &log);
	p->step = must_store(a, &log) ? RL_STEP_CLOSE : RL_STEP_ADMIT;
	p->entries = log.pending;
	p->next = rl_log_pack(next, a->v->slot_bits);
	p->charge_id = next.newest_ns;
	p->memory = 0;
	p->decision.remaining -= a->cost;
	p->decision.reset_at_ns = next.newest_ns + a->l->window_ns;
}

static enum rl_back_step
refund_log(const struct rl_ask *a, const struct rl_charge *charge, struct rl_back *back)
{
	struct rl_log log = rl_log_unpack(a->v->word, a->l->ring_entries);

	if (log.newest_ns != charge->epoch || log.pending < a->cost)
		return RL_BACK_LATE;
	log.pending -= a->cost;
	log.units -= a->cost;
	back->given = a->cost;
	back->next = rl_log_pack(log, a->v->slot_bits);
	return RL_BACK_WORD;
}

static uint32_t
refund_newest_of_log(const struct rl_ask *a, struct rl_u128 *next)
{
	struct rl_log log = rl_log_unpack(a->v->word, a->l->ring_entries);
	uint32_t given = rl_lesser(a->cost, log.pending);

	log.pending -= given;
	log.units -= given;
	*next = rl_log_pack(log, a->v->slot_bits);
	return given;
}

static uint64_t
idle_at_of_log(const struct rl_limiter *l, struct rl_u128 word)
{
	return leaves_at(l, word.lo);
}

static uint32_t
used_most_of_log(const struct rl_ask *a, const struct rl_window_now *now)
{
	(void)now;
	if (idle_at_of_log(a->l, a->v->word) <= a->now_ns)
		return 0;
	return rl_log_unpack(a->v->word, a->l->ring_entries).units;
}

static uint32_t
load_of_log(const struct rl_ask *a)
{
	struct rl_log log = rl_log_unpack(a->v->word, a->l->ring_entries);

	return used_of(a, &log, UINT32_MAX);
}

static struct rl_u128
nothing_of_log(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits)
{
	(void)l;
	return rl_log_pack((struct rl_log){.newest_ns = now_ns}, slot_bits);
}

static size_t
charge_entries_of_log(const struct rl_ask *a, const struct rl_history *h, uint32_t used,
                      struct rl_charge_entry *entry)
{
	const struct rl_log log = log_of(a);
	size_t count = 0;

	(void)h;
	for (uint32_t back = used; back-- > 0;) {
		uint64_t at_ns = time_of(a, &log, back);
		if (count > 0 && entry[count - 1].at_ns == at_ns)
			entry[count - 1].cost++;
		else
			entry[count++] = (struct rl_charge_entry){.at_ns = at_ns, .cost = 1};
	}
	return count;
}

static void
entry_of_log(const struct rl_limiter *l, const struct rl_view *v, uint32_t i, uint32_t *place,
             uint64_t *value)
{
	struct rl_log log = rl_log_unpack(v->word, l->ring_entries);

	*place = (log.units - i) % l->ring_entries;
	*value = log.newest_ns;
}

static struct rl_u128
log_without_share(struct rl_u128 word)
{
	return rl_share_put(word, 0);
}

static struct rl_u128
log_with_share(struct rl_u128 word, uint64_t share_bits)
{
	word.hi |= share_bits;
	return word;
}

static enum rl_fault
judge_log(const struct rl_limiter *l, const struct rl_view *v, uint32_t holders)
{
	struct rl_log log = rl_log_unpack(v->word, l->ring_entries);
	uint32_t whole = rl_log_capacity(l->ring_entries); /* of the others a refund may be in it */
	uint64_t later = log.newest_ns;

	(void)holders;
	for (uint32_t back = log.pending; back < log.units && back < whole; back++) {
		uint64_t time = rl_log_time(&log, v->ring, l->ring_entries, back);
		if (time > later)
			return RL_FAULT_ORDER;
		later = time;
	}
	return RL_UNDAMAGED;
}

static struct rl_overflow_parts
overflow_parts_of_log(const struct rl_limiter *l, const struct rl_limiter *overflow,
                      const struct rl_view *v)
{
	struct rl_log log = rl_log_unpack(v->word, l->ring_entries);
	uint32_t most = rl_log_capacity(l->ring_entries);
	struct rl_overflow_parts p = {.epoch = rl_window_epoch(&overflow->window, log.newest_ns)};

	for (uint32_t back = 0; back < log.units && back < most; back++) {
		uint64_t at_ns = rl_log_time(&log, v->ring, l->ring_entries, back);
		uint64_t epoch = rl_window_epoch(&overflow->window, at_ns);
		if (epoch + 1 < p.epoch)
			break;
		rl_overflow_add(&p, epoch < p.epoch ? epoch : p.epoch, 1);
	}
	rl_overflow_open_epoch(&p, log.newest_ns % overflow->window.width_ns != 0);
	return p;
}

/* No more than a log holds: that denies whatever comes. */
static struct rl_u128
log_of_overflow(const struct rl_limiter *l, const struct rl_limiter *overflow,
                const struct rl_overflow_parts *p, uint64_t now_ns, uint64_t slot_bits)
{
	uint64_t end = p->cur > 0 ? p->epoch + 1 : p->epoch, units = (uint64_t)p->cur + p->sum;
	uint32_t most = rl_log_capacity(l->ring_entries);
	struct rl_log log = {.newest_ns = end * overflow->window.width_ns - 1};

	(void)now_ns;
	log.units = log.pending = units < most ? (uint32_t)units : most;
	return rl_log_pack(log, slot_bits);
}

static bool
log_fits_share(const struct rl_limit *l)
{
	(void)l;
	return true;
}

const struct rl_algorithm_ops rl_sliding_log_ops = {
	.limit = limit_of_log,
	.decide = decide_log,
	.peek = peek_log,
	.refund = refund_log,
	.refund_newest = refund_newest_of_log,
	.idle_at = idle_at_of_log,
	.used_most = used_most_of_log,
	.nothing = nothing_of_log,
	.entries = charge_entries_of_log,
	.entry = entry_of_log,
	.load = load_of_log,
	.shared = &rl_share_ops,
	.without_share = log_without_share,
	.with_share = log_with_share,
	.fits_share = log_fits_share,
	.judge = judge_log,
	.overflow_parts = overflow_parts_of_log,
	.of_overflow = log_of_overflow,
};
