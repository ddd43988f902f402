/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/table_place.h"

#include <errno.h>
#include <sys/stat.h>

#include "segment/geometry.h"

#define DOMAIN ((UINT64_C(1) << 51) + 2) /* apart from the hashes of keys, names and patterns */

static uint64_t
up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

struct rl_table_parts
rl_tables_parts_of(const struct rl_geometry *g)
{
	uint64_t slots = (uint64_t)g->buckets * RL_BUCKET_SLOTS;
	struct rl_table_parts p;

	p.rings = up((uint64_t)g->buckets * sizeof(struct rl_bucket), RL_AREA_ALIGN);
	p.wishes = up(p.rings + slots * g->ring * sizeof(uint64_t), RL_AREA_ALIGN);
	p.records = up(p.wishes + rl_wish_bytes(g), RL_AREA_ALIGN);
	p.bytes = up(p.records + slots * g->record_bytes, RL_AREA_ALIGN);
	return p;
}

uint64_t
rl_tables_room(const struct rl_geometry *g)
{
	return rl_table_at(rl_tables_parts_of(g).bytes);
}

struct rl_geometry
rl_tables_resized(const struct rl_segment *s, uint32_t buckets, uint32_t ring)
{
	struct rl_geometry g = s->geometry;

	g.buckets = buckets;
	g.ring = ring;
	return g;
}

uint64_t
rl_tables_bytes(const struct rl_segment *s, uint32_t buckets, uint32_t ring)
{
	struct rl_geometry g = rl_tables_resized(s, buckets, ring);

	return rl_tables_parts_of(&g).bytes;
}

uint64_t
rl_tables_check(const struct rl_segment *s, uint64_t number, const struct rl_table_place *p)
{
	const uint64_t facts[] = {number, p->at, p->sizes};

	return rl_hash_with(s->key, DOMAIN, facts, sizeof facts).a;
}

static struct rl_table_place *
place_of(const struct rl_segment *s, uint64_t number)
{
	return &s->header->tables.place[number % 2];
}

/* False: it was written over, or damaged. */
static bool
read_place(const struct rl_segment *s, uint64_t number, struct rl_table_place *p)
{
	const struct rl_table_place *at = place_of(s, number);

	p->at = rl_atomic_load(&at->at);
	p->sizes = rl_atomic_load(&at->sizes);
	p->check = rl_atomic_load(&at->check);
	return p->check == rl_tables_check(s, number, p);
}

void
rl_tables_write_place(const struct rl_segment *s, uint64_t number, struct rl_table_place p)
{
	struct rl_table_place *at = place_of(s, number);

	p.check = rl_tables_check(s, number, &p);
	rl_atomic_store(&at->check, 0);
	rl_atomic_store(&at->at, p.at);
	rl_atomic_store(&at->sizes, p.sizes);
	rl_atomic_store(&at->check, p.check);
}

/* Is it a place for a table? The end of the file is another question. */
static bool
is_sound(const struct rl_segment *s, const struct rl_table_place *p, struct rl_geometry *g)
{
	*g = rl_tables_resized(s, (uint32_t)p->sizes, (uint32_t)(p->sizes >> 32));
	return rl_geometry_is_valid(g) && p->at % RL_TABLE_ALIGN == 0 && p->at >= s->bytes &&
	       p->at <= RL_TABLES_END && rl_tables_room(g) <= RL_TABLES_END - p->at;
}

/* Behind the table that it takes the place of, as far as it still says where that is? */
static bool
is_behind(const struct rl_segment *s, uint64_t number, uint64_t at)
{
	struct rl_table_place before;
	struct rl_geometry g;

	return number < 2 || !read_place(s, number - 1, &before) || !is_sound(s, &before, &g) ||
	       at >= before.at + rl_tables_room(&g);
}

/* While `now` says so, its place is written. */
static bool
is_in_use(const struct rl_segment *s, uint64_t number)
{
	uint64_t now = rl_atomic_load(&s->header->tables.now);

	return now >> 1 == number || now == ((number + 1) << 1 | RL_TABLES_MOVING);
}

int
rl_tables_find(const struct rl_segment *s, uint64_t number, struct rl_table_place *p,
               struct rl_geometry *g)
{
	if (read_place(s, number, p) && is_sound(s, p, g) && is_behind(s, number, p->at))
		return 0;
	return is_in_use(s, number) ? RL_EDAMAGED : -EAGAIN;
}

int
rl_tables_look(const struct rl_segment *s, uint64_t number)
{
	struct rl_table_place p;
	struct rl_geometry g;

	return number == 0 ? 0 : rl_tables_find(s, number, &p, &g);
}

static int
fits(const struct rl_segment *s, uint64_t number, uint64_t file_bytes)
{
	struct rl_table_place p;
	struct rl_geometry g;
	int error = number == 0 ? 0 : rl_tables_find(s, number, &p, &g);

	if (number == 0 || error < 0)
		return error;
	return p.at <= file_bytes && rl_tables_parts_of(&g).bytes <= file_bytes - p.at
	               ? 0
	               : RL_ETRUNCATED;
}

/* The size of the file is asked for after `now`: it grows before a table comes into force. */
int
rl_tables_fit(const struct rl_segment *s, int fd)
{
	uint64_t now = rl_atomic_load(&s->header->tables.now);
	struct stat file;
	uint64_t bytes = fstat(fd, &file) == 0 ? (uint64_t)file.st_size : 0;
	int error = fits(s, now >> 1, bytes);

	if (error == 0 && (now & RL_TABLES_MOVING) != 0)
		error = fits(s, (now >> 1) - 1, bytes);
	return rl_atomic_load(&s->header->tables.now) == now ? error : 0;
}

uint64_t
rl_segment_memory(const struct rl_segment *first, const struct rl_segment *s)
{
	if (s->table.number == 0)
		return s->bytes;
	return s->bytes - rl_tables_parts_of(&first->geometry).bytes +
	       rl_tables_parts_of(&s->geometry).bytes;
}
