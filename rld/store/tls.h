/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_TLS_H
#define RLD_STORE_TLS_H

/*
 * TLS on a descriptor that does not block. A server whose certificate is not signed by who is
 * trusted, or is of another name, is not talked to. The only place that knows OpenSSL.
 */

#include <sys/types.h>

#include "options.h"

struct tls_context; /* what all connections share: whom to trust, who we are */
struct tls;         /* one connection's */

/* NULL after writing why. */
struct tls_context *tls_context_new(const struct store_tls *options, char *why, size_t size);
void tls_context_free(struct tls_context *c);

/* `host`: whose certificate it is to be where the options name nobody. NULL without memory. */
struct tls *tls_new(struct tls_context *c, int fd, const char *host);
void tls_free(struct tls *t);

/* 0: done; -EAGAIN: again when the descriptor is ready; -EPROTO: refused, tls_error() says why. */
int tls_handshake(struct tls *t);

/* As read() and write(), but for their error: -EAGAIN, -EPROTO; 0 of a read is its end. */
ssize_t tls_read(struct tls *t, char *to, size_t size);
ssize_t tls_write(struct tls *t, const char *bytes, size_t size);

/* The last step waits until it can write, whatever it was to do. */
bool tls_wants_write(const struct tls *t);

const char *tls_error(const struct tls *t);

#endif
