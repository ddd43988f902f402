/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "segment/geometry.h"
#include "segment/grow.h"
#include "segment/table_place.h"

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
 * Make room for a table: reserved, and as zeros, of which the kernel makes a page for who first
 * touches it. The file is never made shorter, for who has it mapped would fall off its end; what is
 * given back is a hole in it.
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

int
rl_tables_make(const struct rl_segment *s, const char *name, uint32_t buckets, uint32_t ring)
{
	uint64_t number = s->table.number;
	uint64_t at =
		rl_table_at(number == 0 ? s->bytes : s->own_at + rl_tables_room(&s->geometry));
	struct rl_geometry g = rl_tables_resized(s, buckets, ring);
	int fd, error = rl_tables_look(s, number);

	if (error == 0 && rl_tables_room(&g) > RL_TABLES_END - at)
		error = -EFBIG;
	if (error < 0)
		return error == -EAGAIN ? -EBUSY : error;
	fd = rl_segment_reopen(s, name);
	if (fd < 0)
		return fd;
	error = grow(fd, at, rl_tables_bytes(s, buckets, ring));
	close(fd);
	if (error < 0)
		return error;
	rl_tables_write_place(
		s, number + 1,
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

/*
 * Whole pages of it: what stands beside them stays. The kernel takes none of memory that is locked.
 */
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
	if (s->own_map ? give_back(table, table + rl_tables_room(&s->geometry))
	               : give_back_first(s))
		rl_atomic_store(freed, s->table.number + 1);
}
