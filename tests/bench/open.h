/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SEGMENT_H
#define BENCH_SEGMENT_H

/* Segments as a server has them, in /dev/shm. */

#include "bench.h"

enum bench_pages {
	BENCH_PAGES_AS_MOUNTED, /* what /dev/shm gives */
	BENCH_PAGES_HUGE,       /* what it gives when asked for huge ones */
};

/* Map each page of open segments into this process; a new process has them to map anew. */
void bench_populate(void);

/* Remove this file or directory when this process ends, by a signal too. */
void bench_remove_at_end(const char *path);

/*
 * Open a new one, each of its pages mapped. It loses its name at once, or if that is kept, as
 * rl_configure() needs it, at the end of the program. Dies on errors.
 */
struct rl *bench_open(const struct rl_options *options, bool is_cached);

/* The same, on pages of a kind; NULL with a reason where that cannot be had. */
struct rl *bench_open_pages(const struct rl_options *options, enum bench_pages pages,
                            const char **reason);

/* Define a rule, or one of one limit. Die on errors. */
int bench_define_rule(struct rl *rl, const struct rl_rule *rule);
int bench_define(struct rl *rl, const char *name, const struct rl_limit *limit);

/* Charge keys [first, first + count) of 16 bytes once. */
void bench_insert(struct rl *rl, int rule, uint64_t first, uint64_t count);

#endif
