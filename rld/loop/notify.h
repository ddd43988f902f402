/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_NOTIFY_H
#define RLD_NOTIFY_H

/* Notes to the service manager; nothing happens where there is none. */

#include <stdint.h>

void notify_ready(void);
void notify_reloading(void); /* until notify_ready() */
void notify_stopping(void);
void notify_status(const char *text);
void notify_watchdog(void);

/* How often notify_watchdog() is wanted; UINT64_MAX: not at all. */
uint64_t notify_watchdog_ns(void);

#endif
