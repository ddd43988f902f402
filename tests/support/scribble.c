/* SPDX-License-Identifier: BSD-2-Clause */
#include "scribble.h"

#include <string.h>

#include "forge.h"
#include "testing.h"

/* The parts of a segment, so that the small ones get their share. */
struct part {
	unsigned char *at;
	size_t bytes;
};

#define PARTS 10

static void
parts_of(const struct rl_segment *s, struct part part[static PARTS])
{
	unsigned char *end = (unsigned char *)s->header + s->bytes;
	unsigned char *starts[PARTS + 1] = {
		(unsigned char *)&s->header->heartbeat_ns,
		(unsigned char *)s->rows,
		(unsigned char *)s->limits,
		(unsigned char *)s->overrides,
		(unsigned char *)s->bans,
		(unsigned char *)s->ban_epoch,
		(unsigned char *)s->holders,
		(unsigned char *)s->table.bucket,
		(unsigned char *)s->rings,
		s->records,
		end,
	};

	/* Beyond what the small areas use there is padding: hit their beginnings mostly. */
	for (int i = 0; i < PARTS; i++) {
		size_t bytes = (size_t)(starts[i + 1] - starts[i]);
		part[i] = (struct part){starts[i], bytes < 2048 ? bytes : 2048};
	}
	part[0].bytes = sizeof *s->header - offsetof(struct rl_header, heartbeat_ns);
}

static void
scribble_word(struct part p, uint64_t *seed)
{
	uint64_t *words = (uint64_t *)(void *)p.at;
	size_t count = p.bytes / sizeof *words;
	uint64_t *word = &words[test_below(seed, count)];

	switch (test_below(seed, 7)) {
	case 0:
		*word = test_random(seed);
		break;
	case 1:
		*word = 0;
		break;
	case 2:
		*word = UINT64_MAX;
		break;
	case 3:
		*word = words[test_below(seed, count)]; /* well formed, and another's */
		break;
	case 4:
		*word += test_below(seed, 2) ? 1 : UINT64_MAX;
		break;
	default:
		*word ^= UINT64_C(1) << test_below(seed, 64);
	}
}

static void
scribble_range(struct part p, uint64_t *seed)
{
	size_t from = test_below(seed, p.bytes), len = 1 + test_below(seed, 128);

	if (len > p.bytes - from)
		len = p.bytes - from;
	memset(p.at + from, (int)test_below(seed, 256), len);
}

void
scribble_segment(const struct rl_segment *s, uint64_t *seed)
{
	const struct forge lies = {.s = s};
	struct part part[PARTS];

	parts_of(s, part);
	for (uint64_t n = 1 + test_below(seed, 4); n > 0; n--) {
		if (test_below(seed, 2))
			forge(&lies, seed);
		else if (test_below(seed, 4) == 0)
			scribble_range(part[test_below(seed, PARTS)], seed);
		else
			scribble_word(part[test_below(seed, PARTS)], seed);
	}
}

/* A hostile header may have the right checksum. */
static void
sign(struct rl_header *h)
{
	const struct rl_hash_key key = {.k0 = RL_MAGIC};

	h->checksum = rl_hash_with(key, 0, h, offsetof(struct rl_header, checksum)).a;
}

void
scribble_header(struct rl_header *h, uint64_t *seed)
{
	struct part header = {(unsigned char *)h, offsetof(struct rl_header, heartbeat_ns)};
	struct part geometry = {(unsigned char *)&h->geometry, sizeof h->geometry};

	for (uint64_t n = 1 + test_below(seed, 3); n > 0; n--)
		scribble_word(test_below(seed, 2) ? geometry : header, seed);
	if (test_below(seed, 2)) { /* as small steps as a geometry has */
		uint32_t *fields = (uint32_t *)(void *)geometry.at;
		fields[test_below(seed, geometry.bytes / 4)] += (uint32_t)test_below(seed, 5) - 2;
	}
	if (test_below(seed, 4) != 0)
		sign(h);
}
