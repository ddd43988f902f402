/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_DOCTOR_H
#define RLCTL_DOCTOR_H

/*
 * What doctor looks at. A check says for each thing it sees that it is well, worth a note, or a
 * finding: what it is, why it matters, and the command that mends it. Checks know nothing of
 * each other and write nothing.
 */

#include <rl_admin.h>
#include <stdbool.h>

#include "base/bytes.h"

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_NOTE,    /* good to know; nothing has to be done */
	DOCTOR_FINDING, /* something is to be mended */
	DOCTOR_SKIPPED, /* could not be looked at */
};

struct doctor_result {
	const char *check;
	enum doctor_level level;
	char what[320];
	const char *why; /* NULL if it is well */
	char fix[400];
};

/* How a segment is made anew and keeps its counts: its name, its name, "" or what is to be
 * different, its name. */
#define DOCTOR_RECREATE                                                                          \
	"rlctl --segment %s dump FILE; rlctl --segment %s unlink; restart the workers%s; rlctl " \
	"--segment %s restore FILE"

#define DOCTOR_OWN "/dev/shm/rl" /* the directory of rl's own, where there is one */

struct doctor {
	const char *name; /* of the segment */
	struct rl *rl;    /* NULL if it could not be opened */
	int error;        /* why not */
	struct rl_info info;
	struct rl_place place; /* of its file */
	uint64_t now_ns;
	const char *check; /* that runs */
	struct doctor_result *results;
	size_t count, room;
};

struct doctor_check {
	const char *name;
	bool needs_segment;
	void (*run)(struct doctor *doctor);
};

extern const struct doctor_check doctor_checks[]; /* ends with a NULL name */

/* Say something. `why` must last; a result that is not well wants doctor_fix() behind it. */
void doctor_say(struct doctor *doctor, enum doctor_level level, const char *why, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* The command, or the step, that mends what was said last. */
void doctor_fix(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Wait until what a worker is writing right now is written. */
void doctor_settle(void);

/* First line of a file without its newline; false if it cannot be read. */
bool doctor_read_line(const char *path, char *line, size_t size);

/* False if the segment would be made in rl's own directory and this user may not write it. */
bool doctor_may_create(const struct doctor *doctor);

/* The remedy. */
void doctor_fix_membership(struct doctor *doctor);

/* A table for twice as many keys mends what was said last; "" or what to do before. */
void doctor_mend_table(struct doctor *doctor, const char *before);

/* Of the host. */
void check_shm(struct doctor *doctor);
void check_directory(struct doctor *doctor);
void check_removeipc(struct doctor *doctor);
void check_memory(struct doctor *doctor);
void check_file_size(struct doctor *doctor);
void check_namespace(struct doctor *doctor);

/* Of the segment. */
void check_segment(struct doctor *doctor);
void check_others(struct doctor *doctor);
void check_configuration(struct doctor *doctor);
void check_access(struct doctor *doctor);
void check_sweeper(struct doctor *doctor);
void check_clock(struct doctor *doctor);
void check_fill(struct doctor *doctor);
void check_full(struct doctor *doctor);
void check_overflow(struct doctor *doctor);
void check_shares(struct doctor *doctor);
void check_rules(struct doctor *doctor);
void check_room(struct doctor *doctor);
void check_bans(struct doctor *doctor);
void check_holders(struct doctor *doctor);
void check_audit(struct doctor *doctor);
void check_entries(struct doctor *doctor);
void check_clients(struct doctor *doctor);
void check_pages(struct doctor *doctor);
void check_cluster(struct doctor *doctor);

#endif
