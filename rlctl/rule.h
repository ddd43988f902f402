/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_RULE_H
#define RLCTL_RULE_H

#include <rl_admin.h>
#include <stdbool.h>

#include "names.h"

/* rl_rule_info(), but a rule whose name is damaged is called by its place: "#3". */
bool rule_read(struct rl *rl, int id, struct rl_rule_info *info);

#endif
