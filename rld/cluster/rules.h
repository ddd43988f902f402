/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_RULES_H
#define RLD_CLUSTER_RULES_H

/*
 * The rules of all hosts, as one document in the store with a version. Each host looks for another
 * version now and again, reads it, and puts it into force as it would a file; one that is bad is
 * refused, and the one before stays. The last good one is kept on disk, and is in force after a
 * start until the store has another.
 */

#include <store/store.h>

#define RULES_KEY "rl1:{rules}" /* a hash: v the version, s its SHA-256, r the text */
#define RULES_EVERY_NS (2 * RL_SECOND)
#define RULES_SHA 65

/* Put the document at a path into force. False: it is bad, and was told. */
typedef bool rules_take(void *arg, const char *path);

struct rules {
	struct store *store;
	store_report *report;
	void *report_arg;
	rules_take *take;
	void *take_arg;
	char path[256], path_new[264]; /* of the last good one; "" no rules are shared */
	uint64_t due_ns;
	uint64_t version; /* that was read last; 0 none */
	bool is_good, is_asked;
};

/* `state`: the directory, `segment`: whose they are. False where the path is too long. */
bool rules_open(struct rules *r, const char *state, const char *segment);

void rules_run(struct rules *r, uint64_t now_ns, uint64_t random);

/* 64 hex digits. */
void rules_sha(const char *text, size_t size, char sha[static RULES_SHA]);

#endif
