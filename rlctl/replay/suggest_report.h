/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SUGGEST_REPORT_H
#define RLCTL_SUGGEST_REPORT_H

/* --suggest: which capacity never denies how many of the keys, and what it denies of the others. */

#include "replay/report.h"

/* Of requests in order; false after a message. */
bool suggest_report(const struct report_of *report, uint64_t window_ns, bool is_json);

#endif
