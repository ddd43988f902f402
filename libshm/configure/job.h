/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_JOB_H
#define RL_JOB_H

/*
 * One rl_configure(): what is to be, checked, compared with what is, and written. See configure.c.
 */

#include "configure/rows.h"
#include "rl_admin.h"
#include "rule/handle.h"

struct rl_job {
	struct rl *rl;
	const struct rl_segment *s;
	const struct rl_config_rule *rules;
	size_t count;
	uint64_t generation; /* in force while we work */
	unsigned bank;       /* where we write */
	struct rl_config_outcome *outcome;
	struct rl_rows rows;
};

/* The error, and which rule and override is at fault. */
int rl_job_fault(struct rl_job *job, size_t rule, size_t override, int error);

/*
 * What need not read the segment's rows: each rule and override, no name and no pattern twice, room
 * for overrides.
 */
int rl_job_check(struct rl_job *job);

/* Are there rows for all that is new? The first rule for which there is none is at fault. */
int rl_job_check_rows(struct rl_job *job);

/* A rule's limits as they are in force, or none. */
enum rl_bank rl_job_current(const struct rl_job *job, int id, struct rl_refs *refs);

/* What changes, in all and, unless it is NULL, for each rule in *effects. */
void rl_job_report_effects(struct rl_job *job, unsigned *effects);

/*
 * Write the bank that nobody reads. rl_define() takes no lock: it may have been given a row
 * meanwhile that this plan counted on, and then it is written again. -EBUSY: too often.
 */
int rl_job_write(struct rl_job *job);

#endif
