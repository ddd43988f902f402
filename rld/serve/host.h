/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_HOST_H
#define RLD_HOST_H

/*
 * Whom a browser believes to be talking to. A page of a stranger whose name resolves to 127.0.0.1
 * can ask for what is served there, and read it, for the origin is the stranger's own; but the Host
 * header has the stranger's name then. So only names of this host are answered.
 */

#include <stdbool.h>

/* Whether a Host header, or NULL, says that name, with or without a port. */
bool host_is(const char *host, const char *name);

/* Whether it says localhost, 127.0.0.1 or [::1], with or without a port. */
bool host_is_this(const char *host);

#endif
