/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_PAGE_KEY_H
#define RLD_PAGE_KEY_H

#include <jansson.h>
#include <stddef.h>

#define PAGE_KEY_MOST 96 /* bytes that are shown */

/*
 * A key as text for people. What could move, reorder or hide text, and what is no UTF-8, is shown
 * as \xNN, byte by byte; a backslash as two. Of a long key the beginning is shown, with an
 * ellipsis. `key` may be NULL, and holds `kept` of `len` bytes. A new string, or NULL without
 * memory.
 */
json_t *page_key(const void *key, size_t kept, size_t len);

#endif
