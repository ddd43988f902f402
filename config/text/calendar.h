/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_CALENDAR_H
#define CONFIG_CALENDAR_H

/*
 * A window has a fixed length. If the text names a time of the calendar that has none, such as
 * "1month" or "local day", a sentence that says so and what to use; else NULL. A week has one, but
 * no unit: the sentence says how it is written.
 */
const char *calendar_refuse(const char *text);

#endif
