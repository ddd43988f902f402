/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_IDENTITY_H
#define RLD_CLUSTER_IDENTITY_H

/*
 * Who this host is for the store. It is the same as long as the segment is, so that a daemon that
 * is started again goes on with what its host has; another segment, or the same name after a boot,
 * is another host.
 *
 * A machine that is copied while it runs is two with one name. The store's answer shows it (its
 * `seq` is newer than what was ever sent): the one that notices takes a new name, with a random
 * part that is kept in a file.
 */

#include <rl.h>
#include <stdbool.h>
#include <stdint.h>

#define IDENTITY_TEXT 12 /* 11 characters, for 64 bits */

struct identity {
	char text[IDENTITY_TEXT];
	char path[256]; /* of the random part; "" where there is no directory for it */
	char segment[RL_NAME_MAX + 1];
	uint64_t created_ns; /* of the segment: another one in its file's place is another host */
	uint64_t seq;        /* of the last request, in microseconds of the boot's clock */
};

/* `state`: a directory of this daemon's own, or NULL. False after writing why. */
bool identity_open(struct identity *id, const char *state, const char *segment, uint64_t created_ns,
                   char *why, size_t size);

/*
 * Another host from now on. False where it could not be kept: a restart may be taken for the other
 * again.
 */
bool identity_renew(struct identity *id);

/* Newer than all before, also than those of a daemon before this. */
uint64_t identity_next_seq(struct identity *id);

#endif
