/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_RATE_H
#define RLCTL_RATE_H

#include <stdint.h>

struct rate_text {
	char text[24];
};

/* `count` in `span_ns` as "0", "3.4/s", "120/s", "4.5k/s" or "6.7M/s"; at most 7 columns. */
struct rate_text rate_format(uint64_t count, uint64_t span_ns);

#endif
