/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_BAN_REASON_H
#define RLCTL_BAN_REASON_H

#include "key/usage.h"

/*
 * Why the ban was set that a key is banned by; to be freed. NULL: it is not banned, or nobody
 * knows.
 */
char *ban_reason(struct rl *rl, int rule, const struct key_view *key, const struct usage *usage);

#endif
