/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure.h"
#include "at.h"

#include <err.h>
#include <stdlib.h>

#include "rl_admin.h"

/*
 * The exact sliding log: of each key, the admitted requests that lie in (now - window, now],
 * oldest first, as a list through the traffic's request numbers.
 */
struct queue {
	uint32_t first, last; /* request numbers, meant only while length > 0 */
	uint32_t length;
};

struct log {
	const struct traffic *traffic;
	struct queue *queues; /* of each key */
	uint32_t *next;       /* of each admitted request: the same key's next one */
};

static struct log
log_new(const struct traffic *t)
{
	struct log log = {
		.traffic = t,
		.queues = calloc(t->keys, sizeof *log.queues),
		.next = calloc(t->count, sizeof *log.next),
	};

	if (!log.queues || !log.next)
		err(2, NULL);
	return log;
}

static void
log_free(struct log *log)
{
	free(log->queues);
	free(log->next);
}

/* How many admitted requests lie in the window that ends with request number `i`. */
static uint32_t
log_used(struct log *log, uint32_t i)
{
	const struct request *requests = log->traffic->requests;
	struct queue *q = &log->queues[requests[i].key];

	while (q->length > 0 &&
	       requests[q->first].now_ns + log->traffic->window_ns <= requests[i].now_ns) {
		q->first = log->next[q->first];
		q->length--;
	}
	return q->length;
}

static void
log_admit(struct log *log, uint32_t i)
{
	struct queue *q = &log->queues[log->traffic->requests[i].key];

	if (q->length++ == 0)
		q->first = i;
	else
		log->next[q->last] = i;
	q->last = i;
}

/* A contender's rule in a segment of its own. */
struct limiter {
	struct rl *rl;
	int rule;
};

/* Twice the room for the keys: none is evicted, see limiter_close(). */
static struct limiter
limiter_open(const struct traffic *t, const struct contender *c)
{
	struct limiter limiter;
	int error = rl_open_private(&(struct rl_options){.keys = 2 * t->keys + 1000,
	                                                 .ring = c->granularity,
	                                                 .on_full = RL_FULL_DENY},
	                            &limiter.rl);

	if (error < 0)
		errx(2, "%s", rl_strerror(error));
	limiter.rule = rl_define(limiter.rl, &(struct rl_rule){.name = "contender",
	                                                       .limit.algorithm = c->algorithm,
	                                                       .limit.capacity = t->capacity,
	                                                       .limit.window_ns = t->window_ns,
	                                                       .limit.granularity = c->granularity,
	                                                       .limit.hard = c->hard});
	if (limiter.rule < 0)
		errx(2, "%s: %s", c->name, rl_strerror(limiter.rule));
	return limiter;
}

/* Every decision came from a counter, or the scores mean nothing. */
static void
limiter_close(struct limiter *limiter)
{
	uint64_t counters[RL_COUNTERS];
	int error = rl_stats(limiter->rl, limiter->rule, counters, RL_COUNTERS);

	if (error < 0)
		errx(2, "%s", rl_strerror(error));
	if (counters[RL_COUNT_full_denied] > 0)
		errx(2, "a table with twice the room for the keys was full");
	rl_close(limiter->rl);
}

static int
limiter_admits(struct limiter *limiter, const struct request *r)
{
	enum rl_verdict verdict =
		at_check(limiter->rl, limiter->rule, &r->key, sizeof r->key, 1, r->now_ns, NULL);

	if (verdict != RL_ALLOWED && verdict != RL_DENIED)
		errx(2, "a request got no decision");
	return verdict == RL_ALLOWED;
}

/* Judge the verdict on a request that found `used` admitted ones in its window. */
static void
judge(struct score *score, uint32_t used, uint32_t capacity, int admits)
{
	if (admits)
		score->admitted++;
	if (admits && used >= capacity) {
		uint32_t over = used + 1 - capacity;
		score->false_admits++;
		score->missed += over;
		if (score->overshoot < over)
			score->overshoot = over;
	}
	if (!admits && used < capacity) {
		score->false_denials++;
		score->missed += capacity - used;
	}
}

/* Each request of the traffic in turn; the verdicts are `limiter`'s, or the log's if NULL. */
static struct score
replay(const struct traffic *t, struct log *log, struct limiter *limiter)
{
	struct score score = {.requests = t->count};

	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t used = log_used(log, i);
		int admits =
			limiter ? limiter_admits(limiter, &t->requests[i]) : used < t->capacity;
		judge(&score, used, t->capacity, admits);
		if (admits)
			log_admit(log, i);
	}
	return score;
}

struct score
measure(const struct traffic *t, const struct contender *c)
{
	struct log log = log_new(t);
	struct score score;

	if (c) {
		struct limiter limiter = limiter_open(t, c);
		score = replay(t, &log, &limiter);
		limiter_close(&limiter);
	} else {
		score = replay(t, &log, NULL);
	}
	log_free(&log);
	return score;
}
