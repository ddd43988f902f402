/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <math.h>
#include <rl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../rld/cluster/policy.h"
#include "reference.h"
#include "testing.h"

#define HOSTS REFERENCE_HOSTS
#define RING 16
#define TICK_NS (10 * RL_MILLISECOND)
#define RETRY_NS (2 * RL_MILLISECOND)
#define START (1000 * RL_SECOND)

struct host {
	bool is_there, is_dead, is_dry;
	int64_t skew_ns;
	uint64_t epoch[RING], count[RING];
	double debt;
	uint64_t drain;   /* a share that has ended */
	uint64_t debt_ns; /* when it was so */
	uint64_t share, until_ns;
	struct policy_seen seen; /* since the last look */
	struct policy_key key;
	uint64_t seq;
	uint64_t wake_ns, stopped_until_ns;
};

enum event_kind {
	ARRIVAL,
	RETRY,
	LOOK,
	CALL,
	QUESTION,
	ANSWER
};

struct event {
	uint64_t at_ns;
	enum event_kind kind;
	int host;
	uint64_t seq, want, need, sent_ns;
	uint64_t cost, born_ns; /* of a request */
	bool is_short, is_call, is_room;
	struct reference_answer answer;
};

struct admission {
	uint64_t at_ns, cost, waited_ns;
};

struct world {
	const struct world_config *c;
	struct policy_limit limit;
	struct host hosts[HOSTS];
	int seat[HOSTS]; /* who serves what comes to the n-th address */
	int born;
	struct reference store;
	uint64_t seed, width_ns, shift_ns;
	double mean_cost;
	int current;
	struct event *heap;
	size_t events, room;
	struct admission *log;
	size_t logged, log_room;
	struct world_result r;
};

static double
uniform(struct world *w)
{
	return (double)(test_random(&w->seed) >> 11) * 0x1p-53;
}

/* ---- events, the earliest first ---- */

static void
schedule(struct world *w, const struct event *e)
{
	size_t i;

	if (w->events == w->room) {
		w->room = w->room ? w->room * 2 : 1024;
		w->heap = realloc(w->heap, w->room * sizeof *w->heap);
	}
	for (i = w->events++; i > 0 && w->heap[(i - 1) / 2].at_ns > e->at_ns; i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = *e;
}

static struct event
next_event(struct world *w)
{
	struct event first = w->heap[0], last = w->heap[--w->events];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < w->events) {
		child += child + 1 < w->events && w->heap[child + 1].at_ns < w->heap[child].at_ns;
		if (w->heap[child].at_ns >= last.at_ns)
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	return first;
}

/* ---- what a host's word counts ---- */

static uint64_t
at_epoch(const struct host *h, uint64_t epoch)
{
	return h->epoch[epoch % RING] == epoch ? h->count[epoch % RING] : 0;
}

static uint64_t
window_load(const struct world *w, const struct host *h, uint64_t now_ns)
{
	uint64_t local = now_ns + (uint64_t)h->skew_ns, epoch = local / w->width_ns, sum = 0,
		 oldest;
	int n = w->c->parts;

	for (int i = 0; i < n; i++)
		sum += at_epoch(h, epoch - (uint64_t)i);
	if (n == 1)
		return sum;
	oldest = at_epoch(h, epoch - (uint64_t)n);
	if (w->c->is_hard)
		return sum + oldest;
	return sum + oldest - oldest * (local % w->width_ns) / w->width_ns;
}

static uint64_t
room_of(const struct world *w, const struct host *h, uint64_t now_ns)
{
	uint64_t room = (now_ns < h->until_ns ? h->share : 0) + w->c->blind;

	return room < w->c->capacity ? room : w->c->capacity;
}

/*
 * What the word has a debt fall by in a window: once the share has ended, what was owed falls as
 * before.
 */
static double
drain_of(const struct world *w, const struct host *h)
{
	uint64_t room = h->drain > h->share ? h->drain : h->share;

	room += w->c->blind;
	return (double)(room < w->c->capacity ? room : w->c->capacity);
}

static uint64_t
bucket_load(const struct world *w, struct host *h, uint64_t now_ns)
{
	h->debt -= drain_of(w, h) * (double)(now_ns - h->debt_ns) / (double)w->c->window_ns;
	h->debt_ns = now_ns;
	if (h->debt <= 0) {
		h->debt = 0;
		h->drain = 0;
	}
	return (uint64_t)ceil(h->debt - 1e-9);
}

static uint64_t
load_of(const struct world *w, struct host *h, uint64_t now_ns)
{
	return w->c->parts == 0 ? bucket_load(w, h, now_ns) : window_load(w, h, now_ns);
}

static void
charge(struct world *w, struct host *h, uint64_t cost, uint64_t now_ns)
{
	uint64_t epoch = (now_ns + (uint64_t)h->skew_ns) / w->width_ns;

	if (w->c->parts == 0) {
		h->debt += (double)cost;
		return;
	}
	if (h->epoch[epoch % RING] != epoch)
		h->count[epoch % RING] = 0;
	h->epoch[epoch % RING] = epoch;
	h->count[epoch % RING] += cost;
}

static uint64_t
true_load(struct world *w, uint64_t now_ns)
{
	uint64_t sum = 0;

	for (int i = 0; i < w->born; i++)
		sum += load_of(w, &w->hosts[i], now_ns);
	return sum;
}

/* ---- requests ---- */

static uint64_t
draw_cost(struct world *w)
{
	double c;

	if (w->c->cost == WORLD_UNIFORM)
		return 1 + test_below(&w->seed, w->c->capacity);
	if (w->c->cost != WORLD_HEAVY)
		return 1;
	c = (double)w->c->capacity / 1000 / pow(1 - uniform(w), 1 / 1.2);
	return c < 1 ? 1 : c > (double)w->c->capacity ? w->c->capacity : (uint64_t)c;
}

static double
mean_cost(struct world *w)
{
	uint64_t seed = w->seed;
	double sum = 0;

	w->seed = 99;
	for (int i = 0; i < 10000; i++)
		sum += (double)draw_cost(w);
	w->seed = seed;
	return sum / 10000;
}

static void
note(struct world *w, const struct event *e, uint64_t now_ns)
{
	if (w->logged == w->log_room) {
		w->log_room = w->log_room ? w->log_room * 2 : 1024;
		w->log = realloc(w->log, w->log_room * sizeof *w->log);
	}
	w->log[w->logged++] = (struct admission){now_ns, e->cost, now_ns - e->born_ns};
}

/* By chance within a tick, as the daemon's round comes; a look that was to come later is none. */
static void
wake(struct world *w, int i, uint64_t at_ns)
{
	struct host *h = &w->hosts[i];
	struct event e = {.kind = LOOK, .host = i};

	at_ns = at_ns > h->stopped_until_ns ? at_ns : h->stopped_until_ns;
	if (h->is_dead || at_ns >= h->wake_ns)
		return;
	h->wake_ns = e.at_ns = at_ns;
	schedule(w, &e);
}

static void
wish(struct world *w, int i, uint64_t now_ns)
{
	uint64_t tick = w->c->tick_ns > 0 ? w->c->tick_ns : TICK_NS;

	w->hosts[i].seen.is_wished = true;
	wake(w, i, now_ns + (uint64_t)(uniform(w) * (double)tick));
}

static void
admit(struct world *w, const struct event *e, uint64_t room, uint64_t load, uint64_t now_ns)
{
	int64_t over;

	charge(w, &w->hosts[e->host], e->cost, now_ns);
	if ((load + e->cost) * 4 > room * 3)
		wish(w, e->host, now_ns);
	w->r.admitted++;
	w->r.cost += e->cost;
	note(w, e, now_ns);
	over = (int64_t)true_load(w, now_ns) - (int64_t)w->c->capacity;
	w->r.over = over > w->r.over ? over : w->r.over;
}

static void
deny(struct world *w, const struct event *e, uint64_t now_ns)
{
	w->r.denied++;
	w->r.in_vain += now_ns > e->born_ns;
	w->r.falsely += true_load(w, now_ns) + e->cost <= w->c->capacity;
}

/* Who waits comes again, the last time exactly at the end. */
static bool
comes_again(struct world *w, const struct event *e, uint64_t now_ns)
{
	uint64_t end_ns = e->born_ns + w->c->wait_ns;
	struct event again = *e;

	if (now_ns >= end_ns)
		return false;
	again.kind = RETRY;
	again.at_ns = now_ns + RETRY_NS < end_ns ? now_ns + RETRY_NS : end_ns;
	schedule(w, &again);
	return true;
}

static void
decide_by_share(struct world *w, const struct event *e, uint64_t now_ns)
{
	struct host *h = &w->hosts[e->host];
	uint64_t room = room_of(w, h, now_ns), load = load_of(w, h, now_ns);

	if (load + e->cost <= room) {
		admit(w, e, room, load, now_ns);
		return;
	}
	h->seen.denied += e->cost;
	h->seen.largest = e->cost > h->seen.largest ? e->cost : h->seen.largest;
	h->seen.is_waiting |= w->c->wait_ns > 0;
	wish(w, e->host, now_ns);
	if (h->is_dry || load + e->cost > w->c->capacity || !comes_again(w, e, now_ns))
		deny(w, e, now_ns);
}

static void
decide(struct world *w, const struct event *e, uint64_t now_ns)
{
	if (!w->c->is_central)
		decide_by_share(w, e, now_ns);
	else if (true_load(w, now_ns) + e->cost <= w->c->capacity)
		admit(w, e, UINT32_MAX, 0, now_ns);
	else
		deny(w, e, now_ns);
}

static void
request(struct world *w, int seat, uint64_t now_ns)
{
	const struct event e = {.host = w->seat[seat], .cost = draw_cost(w), .born_ns = now_ns};

	w->r.requests++;
	decide(w, &e, now_ns);
}

static int
zipf(struct world *w)
{
	double sum = 0, at = 0, x;
	int i;

	for (i = 0; i < w->c->hosts; i++)
		sum += 1.0 / (i + 1);
	x = uniform(w) * sum;
	for (i = 0; i < w->c->hosts - 1; i++) {
		at += 1.0 / (i + 1);
		if (at > x)
			break;
	}
	return i;
}

static int
any_host(struct world *w)
{
	return (int)test_below(&w->seed, (uint64_t)w->c->hosts);
}

static int
shifting(struct world *w, uint64_t now_ns)
{
	if (now_ns >= w->shift_ns) {
		w->current = any_host(w);
		w->shift_ns = now_ns + 3 * RL_SECOND;
	}
	return w->current;
}

static uint64_t
crowd(struct world *w, uint64_t now_ns)
{
	uint64_t size = w->c->capacity / 20 < 2 ? 2 : w->c->capacity / 20;
	int host = any_host(w);

	for (uint64_t i = 0; i < size; i++)
		request(w, host, now_ns);
	return size;
}

static void
herd(struct world *w, uint64_t now_ns)
{
	for (uint64_t i = 0; i < w->c->capacity; i++)
		for (int host = 0; host < w->c->hosts; host++)
			request(w, host, now_ns);
}

static void
arrive(struct world *w, struct event *e)
{
	double mean = (double)w->c->window_ns * w->mean_cost /
	              (w->c->demand * (double)w->c->capacity),
	       times = 1;

	switch (w->c->load) {
	case WORLD_ONE_HOST:
		request(w, 0, e->at_ns);
		break;
	case WORLD_SHIFT:
		request(w, shifting(w, e->at_ns), e->at_ns);
		break;
	case WORLD_BURST:
		times = (double)crowd(w, e->at_ns);
		break;
	case WORLD_HERD:
		herd(w, e->at_ns);
		e->at_ns += w->c->window_ns / 3 + (uint64_t)(uniform(w) * (double)w->c->window_ns);
		schedule(w, e);
		return;
	case WORLD_ZIPF:
		request(w, zipf(w), e->at_ns);
		break;
	case WORLD_ROBIN:
		w->current = (w->current + 1) % w->c->hosts;
		request(w, w->current, e->at_ns);
		break;
	default:
		request(w, any_host(w), e->at_ns);
	}
	e->at_ns += 1 + (uint64_t)(-log(1 - uniform(w)) * mean * times);
	schedule(w, e);
}

/* ---- the daemons ---- */

static uint64_t
on_the_way(struct world *w)
{
	if (w->c->is_near)
		return 400000 + (uint64_t)(uniform(w) * 2e5);
	if (uniform(w) < w->c->slow)
		return 20 * RL_MILLISECOND + (uint64_t)(uniform(w) * 400e6);
	return 300000 + (uint64_t)(uniform(w) * uniform(w) * 3e6);
}

/* Lost, late or twice. */
static void
post(struct world *w, struct event *e, uint64_t now_ns)
{
	for (int copies = uniform(w) < w->c->loss ? 2 : 1; copies > 0; copies--) {
		e->at_ns = now_ns + on_the_way(w);
		if (uniform(w) >= w->c->loss)
			schedule(w, e);
	}
}

static void
ask(struct world *w, int i, const struct policy_wish *wish, uint64_t load, uint64_t now_ns)
{
	struct host *h = &w->hosts[i];
	struct event e = {.kind = QUESTION,
	                  .host = i,
	                  .need = wish->need,
	                  .is_short = wish->is_short,
	                  .is_call = wish->is_call};

	e.want = wish->want > load ? wish->want : load;
	h->share = e.want < h->share ? e.want : h->share; /* lowered before it is sent */
	e.seq = h->seq = h->seq < now_ns ? now_ns : h->seq + 1;
	e.sent_ns = now_ns;
	policy_asked(&h->key, now_ns, test_random(&w->seed));
	w->r.asks++;
	post(w, &e, now_ns);
}

static void
end_share(struct host *h)
{
	h->drain = h->share > h->drain ? h->share : h->drain;
	h->share = 0;
}

static void
look(struct world *w, int i, uint64_t now_ns)
{
	struct host *h = &w->hosts[i];
	struct policy_seen seen = h->seen;
	struct policy_wish wish;

	h->seen = (struct policy_seen){0};
	seen.load = load_of(w, h, now_ns);
	if (now_ns >= h->until_ns)
		end_share(h);
	seen.share = h->share;
	wish = policy_look(&w->limit, &h->key, &seen, now_ns);
	if (wish.is_ask)
		ask(w, i, &wish, seen.load, now_ns);
	h->is_dry = policy_is_dry(&w->limit, &h->key, now_ns);
	if (!wish.is_over)
		wake(w, i, wish.next_ns);
}

/* A daemon that was killed knows of a key what the word says. */
static void
restart(struct world *w, int i, uint64_t now_ns)
{
	struct host *h = &w->hosts[i];
	struct policy_seen seen = {.share = h->share, .load = load_of(w, h, now_ns)};

	policy_begin(&h->key, &seen, now_ns);
	h->seq = h->seq < now_ns ? now_ns : h->seq + 1; /* what is on the way is nobody's */
	wake(w, i, now_ns);
}

static void
look_if_due(struct world *w, const struct event *e)
{
	struct host *h = &w->hosts[e->host];

	if (h->is_dead || h->wake_ns != e->at_ns)
		return;
	h->wake_ns = UINT64_MAX;
	if (uniform(w) < w->c->stops) {
		h->stopped_until_ns = e->at_ns + 2 * RL_SECOND;
		wake(w, e->host, e->at_ns);
	} else if (uniform(w) < w->c->stops) {
		restart(w, e->host, e->at_ns);
	} else {
		look(w, e->host, e->at_ns);
	}
}

/* To all others; each may miss it. */
static void
publish(struct world *w, int from, bool is_room, uint64_t now_ns)
{
	struct event e = {.kind = CALL, .is_room = is_room};

	w->r.calls++;
	for (e.host = 0; e.host < w->born; e.host++) {
		e.at_ns = now_ns + on_the_way(w);
		if (e.host != from && !w->c->is_deaf && uniform(w) >= w->c->loss)
			schedule(w, &e);
	}
}

/* One that knows nothing of the key does not mind. */
static void
hear(struct world *w, const struct event *e)
{
	struct host *h = &w->hosts[e->host];

	if (h->key.share == 0 && h->key.unmet == 0 && h->key.misses == 0)
		return;
	h->seen.is_room |= e->is_room;
	h->seen.is_called |= !e->is_room;
	wake(w, e->host, e->at_ns);
}

static uint64_t
hold_of(const struct world *w)
{
	const struct world_config *c = w->c;

	return c->window_ns + (c->parts > 1 ? c->window_ns / (uint64_t)c->parts : 0) +
	       RL_MILLISECOND;
}

static void
answer_question(struct world *w, struct event *e)
{
	struct reference_ask a = {
		.host = e->host,
		.seq = e->seq,
		.want = e->want,
		.need = e->need,
		.limit = w->c->capacity,
		.is_short = e->is_short,
		.is_call = e->is_call,
		.life = w->c->lease_ns + hold_of(w),
		.starve = policy_starve_ns(&w->limit),
	};

	e->answer = reference_take(&w->store, &a, e->at_ns, RL_MILLISECOND);
	if (e->answer.calls || e->answer.tells_room)
		publish(w, e->host, e->answer.tells_room, e->at_ns);
	e->kind = ANSWER;
	post(w, e, e->at_ns);
}

static void
take_answer(struct world *w, const struct event *e)
{
	struct host *h = &w->hosts[e->host];
	const struct policy_answer a = {
		.share = e->answer.share,
		.sum = e->answer.sum,
		.hosts = e->answer.hosts,
		.capacity = w->c->capacity,
		.other_starves = e->answer.other_starves,
	};

	if (e->seq != h->seq || h->is_dead || e->sent_ns + w->c->lease_ns < h->until_ns)
		return;
	load_of(w, h, e->at_ns); /* a bucket's debt is settled by the old share */
	h->drain = 0;
	h->share = e->answer.share;
	h->until_ns = e->sent_ns + w->c->lease_ns;
	policy_answered(&h->key, &a, e->at_ns, &w->limit);
	h->is_dry = policy_is_dry(&w->limit, &h->key, e->at_ns);
	if (h->key.unmet > 0)
		wake(w, e->host, e->at_ns + RL_MILLISECOND);
}

/* ---- the whole ---- */

static void
give_birth(struct world *w, int seat, uint64_t now_ns)
{
	int i = w->born++;
	struct host *h = &w->hosts[i];
	const struct policy_seen nothing = {0};

	*h = (struct host){.debt_ns = now_ns, .wake_ns = UINT64_MAX};
	memset(h->epoch, 0xff, sizeof h->epoch);
	h->skew_ns = (int64_t)((uniform(w) * 2 - 1) * (double)w->c->skew_ns);
	policy_begin(&h->key, &nothing, now_ns);
	w->seat[seat] = i;
}

/*
 * The machine is gone, and another takes its place: of what the first counts only the truth knows.
 */
static void
die_sometimes(struct world *w, uint64_t now_ns)
{
	int seat = any_host(w);

	if (w->born == HOSTS || uniform(w) >= w->c->deaths)
		return;
	w->hosts[w->seat[seat]].is_dead = true;
	give_birth(w, seat, now_ns);
}

static void
step(struct world *w, struct event *e)
{
	switch (e->kind) {
	case ARRIVAL:
		die_sometimes(w, e->at_ns);
		arrive(w, e);
		break;
	case RETRY:
		decide(w, e, e->at_ns);
		break;
	case LOOK:
		look_if_due(w, e);
		break;
	case CALL:
		hear(w, e);
		break;
	case QUESTION:
		answer_question(w, e);
		break;
	case ANSWER:
		take_answer(w, e);
	}
}

/* The most that any real window holds. */
static int64_t
fullest_window(const struct world *w)
{
	uint64_t sum = 0, most = 0;

	for (size_t first = 0, i = 0; i < w->logged; i++) {
		sum += w->log[i].cost;
		while (w->log[i].at_ns - w->log[first].at_ns >= w->c->window_ns)
			sum -= w->log[first++].cost;
		most = sum > most ? sum : most;
	}
	return (int64_t)most;
}

static int
by_wait(const void *a, const void *b)
{
	const struct admission *x = a, *y = b;

	return x->waited_ns < y->waited_ns ? -1 : x->waited_ns > y->waited_ns;
}

static void
measure_waits(struct world *w)
{
	static const double parts[] = {0.5, 0.9, 0.99, 0.999, 1};

	if (w->logged == 0)
		return;
	qsort(w->log, w->logged, sizeof *w->log, by_wait);
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		w->r.waited_ns[i] = w->log[(size_t)(parts[i] * (double)(w->logged - 1))].waited_ns;
}

static void
begin(struct world *w, const struct world_config *config)
{
	*w = (struct world){.c = config, .seed = config->seed, .shift_ns = START};
	w->r.over = -(int64_t)config->capacity;
	w->width_ns = config->window_ns / (uint64_t)(config->parts > 0 ? config->parts : 1);
	w->limit = (struct policy_limit){.capacity = config->capacity,
	                                 .blind = config->blind,
	                                 .window_ns = config->window_ns,
	                                 .lease_ns = config->lease_ns,
	                                 .look_ns = config->look_ns,
	                                 .hosts = (uint64_t)config->hosts,
	                                 .is_bucket = config->parts == 0};
	w->mean_cost = mean_cost(w);
	reference_clear(&w->store);
	for (int i = 0; i < config->hosts; i++)
		give_birth(w, i, START);
}

static void
run_until(struct world *w, uint64_t end_ns)
{
	struct event e;

	while (w->events > 0 && w->heap[0].at_ns < end_ns) {
		e = next_event(w);
		step(w, &e);
	}
}

static void
end(struct world *w)
{
	free(w->heap);
	free(w->log);
}

struct world_result
world_run(const struct world_config *config)
{
	static struct world w;
	const struct event first = {.at_ns = START + 1, .kind = ARRIVAL};

	begin(&w, config);
	schedule(&w, &first);
	run_until(&w, START + (uint64_t)config->seconds * RL_SECOND);
	w.r.span_over = fullest_window(&w) - (int64_t)config->capacity;
	w.r.incarnations = (uint64_t)w.born;
	w.r.windows = (double)config->seconds * 1e9 / (double)config->window_ns;
	measure_waits(&w);
	end(&w);
	return w.r;
}

/* All but the first host, at any time of the last quarter of a window. */
static uint64_t
use_some(struct world *w)
{
	uint64_t now_ns = START, used = test_below(&w->seed, w->c->capacity * 6 / 10 + 1);

	for (uint64_t i = 0; i < used && w->c->hosts > 1; i++) {
		now_ns += (uint64_t)(uniform(w) * (double)w->c->window_ns / 2 /
		                     (double)w->c->capacity);
		run_until(w, now_ns);
		request(w, 1 + (int)test_below(&w->seed, (uint64_t)w->c->hosts - 1), now_ns);
	}
	return now_ns;
}

/* Five requests a second on the other hosts, until then. */
static void
go_on(struct world *w, bool are_busy, uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t at_ns = from_ns; are_busy && w->c->hosts > 1;) {
		at_ns += (uint64_t)(-log(1 - uniform(w)) * 2e8);
		if (at_ns >= to_ns)
			break;
		run_until(w, at_ns);
		request(w, 1 + (int)test_below(&w->seed, (uint64_t)w->c->hosts - 1), at_ns);
	}
	run_until(w, to_ns);
}

struct world_try
world_try(const struct world_config *config, uint64_t pause_ns, bool are_busy)
{
	static struct world w;
	uint64_t now_ns, first_ns, free, admitted, seq;
	struct event e = {.host = 0}; /* born long ago: it is for us when it comes again */
	struct world_try t = {0};

	begin(&w, config);
	now_ns = use_some(&w);
	first_ns = now_ns + test_below(&w.seed, are_busy ? RL_SECOND / 5 : 6 * RL_SECOND);
	go_on(&w, are_busy, now_ns, first_ns);
	free = config->capacity - true_load(&w, first_ns);
	free = are_busy ? free * 9 / 10 : free; /* others go on using it */
	e.cost = t.cost = free > 0 ? 1 + test_below(&w.seed, free) : 0;
	seq = w.hosts[0].seq;
	for (now_ns = first_ns; e.cost > 0 && now_ns < first_ns + 40 * RL_SECOND;
	     now_ns += pause_ns) {
		admitted = w.r.admitted;
		t.tries++;
		decide_by_share(&w, &e, now_ns);
		if (w.r.admitted > admitted)
			break;
		go_on(&w, are_busy, now_ns, now_ns + pause_ns);
		t.asks += w.hosts[0].seq != seq;
		seq = w.hosts[0].seq;
	}
	t.waited_ns = now_ns - first_ns;
	end(&w);
	return t;
}
