/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TESTING_H
#define RL_TESTING_H

/* What every test file needs: cmocka in the order it asks for, and small helpers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "at.h"
#include "rl.h"
#include "rl_admin.h"

/* A repeatable pseudo-random number (splitmix64). */
uint64_t test_random(uint64_t *seed);

/* A number below `limit`. */
uint64_t test_below(uint64_t *seed, uint64_t limit);

/* How often to do what is done `times` times: with RL_TEST_SCALE=quick, an eighth of them. */
uint64_t test_scaled(uint64_t times);

/* A segment name of this process and no other; the same in its children. */
const char *test_segment_name(void);

/* The segment of that name goes: to be called after a test of it. */
int test_unlink(void **state);

/* What opening the segment of that name comes to; it is closed again. */
int test_open_error(const struct rl_options *options);

/* The segment of that name as a file, which can be damaged. */
int test_file_of_segment(void);

/* One private segment with room for `keys`; fails the test if there is none. */
struct rl *test_private(uint32_t keys);
struct rl *test_private_on_full(uint32_t keys, enum rl_on_full on_full);

/* Define a sliding window, or with granularity 0 a fixed one; fails the test on an error. */
int test_rule(struct rl *rl, const char *name, uint32_t capacity, uint64_t window_ns,
              uint32_t granularity, bool is_hard);

/* A private segment of windows with `ring` sub-buckets, and so of logs of half as many. */
struct rl *test_with_ring(uint32_t ring);

/* A rule of a configuration, with a fixed window. */
struct rl_config_rule test_config_rule(const char *name, uint32_t capacity, uint64_t window_ns);

uint64_t test_counter(struct rl *rl, int rule, enum rl_counter counter);

/* at_check(), and what it charged. Either may be NULL. */
enum rl_verdict test_check_at(struct rl *rl, int rule, const void *key, size_t key_len,
                              uint64_t cost, uint64_t now_ns, struct rl_result *result,
                              struct rl_charges *charges);

/* Zeroed memory that children share, mapped until the end. */
void *test_shared(size_t bytes);

/* Make an empty directory below $TMPDIR or /tmp, and give its path. Who has made it removes it. */
void test_make_directory(char *path, size_t size);

/*
 * Run `child(arg, i)` in `count` processes at once and wait for all. Fails the test unless
 * each exits 0. A child must not assert: it returns its exit code.
 */
void test_fork(int count, int (*child)(void *arg, int i), void *arg);

/* How many algorithms there are. */
int test_algorithm_count(void);

#endif
