/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_MASK_H
#define RLCTL_MASK_H

/*
 * Keys without whose they are. Of what may be an IPv4 address, four numbers or more with dots
 * between them, the first three are shown; of what may be an IPv6 address, the first four groups,
 * or those before ::, which are its /64 at most. A * stands for the rest, and at a key's end
 * nothing. The same goes for the end of a key that is cut. Of 4 or 16 bytes that are no text, as a
 * server may have them for an address, 3 or 8 are shown.
 *
 * Names that people chose stay.
 */

#include <rl_admin.h>

#include "base/output.h"

/* The part that is left out is longer than the * in its place, but for a number of one digit. */
struct mask {
	char bytes[RL_KEY_MAX];
};

/* The key as it may be shown, not whole if anything is left out. It may point into `mask`. */
struct key_view mask_key(const struct key_view *key, struct mask *mask);

#endif
