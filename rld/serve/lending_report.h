/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_LENDING_REPORT_H
#define RLD_LENDING_REPORT_H

/* The metrics of a cluster; nothing where there is none. */

#include <stdio.h>

#include "loop/lending.h"

void lending_report(FILE *to, struct rl *rl, const struct lending *l);

#endif
