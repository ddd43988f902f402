/* SPDX-License-Identifier: BSD-2-Clause */
#include "cluster/said.h"

#include <inttypes.h>
#include <stdio.h>

bool
said_read(const char *text, struct said *s)
{
	*s = (struct said){0};
	return sscanf(text,
	              "%" SCNd64 ":%65s %65s %20s %" SCNu64 " %10s %" SCNu64 " %" SCNd64
	              " %10s %10s",
	              &s->until_ms, s->host, s->segment, s->version, &s->rules, s->state,
	              &s->orders, &s->skew_ms, s->secret, s->other) >= 7;
}
