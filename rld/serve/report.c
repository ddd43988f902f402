/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/report.h"

#include <inttypes.h>
#include <metrics/metrics.h>
#include <stdlib.h>

#include "serve/sharing_report.h"

static void
write_sweep(FILE *to, struct rl *rl, const struct sweeper *s)
{
	struct rl_swept total = sweeper_total(s);

	metrics_duration(to, rl, "rl_sweep_seconds_total", METRICS_COUNTER,
	                 "Processor time spent on the sweep.", s->cpu_ns);
	metrics_duration(to, rl, "rl_sweep_longest_slice_seconds", METRICS_GAUGE,
	                 "The longest time the sweep has kept a core at a stretch.", s->longest_ns);
	metrics_number(to, rl, "rl_sweep_passes_total", METRICS_COUNTER,
	               "Passes over the whole table.", s->passes);
	metrics_number(to, rl, "rl_sweep_slots_total", METRICS_COUNTER,
	               "Places the sweep has looked at.", total.seen);
	metrics_number(to, rl, "rl_sweep_retired_total", METRICS_COUNTER,
	               "Places freed by the sweep, their window and buffer being over.",
	               total.retired);
	metrics_number(to, rl, "rl_sweep_unused_total", METRICS_COUNTER,
	               "Places freed by the sweep that were half claimed, never charged, or of a "
	               "limit that is gone.",
	               total.unused);
}

static void
write_rule_limited(FILE *to, const struct rl_info *info, const struct rl_rule_info *rule,
                   const struct limited *denied)
{
	for (unsigned i = 0; i < rule->limit_count; i++) {
		fputs("rl_keys_limited{segment=\"", to);
		metrics_escape(to, info->name);
		fputs("\",rule=\"", to);
		metrics_escape(to, rule->name);
		fprintf(to, "\",limit=\"%u\"} %" PRIu64 "\n", i + 1,
		        limited_keys(denied, rule->handle, i));
	}
}

/* Before the first pass has ended nothing is known. */
static void
write_limited(FILE *to, struct rl *rl, const struct sweeper *s)
{
	struct rl_rule_info rule;
	struct rl_info info;

	rl_info(rl, &info);
	metrics_family(to, "rl_keys_limited", METRICS_GAUGE,
	               "Keys that the limit, or a ban, denied when the sweep last came by.");
	for (uint32_t id = 0; id < info.rules && s->passes > 0; id++)
		if (rl_rule_info(rl, (int)id, &rule) == 1 && rule.name[0])
			write_rule_limited(to, &info, &rule, &s->denied);
}

static void
write_loads(FILE *to, struct rl *rl, const struct loads *loads)
{
	metrics_number(to, rl, "rl_config_loads_total", METRICS_COUNTER,
	               "Times the configuration was read and put into force.", loads->good);
	metrics_number(to, rl, "rl_config_refused_total", METRICS_COUNTER,
	               "Times the configuration was refused, the one before staying in force.",
	               loads->bad);
	metrics_number(to, rl, "rl_config_last_load_successful", METRICS_GAUGE,
	               "Whether the configuration was good when it was last read.",
	               loads->is_last_good);
}

static int
write_all(FILE *to, const struct report *r)
{
	int error = metrics_write_filled(to, r->rl, rl_now(r->rl), sweeper_used(r->sweeper));

	if (error < 0)
		return error;
	write_sweep(to, r->rl, r->sweeper);
	write_limited(to, r->rl, r->sweeper);
	write_loads(to, r->rl, r->loads);
	sharing_report(to, r->rl, r->sharing);
	return 0;
}

char *
report_text(const struct report *report, size_t *size)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, size);
	int error;

	if (!to)
		return NULL;
	error = write_all(to, report);
	if (ferror(to))
		error = -ENOMEM;
	if (fclose(to) == 0 && error == 0)
		return text;
	free(text);
	return NULL;
}
