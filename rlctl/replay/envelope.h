/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_ENVELOPE_H
#define RLCTL_ENVELOPE_H

/*
 * What stands around a line, by whoever passed it on:
 *
 *	Nov 22 10:00:00 host program[1]: LINE                 syslog, see syslog_line.h
 *	2026-11-22T10:00:00.123456789Z stdout F LINE          CRI: a container in Kubernetes
 *	{"log":"LINE\n","stream":"stdout","time":"..."}       Docker's json-file
 *	{"MESSAGE":"LINE","SYSLOG_IDENTIFIER":"nginx", ...}   journalctl -o json
 *
 * A container's program is the stream that it wrote to. CRI and Docker cut a long line into parts:
 * the first stands for it, and the others are passed over.
 */

#include "replay/json_line.h"
#include "replay/syslog_line.h"

enum envelope_kind {
	ENVELOPE_NONE,
	ENVELOPE_SYSLOG,
	ENVELOPE_CRI,
	ENVELOPE_DOCKER,
	ENVELOPE_JOURNAL,
};

/* The envelopes of one file. All zeros at first. */
struct envelope {
	enum envelope_kind kind; /* of all lines, once it is decided */
	bool is_cut[2];          /* the last line of stdout, of stderr goes on */
	char *plain;             /* a message without JSON's escapes */
};

/* For people: "syslog". */
const char *envelope_name(enum envelope_kind kind);

/* Which envelope is around the line; what is in it is put into *out. */
enum envelope_kind envelope_find(struct envelope *envelope, struct slice line,
                                 struct stamps *stamps, struct syslog_line *out);

/* Open one of the kind that is decided. Whether there is one; *goes_on: its message is the rest of
 * one before it. */
bool envelope_open(struct envelope *envelope, struct slice line, struct stamps *stamps,
                   struct syslog_line *out, bool *goes_on);

void envelope_free(struct envelope *envelope);

#endif
