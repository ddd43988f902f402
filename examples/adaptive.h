/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ADAPTIVE_H
#define ADAPTIVE_H

/*
 * A limit on what is in flight that finds its capacity by itself, from how long requests take, for all
 * processes of the host together. adaptive.c says how.
 *
 *	struct adaptive a;
 *	struct adaptive_pass pass;
 *	if (adaptive_open(&a, rl, "backend", 48) < 0)
 *		return -1;
 *	if (adaptive_enter(&a, "db1", rl_now(rl), &pass) == RL_DENIED)
 *		return refuse();
 *	serve();
 *	adaptive_leave(&a, "db1", rl_now(rl), &pass);
 *
 * A key is what is overloaded: this host, or one of several servers behind it.
 */
#include <rl.h>

struct adaptive {
	struct rl *rl;
	int rule;  /* of what is in flight */
	int limit; /* these four are spaces of counters */
	int alone;
	int known;
	int looking;
	uint32_t max;
};

/* A request on its way. */
struct adaptive_pass {
	struct rl_hold hold;
	size_t holds;
	uint64_t start_ns;
	uint32_t used; /* in flight when it was let in, itself included */
	int error;     /* 0, or why it was not counted: of struct rl_result */
};

/*
 * Define what is needed, by every process alike. `max` bounds the capacity: fewer than there are workers, for
 * somebody must be free to refuse. 0, or an error of rl_define() or rl_define_counters().
 */
int adaptive_open(struct adaptive *a, struct rl *rl, const char *name, uint32_t max);

/* Let a request in, or not, as rl_check() does. Whoever is allowed leaves again. */
enum rl_verdict adaptive_enter(const struct adaptive *a, const char *key, uint64_t now_ns,
                               struct adaptive_pass *pass);

/*
 * It is done: give back its unit, and learn from how long it took. Of a request that failed early only give
 * back the hold, by rl_release(): how fast a failure is says nothing of the server.
 */
void adaptive_leave(const struct adaptive *a, const char *key, uint64_t now_ns,
                    struct adaptive_pass *pass);

/* What may be in flight now. */
uint32_t adaptive_limit(const struct adaptive *a, const char *key, uint64_t now_ns);

#endif
