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
#define WISHES_NS (10 * RL_MILLISECOND)
#define START (1000 * RL_SECOND)

struct host {
	bool is_there, is_dead;
	int64_t skew_ns;
	uint64_t epoch[RING], count[RING];
	double debt;
	uint64_t drain;   /* a share that has ended */
	uint64_t debt_ns; /* when it was so */
	uint64_t share, until_ns;
	bool is_wished;
	struct policy_key key;
	uint64_t seq, next_ns, stopped_until_ns;
};

enum event_kind {
	ARRIVAL,
	LOOK,
	QUESTION,
	ANSWER
};

struct event {
	uint64_t at_ns;
	enum event_kind kind;
	int host;
	uint64_t seq, want, need, sent_ns;
	bool is_short;
	struct reference_answer answer;
};

struct world {
	const struct world_config *c;
	struct policy_limit limit;
	struct host hosts[HOSTS];
	int seat[HOSTS]; /* who serves what comes to the n-th address */
	int born;
	struct reference store;
	uint64_t seed, width_ns, shift_ns;
	int current;
	struct event *heap;
	size_t events, room;
	uint64_t *log;
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
charge(struct world *w, struct host *h, uint64_t now_ns)
{
	uint64_t epoch = (now_ns + (uint64_t)h->skew_ns) / w->width_ns;

	if (w->c->parts == 0) {
		h->debt += 1;
		return;
	}
	if (h->epoch[epoch % RING] != epoch)
		h->count[epoch % RING] = 0;
	h->epoch[epoch % RING] = epoch;
	h->count[epoch % RING]++;
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

static void
note(struct world *w, uint64_t now_ns)
{
	if (w->logged == w->log_room) {
		w->log_room = w->log_room ? w->log_room * 2 : 1024;
		w->log = realloc(w->log, w->log_room * sizeof *w->log);
	}
	w->log[w->logged++] = now_ns;
}

static void
request(struct world *w, int seat, uint64_t now_ns)
{
	struct host *h = &w->hosts[w->seat[seat]];
	uint64_t room = room_of(w, h, now_ns), load = load_of(w, h, now_ns);
	int64_t over;

	w->r.requests++;
	if (load + 1 > room) {
		h->is_wished = true;
		w->r.denied++;
		w->r.falsely += true_load(w, now_ns) + 1 <= w->c->capacity;
		return;
	}
	charge(w, h, now_ns);
	h->is_wished |= (load + 1) * 4 > room * 3;
	w->r.admitted++;
	note(w, now_ns);
	over = (int64_t)true_load(w, now_ns) - (int64_t)w->c->capacity;
	w->r.over = over > w->r.over ? over : w->r.over;
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
	double mean = (double)w->c->window_ns / (w->c->demand * (double)w->c->capacity), times = 1;

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
	struct event e = {
		.kind = QUESTION, .host = i, .need = wish->need, .is_short = wish->is_short};

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
	struct policy_seen seen = {.is_wished = h->is_wished};
	struct policy_wish wish;

	h->is_wished = false;
	seen.load = load_of(w, h, now_ns);
	if (now_ns >= h->until_ns)
		end_share(h);
	seen.share = h->share;
	wish = policy_look(&w->limit, &h->key, &seen, now_ns);
	h->next_ns = wish.is_over ? UINT64_MAX : wish.next_ns;
	if (wish.is_ask)
		ask(w, i, &wish, seen.load, now_ns);
}

/* A daemon that was killed knows of a key what the word says. */
static void
restart(struct world *w, struct host *h, uint64_t now_ns)
{
	struct policy_seen seen = {.share = h->share, .load = load_of(w, h, now_ns)};

	policy_begin(&h->key, &seen, now_ns);
	h->next_ns = now_ns;
	h->seq = h->seq < now_ns ? now_ns : h->seq + 1; /* what is on the way is nobody's */
}

static void
look_if_due(struct world *w, struct event *e)
{
	struct host *h = &w->hosts[e->host];

	if (h->is_dead)
		return;
	if (h->is_wished || e->at_ns >= h->next_ns)
		look(w, e->host, e->at_ns);
	e->at_ns += WISHES_NS;
	if (uniform(w) < w->c->stops)
		e->at_ns += 2 * RL_SECOND;
	else if (uniform(w) < w->c->stops)
		restart(w, h, e->at_ns);
	schedule(w, e);
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
		.life = w->c->lease_ns + hold_of(w),
		.starve = policy_starve_ns(&w->limit),
	};

	e->answer = reference_take(&w->store, &a, e->at_ns);
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
}

/* ---- the whole ---- */

static void
give_birth(struct world *w, int seat, uint64_t now_ns)
{
	int i = w->born++;
	struct host *h = &w->hosts[i];
	const struct policy_seen nothing = {0};
	struct event e = {.at_ns = now_ns + (uint64_t)(uniform(w) * 1e7), .kind = LOOK, .host = i};

	*h = (struct host){.debt_ns = now_ns, .next_ns = UINT64_MAX};
	memset(h->epoch, 0xff, sizeof h->epoch);
	h->skew_ns = (int64_t)((uniform(w) * 2 - 1) * (double)w->c->skew_ns);
	policy_begin(&h->key, &nothing, now_ns);
	w->seat[seat] = i;
	schedule(w, &e);
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
	case LOOK:
		look_if_due(w, e);
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
	size_t most = 0;

	for (size_t first = 0, i = 0; i < w->logged; i++) {
		while (w->log[i] - w->log[first] >= w->c->window_ns)
			first++;
		most = i - first + 1 > most ? i - first + 1 : most;
	}
	return (int64_t)most;
}

struct world_result
world_run(const struct world_config *config)
{
	static struct world w;
	struct event first = {.at_ns = START + 1, .kind = ARRIVAL}, e;
	uint64_t end_ns = START + (uint64_t)config->seconds * RL_SECOND;

	w = (struct world){.c = config, .seed = config->seed, .shift_ns = START};
	w.r.over = -(int64_t)config->capacity;
	w.width_ns = config->window_ns / (uint64_t)(config->parts > 0 ? config->parts : 1);
	w.limit = (struct policy_limit){config->capacity, config->blind,   config->window_ns,
	                                config->lease_ns, config->look_ns, config->parts == 0};
	reference_clear(&w.store);
	for (int i = 0; i < config->hosts; i++)
		give_birth(&w, i, START);
	schedule(&w, &first);
	while ((e = next_event(&w)).at_ns < end_ns)
		step(&w, &e);
	w.r.span_over = fullest_window(&w) - (int64_t)config->capacity;
	w.r.incarnations = (uint64_t)w.born;
	w.r.windows = (double)config->seconds * 1e9 / (double)config->window_ns;
	free(w.heap);
	free(w.log);
	return w.r;
}
