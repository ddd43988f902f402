/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as damage to a segment's file, which is then opened and used. An input is a byte of
 * flags, a byte that seeds the calls, a length to truncate to, and patches: where, how many
 * bytes, bytes.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exercise.h"
#include "rule/handle.h"

enum flag {
	SIGN = 1,     /* give the header the checksum that it should have */
	TRUNCATE = 2, /* to what the next two bytes say */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char name[32];
static unsigned char *whole, *damaged;
static size_t bytes;
static int fd;

static void
require(bool is_so)
{
	if (!is_so)
		abort();
}

static void
clean_up(void)
{
	rl_unlink(name);
}

static void
prepare(void)
{
	char path[64];
	struct rl *rl;

	snprintf(name, sizeof name, "fuzz-%d", (int)getpid());
	atexit(clean_up);
	require(rl_open(name, &exercise_options, &rl) == 0);
	exercise_fill(rl);
	bytes = rl->segment.bytes;
	whole = malloc(bytes);
	damaged = malloc(bytes);
	require(whole && damaged);
	memcpy(whole, rl->segment.header, bytes);
	rl_close(rl);
	snprintf(path, sizeof path, "/dev/shm/rl.%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	require(fd >= 0);
}

static void
patch(const uint8_t *data, size_t size)
{
	while (size > 3) {
		size_t at = data[0] | (size_t)data[1] << 8, len = data[2];
		data += 3;
		size -= 3;
		len = len < size ? len : size;
		if (at < bytes)
			memcpy(damaged + at, data, len < bytes - at ? len : bytes - at);
		data += len;
		size -= len;
	}
}

static void
sign(void)
{
	const struct rl_hash_key key = {.k0 = RL_MAGIC};
	struct rl_header *h = (struct rl_header *)(void *)damaged;

	h->checksum = rl_hash_with(key, 0, h, offsetof(struct rl_header, checksum)).a;
}

static void
use(unsigned flags, uint64_t seed)
{
	struct rl *rl;

	if (rl_open(name, &(struct rl_options){.flags = flags}, &rl) < 0)
		return;
	for (int i = 0; i < 4; i++)
		exercise_calls(rl, &seed);
	rl_close(rl);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t length;

	if (!whole)
		prepare();
	if (size < 4)
		return 0;
	memcpy(damaged, whole, bytes);
	patch(data + 4, size - 4);
	if (data[0] & SIGN)
		sign();
	length = data[0] & TRUNCATE ? data[2] | (size_t)data[3] << 8 : bytes;
	require(ftruncate(fd, 0) == 0 && pwrite(fd, damaged, bytes, 0) == (ssize_t)bytes);
	require(ftruncate(fd, (off_t)length) == 0);
	use(RL_OPEN_EXISTING, data[1]);
	use(RL_OPEN_READONLY, data[1]);
	return 0;
}
