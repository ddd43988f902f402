/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SCREEN_H
#define RLCTL_SCREEN_H

/*
 * The terminal as a screen: taken with screen_open() and given back by screen_close(), or, in
 * whatever way the program ends but SIGKILL, by itself.
 */

#include <stdbool.h>
#include <stdint.h>

#include "top/frame.h"

enum screen_key {
	SCREEN_NOTHING = -1, /* the time is over, or a signal came */
	SCREEN_GONE = -2,    /* there is no terminal any more */
	SCREEN_RESIZED = 0x1000,
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ENTER,
	SCREEN_ESCAPE,
	SCREEN_ERASE,
};

/* False if the terminal is of no known type, or of one that cannot move its cursor. */
bool screen_open(void);
void screen_close(void);

size_t screen_rows(void);
size_t screen_columns(void);

/* Show the frame from the top, and the cursor behind its last line if `has_cursor`. */
void screen_show(const struct frame *frame, bool has_cursor);

/* The next key: a character, or of enum screen_key. */
int screen_read(uint64_t wait_ns);

#endif
