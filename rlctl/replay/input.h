/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_INPUT_H
#define RLCTL_INPUT_H

/* The bytes of a file, or of standard input for "-", as they were before they were compressed. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct input;

/*
 * NULL after a message. One that grows is not waited for, and not looked into for what compressed
 * it.
 */
struct input *input_open(const char *name, bool is_growing);

/* How it is called in messages. */
const char *input_name(const struct input *input);

/* Up to `room` bytes, at least one unless it is at its end: 0. -1 after a message. A file that
 * grows may be asked again after its end. */
ssize_t input_read(struct input *input, char *bytes, size_t room);

/* Is a pipe at its end? */
bool input_is_ended(const struct input *input);

/* Has another file taken its name, or was it truncated? */
bool input_is_replaced(const struct input *input);

void input_close(struct input *input);

#endif
