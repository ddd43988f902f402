/* SPDX-License-Identifier: BSD-2-Clause */
#include "request.h"

#include <stdlib.h>

#include "protocol.h"

struct request *
request_new(char *bytes, size_t size, request_take *take, void *owner)
{
	struct request *r = bytes ? calloc(1, sizeof *r) : NULL;

	if (!r) {
		protocol_free_command(bytes);
		return NULL;
	}
	r->bytes = bytes;
	r->size = size;
	r->take = take;
	r->owner = owner;
	return r;
}

void
request_free(struct request *r)
{
	store_value_free(r->value);
	protocol_free_command(r->bytes);
	free(r);
}

void
requests_init(struct requests *q)
{
	*q = (struct requests){.end = &q->first};
}

void
requests_add(struct requests *q, struct request *r)
{
	r->next = NULL;
	*q->end = r;
	q->end = &r->next;
	q->count++;
}

struct request *
requests_take(struct requests *q)
{
	struct request *r = q->first;

	if (!r)
		return NULL;
	q->first = r->next;
	if (!q->first)
		q->end = &q->first;
	q->count--;
	return r;
}
