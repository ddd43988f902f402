/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_AUTO_BAN_H
#define CONFIG_AUTO_BAN_H

/* The field "ban" of a rule: its automatic bans. */

#include <rl_admin.h>

#include "read/reader.h"

void read_auto_ban(struct reader *reader, struct node object, struct rl_auto_ban *ban);

/* "100 denials in 10m ban for 1h, each time 2 times as long, at most 7d" */
struct auto_ban_text {
	char text[160];
};
struct auto_ban_text auto_ban_format(const struct rl_auto_ban *ban);

#endif
