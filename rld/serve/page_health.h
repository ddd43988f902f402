/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_PAGE_HEALTH_H
#define RLD_PAGE_HEALTH_H

#include <jansson.h>

#include "serve/report.h"

/*
 * "areas", how full what the segment was created with is, and "health", a line for each thing that
 * may be wrong. Its level is "ok"; "note" for what has happened, perhaps long ago; or "warn" for
 * what is so now. 0 or -1.
 */
int page_add_health(json_t *page, const struct report *report, const struct rl_info *info,
                    uint64_t now_ns);

#endif
