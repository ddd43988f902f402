/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics/limits.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdlib.h>

#include "metrics/family.h"

/* A limit, read once: every family shows the same instant. */
struct sample {
	char rule[RL_NAME_MAX + 1];
	unsigned number; /* from 1 on */
	struct rl_limit limit;
	uint64_t denied, shadow_denied;
};

struct samples {
	struct sample *sample;
	size_t count;
};

static void
read_rule(struct rl *rl, const struct rl_rule_info *rule, uint64_t age_ns, struct samples *out)
{
	for (unsigned i = 0; i < rule->limit_count; i++) {
		struct sample *s = &out->sample[out->count];

		snprintf(s->rule, sizeof s->rule, "%s", rule->name);
		s->number = i + 1;
		s->limit = rule->limits[i];
		if (rl_limit_stats(rl, rule->handle, i, &s->denied, &s->shadow_denied) < 0)
			return;
		out->count += metrics_can_be(s->denied, age_ns) &&
		              metrics_can_be(s->shadow_denied, age_ns);
	}
}

static int
read_limits(struct rl *rl, const struct rl_info *info, uint64_t now_ns, struct samples *out)
{
	uint64_t age_ns = now_ns > info->created_ns ? now_ns - info->created_ns : 0;
	struct rl_rule_info rule;

	*out = (struct samples){calloc((size_t)info->rules * RL_LIMITS_MAX, sizeof *out->sample),
	                        0};
	if (!out->sample)
		return -ENOMEM;
	for (uint32_t id = 0; id < info->rules; id++)
		if (rl_rule_info(rl, (int)id, &rule) == 1 && rule.name[0])
			read_rule(rl, &rule, age_ns, out);
	return 0;
}

static void
write_capacity(FILE *to, const struct sample *s)
{
	fprintf(to, "%" PRIu32 "\n", s->limit.capacity);
}

static void
write_window(FILE *to, const struct sample *s)
{
	metrics_seconds(to, s->limit.window_ns);
}

static void
write_shadow(FILE *to, const struct sample *s)
{
	fprintf(to, "%d\n", s->limit.shadow != 0);
}

static void
write_denied(FILE *to, const struct sample *s)
{
	fprintf(to, "%" PRIu64 "\n", s->denied);
}

static void
write_shadow_denied(FILE *to, const struct sample *s)
{
	fprintf(to, "%" PRIu64 "\n", s->shadow_denied);
}

static const struct family {
	const char *name, *help;
	enum metrics_kind kind;
	void (*write)(FILE *to, const struct sample *sample);
} families[] = {
	{"rl_limit_capacity", "Cost that the limit admits in a window, or has in flight.",
         METRICS_GAUGE, write_capacity},
	{"rl_limit_window_seconds", "Window of the limit; 0: it has none.", METRICS_GAUGE,
         write_window},
	{"rl_limit_shadow", "Whether the limit is counted and not enforced.", METRICS_GAUGE,
         write_shadow},
	{"rl_limit_denied_total",
         "Requests that were denied by this limit of the rule, the one that says wait longest.",
         METRICS_COUNTER, write_denied},
	{"rl_limit_shadow_denied_total",
         "Requests that this limit of the rule would have denied if it were not a shadow.",
         METRICS_COUNTER, write_shadow_denied},
};

static void
write_family(FILE *to, const char *segment, const struct samples *samples,
             const struct family *family)
{
	metrics_family(to, family->name, family->kind, family->help);
	for (size_t i = 0; i < samples->count; i++) {
		const struct sample *s = &samples->sample[i];

		fprintf(to, "%s{segment=\"", family->name);
		metrics_escape(to, segment);
		fputs("\",rule=\"", to);
		metrics_escape(to, s->rule);
		fprintf(to, "\",limit=\"%u\"} ", s->number);
		family->write(to, s);
	}
}

int
metrics_write_limits(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns)
{
	struct samples samples;
	int error = read_limits(rl, info, now_ns, &samples);

	if (error < 0)
		return error;
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		write_family(to, info->name, &samples, &families[i]);
	free(samples.sample);
	return 0;
}
