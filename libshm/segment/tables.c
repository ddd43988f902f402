/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "segment/geometry.h"
#include "segment/grow.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#define HUGE_BYTES (UINT64_C(32) << 20)  /* as in map.c */
#define DOMAIN ((UINT64_C(1) << 51) + 2) /* apart from the hashes of keys, names and patterns */

/* Where the parts of a table lie, from its start. */
struct parts {
	uint64_t rings, wishes, records, bytes;
};

static uint64_t
up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

static struct parts
parts_of(const struct rl_geometry *g)
{
	uint64_t slots = (uint64_t)g->buckets * RL_BUCKET_SLOTS;
	struct parts p;

	p.rings = up((uint64_t)g->buckets * sizeof(struct rl_bucket), RL_AREA_ALIGN);
	p.wishes = up(p.rings + slots * g->ring * sizeof(uint64_t), RL_AREA_ALIGN);
	p.records = up(p.wishes + rl_wish_bytes(g), RL_AREA_ALIGN);
	p.bytes = up(p.records + slots * g->record_bytes, RL_AREA_ALIGN);
	return p;
}

static struct rl_geometry
resized(const struct rl_segment *s, uint32_t buckets, uint32_t ring)
{
	struct rl_geometry g = s->geometry;

	g.buckets = buckets;
	g.ring = ring;
	return g;
}

uint64_t
rl_tables_bytes(const struct rl_segment *s, uint32_t buckets, uint32_t ring)
{
	struct rl_geometry g = resized(s, buckets, ring);

	return parts_of(&g).bytes;
}

static uint64_t
check_of(const struct rl_segment *s, uint64_t number, const struct rl_table_place *p)
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
	return p->check == check_of(s, number, p);
}

static void
write_place(const struct rl_segment *s, uint64_t number, struct rl_table_place p)
{
	struct rl_table_place *at = place_of(s, number);

	p.check = check_of(s, number, &p);
	rl_atomic_store(&at->check, 0);
	rl_atomic_store(&at->at, p.at);
	rl_atomic_store(&at->sizes, p.sizes);
	rl_atomic_store(&at->check, p.check);
}

/*
 * Another view of the file that is mapped at `first`, from its start: a mapping of no length is copied. That needs no
 * descriptor, and no permission that the process may have given up since; where it is refused, the name is opened again.
 */
static void *
map_again(const struct rl_segment *first, const char *name, uint64_t at, uint64_t bytes)
{
	int protection = first->is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
	unsigned char *base = mremap(first->header, 0, at + bytes, MREMAP_MAYMOVE);
	void *table;
	int fd;

	if (base != MAP_FAILED) {
		munmap(base, at);
		return base + at;
	}
	fd = rl_segment_reopen(first, name);
	if (fd < 0)
		return MAP_FAILED;
	table = mmap(NULL, bytes, protection, MAP_SHARED, fd, (off_t)at);
	close(fd);
	return table;
}

static void
place_table(struct rl_segment *s, unsigned char *at, uint64_t number)
{
	struct parts p = parts_of(&s->geometry);

	s->own_map = at;
	s->own_bytes = p.bytes;
	s->table.bucket = (struct rl_bucket *)(void *)at;
	s->table.buckets = s->geometry.buckets;
	s->table.number = number;
	s->rings = (uint64_t *)(void *)(at + p.rings);
	s->wishes = (uint64_t *)(void *)(at + p.wishes);
	s->records = at + p.records;
}

int
rl_tables_map(const struct rl_segment *first, const char *name, uint64_t number,
              struct rl_segment *s)
{
	struct rl_table_place place;
	void *at;

	if (!read_place(first, number, &place))
		return -EAGAIN;
	*s = *first;
	s->geometry = resized(first, (uint32_t)place.sizes, (uint32_t)(place.sizes >> 32));
	if (!rl_geometry_is_valid(&s->geometry))
		return -EAGAIN;
	at = map_again(first, name, place.at, parts_of(&s->geometry).bytes);
	if (at == MAP_FAILED)
		return -ENOMEM;
	place_table(s, at, number);
	if (s->geometry.huge_pages || s->own_bytes >= HUGE_BYTES)
		madvise(at, s->own_bytes, MADV_HUGEPAGE);
	return 0;
}

static bool
fits(const struct rl_segment *s, uint64_t number, uint64_t file_bytes)
{
	struct rl_geometry g;
	struct rl_table_place p;

	if (number == 0)
		return true;
	if (!read_place(s, number, &p))
		return false;
	g = resized(s, (uint32_t)p.sizes, (uint32_t)(p.sizes >> 32));
	return p.at <= file_bytes && parts_of(&g).bytes <= file_bytes - p.at;
}

/* The size of the file is asked for after `now`: it grows before a table comes into force. */
bool
rl_tables_fit(const struct rl_segment *s, int fd)
{
	uint64_t now = rl_atomic_load(&s->header->tables.now);
	struct stat file;
	uint64_t bytes = fstat(fd, &file) == 0 ? (uint64_t)file.st_size : 0;
	bool fit = fits(s, now >> 1, bytes) &&
	           ((now & RL_TABLES_MOVING) == 0 || fits(s, (now >> 1) - 1, bytes));

	return fit || rl_atomic_load(&s->header->tables.now) != now;
}

void
rl_tables_unmap(struct rl_segment *s)
{
	if (s->own_map)
		munmap(s->own_map, s->own_bytes);
	s->own_map = NULL;
}

/* Behind the table in force. What stands there is of one that was never put into force. */
static uint64_t
next_at(const struct rl_segment *s)
{
	struct rl_table_place p;

	if (s->table.number == 0)
		return rl_table_at(s->bytes);
	read_place(s, s->table.number, &p);
	return rl_table_at(p.at + s->own_bytes);
}

static int
grow(int fd, uint64_t at, uint64_t bytes)
{
	struct stat file;
	int error;

	if (fstat(fd, &file) < 0 || ((uint64_t)file.st_size > at && ftruncate(fd, (off_t)at) < 0))
		return -errno;
	error = rl_segment_grow(fd, at, bytes);
	if (error < 0 && (uint64_t)file.st_size < at + bytes) /* what was had is given back */
		(void)!ftruncate(fd, file.st_size < (off_t)at ? file.st_size : (off_t)at);
	return error;
}

/*
 * Zero its pages now, and not when a decision first needs one. Then the kernel maps sixteen of them at once, too. An older
 * kernel does not know how: they are zeroed as they are touched.
 */
static void
touch(int fd, uint64_t at, uint64_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);

	if (map == MAP_FAILED)
		return;
	madvise(map, bytes, MADV_POPULATE_WRITE);
	munmap(map, bytes);
}

int
rl_tables_make(const struct rl_segment *s, const char *name, uint32_t buckets, uint32_t ring)
{
	uint64_t number = s->table.number, at = next_at(s);
	int fd = rl_segment_reopen(s, name), error;

	if (fd < 0)
		return fd;
	error = grow(fd, at, rl_tables_bytes(s, buckets, ring));
	if (error == 0)
		touch(fd, at, rl_tables_bytes(s, buckets, ring));
	close(fd);
	if (error < 0)
		return error;
	write_place(s, number + 1,
	            (struct rl_table_place){.at = at, .sizes = buckets | (uint64_t)ring << 32});
	return rl_atomic_cas(&s->header->tables.now, number << 1,
	                     (number + 1) << 1 | RL_TABLES_MOVING)
	               ? 0
	               : -EBUSY;
}

void
rl_tables_settle(const struct rl_segment *s)
{
	uint64_t number = s->table.number;

	rl_atomic_cas(&s->header->tables.now, number << 1 | RL_TABLES_MOVING, number << 1);
}

/* Whole pages of it: what stands beside them stays. */
static void
give_back(unsigned char *from, unsigned char *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)from + page - 1) / page * page,
		  last = (uintptr_t)to / page * page;

	if (first < last)
		madvise((void *)first, last - first, MADV_REMOVE);
}

void
rl_tables_give_back(const struct rl_segment *s)
{
	uint64_t slots = rl_segment_slots(s), *freed = &s->header->tables.freed;
	unsigned char *table = (unsigned char *)s->table.bucket;

	if (!s->is_writable || rl_atomic_load(freed) > s->table.number)
		return;
	give_back(table, table + s->table.buckets * sizeof(struct rl_bucket));
	give_back((unsigned char *)s->rings,
	          (unsigned char *)(s->rings + slots * s->geometry.ring));
	give_back((unsigned char *)s->wishes,
	          (unsigned char *)s->wishes + rl_wish_bytes(&s->geometry));
	give_back(s->records, s->records + slots * s->geometry.record_bytes);
	rl_atomic_store(freed, s->table.number + 1);
}

uint64_t
rl_segment_memory(const struct rl_segment *s)
{
	const struct rl_geometry *first = &s->header->geometry;

	if (s->table.number == 0)
		return s->bytes;
	return s->bytes - parts_of(first).bytes + s->own_bytes;
}
