/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LOCAL_TIME_H
#define RLCTL_LOCAL_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/output.h"

/* Unix time with so many decimals, of this machine's zone with its offset, or of UTC. */
struct time_text local_format(uint64_t unix_ns, int decimals, bool is_local);

/* How far east of UTC this machine's zone is at that time. */
int64_t local_east_ns(uint64_t unix_ns);

#endif
