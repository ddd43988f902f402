/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_CONTENTION_H
#define BENCH_CONTENTION_H

/* A process beside the one that is measured, on the next CPU, that goes on until it is ended. */

#include <sys/types.h>

#include "bench.h"

/* `run` is not to return. It ends with this process at the latest. */
pid_t contention_start(const struct bench *bench, void (*run)(const void *arg), const void *arg);

/* It has run all the time, or the benchmark ends. */
void contention_stop(pid_t pid, const char *what);

#endif
