/* SPDX-License-Identifier: BSD-2-Clause */
#include "cluster/survey.h"

#include <apply/apply.h>
#include <cluster/script.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "cluster/said.h"

#define SKEW_MS 1000    /* told from here on; leases have a tenth more than 30 s */
#define EFFECTS_SINCE 5 /* since Redis 5 a script's TIME is no matter for replicas */

struct looking {
	struct client *c;
	struct survey *s;
	bool has_strict;
	char version[24]; /* of the first node */
	int64_t skew_min_ms, skew_max_ms;
	bool has_skew, is_reported_of_versions;
};

/* What INFO says of a node. */
struct facts {
	char version[24], policy[24], replicas[12], role[12], good_replicas[12], time_us[24];
};

static void
say(struct looking *l, const char *address, const char *what, const char *fix)
{
	char text[480];

	snprintf(text, sizeof text, "%s: %s", address, what);
	l->s->problem(l->s->arg, text, fix);
}

static void
take_info(void *arg, const struct store_value *v)
{
	struct facts *f = arg;
	const char *text = store_text(v);
	char valkey[12];

	store_line(text, "redis_version", f->version, sizeof f->version);
	store_line(text, "valkey_version", valkey, sizeof valkey);
	if (valkey[0])
		snprintf(f->version, sizeof f->version, "valkey %s", valkey);
	store_line(text, "maxmemory_policy", f->policy, sizeof f->policy);
	store_line(text, "connected_slaves", f->replicas, sizeof f->replicas);
	store_line(text, "role", f->role, sizeof f->role);
	store_line(text, "min_slaves_good_slaves", f->good_replicas, sizeof f->good_replicas);
	store_line(text, "server_time_usec", f->time_us, sizeof f->time_us);
}

static void
judge_memory(struct looking *l, const char *address, const struct facts *f)
{
	if (f->policy[0] == '\0' || strcmp(f->policy, "noeviction") == 0)
		return;
	say(l, address,
	    strncmp(f->policy, "volatile", 8) == 0
	            ? "maxmemory-policy may evict what is lent"
	            : "maxmemory-policy evicts any key, also what is lent",
	    "set noeviction");
}

static void
judge_lonely(struct looking *l, const char *address, const struct facts *f)
{
	bool lends = l->c->config->cluster.lends_without_replica;

	if (!l->has_strict)
		say(l, address, "has no replica: with it what it has lent is forgotten",
		    "give it one");
	else if (!lends)
		say(l, address,
		    "has no replica: strict limits lend nothing of the keys that it has",
		    "give it one, and one to spare");
	else if (f->good_replicas[0])
		say(l, address,
		    "has no replica, and takes no writes without one, whatever without_replica "
		    "says",
		    "give it one, or set min-replicas-to-write 0");
	else
		say(l, address,
		    "has no replica: what strict limits lend there is forgotten with it",
		    "give it one");
}

static void
judge_replicas(struct looking *l, const char *address, const struct facts *f)
{
	if (strcmp(f->role, "slave") == 0)
		say(l, address, "is a replica, and takes no requests", NULL);
	else if (strcmp(f->replicas, "0") == 0)
		judge_lonely(l, address, f);
	else if (l->has_strict && !l->c->config->cluster.lends_without_replica && f->role[0] &&
	         !f->good_replicas[0])
		say(l, address,
		    "would lend strict limits' capacity without a replica that hears of it",
		    "set min-replicas-to-write 1");
}

static void
judge_version(struct looking *l, const char *address, const struct facts *f)
{
	if (f->version[0] == '\0')
		return;
	if (strncmp(f->version, "valkey", 6) != 0 && atoi(f->version) < EFFECTS_SINCE)
		say(l, address, "is older than Redis 5, which the script needs", "upgrade it");
	if (l->version[0] == '\0')
		strcpy(l->version, f->version);
	if (strcmp(l->version, f->version) != 0 && !l->is_reported_of_versions)
		say(l, address, "is of another version than others are", "upgrade the rest");
	l->is_reported_of_versions |= strcmp(l->version, f->version) != 0;
}

/* How far its clock is before this host's: of two nodes only the difference matters. */
static void
note_skew(struct looking *l, const struct facts *f)
{
	int64_t skew_ms;

	if (f->time_us[0] == '\0')
		return;
	skew_ms = strtoll(f->time_us, NULL, 10) / 1000 -
	          (int64_t)(now_by(CLOCK_REALTIME) / RL_MILLISECOND);
	if (!l->has_skew || skew_ms < l->skew_min_ms)
		l->skew_min_ms = skew_ms;
	if (!l->has_skew || skew_ms > l->skew_max_ms)
		l->skew_max_ms = skew_ms;
	l->has_skew = true;
}

static void
judge_skew(struct looking *l)
{
	char text[120];

	if (!l->has_skew || l->skew_max_ms - l->skew_min_ms < SKEW_MS)
		return;
	snprintf(text, sizeof text,
	         "clocks of nodes are %.1f s apart: by that much a failover ends leases early",
	         (double)(l->skew_max_ms - l->skew_min_ms) / 1000);
	say(l, "store", text, "run NTP on the nodes");
}

static void
look_at_node(struct looking *l, unsigned i, const struct store_node *n)
{
	const char *argv[] = {"INFO"};
	struct facts f = {0};

	if (!n->has_slots && n->connected == 0 && n->trouble[0] == '\0')
		return;
	if (n->is_ready && n->has_slots)
		client_ask_node(l->c, i, 1, argv, take_info, &f);
	if (n->has_slots && l->s->node)
		l->s->node(l->s->arg, n, f.version, f.replicas);
	if (n->trouble[0]) {
		say(l, n->address, n->trouble, NULL);
	} else if (n->is_ready && n->has_slots) {
		judge_memory(l, n->address, &f);
		judge_replicas(l, n->address, &f);
		judge_version(l, n->address, &f);
		note_skew(l, &f);
	}
}

static void
judge_clock(struct looking *l, const char *name, int64_t skew_ms)
{
	uint64_t apart_ms = (uint64_t)(skew_ms < 0 ? -skew_ms : skew_ms);
	char text[120];

	if (apart_ms < SKEW_MS)
		return;
	snprintf(text, sizeof text,
	         "its clock is %.1f s %s the store's: bans end, and fixed windows begin, at other "
	         "times there",
	         (double)apart_ms / 1000, skew_ms < 0 ? "behind" : "ahead of");
	say(l, name, text, "run NTP there, and on the nodes");
}

static void
judge_host(struct looking *l, const struct said *s)
{
	char name[160];

	snprintf(name, sizeof name, "host %s, segment %s", s->host, s->segment);
	if (strcmp(s->state, "refused") == 0)
		say(l, name, "has refused the rules for all hosts", "look into its rld's log");
	if (strcmp(s->version, RL_VERSION) != 0)
		say(l, name, "has another version of rl than this host", "upgrade the older one");
	judge_clock(l, name, s->skew_ms);
}

static void
take_hosts(void *arg, const struct store_value *v)
{
	struct looking *l = arg;

	for (size_t i = 0; i + 1 < v->count; i += 2) {
		struct said s;

		l->s->hosts++;
		if (said_read(store_text(v->items[i + 1]), &s))
			judge_host(l, &s);
	}
}

static bool
has_strict(const struct config *config)
{
	for (size_t i = 0; i < config->rule_count; i++) {
		const struct rl_rule *rule = &config->rules[i].rule;

		for (size_t k = 0; k < config_limit_count(rule); k++)
			if (config_limit(rule, k)->scope == RL_SCOPE_CLUSTER &&
			    config_limit(rule, k)->blind == 0)
				return true;
	}
	return false;
}

void
survey_run(struct client *c, struct survey *s)
{
	struct looking l = {.c = c, .s = s, .has_strict = has_strict(c->config)};
	const char *argv[] = {"HGETALL", SCRIPT_HOSTS};
	struct store_node n;

	for (unsigned i = 0; store_node(c->store, i, &n); i++)
		look_at_node(&l, i, &n);
	judge_skew(&l);
	if (!store_is_whole(c->store))
		say(&l, "store", "not all slots have a node that answers", NULL);
	client_ask(c, SCRIPT_HOSTS, 2, argv, take_hosts, &l);
}
