/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_REPORT_H
#define RLD_REPORT_H

/* The metrics of the segment and, after them, of this process. */

#include <stdbool.h>
#include <stddef.h>

#include "loop/sharing.h"
#include "loop/sweeper.h"

/* How it went with the configuration, the first reading included. */
struct loads {
	uint64_t good;
	uint64_t bad;
	bool is_last_good;
};

struct report {
	struct rl *rl;
	const struct sweeper *sweeper;
	const struct loads *loads;
	const struct sharing *sharing;
};

/* The whole text, to be freed; NULL when there is no memory for it. */
char *report_text(const struct report *report, size_t *size);

#endif
