/* SPDX-License-Identifier: BSD-2-Clause */
#include "harmless.h"

#include <stdio.h>
#include <string.h>

static char secrets[4][24]; /* the hash key, as numbers may be written */

void
harmless_except(const struct rl_header *h)
{
	for (int i = 0; i < 4; i++)
		snprintf(secrets[i], sizeof secrets[i], i % 2 ? "%016llx" : "%llu",
		         (unsigned long long)h->hash_key[i / 2]);
}

bool
is_plain(const char *line)
{
	for (const char *c = line; *c; c++)
		if (((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f)
			return false;
	return true;
}

bool
is_harmless(const char *line)
{
	for (int i = 0; i < 4; i++)
		if (strstr(line, secrets[i]))
			return false;
	return is_plain(line) && !strstr(line, "Sanitizer") && !strstr(line, "runtime error");
}
