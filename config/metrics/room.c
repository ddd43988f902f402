/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics/room.h"

#include <errno.h>
#include <inttypes.h>
#include <rl_admin.h>
#include <share/share.h>
#include <stdbool.h>
#include <stdlib.h>

#include "metrics/family.h"

#define MILLION UINT64_C(1000000)

/* Parts of a million, so that no locale has a say in the point. */
static void
write_ratio(FILE *to, uint64_t part, uint64_t whole)
{
	uint64_t millionths = whole > 0 ? part * MILLION / whole : 0;

	fprintf(to, "%" PRIu64 ".%06" PRIu64 "\n", millionths / MILLION, millionths % MILLION);
}

/* False: the rule is gone, or its name is damaged. */
static bool
begin_sample(FILE *to, struct rl *rl, const struct rl_info *info, const char *name, int rule)
{
	struct rl_rule_info rule_info;

	if (rl_rule_info(rl, rule, &rule_info) != 1 || rule_info.name[0] == '\0')
		return false;
	fprintf(to, "%s{segment=\"", name);
	metrics_escape(to, info->name);
	fputs("\",rule=\"", to);
	metrics_escape(to, rule_info.name);
	return true;
}

static void
write_rules(FILE *to, struct rl *rl, const struct rl_info *info, const struct shares *s)
{
	metrics_family(to, "rl_rule_slots_ratio", METRICS_GAUGE,
	               "Share of the used slots that keys of the rule have, by a sample.");
	for (size_t i = 0; i < s->rule_count; i++)
		if (begin_sample(to, rl, info, "rl_rule_slots_ratio", s->rules[i].rule)) {
			fputs("\"} ", to);
			write_ratio(to, s->rules[i].slots, s->used);
		}
}

static void
write_networks(FILE *to, const struct rl_info *info, const struct shares *s)
{
	metrics_family(to, "rl_network_slots_max_ratio", METRICS_GAUGE,
	               "Share of the used slots that the largest network of so many bits has, by a "
	               "sample.");
	for (int width = 0; width < SHARE_WIDTHS; width++) {
		const struct share_network *network = &s->networks[width];

		fputs("rl_network_slots_max_ratio{segment=\"", to);
		metrics_escape(to, info->name);
		fprintf(to, "\",family=\"%s\",bits=\"%u\"} ", network->is_v4 ? "ipv4" : "ipv6",
		        network->bits);
		write_ratio(to, network->keys, s->used);
	}
}

int
metrics_write_shares(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns)
{
	struct shares shares;

	if (shares_take(rl, now_ns, &shares) < 0)
		return -ENOMEM;
	write_rules(to, rl, info, &shares);
	write_networks(to, info, &shares);
	shares_free(&shares);
	return 0;
}

/* Each limit that has overflow counters, read once: every family shows the same. */
struct overflow {
	struct rl_overflow_info *limit;
	size_t count, room;
};

static int
keep(const struct rl_overflow_info *limit, void *arg)
{
	struct overflow *overflow = arg;

	if (overflow->count == overflow->room)
		return 1;
	overflow->limit[overflow->count++] = *limit;
	return 0;
}

struct family {
	const char *name, *help;
	void (*write)(FILE *to, const struct rl_overflow_info *limit, const struct rl_info *info);
};

static void
write_full(FILE *to, const struct rl_overflow_info *limit, const struct rl_info *info)
{
	(void)info;
	write_ratio(to, limit->denied_ppm, MILLION);
}

static void
write_used(FILE *to, const struct rl_overflow_info *limit, const struct rl_info *info)
{
	(void)info;
	fprintf(to, "%" PRIu32 "\n", limit->cells_used);
}

static void
write_taken(FILE *to, const struct rl_overflow_info *limit, const struct rl_info *info)
{
	(void)info;
	fprintf(to, "%" PRIu32 "\n", limit->cells);
}

static void
write_until(FILE *to, const struct rl_overflow_info *limit, const struct rl_info *info)
{
	(void)info;
	metrics_seconds(to, limit->until_ns);
}

static const struct family families[] = {
	{"rl_reserve_full_ratio",
         "Share of a limit's keys without a slot that are denied for what others have used.",
         write_full},
	{"rl_reserve_cells_used", "Overflow counters of a limit that count keys without a slot.",
         write_used},
	{"rl_reserve_cells_taken", "Overflow counters that a limit has.", write_taken},
	{"rl_reserve_until_timestamp_seconds",
         "When the last overflow counter of a limit will count nothing, Unix time.", write_until},
};

static void
write_family(FILE *to, struct rl *rl, const struct rl_info *info, const struct overflow *overflow,
             const struct family *family)
{
	metrics_family(to, family->name, METRICS_GAUGE, family->help);
	for (size_t i = 0; i < overflow->count; i++) {
		const struct rl_overflow_info *limit = &overflow->limit[i];

		if (!begin_sample(to, rl, info, family->name, limit->rule))
			continue;
		fprintf(to, "\",limit=\"%u\"} ", limit->limit + 1);
		family->write(to, limit, info);
	}
}

int
metrics_write_reserve(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns)
{
	struct overflow overflow = {.room = info->reserves};

	if (info->reserves == 0)
		return 0;
	overflow.limit = calloc(overflow.room, sizeof *overflow.limit);
	if (!overflow.limit)
		return -ENOMEM;
	rl_overflow_walk(rl, now_ns, keep, &overflow);
	metrics_number(to, rl, "rl_reserve_cells", METRICS_GAUGE,
	               "Overflow counters of a set, of which a limit with keys without a slot "
	               "takes one or more.",
	               info->cells);
	metrics_number(to, rl, "rl_reserve_limits", METRICS_GAUGE,
	               "Limits that have keys without a slot now.", overflow.count);
	metrics_number(to, rl, "rl_reserve_limits_limit", METRICS_GAUGE,
	               "Limits that can have keys without a slot at the same time, at most: sets.",
	               info->reserves);
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		write_family(to, rl, info, &overflow, &families[i]);
	free(overflow.limit);
	return 0;
}
