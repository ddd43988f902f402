/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_CONFIGURED_H
#define RLCTL_CONFIGURED_H

/* Overrides that ban or exempt, beside the bans that commands and programs have made. */

#include "key/active_bans.h"

/*
 * Add those in force for `rule`, or of all for RL_ANY_RULE, behind the others. The segment has
 * hashes of them alone, so that their names are the file's; says so, if there are some that it does
 * not name.
 */
void active_bans_add_configured(struct rl *rl, int rule, const char *path,
                                struct active_bans *found);

#endif
