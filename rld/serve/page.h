/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_PAGE_H
#define RLD_PAGE_H

/*
 * What the status page shows, as JSON. The work for it is bounded, however large the table is and
 * however many keys are denied: so many rules, bans and events are shown, and no slot is walked.
 */

#include "serve/report.h"

#define PAGE_RULES 64   /* with the most denials in the last hour first */
#define PAGE_BANS 50    /* the first ones found */
#define PAGE_KEYS 32    /* denied last */
#define PAGE_EVENTS 256 /* the newest, in which the keys are looked for */

#define PAGE_ALL "*" /* no rule's name */

/*
 * The whole text, with the history of the rule of that name, of PAGE_ALL, or "" of none: it is most
 * of the text. To be freed; NULL when there is no memory for it.
 */
char *page_text(const struct report *report, const char *history, size_t *size);

#endif
