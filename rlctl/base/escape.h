/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_ESCAPE_H
#define RLCTL_ESCAPE_H

#include <stddef.h>

/* The bytes as printable UTF-8: what is not, and backslashes and quotes, as \xNN for each
 * byte. To be freed. */
char *escape(const void *bytes, size_t len);

#endif
