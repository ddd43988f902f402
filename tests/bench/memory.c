/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a key takes of a segment made for so many: all of its bytes, room for the table to work in
 * among them.
 */
#include <stdio.h>

#include "report.h"

#define KEYS UINT32_C(1000000)
#define NGINX 128 /* cited: nginx limit_req_zone, a state on 64 bits */

static void
tell(json_t *section, const char *id, const char *label, double bytes)
{
	report_row(section, &(struct row){.id = id,
	                                  .label = label,
	                                  .value = bytes,
	                                  .unit = "B a key",
	                                  .ratio = bytes / NGINX,
	                                  .to = "an nginx zone entry"});
}

/* No segment is made. */
static double
bytes_of_key(struct rl_options options, uint32_t keys)
{
	struct rl_place place;

	options.keys = keys;
	if (rl_place("bench.memory", &options, &place) < 0)
		bench_die("there is no place for a segment");
	return (double)place.bytes / keys;
}

/* A list of 60,000 networks beside a segment for one ban. */
static void
tell_ban(json_t *section)
{
	struct rl_options options = {.bans = 60000};
	double with = bytes_of_key(options, 1000), without;

	options.bans = 1;
	without = bytes_of_key(options, 1000);
	report_row(section, &(struct row){.id = "ban",
	                                  .label = "a ban or an exemption, of 60,000",
	                                  .value = (with - without) * 1000 / 60000,
	                                  .unit = "B a ban"});
}

void
bench_memory(struct bench *bench)
{
	static const struct {
		const char *id, *label;
		struct rl_options options;
	} kinds[] = {
		{"whole", "as rl_open() makes it unasked: 1 sub-bucket", {0}},
		{"deny", "the same, and keys without a slot are denied", {.on_full = RL_FULL_DENY}},
		{"ring_8", "8 sub-buckets", {.ring = 8}},
		{"ring_60", "60 sub-buckets, as a window of rl.json has", {.ring = 60}},
		{"name_16", "1 sub-bucket, 16 bytes of the name", {.ring = 1, .key_bytes = 16}},
		{"name_none",
	         "1 sub-bucket, no names",
	         {.ring = 1, .key_bytes = RL_KEY_BYTES_NONE}},
		{"clustered", "8 sub-buckets, of a cluster", {.ring = 8, .flags = RL_OPEN_CLUSTER}},
		{"log_1000",
	         "a log of 1,000, 16 bytes of the name",
	         {.ring = 2000, .key_bytes = 16}},
	};
	json_t *section = report_section(bench->report, "memory",
	                                 "Memory of a key, of a segment for a million");
	struct rl_options few = {.ring = 1};

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		tell(section, kinds[i].id, kinds[i].label, bytes_of_key(kinds[i].options, KEYS));
	tell(section, "few", "1 sub-bucket, of a segment for 10,000", bytes_of_key(few, 10000));
	tell_ban(section);
	tell(section, "nginx", "cited: nginx limit_req_zone, a state on 64 bits", NGINX);
	tell(section, "haproxy", "cited: HAProxy stick table, key and one rate", 168 + 12);
	report_note(section,
	            "A key has 5/3 slots and its part of the cells for keys without one; of a "
	            "slot, a decision touches 24 bytes.");
	report_note(section, "The peers' names: nginx keeps them within it, HAProxy beyond it.");
}
