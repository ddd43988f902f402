/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SPLICE_H
#define CONFIG_SPLICE_H

/*
 * Change one value of a JSON text and leave every other byte as it is: order, blanks, comments, the
 * way numbers are written. Values are named by JSON pointers (RFC 6901): "/rules/login/capacity";
 * ~1 stands for / in a name and ~0 for ~.
 */

#include <stddef.h>

/* The errors, besides -ENOMEM and those of the text. */
#define SPLICE_EPOINTER (-EINVAL) /* no pointer, or the whole text's */
#define SPLICE_EABSENT (-ENOENT)  /* to be removed, but not there; or no such element */
#define SPLICE_EPARENT (-ENOTDIR) /* what would hold it is neither object nor array */

/*
 * Give it the value, a JSON text. What is not there is put last in what holds it, in the manner
 * of what stands before it, and objects on the way to it are made. "-" is the element behind the
 * last of an array. *out is to be freed.
 */
int splice_set(const char *text, size_t len, const char *pointer, const char *value, char **out,
               size_t *out_len);

/* Take it out, with the comma that goes with it. */
int splice_unset(const char *text, size_t len, const char *pointer, char **out, size_t *out_len);

#endif
