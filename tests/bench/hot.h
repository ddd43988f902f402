/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_HOT_H
#define BENCH_HOT_H

/*
 * Decisions about one key, again and again, which is in the caches: hot.def lists them. One list
 * for what they cost in time (costs.c), in lines of the segment that change hands (lines.c), and in
 * instructions (profile.sh).
 */

#include "bench.h"

struct hot;

struct hot_lane {
	const char *id, *label;
	double most;        /* what it is to take at most, beside `beside`; 0: nothing said */
	double lines;       /* of the segment that it is to change at most; 0: nothing said */
	const char *beside; /* another lane, before it in the list; NULL: the floor */
	struct rl_limit limit;
	unsigned limits;        /* of its rule; 0 is one */
	uint32_t last_capacity; /* of the last of them; 0: as the others' */
	const void *key;        /* NULL: 16 bytes */
	size_t key_len;
	uint32_t capacity;                /* of the request's own */
	uint64_t step_ns;                 /* from one request to the next */
	const struct rl_options *options; /* of a segment of its own; NULL: it shares one */
	void (*prepare)(struct hot *hot); /* before the first request */
	void (*run)(void *hot, unsigned worker, uint64_t n); /* NULL: hot_check() */
};

extern const struct hot_lane hot_lanes[];
extern const size_t hot_count;

/* A lane in use. */
struct hot {
	const struct hot_lane *lane;
	struct rl *rl, *other;  /* another handle of it, or NULL */
	struct rl_item item[2]; /* of its rule, cost 1; of another one */
	struct rl_charges charges, before;
	uint64_t now_ns; /* of the next request */
	uint64_t turn;
};

/*
 * All of them, hot_count; or that one, which is to be known. Each has had no request but those that
 * it is about.
 */
struct hot *hot_open(void);
struct hot *hot_open_one(const char *id);
void hot_close(struct hot *hot, size_t count);

/* The lane as lanes_measure() takes it. */
struct lane hot_lane_of(struct hot *hot, uint64_t n);

/* What hot.def names: hot_run.c. */
void hot_check(void *hot, unsigned worker, uint64_t n);
void hot_null(void *hot, unsigned worker, uint64_t n);     /* no result wanted */
void hot_clock(void *hot, unsigned worker, uint64_t n);    /* the library reads the clock */
void hot_item(void *hot, unsigned worker, uint64_t n);     /* with what an item may say */
void hot_many(void *hot, unsigned worker, uint64_t n);     /* 32 with one call */
void hot_in_turns(void *hot, unsigned worker, uint64_t n); /* a hundred keys */
void hot_limits(void *hot, unsigned worker, uint64_t n);   /* told of each limit */
void hot_all(void *hot, unsigned worker, uint64_t n);      /* two rules */
void hot_peek(void *hot, unsigned worker, uint64_t n);
void hot_reserve(void *hot, unsigned worker, uint64_t n);
void hot_refund(void *hot, unsigned worker, uint64_t n);       /* what was charged */
void hot_settle(void *hot, unsigned worker, uint64_t n);       /* to half of what was charged */
void hot_settle_late(void *hot, unsigned worker, uint64_t n);  /* the same of the request before */
void hot_settle_alone(void *hot, unsigned worker, uint64_t n); /* one unit of one charge each */
void hot_hold(void *hot, unsigned worker, uint64_t n); /* and release; two handles in turns */
void hot_count_up(void *hot, unsigned worker, uint64_t n);

#endif
