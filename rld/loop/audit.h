/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_AUDIT_H
#define RLD_AUDIT_H

/*
 * What others change of the segment is told in the log: bans and exemptions that are new, or were
 * lifted before their end, configurations that another process put into force, resets, and rules
 * that were forgotten. What is changed twice between two looks is told once, as it stands then.
 *
 * What stands tells of bans; who lifted one, who configured and what was reset the events tell, as
 * far as the segment keeps any. A program may reset a key at each login: of resets the last one is
 * told, once a minute, with how many there were.
 */

#include <rl_admin.h>
#include <stddef.h>

#include "base/log.h"

#define AUDIT_REPORTED 20 /* lines of one look; of the others it is told how many there are */

struct audit {
	struct audit_entry *entries; /* in the order of their ids */
	size_t count;
	uint64_t generation; /* of the configuration that was told of, or that rld put into force */
	struct rl_events_cursor cursor;
	uint64_t resets; /* that were not told so far */
	struct log_pace resets_pace;
};

/* All that stands now is known. */
void audit_start(struct audit *audit, struct rl *rl);
void audit_look(struct audit *audit, struct rl *rl);
void audit_end(struct audit *audit);

#endif
