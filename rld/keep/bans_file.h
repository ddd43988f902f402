/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_BANS_FILE_H
#define RLD_BANS_FILE_H

/*
 * Bans and exemptions outlive the segment, and with it a reboot:
 *
 *	{"rl_bans":1,"segment":"web","created_ns":N}     a header
 *	{"effect":"ban",...}                             a line for each, see ban_line.h
 *	{"rl_bans_end":1}                                and how many there were
 *
 * The file is there whole or not at all, whenever the power fails: written beside its place,
 * brought to disk, renamed. It is written when what stands has changed, and at the end; hits alone
 * are no change.
 *
 * What it says is set in a segment that is another than it was written of, and there only what has
 * no ban or exemption yet: in the same one a ban that is gone was lifted. One of a rule that is not
 * there, for its application has not defined it so far, waits: it is tried again, and written
 * again, as long as it has not ended.
 */

#include <rl_admin.h>
#include <stdbool.h>

struct waiting_ban;

struct bans_file {
	const char *path; /* or NULL: none is kept */
	struct waiting_ban *waiting;
	uint64_t written; /* hash of what was written last */
};

/*
 * May there be such a file; and what it says is put into force. -1 after a message: it is no file
 * that rld would write, and is left alone.
 */
int bans_file_open(struct bans_file *file, const char *path, struct rl *rl);

/* Try what waits, and write the file if it would differ, or in any case. 0 or -errno. */
int bans_file_keep(struct bans_file *file, struct rl *rl, bool in_any_case);

void bans_file_close(struct bans_file *file);

#endif
