/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_SHARING_REPORT_H
#define RLD_SHARING_REPORT_H

/* The metrics of a cluster; nothing where there is none. */

#include <stdio.h>

#include "loop/sharing.h"

void sharing_report(FILE *to, struct rl *rl, const struct sharing *l);

#endif
