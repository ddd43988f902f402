/* SPDX-License-Identifier: BSD-2-Clause */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <rl_admin.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define RANDOM_SIZE 16

struct parts {
	char boot[64];
	char segment[RL_NAME_MAX + 1];
	uint64_t created_ns;
	unsigned char random[RANDOM_SIZE]; /* 0 where it was never needed */
};

static bool
read_whole(const char *path, void *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, to, size);
	close(fd);
	return n > 0;
}

/* 6 bits a character, of the first 64 of a hash. */
static bool
write_text(const struct parts *p, char text[static IDENTITY_TEXT])
{
	static const char digits[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
	unsigned char hash[EVP_MAX_MD_SIZE];
	uint64_t bits;

	if (EVP_Digest(p, sizeof *p, hash, NULL, EVP_sha256(), NULL) != 1)
		return false;
	memcpy(&bits, hash, sizeof bits);
	for (int i = 0; i < IDENTITY_TEXT - 1; i++, bits >>= 6)
		text[i] = digits[bits & 63];
	text[IDENTITY_TEXT - 1] = '\0';
	return true;
}

static bool
make(struct identity *id, const unsigned char random[static RANDOM_SIZE])
{
	struct parts p;

	memset(&p, 0, sizeof p); /* its padding is hashed, too */
	memcpy(p.segment, id->segment, sizeof p.segment);
	p.created_ns = id->created_ns;
	memcpy(p.random, random, RANDOM_SIZE);
	return read_whole(BOOT_ID, p.boot, sizeof p.boot - 1) && write_text(&p, id->text);
}

bool
identity_open(struct identity *id, const char *state, const char *segment, uint64_t created_ns,
              char *why, size_t size)
{
	unsigned char random[RANDOM_SIZE] = {0};

	*id = (struct identity){.created_ns = created_ns};
	strncpy(id->segment, segment, sizeof id->segment - 1);
	if (state && snprintf(id->path, sizeof id->path, "%s/%s.identity", state, segment) >=
	                     (int)sizeof id->path)
		id->path[0] = '\0';
	if (id->path[0] != '\0')
		read_whole(id->path, random, sizeof random);
	if (make(id, random))
		return true;
	snprintf(why, size, "%s: %s", BOOT_ID, strerror(errno));
	return false;
}

static bool
keep(const struct identity *id, const unsigned char random[static RANDOM_SIZE])
{
	int fd = id->path[0] == '\0'
	                 ? -1
	                 : open(id->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
	                        0600);
	bool is_cached = fd >= 0 && write(fd, random, RANDOM_SIZE) == RANDOM_SIZE;

	return (fd < 0 || close(fd) == 0) && is_cached;
}

bool
identity_renew(struct identity *id)
{
	unsigned char random[RANDOM_SIZE];

	return getrandom(random, sizeof random, 0) == RANDOM_SIZE && make(id, random) &&
	       keep(id, random);
}

uint64_t
identity_next_seq(struct identity *id)
{
	struct timespec t;
	uint64_t us;

	clock_gettime(CLOCK_BOOTTIME, &t);
	us = (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
	id->seq = us > id->seq ? us : id->seq + 1;
	return id->seq;
}
