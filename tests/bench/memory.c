/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a live key takes: by how much a segment grows when it is to hold more keys. Room for
 * the table to work in is part of it: a key has 5/3 slots.
 */
#include <stdio.h>

#include "report.h"

#define KEYS UINT32_C(300000)

/* Slots of a segment for so many keys, and its bytes. Nothing of it is touched. */
static struct rl_info
measure(uint32_t keys, uint32_t ring, uint32_t key_bytes)
{
	struct rl_info info;
	struct rl *rl;
	int error = rl_open_private(
		&(struct rl_options){.keys = keys, .ring = ring, .key_bytes = key_bytes}, &rl);

	if (error < 0)
		bench_die("a private segment: %s", rl_strerror(error));
	rl_info(rl, &info);
	rl_close(rl);
	return info;
}

static void
tell(json_t *section, const char *id, const char *label, uint32_t ring, uint32_t key_bytes)
{
	struct rl_info few = measure(KEYS, ring, key_bytes);
	struct rl_info many = measure(2 * KEYS, ring, key_bytes);
	double bytes = (double)(many.bytes - few.bytes);

	report_row(section, &(struct row){.id = id,
	                                  .label = label,
	                                  .value = bytes / KEYS,
	                                  .unit = "B a key",
	                                  .ratio = bytes / KEYS / 128,
	                                  .to = "an nginx zone entry"});
}

static void
tell_cited(json_t *section, const char *id, const char *label, double bytes)
{
	report_row(section, &(struct row){.id = id,
	                                  .label = label,
	                                  .value = bytes,
	                                  .unit = "B a key",
	                                  .ratio = bytes / 128,
	                                  .to = "an nginx zone entry"});
}

void
bench_memory(struct bench *bench)
{
	json_t *section = report_section(bench->report, "memory", "Memory of a live key");

	tell(section, "least", "1 sub-bucket, 8 bytes of the name", 1, 8);
	tell(section, "name_16", "1 sub-bucket, 16 bytes of the name", 1, 16);
	tell(section, "name_48", "1 sub-bucket, 48 bytes of the name (default)", 1, 48);
	tell(section, "ring_8", "8 sub-buckets, 16 bytes of the name", 8, 16);
	tell(section, "ring_64", "64 sub-buckets (default), 48 bytes (default)", 64, 48);
	tell(section, "log_1000", "sliding_log of 1,000, 16 bytes of the name", 2000, 16);
	tell_cited(section, "nginx", "cited: nginx limit_req_zone, a state on 64 bits", 128);
	tell_cited(section, "haproxy", "cited: HAProxy stick table, key and one rate", 168 + 12);
	report_note(section, "A key has 5/3 slots; of a slot, a decision touches 24 bytes.");
	report_note(section, "The peers' names: nginx keeps them within it, HAProxy beyond it.");
}
