/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics/family.h"

#include <inttypes.h>
#include <rl_admin.h>

void
metrics_escape(FILE *to, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '\\' || *c == '"')
			fprintf(to, "\\%c", *c);
		else if (*c < 0x20 || *c >= 0x7f) /* rules have no such names; damaged bytes do */
			fprintf(to, "\\\\x%02x", *c);
		else
			fputc(*c, to);
	}
}

#define COUNTED_A_NS 10 /* at most */

bool
metrics_can_be(uint64_t count, uint64_t passed_ns)
{
	return count / COUNTED_A_NS <= passed_ns + RL_SECOND; /* what is short is measured badly */
}

void
metrics_family(FILE *to, const char *name, enum metrics_kind kind, const char *help)
{
	static const char *const kinds[] = {
		[METRICS_COUNTER] = "counter",
		[METRICS_GAUGE] = "gauge",
		[METRICS_HISTOGRAM] = "histogram",
	};

	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kinds[kind]);
}

void
metrics_seconds(FILE *to, uint64_t ns)
{
	fprintf(to, "%" PRIu64 ".%09" PRIu64 "\n", ns / RL_SECOND, ns % RL_SECOND);
}

void
metrics_begin(FILE *to, struct rl *rl, const char *name, enum metrics_kind kind, const char *help)
{
	struct rl_info info;

	rl_info(rl, &info);
	metrics_family(to, name, kind, help);
	fprintf(to, "%s{segment=\"", name);
	metrics_escape(to, info.name);
	fputs("\"} ", to);
}

void
metrics_number(FILE *to, struct rl *rl, const char *name, enum metrics_kind kind, const char *help,
               uint64_t value)
{
	metrics_begin(to, rl, name, kind, help);
	fprintf(to, "%" PRIu64 "\n", value);
}

void
metrics_duration(FILE *to, struct rl *rl, const char *name, enum metrics_kind kind,
                 const char *help, uint64_t ns)
{
	metrics_begin(to, rl, name, kind, help);
	metrics_seconds(to, ns);
}
