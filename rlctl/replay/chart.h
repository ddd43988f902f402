/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_CHART_H
#define RLCTL_REPLAY_CHART_H

/* Verdicts over time, in at most CHART_ROWS rows of a round length. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHART_ROWS 24

struct chart_row {
	uint64_t admitted;
	uint64_t denied;
};

struct chart {
	uint64_t start_ns; /* of the first row */
	uint64_t width_ns; /* of a row */
	size_t count;
	struct chart_row rows[CHART_ROWS];
};

/*
 * An empty chart that has room for first_ns..last_ns. Its rows begin at round times of a zone that
 * is so far east of UTC.
 */
struct chart chart_make(uint64_t first_ns, uint64_t last_ns, int64_t east_ns);

/* A chart without rows counts nothing. */
void chart_count(struct chart *chart, uint64_t time_ns, bool is_denied);

/* Several charts of the same span: what each denies. One: what it admits, too, with bars. */
void chart_print(const struct chart *const *charts, size_t count, bool is_local);
json_t *chart_json(const struct chart *chart);

#endif
