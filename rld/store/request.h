/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_REQUEST_H
#define RLD_STORE_REQUEST_H

/*
 * A command that was written to a node or will be, and those of a connection in the order in which
 * they are answered.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct connection;
struct request;

/* `v`, or NULL where none came; it and the request are the callee's. */
typedef void request_take(struct connection *from, struct request *r, struct store_value *v,
                          uint64_t now_ns);

struct request {
	struct request *next;
	char *bytes;
	size_t size;
	uint64_t asked_ns, due_ns; /* when it was first written; when it counts as not answered */
	request_take *take;        /* NULL: it was given up, and its answer is nobody's */
	void *owner, *arg;
	unsigned slot, hops;
	bool is_durable;           /* counts only when a replica has it, too */
	struct store_value *value; /* of one that is durable, until that is known */
};

struct requests {
	struct request *first, **end;
	size_t count;
};

/* Takes `bytes`, of protocol_command(). NULL without memory, the bytes freed. */
struct request *request_new(char *bytes, size_t size, request_take *take, void *owner);
void request_free(struct request *r);

void requests_init(struct requests *q);
void requests_add(struct requests *q, struct request *r);
struct request *requests_take(struct requests *q); /* the first; NULL: none */

#endif
