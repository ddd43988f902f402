/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "segment/addresses.h"
#include "segment/geometry.h"
#include "segment/grow.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#define HUGE_BYTES (UINT64_C(32) << 20)   /* as in map.c */
#define RL_TABLES_END (UINT64_C(1) << 48) /* of places: further than any file or address reaches */
#define DOMAIN ((UINT64_C(1) << 51) + 2)  /* apart from the hashes of keys, names and patterns */

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

/* Up to where the next one may begin. Behind its end in the file nobody looks. */
static uint64_t
mapped_bytes(const struct rl_geometry *g)
{
	return rl_table_at(parts_of(g).bytes);
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

static void
write_place(const struct rl_segment *s, uint64_t number, struct rl_table_place p)
{
	struct rl_table_place *at = place_of(s, number);

	p.check = rl_tables_check(s, number, &p);
	rl_atomic_store(&at->check, 0);
	rl_atomic_store(&at->at, p.at);
	rl_atomic_store(&at->sizes, p.sizes);
	rl_atomic_store(&at->check, p.check);
}

/*
 * Is it a place for a table? All that is computed of a place is computed of the copy that was asked about. The file's end is
 * another question.
 */
static bool
is_sound(const struct rl_segment *s, const struct rl_table_place *p, struct rl_geometry *g)
{
	*g = resized(s, (uint32_t)p->sizes, (uint32_t)(p->sizes >> 32));
	return rl_geometry_is_valid(g) && p->at % RL_TABLE_ALIGN == 0 && p->at >= s->bytes &&
	       p->at <= RL_TABLES_END && mapped_bytes(g) <= RL_TABLES_END - p->at;
}

/* Behind the table that it takes the place of, as far as it still says where that is? */
static bool
is_behind(const struct rl_segment *s, uint64_t number, uint64_t at)
{
	struct rl_table_place before;
	struct rl_geometry g;

	return number < 2 || !read_place(s, number - 1, &before) || !is_sound(s, &before, &g) ||
	       at >= before.at + mapped_bytes(&g);
}

/* The same beside one that this process has mapped: it may be this very one, by another thread. */
static bool
is_apart(const struct rl_segment *mapped, uint64_t number, uint64_t at, const struct rl_geometry *g)
{
	if (mapped->table.number == 0 || mapped->table.number == number)
		return true;
	return number > mapped->table.number
	               ? at >= mapped->own_at + mapped_bytes(&mapped->geometry)
	               : at + mapped_bytes(g) <= mapped->own_at;
}

/* While `now` says so, its place is written. */
static bool
is_in_use(const struct rl_segment *s, uint64_t number)
{
	uint64_t now = rl_atomic_load(&s->header->tables.now);

	return now >> 1 == number || now == ((number + 1) << 1 | RL_TABLES_MOVING);
}

/* Where a table is. 0, -EAGAIN, RL_EDAMAGED: see rl_tables_look(). */
static int
look(const struct rl_segment *s, uint64_t number, struct rl_table_place *p, struct rl_geometry *g)
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

	return number == 0 ? 0 : look(s, number, &p, &g);
}

/*
 * A mapping of no length is copied, from its start: that needs no name, and no permission that the process may have given up
 * since. In a process that has its memory locked, all of the file is read into it meanwhile, its holes, too.
 */
static bool
map_copy(const struct rl_segment *first, uint64_t from, void *at, uint64_t bytes)
{
	unsigned char *base = mremap(first->header, 0, from + bytes, MREMAP_MAYMOVE);

	if (base == MAP_FAILED)
		return false;
	if (munmap(base, from) == 0 &&
	    mremap(base + from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at)
		return true;
	munmap(base, from + bytes); /* there are as many mappings as there may be */
	return false;
}

/* A view of the file that is mapped at `first`, at addresses that are the caller's. */
static bool
map_again(const struct rl_segment *first, const char *name, uint64_t from, void *at, uint64_t bytes)
{
	int protection = first->is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
	int fd = rl_segment_reopen(first, name);
	void *table;

	if (fd < 0)
		return map_copy(first, from, at, bytes);
	table = mmap(at, bytes, protection, MAP_SHARED | MAP_FIXED, fd, (off_t)from);
	close(fd);
	return table == at;
}

/*
 * Does the file reach as far as that byte of a mapping? Nobody has a descriptor to ask. So the kernel is to read it, in a call
 * that then does nothing, for there is no such way to change a mask of signals: where a load would be SIGBUS, that is
 * EFAULT. The kernel reads eight bytes. Where they are a hole of the file, a page of zeros takes its place.
 */
static bool
is_in_file(const unsigned char *last)
{
	const unsigned char *word = last + 1 - sizeof(uint64_t);

	return syscall(SYS_rt_sigprocmask, -1, word, NULL, sizeof(uint64_t)) == 0 ||
	       errno != EFAULT;
}

static void
place_table(struct rl_segment *s, unsigned char *at, uint64_t file_at, uint64_t number)
{
	struct parts p = parts_of(&s->geometry);

	s->own_map = at;
	s->own_at = file_at;
	s->table.bucket = (struct rl_bucket *)(void *)at;
	s->table.buckets = s->geometry.buckets;
	s->table.number = number;
	s->rings = (uint64_t *)(void *)(at + p.rings);
	s->wishes = (uint64_t *)(void *)(at + p.wishes);
	s->records = at + p.records;
}

int
rl_tables_map(const struct rl_segment *first, const char *name, uint64_t number,
              const struct rl_segment *mapped, uint64_t *next_map, struct rl_segment *s)
{
	struct rl_table_place place;
	struct rl_geometry geometry;
	unsigned char *at;
	int error = look(first, number, &place, &geometry);

	if (error == 0 && !is_apart(mapped, number, place.at, &geometry))
		error = RL_EDAMAGED;
	if (error < 0)
		return error;
	at = rl_addresses_take(next_map, mapped_bytes(&geometry));
	if (!at)
		return -ENOMEM;
	if (!map_again(first, name, place.at, at, mapped_bytes(&geometry)))
		error = -ENOMEM;
	else if (!is_in_file(at + parts_of(&geometry).bytes - 1))
		error = RL_EDAMAGED;
	if (error < 0) {
		rl_addresses_give_back(next_map, at, mapped_bytes(&geometry));
		return error;
	}
	*s = *first;
	s->geometry = geometry;
	place_table(s, at, place.at, number);
	if (geometry.huge_pages || parts_of(&geometry).bytes >= HUGE_BYTES)
		madvise(at, parts_of(&geometry).bytes, MADV_HUGEPAGE);
	return 0;
}

/* Somewhere, or in place of what is mapped at an address. */
static void *
map_zeros(const struct rl_segment *s, void *at)
{
	int protection = s->is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0);

	return mmap(at, mapped_bytes(&s->geometry), protection, flags, -1, 0);
}

/*
 * Linux before 6.12 unmaps what stands in the place before it knows that it may not give: a thread that sleeps there would wake
 * up without memory. So it is asked first, for some anywhere.
 */
static bool
may_have_zeros(const struct rl_segment *s)
{
	void *some = map_zeros(s, NULL);

	return some != MAP_FAILED && munmap(some, mapped_bytes(&s->geometry)) == 0;
}

/*
 * In one step of the kernel, so that there is no moment without memory. The zeros of tables that lie side by side become one
 * mapping. A process that has all its memory locked would have them in it: they are let go.
 */
bool
rl_tables_leave(struct rl_segment *s)
{
	size_t bytes = mapped_bytes(&s->geometry);
	uint64_t at = rl_atomic_own_load(&s->own_at);

	if (at == 0 || !may_have_zeros(s) || map_zeros(s, s->own_map) == MAP_FAILED)
		return false;
	munlock(s->own_map, bytes);
	madvise(s->own_map, bytes, MADV_DONTNEED);
	return rl_atomic_own_cas(&s->own_at, at, 0);
}

static int
fits(const struct rl_segment *s, uint64_t number, uint64_t file_bytes)
{
	struct rl_table_place p;
	struct rl_geometry g;
	int error = number == 0 ? 0 : look(s, number, &p, &g);

	if (number == 0 || error < 0)
		return error;
	return p.at <= file_bytes && parts_of(&g).bytes <= file_bytes - p.at ? 0 : RL_ETRUNCATED;
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

void
rl_tables_unmap(struct rl_segment *s)
{
	if (s->own_map)
		munmap(s->own_map, mapped_bytes(&s->geometry));
	s->own_map = NULL;
}

/* What stands from there on is of a table that was never put into force, or nobody's. */
static int
clear_from(int fd, uint64_t at)
{
	const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	struct stat file;

	if (fstat(fd, &file) < 0)
		return -errno;
	if ((uint64_t)file.st_size <= at)
		return 0;
	return fallocate(fd, hole, (off_t)at, file.st_size - (off_t)at) < 0 ? -errno : 0;
}

/*
 * Make room for a table. The file is never made shorter, for who has it mapped would fall off its end; what is given back is a
 * hole in it.
 */
static int
grow(int fd, uint64_t at, uint64_t bytes)
{
	int error = clear_from(fd, at);

	if (error < 0)
		return error;
	error = rl_segment_grow(fd, at, bytes);
	if (error < 0)
		clear_from(fd, at);
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
	uint64_t number = s->table.number;
	uint64_t at = rl_table_at(number == 0 ? s->bytes : s->own_at + mapped_bytes(&s->geometry));
	struct rl_geometry g = resized(s, buckets, ring);
	int fd, error = rl_tables_look(s, number);

	if (error == 0 && mapped_bytes(&g) > RL_TABLES_END - at)
		error = -EFBIG;
	if (error < 0)
		return error == -EAGAIN ? -EBUSY : error;
	fd = rl_segment_reopen(s, name);
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

/* Whole pages of it: what stands beside them stays. The kernel takes none of memory that is locked. */
static bool
give_back(unsigned char *from, unsigned char *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)from + page - 1) / page * page,
		  last = (uintptr_t)to / page * page;

	if (first >= last)
		return true;
	munlock((void *)first, last - first);
	return madvise((void *)first, last - first, MADV_REMOVE) == 0;
}

/* The table that lies among other areas. */
static bool
give_back_first(const struct rl_segment *s)
{
	unsigned char *table = (unsigned char *)s->table.bucket;
	unsigned char *rings = (unsigned char *)s->rings, *wishes = (unsigned char *)s->wishes;
	uint64_t slots = rl_segment_slots(s);

	return give_back(table, table + s->table.buckets * sizeof(struct rl_bucket)) &&
	       give_back(rings, rings + slots * s->geometry.ring * sizeof *s->rings) &&
	       give_back(wishes, wishes + rl_wish_bytes(&s->geometry)) &&
	       give_back(s->records, s->records + slots * s->geometry.record_bytes);
}

void
rl_tables_give_back(const struct rl_segment *s)
{
	uint64_t *freed = &s->header->tables.freed;
	unsigned char *table = (unsigned char *)s->table.bucket;

	if (!s->is_writable || rl_atomic_load(freed) > s->table.number)
		return;
	/* Nobody else has the rest of its last page. */
	if (s->own_map ? give_back(table, table + mapped_bytes(&s->geometry)) : give_back_first(s))
		rl_atomic_store(freed, s->table.number + 1);
}

uint64_t
rl_segment_memory(const struct rl_segment *first, const struct rl_segment *s)
{
	if (s->table.number == 0)
		return s->bytes;
	return s->bytes - parts_of(&first->geometry).bytes + parts_of(&s->geometry).bytes;
}
