/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/sharing_report.h"

#include <inttypes.h>
#include <metrics/metrics.h>
#include <model/limit.h>

static void
write_shares(FILE *to, struct rl *rl, const struct cluster *c)
{
	const struct share_counts *n = &c->shares.counts;

	metrics_number(to, rl, "rl_cluster_hosts", METRICS_GAUGE,
	               "Hosts that share limits by the store, this one included; 0: not known yet.",
	               c->hosts);
	metrics_number(to, rl, "rl_cluster_keys", METRICS_GAUGE,
	               "Keys that rld borrows capacity for.", n->keys);
	metrics_number(to, rl, "rl_cluster_asks_total", METRICS_COUNTER,
	               "Questions about shares to the store.", n->asks);
	metrics_number(to, rl, "rl_cluster_answers_total", METRICS_COUNTER, "Answers to them.",
	               n->answers);
	metrics_number(to, rl, "rl_cluster_unanswered_total", METRICS_COUNTER,
	               "Questions that were not answered in time, or could not be asked.",
	               n->unanswered);
	metrics_number(to, rl, "rl_cluster_shares_ended_total", METRICS_COUNTER,
	               "Shares that were given up because their lease was not renewed.", n->ended);
}

/*
 * The name of a sample, and the segment's label; what else there is of labels, "}" and the value
 * follow.
 */
static void
write_sample(FILE *to, const char *segment, const char *family, const char *end)
{
	fprintf(to, "%s%s{segment=\"", family, end);
	metrics_escape(to, segment);
	fputs("\"", to);
}

#define TRIP "rl_cluster_round_trip_seconds"

static void
write_bucket(FILE *to, const char *segment, unsigned i, uint64_t count)
{
	write_sample(to, segment, TRIP, "_bucket");
	if (i < STORE_BOUNDS)
		fprintf(to, ",le=\"%g\"} %" PRIu64 "\n", (double)store_bounds_ns[i] / RL_SECOND,
		        count);
	else
		fprintf(to, ",le=\"+Inf\"} %" PRIu64 "\n", count);
}

static void
write_round_trip(FILE *to, struct rl *rl, const struct store_times *t)
{
	uint64_t count = 0;
	struct rl_info info;

	rl_info(rl, &info);
	metrics_family(to, TRIP, METRICS_HISTOGRAM,
	               "Time from a question to the store to its answer.");
	for (unsigned i = 0; i <= STORE_BOUNDS; i++)
		write_bucket(to, info.name, i, count += t->counts[i]);
	write_sample(to, info.name, TRIP, "_sum");
	fputs("} ", to);
	metrics_seconds(to, t->sum_ns);
	write_sample(to, info.name, TRIP, "_count");
	fprintf(to, "} %" PRIu64 "\n", count);
}

/* When it was heard last, by the wall clock. */
static uint64_t
away_since(struct rl *rl, const struct cluster *c)
{
	return c->away_since_ns ? rl_now(rl) - (c->shares.now_ns - c->away_since_ns) : 0;
}

static void
write_store(FILE *to, struct rl *rl, const struct cluster *c)
{
	struct store_counts n;

	store_counts(c->store, &n);
	write_round_trip(to, rl, &n.times);
	metrics_number(to, rl, "rl_cluster_redirects_total", METRICS_COUNTER,
	               "Questions that a node has sent on to another.", n.redirected);
	metrics_number(to, rl, "rl_cluster_sent_bytes_total", METRICS_COUNTER,
	               "Bytes to the store.", n.sent);
	metrics_number(to, rl, "rl_cluster_received_bytes_total", METRICS_COUNTER,
	               "Bytes from the store.", n.received);
	metrics_number(to, rl, "rl_cluster_away", METRICS_GAUGE,
	               "Whether the store does not answer.", c->away_since_ns != 0);
	metrics_duration(to, rl, "rl_cluster_away_seconds", METRICS_GAUGE,
	                 "For how long it has not answered; 0: it does.",
	                 c->away_since_ns ? c->shares.now_ns - c->away_since_ns : 0);
	metrics_duration(to, rl, "rl_cluster_away_since_timestamp_seconds", METRICS_GAUGE,
	                 "When it answered last, as Unix time, while it is away; 0: it answers.",
	                 away_since(rl, c));
}

/*
 * What all hosts admit blind, the most of all its limits; in thousandths of the limit's capacity,
 * if `is_part`.
 */
static uint64_t
blind_of_all(const struct rl_rule_info *rule, uint64_t hosts, bool is_part)
{
	uint64_t most = 0, all;

	for (unsigned i = 0; i < rule->limit_count; i++) {
		const struct rl_limit *limit = &rule->limits[i];

		if (limit->scope != RL_SCOPE_CLUSTER || limit->capacity == 0)
			continue;
		all = limit_blind_of_all(limit, hosts);
		all = is_part ? all * 1000 / limit->capacity : all;
		most = all > most ? all : most;
	}
	return most;
}

enum of_rule {
	SHARES,
	SUM,
	OVERSHOOT,
	OVERSHOOT_PART /* in thousandths */
};

static bool
value_of(const struct cluster *c, const struct rl_rule_info *rule, enum of_rule what,
         uint64_t *value)
{
	struct rule_share held = rule_shares_of(&c->shares.of_rules, rule->handle);
	bool is_clustered = false;

	for (unsigned i = 0; i < rule->limit_count; i++)
		is_clustered |= rule->limits[i].scope == RL_SCOPE_CLUSTER;
	*value = what == SHARES ? held.shares
	         : what == SUM  ? held.sum
	                        : blind_of_all(rule, c->hosts, what == OVERSHOOT_PART);
	return is_clustered;
}

static void
write_rules(FILE *to, struct rl *rl, const struct cluster *c, enum of_rule what, const char *name,
            const char *help)
{
	struct rl_rule_info rule;
	struct rl_info info;
	uint64_t value;

	rl_info(rl, &info);
	metrics_family(to, name, METRICS_GAUGE, help);
	for (uint32_t row = 0; row < info.rules; row++) {
		if (rl_rule_info(rl, (int)row, &rule) != 1 || !value_of(c, &rule, what, &value))
			continue;
		write_sample(to, info.name, name, "");
		fputs(",rule=\"", to);
		metrics_escape(to, rule.name);
		if (what == OVERSHOOT_PART)
			fprintf(to, "\"} %" PRIu64 ".%03" PRIu64 "\n", value / 1000, value % 1000);
		else
			fprintf(to, "\"} %" PRIu64 "\n", value);
	}
}

void
sharing_report(FILE *to, struct rl *rl, const struct sharing *l)
{
	if (!l->cluster)
		return;
	write_shares(to, rl, l->cluster);
	write_store(to, rl, l->cluster);
	write_rules(to, rl, l->cluster, SHARES, "rl_cluster_shares",
	            "Shares that this host has of keys' capacities.");
	write_rules(to, rl, l->cluster, SUM, "rl_cluster_lent",
	            "Their sum: how much this host may admit by them.");
	write_rules(to, rl, l->cluster, OVERSHOOT, "rl_cluster_overshoot_max",
	            "What all hosts together may admit above the capacity: hosts times blind.");
	write_rules(to, rl, l->cluster, OVERSHOOT_PART, "rl_cluster_overshoot_ratio",
	            "The same as a part of the capacity, of the rule's limit of which it is the "
	            "largest.");
}
