/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_COUNTERS_FILE_H
#define RLD_COUNTERS_FILE_H

/*
 * What keys have used outlives the segment, and with it a reboot, as counters_text.h writes it. The
 * file is there whole or not at all, whenever the power fails.
 *
 *	while rld runs      a child of it writes the file every COUNTERS_FILE_EVERY_NS, so that a
 *	                    walk over a large table delays no sweep
 *	at its end          rld itself, for then nothing waits
 *	at its start        rld reads it, before it says that it is ready
 *
 * What the file says is charged again in a segment that is another than it was written of. Charges
 * of the two are never the same, so that their sum is right; only where rld was killed between that
 * and the next writing some are charged twice: a key is then denied early, and never admitted too
 * much. What was charged after the last writing is lost with the power.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <sys/types.h>

#define COUNTERS_FILE_EVERY_NS (60 * RL_SECOND)
#define COUNTERS_FILE_MOST (UINT32_C(256) << 20) /* bytes; what is beyond is left out, and told */

struct counters_file {
	const char *path; /* or NULL: none is kept */
	pid_t writer;     /* 0: none is running */
	uint64_t due_ns;  /* when the next one is, monotonic */
};

/*
 * May there be such a file; and what it says is charged again. What rld wrote and is damaged is
 * told, and left aside. -1 after a message: it is a file that rld would not write.
 */
int counters_file_open(struct counters_file *file, const char *path, struct rl *rl);

/* Begin to write it, if that is due. */
void counters_file_run(struct counters_file *file, struct rl *rl, uint64_t now_ns);

/* Wait for whoever writes it. */
void counters_file_close(struct counters_file *file);

/* Write it, and come back when it is there. */
void counters_file_write(const struct counters_file *file, struct rl *rl);

#endif
