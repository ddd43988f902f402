/* SPDX-License-Identifier: BSD-2-Clause */

#include <errno.h>
#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "base/output.h"
#include "base/width.h"

static int lost_by; /* why output could not be written, if that is known */

bool
output_flush(void)
{
	if (fflush(stdout) == 0)
		return true;
	lost_by = errno;
	return false;
}

bool
output_finish(void)
{
	bool has_failed = ferror(stdout) != 0;

	if (output_flush() && !has_failed)
		return true;
	complain("stdout: %s", lost_by ? strerror(lost_by) : "output was lost");
	return false;
}

void
output_bytes(FILE *out, const void *bytes, size_t len)
{
	char *text = escape(bytes, len);

	fputs(text, out);
	free(text);
}

/* No byte of it means anything to a shell. */
static bool
is_plain_word(const char *bytes, size_t len)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@,+=%";

	for (size_t i = 0; i < len; i++)
		if (bytes[i] == '\0' || !strchr(good, bytes[i]))
			return false;
	return len > 0;
}

void
output_word(FILE *out, const void *bytes, size_t len)
{
	bool is_plain = is_plain_word(bytes, len);

	fputs(is_plain ? "" : "$'", out);
	output_bytes(out, bytes, len);
	fputs(is_plain ? "" : "'", out);
}

void
output_key(FILE *out, const struct key_view *key)
{
	if (!key->bytes) {
		fprintf(out, "#%" PRIx64, key->id);
		return;
	}
	output_bytes(out, key->bytes, key->kept);
	if (key->kept < key->len)
		fputs("…", out);
}

char *
key_text(const struct key_view *key)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = need(open_memstream(&text, &size));

	output_key(out, key);
	for (int i = 0; i < ELLIPSIS_ROOM; i++)
		putc('\0', out);
	fclose(out);
	return need(text);
}

void
output_bar(FILE *out, uint64_t value, uint64_t most, unsigned width)
{
	uint64_t columns = most ? (value * width + most - 1) / most : 0;

	while (columns-- > 0)
		putc('#', out);
}

struct time_text
time_format(uint64_t unix_ns, bool with_ms)
{
	struct time_text out;
	time_t seconds = (time_t)(unix_ns / RL_SECOND);
	struct tm tm;
	size_t used;

	gmtime_r(&seconds, &tm);
	used = strftime(out.text, sizeof(out.text), "%Y-%m-%d %H:%M:%S", &tm);
	if (with_ms)
		snprintf(out.text + used, sizeof(out.text) - used, ".%03" PRIu64,
		         unix_ns % RL_SECOND / RL_MILLISECOND);
	return out;
}
