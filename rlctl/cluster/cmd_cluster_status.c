/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster status: the store's nodes, and what of them is not as it is to be. */

#include <apply/apply.h>
#include <inttypes.h>
#include <model/limit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/limit_view.h"
#include "base/output.h"
#include "cluster/client.h"
#include "cluster/survey.h"

struct state {
	bool is_json;
	json_t *nodes, *problems;
};

static void
take_problem(void *arg, const char *what, const char *fix)
{
	struct state *s = arg;
	char text[560];

	snprintf(text, sizeof text, fix ? "%s: %s" : "%s", what, fix);
	if (!s->is_json)
		printf("problem  %s\n", text);
	json_push(s->problems, json_text(text));
}

static void
take_node(void *arg, const struct store_node *n, const char *version, const char *replicas)
{
	struct state *s = arg;
	json_t *node;

	if (!s->is_json)
		printf("%-24s %6u %8s %8.1f ms  %s\n", n->address, n->slots,
		       replicas[0] ? replicas : "?", (double)n->rtt_ns / 1e6, version);
	node = need(json_object());
	json_put(node, "address", json_text(n->address));
	json_put(node, "slots", json_count(n->slots));
	json_put(node, "is_answering", json_boolean(n->is_ready));
	json_put(node, "round_trip_ns", json_count(n->rtt_ns));
	json_put(node, "version", json_text(version));
	json_push(s->nodes, node);
}

/* The most that all hosts may admit beyond a limit, by rule. */
static void
print_overshoot(const struct client *c, const struct state *s, uint64_t hosts, json_t *rules)
{
	for (size_t i = 0; i < c->config->rule_count; i++) {
		const struct rl_rule *rule = &c->config->rules[i].rule;
		const struct rl_limit *widest = NULL;
		uint64_t all = 0;
		json_t *document;

		for (size_t l = 0; l < config_limit_count(rule); l++) {
			const struct rl_limit *limit = config_limit(rule, l);

			if (limit->scope == RL_SCOPE_CLUSTER &&
			    (!widest || limit_blind_of_all(limit, hosts) > all)) {
				all = limit_blind_of_all(limit, hosts);
				widest = limit;
			}
		}
		if (!widest)
			continue;
		if (!s->is_json)
			printf("rule %-19s at most %" PRIu64 " above its capacity (%" PRIu64
			       " host%s, blind %s)\n",
			       rule->name, all, hosts, hosts == 1 ? "" : "s",
			       limit_blind_text(widest).text);
		document = need(json_object());
		json_put(document, "rule", json_text(rule->name));
		json_put(document, "overshoot_max", json_count(all));
		json_push(rules, document);
	}
}

static int
look(struct client *c, struct state *s)
{
	struct survey survey = {.node = take_node, .problem = take_problem, .arg = s};
	json_t *document, *rules = need(json_array());
	size_t problems;

	if (!s->is_json)
		printf("%-24s %6s %8s %11s  %s\n", "NODE", "SLOTS", "REPLICAS", "ROUND TRIP",
		       "VERSION");
	survey_run(c, &survey);
	if (!s->is_json)
		printf("hosts                    %6" PRIu64 "\n", survey.hosts);
	print_overshoot(c, s, survey.hosts, rules);
	problems = json_array_size(s->problems);
	document = need(json_object());
	json_put(document, "hosts", json_count(survey.hosts));
	json_put(document, "nodes", s->nodes);
	json_put(document, "problems", s->problems);
	json_put(document, "rules", rules);
	if (s->is_json)
		output_json(document);
	else
		json_decref(document);
	return problems == 0 ? EXIT_YES : EXIT_NO;
}

int
cluster_status(const struct context *context)
{
	struct state s = {.is_json = option_value(context, "json") != NULL};
	struct client c;
	int status;

	if (!client_open(&c, context, &status))
		return status;
	s.nodes = need(json_array());
	s.problems = need(json_array());
	status = look(&c, &s);
	client_close(&c);
	return status;
}
