/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/unpack.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#define XZ_MEMORY_MAX (UINT64_C(256) << 20)
#define GZIP_OF_ANY_WINDOW (15 + 16)

struct codec {
	const char *name;
	unsigned char magic[UNPACK_MAGIC_MAX];
	size_t magic_len;
	bool (*begin)(struct unpack *unpack);
	enum unpack_state (*step)(struct unpack *unpack, struct unpack_io *io);
	void (*end)(struct unpack *unpack);
};

static bool
gzip_begin(struct unpack *unpack)
{
	memset(&unpack->gzip, 0, sizeof(unpack->gzip));
	return inflateInit2(&unpack->gzip, GZIP_OF_ANY_WINDOW) == Z_OK;
}

static unsigned
at_most_unsigned(size_t len)
{
	return len > UINT_MAX ? UINT_MAX : (unsigned)len;
}

static enum unpack_state
gzip_step(struct unpack *unpack, struct unpack_io *io)
{
	z_stream *gzip = &unpack->gzip;
	unsigned in = at_most_unsigned(io->in_len), out = at_most_unsigned(io->out_len);
	int answer;

	gzip->next_in = io->in;
	gzip->avail_in = in;
	gzip->next_out = io->out;
	gzip->avail_out = out;
	answer = inflate(gzip, Z_NO_FLUSH);
	io->in += in - gzip->avail_in;
	io->in_len -= in - gzip->avail_in;
	io->out += out - gzip->avail_out;
	io->out_len -= out - gzip->avail_out;
	if (answer == Z_STREAM_END)
		return inflateReset(gzip) == Z_OK ? UNPACK_END : UNPACK_BAD;
	return answer == Z_OK || answer == Z_BUF_ERROR ? UNPACK_MORE : UNPACK_BAD;
}

static void
gzip_end(struct unpack *unpack)
{
	inflateEnd(&unpack->gzip);
}

static bool
zstd_begin(struct unpack *unpack)
{
	unpack->zstd = ZSTD_createDStream();
	return unpack->zstd != NULL;
}

static enum unpack_state
zstd_step(struct unpack *unpack, struct unpack_io *io)
{
	ZSTD_inBuffer in = {io->in, io->in_len, 0};
	ZSTD_outBuffer out = {io->out, io->out_len, 0};
	size_t answer = ZSTD_decompressStream(unpack->zstd, &out, &in);

	io->in += in.pos;
	io->in_len -= in.pos;
	io->out += out.pos;
	io->out_len -= out.pos;
	if (ZSTD_isError(answer))
		return UNPACK_BAD;
	return answer == 0 ? UNPACK_END : UNPACK_MORE;
}

static void
zstd_end(struct unpack *unpack)
{
	ZSTD_freeDStream(unpack->zstd);
}

static bool
xz_begin(struct unpack *unpack)
{
	unpack->xz = (lzma_stream)LZMA_STREAM_INIT;
	return lzma_stream_decoder(&unpack->xz, XZ_MEMORY_MAX, LZMA_CONCATENATED) == LZMA_OK;
}

static enum unpack_state
xz_step(struct unpack *unpack, struct unpack_io *io)
{
	lzma_stream *xz = &unpack->xz;
	lzma_ret answer;

	xz->next_in = io->in;
	xz->avail_in = io->in_len;
	xz->next_out = io->out;
	xz->avail_out = io->out_len;
	answer = lzma_code(xz, io->is_last ? LZMA_FINISH : LZMA_RUN);
	io->in += io->in_len - xz->avail_in;
	io->in_len = xz->avail_in;
	io->out += io->out_len - xz->avail_out;
	io->out_len = xz->avail_out;
	if (answer == LZMA_STREAM_END)
		return UNPACK_END;
	return answer == LZMA_OK || answer == LZMA_BUF_ERROR ? UNPACK_MORE : UNPACK_BAD;
}

static void
xz_end(struct unpack *unpack)
{
	lzma_end(&unpack->xz);
}

static const struct codec codecs[] = {
	{"gzip", {0x1f, 0x8b}, 2, gzip_begin, gzip_step, gzip_end},
	{"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_begin, zstd_step, zstd_end},
	{"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, xz_begin, xz_step, xz_end},
};

const struct codec *
unpack_find(const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < sizeof(codecs) / sizeof(codecs[0]); i++)
		if (len >= codecs[i].magic_len &&
		    memcmp(codecs[i].magic, bytes, codecs[i].magic_len) == 0)
			return &codecs[i];
	return NULL;
}

const char *
unpack_unknown(const unsigned char *bytes, size_t len)
{
	static const struct {
		const char *name, *magic; /* with a '?' for any byte */
	} others[] = {{"bzip2", "BZh?1A"},
	              {"zip", "PK\003\004"},
	              {"lz4", "\004\"M\030"},
	              {"compress", "\037\235"}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const char *magic = others[i].magic;
		size_t at = 0;

		while (at < len && magic[at] && (magic[at] == '?' || (char)bytes[at] == magic[at]))
			at++;
		if (!magic[at])
			return others[i].name;
	}
	return NULL;
}

const char *
unpack_name(const struct codec *codec)
{
	return codec->name;
}

bool
unpack_begin(struct unpack *unpack, const struct codec *codec)
{
	unpack->codec = codec;
	return codec->begin(unpack);
}

enum unpack_state
unpack_step(struct unpack *unpack, struct unpack_io *io)
{
	return unpack->codec->step(unpack, io);
}

void
unpack_end(struct unpack *unpack)
{
	unpack->codec->end(unpack);
}
