/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_COUNTERS_TEXT_H
#define RLD_COUNTERS_TEXT_H

/*
 * What all keys have used, as text:
 *
 *	rl-counters 1 CREATED_NS                                    of which segment
 *	limit 0 login 0 ALGORITHM CAPACITY WINDOW_NS GRANULARITY HARD V4 V6
 *	key 0 616c696365 AT_NS COST AT_NS COST                      by the first such limit: what
 *	                                                            counts
 *	count 0 616c696365 VALUE EXPIRES_NS                         a counter by key
 *	end KEYS UNKEPT HASH                                        of all bytes before it
 *
 * A limit stands before its keys, and so does a space of counters. A key is in hexadecimal digits.
 * Times are Unix time, so that they mean the same after a reboot. UNKEPT keys have no line: not all
 * bytes of their names are kept in the segment, or the text would have been too long. Units in
 * flight have none either: their holders end with the segment; nor limits of a cluster, of which a
 * new segment is lent a share anew.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>

#define COUNTERS_TEXT_MAGIC "rl-counters"
#define COUNTERS_TEXT_VERSION 1

struct counters_written {
	uint64_t keys, unkept;
};

/* Write what counts now, some `most` bytes of it at most. False: not all could be written. */
bool counters_text_write(FILE *out, struct rl *rl, uint64_t most, struct counters_written *written);

enum counters_text_kind {
	COUNTERS_GOOD,
	COUNTERS_FOREIGN, /* it does not begin as such a text of this version */
	COUNTERS_DAMAGED, /* but is not one to its end */
};

/* Which it is; of one that is not foreign, of which segment. */
enum counters_text_kind counters_text_check(const char *text, size_t len, uint64_t *created_ns);

/* The outcome of the keys of a text. */
struct counters_restored {
	uint64_t restored, expired;
	uint64_t in_cells; /* of those restored: the table is full, and overflow counters count them
	                      with others */
	uint64_t homeless; /* no rule of that name is there, or it has no limit of that shape */
	uint64_t failed;   /* the segment has no room, say; the last reason is */
	int error;
	uint64_t unkept; /* as the text says */
};

/* Charge again what a good text says and what still counts. */
struct counters_restored counters_text_restore(struct rl *rl, const char *text, size_t len);

#endif
