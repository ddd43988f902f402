/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SAID_H
#define RLCTL_SAID_H

/* A host's own line in the store: "until:name segment version rules state orders skew secret
 * other". Earlier builds say nothing of their secrets. */

#include <cluster/secret.h>
#include <rl_admin.h>
#include <stdbool.h>

struct said {
	char host[68], segment[RL_NAME_MAX + 2], version[24], state[12];
	char secret[SECRET_SHORT],
		other[SECRET_SHORT]; /* in use there, and at hand; "" or "-" none */
	uint64_t rules;              /* version of those that the store has for all */
	uint64_t orders;             /* number of the last order for all that it has carried out */
	int64_t until_ms;
	int64_t skew_ms; /* how far its clock is ahead of the store's; 0: or it does not know as
	                    yet */
};

/* False: it is nothing that a host says. */
bool said_read(const char *text, struct said *s);

#endif
