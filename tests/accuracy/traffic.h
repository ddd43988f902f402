/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TRAFFIC_H
#define RL_TRAFFIC_H

/*
 * Requests to measure with: generated ones, the same in each run and on each machine (integers
 * only), or a log. Times never decrease. Running out of memory and a log that cannot be read
 * end the program with exit code 2.
 */

#include <stddef.h>
#include <stdint.h>

struct request {
	uint64_t now_ns;
	uint32_t key; /* 0 .. keys - 1 */
};

/* Requests and the limit they meet. */
struct traffic {
	const char *name;
	uint32_t capacity;
	uint64_t window_ns;
	uint32_t keys;
	uint32_t count;
	struct request *requests;
};

/* Kind number `kind` with `count` requests; 0 past the last kind, 1 made. */
int traffic_make(int kind, uint32_t count, struct traffic *t);

/*
 * Lines of `<decimal seconds> <key>` from the file `path`, "-" for standard input. A time
 * before that of the line above counts as that one.
 */
void traffic_read(const char *path, uint32_t capacity, uint64_t window_ns, struct traffic *t);

void traffic_free(struct traffic *t);

/* Decimal seconds in nanoseconds, finer digits cut off; *end as of strtoull(), `text` if none. */
uint64_t traffic_ns(const char *text, char **end);

#endif
