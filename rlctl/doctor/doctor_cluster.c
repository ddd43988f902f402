/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store by which hosts share limits: whether it lends to this segment, and what is wrong with
 * it.
 */

#include <load/load.h>
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
	client_close(&c);
	if (doctor->count == before)
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "the store is set up as it should be, for %llu host%s",
		           (unsigned long long)survey.hosts, survey.hosts == 1 ? "" : "s");
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
