/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "rule.h"

bool
rule_read(struct rl *rl, int id, struct rl_rule_info *info)
{
	if (!rl_rule_info(rl, id, info))
		return false;
	if (info->name[0] == '\0')
		snprintf(info->name, sizeof(info->name), "#%d", id);
	return true;
}
