/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_APPLY_H
#define CONFIG_APPLY_H

#include "read/report.h"

/*
 * Put it into a segment of this process alone, and report what the library refuses. What it alone
 * knows, as that two networks are the same, is thus told before the file is put into force.
 */
void apply_try(struct report *report, const struct config *config);

#endif
