/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store by which hosts share limits: whether it lends to this segment, and what is wrong with
 * it.
 */

#include <load/load.h>
#include <model/limit.h>
#include <rl_cluster.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "cluster/survey.h"
#include "doctor/doctor.h"

static void
take_problem(void *arg, const char *what, const char *fix)
{
	struct doctor *doctor = arg;

	doctor_say(doctor, DOCTOR_FINDING,
	           "what all hosts admit together is bounded by what the store and they remember",
	           "%s", what);
	doctor_fix(doctor, "%s", fix ? fix : "rlctl cluster status");
}

#define PART 5 /* more than so large a part of a capacity is much to add to it */

struct bound {
	const char *rule; /* NULL: there is no limit of the cluster */
	const struct rl_limit *limit;
	uint64_t above; /* its capacity, by all hosts */
};

/* The limit that all hosts together may exceed by the largest part of it. */
static struct bound
widest_bound(const struct config *config, uint64_t hosts)
{
	struct bound widest = {0};

	for (size_t i = 0; i < config->rule_count; i++) {
		const struct rl_rule *rule = &config->rules[i].rule;

		for (size_t l = 0; l < config_limit_count(rule); l++) {
			const struct rl_limit *limit = config_limit(rule, l);
			uint64_t above = limit_blind_of_all(limit, hosts);

			if (limit->scope != RL_SCOPE_CLUSTER || limit->capacity == 0)
				continue;
			if (!widest.rule ||
			    above * widest.limit->capacity > widest.above * limit->capacity)
				widest = (struct bound){rule->name, limit, above};
		}
	}
	return widest;
}

static void
look_at_bound(struct doctor *doctor, const struct config *config, uint64_t hosts)
{
	struct bound b = widest_bound(config, hosts);
	bool is_wide = b.rule && b.above * PART > b.limit->capacity;

	if (!b.rule)
		return;
	doctor_say(doctor, is_wide ? DOCTOR_FINDING : DOCTOR_OK,
	           is_wide ? "what each host admits without asking adds up" : NULL,
	           "rule %s: all hosts together admit up to %llu, of a capacity of %u", b.rule,
	           (unsigned long long)(b.limit->capacity + b.above), b.limit->capacity);
	if (is_wide)
		doctor_fix(doctor, "give the limit %s\"strict\": true, or a smaller \"blind\"",
		           limit_follows_hosts(b.limit) ? "\"blind\": \"auto\", " : "");
}

static void
look_at_store(struct doctor *doctor, struct config *config)
{
	struct survey survey = {.problem = take_problem, .arg = doctor};
	size_t before = doctor->count;
	struct client c;
	char why[320];

	if (!client_connect(&c, config, why, sizeof why)) {
		take_problem(doctor, why, NULL);
		return;
	}
	survey_run(&c, &survey);
	if (doctor->count == before)
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "the store is set up as it should be, for %llu host%s",
		           (unsigned long long)survey.hosts, survey.hosts == 1 ? "" : "s");
	look_at_bound(doctor, c.config, survey.hosts);
	client_close(&c);
}

/* By the segment alone: a store that answers others may be away from here. */
static void
look_at_lease(struct doctor *doctor)
{
	struct rl_cluster_info cluster;

	if (rl_cluster_info(doctor->rl, &cluster) < 0 || cluster.shares_until_ns > doctor->now_ns)
		return;
	doctor_say(doctor, DOCTOR_FINDING,
	           cluster.shares_until_ns == 0
	                   ? "each limit of the cluster goes on as its 'away' says"
	                   : "the leases are over: each limit of the cluster goes on as its 'away' "
	                     "says",
	           cluster.shares_until_ns == 0 ? "nothing was ever lent to this segment"
	                                        : "nothing is lent to this segment any more");
	doctor_fix(doctor, "see that rld runs, and its log: journalctl -u rld");
}

/* The file is judged elsewhere. */
static void
ignore(enum config_level level, const char *text, void *arg)
{
	(void)level;
	(void)text;
	(void)arg;
}

void
check_cluster(struct doctor *doctor)
{
	const char *path = config_path(NULL);
	struct config *config = NULL;

	if (!doctor->info.is_clustered) {
		doctor_say(doctor, DOCTOR_OK, NULL, "the segment is of no cluster");
		return;
	}
	look_at_lease(doctor);
	if (access(path, R_OK) == 0)
		config = config_load(path, ignore, NULL);
	if (config && config->cluster.is_there && strcmp(config->name, doctor->name) == 0 &&
	    access(config->cluster.secret_file, R_OK) == 0) {
		look_at_store(doctor, config);
		return;
	}
	config_free(config);
	doctor_say(doctor, DOCTOR_SKIPPED, NULL,
	           "where the store is, and the secret of it, cannot be read here");
}
