/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/table_map.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "segment/addresses.h"
#include "segment/map.h"
#include "segment/table_place.h"

/*
 * Is a place beside the table that this process has mapped? It may be this very one, by another
 * thread.
 */
static bool
is_apart(const struct rl_segment *mapped, uint64_t number, uint64_t at, const struct rl_geometry *g)
{
	if (mapped->table.number == 0 || mapped->table.number == number)
		return true;
	return number > mapped->table.number
	               ? at >= mapped->own_at + rl_tables_room(&mapped->geometry)
	               : at + rl_tables_room(g) <= mapped->own_at;
}

/*
 * A mapping of no length is copied, from its start: that needs no name, and no permission that the
 * process may have given up since. In a process that has its memory locked, all of the file is read
 * into it meanwhile, its holes, too.
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
 * Does the file reach as far as that byte of a mapping? Nobody has a descriptor to ask. So the
 * kernel is to read it, in a call that then does nothing, for there is no such way to change a mask
 * of signals: where a load would be SIGBUS, that is EFAULT. The kernel reads eight bytes. Where
 * they are a hole of the file, a page of zeros takes its place.
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
	struct rl_table_parts p = rl_tables_parts_of(&s->geometry);

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
	int error = rl_tables_find(first, number, &place, &geometry);

	if (error == 0 && !is_apart(mapped, number, place.at, &geometry))
		error = RL_EDAMAGED;
	if (error < 0)
		return error;
	at = rl_addresses_take(next_map, rl_tables_room(&geometry));
	if (!at)
		return -ENOMEM;
	if (!map_again(first, name, place.at, at, rl_tables_room(&geometry)))
		error = -ENOMEM;
	else if (!is_in_file(at + rl_tables_parts_of(&geometry).bytes - 1))
		error = RL_EDAMAGED;
	if (error < 0) {
		rl_addresses_give_back(next_map, at, rl_tables_room(&geometry));
		return error;
	}
	*s = *first;
	s->geometry = geometry;
	place_table(s, at, place.at, number);
	if (geometry.huge_pages || rl_tables_parts_of(&geometry).bytes >= RL_HUGE_BYTES)
		madvise(at, rl_tables_parts_of(&geometry).bytes, MADV_HUGEPAGE);
	return 0;
}

/* Somewhere, or in place of what is mapped at an address. */
static void *
map_zeros(const struct rl_segment *s, void *at)
{
	int protection = s->is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0);

	return mmap(at, rl_tables_room(&s->geometry), protection, flags, -1, 0);
}

/*
 * Linux before 6.12 unmaps what stands in the place before it knows that it may not give: a thread
 * that sleeps there would wake up without memory. So it is asked first, for some anywhere.
 */
static bool
may_have_zeros(const struct rl_segment *s)
{
	void *some = map_zeros(s, NULL);

	return some != MAP_FAILED && munmap(some, rl_tables_room(&s->geometry)) == 0;
}

/*
 * In one step of the kernel, so that there is no moment without memory. The zeros of tables that
 * lie side by side become one mapping. A process that has all its memory locked would have them in
 * it: they are let go.
 */
bool
rl_tables_leave(struct rl_segment *s)
{
	size_t bytes = rl_tables_room(&s->geometry);
	uint64_t at = rl_atomic_own_load(&s->own_at);

	if (at == 0 || !may_have_zeros(s) || map_zeros(s, s->own_map) == MAP_FAILED)
		return false;
	munlock(s->own_map, bytes);
	madvise(s->own_map, bytes, MADV_DONTNEED);
	return rl_atomic_own_cas(&s->own_at, at, 0);
}

void
rl_tables_unmap(struct rl_segment *s)
{
	if (s->own_map)
		munmap(s->own_map, rl_tables_room(&s->geometry));
	s->own_map = NULL;
}
