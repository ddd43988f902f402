/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_PROTOCOL_H
#define RLD_STORE_PROTOCOL_H

/*
 * The bytes of RESP2. The only place that knows hiredis, and of it the formatter and the reader
 * alone, which are the same in its versions 0.14 and 1.x.
 *
 * A server is not trusted: a reply of more than PROTOCOL_REPLY_MAX bytes, an array of more than
 * PROTOCOL_ITEMS_MAX items and what is no RESP break the stream.
 */

#include "value.h"

#define PROTOCOL_REPLY_MAX (8u << 20)
#define PROTOCOL_ITEMS_MAX (1u << 17)

struct protocol;

struct protocol *protocol_new(void);
void protocol_free(struct protocol *p);

/*
 * Take the bytes that have come. Returns -1 where they break the stream: protocol_error() says how.
 */
int protocol_feed(struct protocol *p, const char *bytes, size_t size);

/* The next reply that is whole, for the caller to free; 1 there is one, 0 not yet, -1 broken. */
int protocol_next(struct protocol *p, struct store_value **value);

const char *protocol_error(const struct protocol *p);

/* A command's bytes, to be freed with protocol_free_command(); NULL without memory. */
char *protocol_command(int argc, const char *const *argv, const size_t *sizes, size_t *size);
void protocol_free_command(char *bytes);

#endif
