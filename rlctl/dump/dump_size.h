/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_DUMP_SIZE_H
#define RLCTL_DUMP_SIZE_H

/*
 * What a dump's header says of its segment: what it was made with, so that another like it can be
 * made, and what its clock said at the same time as the host's. Segments are made at different
 * times and each keeps the host's time of day as it was then, so that one moment has another time
 * in each.
 */

#include <jansson.h>
#include <rl_admin.h>
#include <stdbool.h>

struct dump_size {
	bool is_known;             /* an earlier dump has none of this */
	uint32_t layout;           /* of the segment */
	struct rl_options options; /* to make another like it; without mode and group */
	uint64_t dumped_ns;        /* on the segment's clock, */
	uint64_t boot_ns;          /* and then or a moment later on CLOCK_BOOTTIME */
};

void dump_size_put(json_t *header, struct rl *rl, const struct rl_info *info);

/* False if what is there makes no sense. */
bool dump_size_read(const json_t *header, struct dump_size *size);

/* How much later a moment is on the clock of `rl`; 0 if they differ by less than can be told. */
int64_t dump_size_shift_ns(const struct dump_size *size, struct rl *rl);

/* Clocks that differ by less are taken as one. */
#define CLOCKS_AGREE_NS RL_MILLISECOND

/* A member that is a whole number of 0..most. */
bool json_read_count(const json_t *object, const char *name, uint64_t most, uint64_t *value);
bool json_read_count32(const json_t *object, const char *name, uint32_t most, uint32_t *value);

#endif
