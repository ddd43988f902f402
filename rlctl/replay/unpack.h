/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_UNPACK_H
#define RLCTL_UNPACK_H

/*
 * gzip, zstd and xz, known by their first bytes, in steps of whatever sizes the caller has.
 * Memory is bounded whatever the data say: 128 MiB for zstd, 256 MiB for xz.
 */

#include <lzma.h>
#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>
#include <zstd.h>

#define UNPACK_MAGIC_MAX 6

enum unpack_state {
	UNPACK_MORE, /* goes on with more input or more room */
	UNPACK_END,  /* a whole stream is done; another may follow */
	UNPACK_BAD,
};

/* The input and the output of a step; it moves both on. */
struct unpack_io {
	unsigned char *in;
	size_t in_len;
	unsigned char *out;
	size_t out_len;
	bool is_last; /* no input comes behind this */
};

struct codec;

struct unpack {
	const struct codec *codec;
	union {
		z_stream gzip;
		ZSTD_DStream *zstd;
		lzma_stream xz;
	};
};

/* The codec whose magic these bytes begin with; NULL: none. */
const struct codec *unpack_find(const unsigned char *bytes, size_t len);
const char *unpack_name(const struct codec *codec);

/* What else packs files and begins so, which is not read: "bzip2"; NULL: nothing that is known. */
const char *unpack_unknown(const unsigned char *bytes, size_t len);

/* False if there is no memory. */
bool unpack_begin(struct unpack *unpack, const struct codec *codec);
enum unpack_state unpack_step(struct unpack *unpack, struct unpack_io *io);
void unpack_end(struct unpack *unpack);

#endif
