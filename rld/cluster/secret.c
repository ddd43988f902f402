/* SPDX-License-Identifier: BSD-2-Clause */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 4096
#define CHECK_BYTES ((SECRET_CHECK - sizeof SECRET_FORM) / 2)

static const char *
what_is_wrong(const struct stat *file)
{
	if (!S_ISREG(file->st_mode))
		return "it is no file";
	if (file->st_uid != 0 && file->st_uid != geteuid())
		return "it is another user's";
	if (file->st_mode & (S_IRWXO | S_IWGRP))
		return "others may read or write it: chmod 640 at most";
	return NULL;
}

/* Returns bytes, or -1 after writing why. */
static ssize_t
read_private(unsigned char to[static FILE_MAX], const char *path, char *why, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *wrong = NULL;
	struct stat file;
	ssize_t n = -1;

	if (fd < 0 || fstat(fd, &file) < 0)
		wrong = strerror(errno);
	else
		wrong = what_is_wrong(&file);
	if (!wrong) {
		n = read(fd, to, FILE_MAX);
		wrong = n < 0 ? strerror(errno) : NULL;
	}
	if (wrong)
		snprintf(why, size, "%s: %s", path, wrong);
	if (fd >= 0)
		close(fd);
	return wrong ? -1 : n;
}

static bool
digest(const char *purpose, const unsigned char *bytes, size_t size, unsigned char out[static 64])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool is_done = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
	               EVP_DigestUpdate(ctx, purpose, strlen(purpose) + 1) == 1 &&
	               EVP_DigestUpdate(ctx, bytes, size) == 1 &&
	               EVP_DigestFinal_ex(ctx, out, NULL) == 1;

	EVP_MD_CTX_free(ctx);
	return is_done;
}

bool
secret_read(struct secret *s, const char *path, char *why, size_t size)
{
	unsigned char bytes[FILE_MAX], hash[EVP_MAX_MD_SIZE];
	ssize_t n = read_private(bytes, path, why, size);
	bool is_good;

	if (n < 0)
		return false;
	is_good = n >= SECRET_SIZE && digest("rl key", bytes, (size_t)n, hash);
	memcpy(s->bytes, hash, SECRET_SIZE);
	is_good = is_good && digest("rl seal", bytes, (size_t)n, hash);
	memcpy(s->seal, hash, SECRET_SIZE);
	is_good = is_good && digest("rl check", bytes, (size_t)n, hash);
	strcpy(s->check, SECRET_FORM);
	for (size_t i = 0; i < CHECK_BYTES; i++)
		snprintf(s->check + strlen(SECRET_FORM) + i * 2, 3, "%02x", hash[i]);
	explicit_bzero(bytes, sizeof bytes);
	explicit_bzero(hash, sizeof hash);
	if (!is_good)
		explicit_bzero(s, sizeof *s);
	if (!is_good)
		snprintf(why, size, "%s: a secret has %d bytes at least: head -c 32 /dev/urandom",
		         path, SECRET_SIZE);
	return is_good;
}

bool
secret_read_next(struct secret *s, const char *path, char *why, size_t size)
{
	char next[FILE_MAX];

	*s = (struct secret){0};
	if (snprintf(next, sizeof next, "%s" SECRET_NEXT, path) >= (int)sizeof next ||
	    (access(next, F_OK) < 0 && errno == ENOENT))
		return true;
	return secret_read(s, next, why, size);
}

bool
secret_read_line(char *line, size_t room, const char *path, char *why, size_t size)
{
	unsigned char bytes[FILE_MAX];
	ssize_t n = read_private(bytes, path, why, size);
	size_t length = 0;

	if (n < 0)
		return false;
	while (length < (size_t)n && bytes[length] != '\n' && bytes[length] != '\0')
		length++;
	if (length == 0 || length >= room) {
		snprintf(why, size, "%s: expected a line of 1 to %zu bytes", path, room - 1);
		return false;
	}
	memcpy(line, bytes, length);
	line[length] = '\0';
	explicit_bzero(bytes, sizeof bytes);
	return true;
}
