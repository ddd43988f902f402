/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_W3C_H
#define RLCTL_REPLAY_W3C_H

/*
 * W3C extended logs, as IIS and CloudFront have them: lines with a # tell what the others look
 * like.
 */

#include "replay/layout.h"

#define W3C_FIELDS "#Fields:"

bool is_w3c_directive(struct slice line);

/*
 * The layout that "#Fields: date time c-ip ..." tells, in place of the one there was; NULL, or what
 * is wrong: then there is none.
 */
const char *w3c_layout(struct slice directive, struct layout *layout);

#endif
