/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_SECRET_H
#define RLD_CLUSTER_SECRET_H

/*
 * What all hosts of a cluster know and the store does not: keys leave a host only as hashes of it.
 * A file of 32 bytes or more, of this user or root, that nobody else may read.
 */

#include <stdbool.h>
#include <stddef.h>

#define SECRET_SIZE 32
#define SECRET_FORM "2:"    /* of the questions; earlier builds had none */
#define SECRET_CHECK 35     /* the form, and 32 hex digits that tell nothing of the secret */
#define SECRET_SHORT 11     /* the form, and 8 of them, to tell secrets apart */
#define SECRET_NEXT ".next" /* the name of the file that is to follow */

struct secret {
	unsigned char bytes[SECRET_SIZE];
	unsigned char seal[SECRET_SIZE]; /* what goes through the store is sealed with */
	/* Stands in the store: with another secret nobody asks there. "": there is none. */
	char check[SECRET_CHECK];
};

/* False after writing why. */
bool secret_read(struct secret *s, const char *path, char *why, size_t size);

/*
 * The one that is to follow: of the file beside it whose name ends in SECRET_NEXT. None where there
 * is no such file. False after writing why.
 */
bool secret_read_next(struct secret *s, const char *path, char *why, size_t size);

/*
 * One line of a file with a password, without its end. The same is asked of the file. False after
 * writing why.
 */
bool secret_read_line(char *line, size_t room, const char *path, char *why, size_t size);

#endif
