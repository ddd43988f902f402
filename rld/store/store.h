/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_STORE_H
#define RLD_STORE_STORE_H

/*
 * A client of Redis or Valkey, of one node or of a cluster, for a loop that must not wait. All that
 * the rest of rl knows of a network is this header: another client library can take the place of
 * what is behind it.
 *
 *	store_open(), then in each round: store_ask() as often as is wanted; store_run();
 *	poll store_fd() for reading until what store_run() has returned
 *
 * A question goes to the node that has the key's slot. MOVED and ASK are followed, a script that a
 * node lacks is given to it. What is not answered within the timeout, or cannot be, is answered
 * with NULL, and may have been done all the same: there is no queue of what failed, the caller asks
 * anew if it still wants to know. A node that is away, slow or broken delays nothing but what is
 * asked of it.
 */

#include "options.h"
#include "times.h"
#include "value.h"

struct store;

/* NULL after writing why. Nothing is connected before the first store_run(). */
struct store *store_open(const struct store_options *options, uint64_t random, char *why,
                         size_t size);

/* Requests that wait are answered with NULL before. */
void store_close(struct store *s, uint64_t now_ns);

int store_fd(const struct store *s);
uint64_t store_run(struct store *s, uint64_t now_ns);

/* `v` is the callee's only during the call; NULL: not answered. */
typedef void store_answer(void *arg, uint64_t label, const struct store_value *v, uint64_t now_ns);

struct store_question {
	const char *key; /* whose slot decides who is asked; NULL: node `node` */
	size_t key_size;
	unsigned node;
	int argc;
	const char *const *argv;
	const size_t *sizes;
	bool is_durable; /* answered only when a replica has it, too */
	store_answer *answer;
	void *arg;
	uint64_t label;
};

/* 0; -EAGAIN: nobody can be asked now, and `answer` is not called; -ENOMEM. */
int store_ask(struct store *s, const struct store_question *q, uint64_t now_ns);

/* For EVALSHA: 40 hex digits. */
const char *store_script(const struct store *s, unsigned i);

/* All slots have a node that answers. */
bool store_is_whole(const struct store *s);

struct store_node {
	char address[272];
	bool is_ready, has_slots;
	unsigned slots, replicas;
	uint64_t rtt_ns, connected;
	char trouble[200]; /* "" none */
};

/* Nodes are numbered from 0; numbers stay. False: there is none of that number. */
bool store_node(const struct store *s, unsigned i, struct store_node *node);

void store_counts(const struct store *s, struct store_counts *counts);

#endif
