/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LIST_FILE_H
#define RLCTL_LIST_FILE_H

/*
 * Lists of clients as others publish them, for ban and allow --from. Which form a file has is seen
 * from its first byte:
 *
 * - text: a key, prefix or network a line. # and ; begin a remark.
 * - CrowdSec's decisions, as `cscli decisions list -o json` prints them: alerts with their
 *   decisions, or decisions alone. Each has a client, why, and how long it still lasts.
 * - the crawlers' of Google and Bing: {"prefixes": [{"ipv4Prefix": ...}, {"ipv6Prefix": ...}]}
 * - JSON of texts: ["192.0.2.1", ...]
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list_entry {
	char *text;
	char *reason;      /* NULL: the list has none */
	uint64_t lasts_ns; /* from now on; 0: the list does not say */
	uint64_t number;   /* of its line, or among the entries of JSON, from 1 */
};

struct list_file {
	struct list_entry *items;
	size_t count, room;
	uint64_t passed_over; /* decisions that are no bans of addresses, or are over */
	bool is_of_decisions; /* of CrowdSec: against clients, whoever reads them */
};

/* Read `path`, or "-": standard input. False after a message that begins with `verb`. */
bool list_file_read(const char *verb, const char *path, struct list_file *list);
void list_file_free(struct list_file *list);

#endif
