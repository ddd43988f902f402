/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop/sharing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static void
report(void *arg, bool is_trouble, const char *text)
{
	(void)arg;
	log_line(is_trouble ? LOG_WARNING : LOG_NOTICE, "%s", text);
}

static char *
node_text(const struct config_node *node)
{
	const char *form = strchr(node->host, ':') ? "[%s]:%u" : "%s:%u";
	char *text = NULL;

	return asprintf(&text, form, node->host, (unsigned)node->port) < 0 ? NULL : text;
}

/* The texts stay the configuration's. False without memory. */
static bool
read_options(const struct config_cluster *from, struct cluster_options *to, struct store_tls *tls)
{
	*tls = (struct store_tls){.ca = from->tls_ca,
	                          .cert = from->tls_cert,
	                          .key = from->tls_key,
	                          .name = from->tls_server_name};
	*to = (struct cluster_options){
		.sentinel = from->sentinel,
		.user = from->user,
		.password_file = from->password_file,
		.secret_file = from->secret_file,
		.tls = from->has_tls ? tls : NULL,
		.timeout_ns = from->timeout_ns,
		.lease_ns = from->lease_ns,
		.lends_without_replica = from->lends_without_replica,
		.report = report,
	};
	for (size_t i = 0; i < from->node_count && i < CLUSTER_NODES; i++) {
		to->nodes[i] = node_text(&from->nodes[i]);
		if (!to->nodes[i])
			return false;
		to->node_count++;
	}
	return true;
}

static void
free_options(struct cluster_options *o)
{
	for (size_t i = 0; i < o->node_count; i++)
		free((void *)(uintptr_t)o->nodes[i]);
	o->node_count = 0;
}

/* All that it is opened with, in one text. */
static char *
describe(const struct config_cluster *c)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (size_t i = 0; i < c->node_count; i++)
		fprintf(to, "%s %u\n", c->nodes[i].host, (unsigned)c->nodes[i].port);
	fprintf(to, "%s %d\n", c->sentinel ? c->sentinel : "", c->lends_without_replica);
	fprintf(to, "%d %s %s %s %s\n%s %s %s %llu %llu", c->has_tls, c->tls_ca ? c->tls_ca : "",
	        c->tls_cert ? c->tls_cert : "", c->tls_key ? c->tls_key : "",
	        c->tls_server_name ? c->tls_server_name : "", c->user ? c->user : "",
	        c->password_file ? c->password_file : "", c->secret_file ? c->secret_file : "",
	        (unsigned long long)c->timeout_ns, (unsigned long long)c->lease_ns);
	fclose(to);
	return text;
}

/* The configuration goes when another is read; what is needed after the start stays. */
static char *
copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

/*
 * Until the store has another, the last good document of its rules is in force, and not the file's.
 */
static bool
take_kept(const struct sharing *l, rules_take *take, void *take_arg)
{
	const char *path = l->cluster->rules.path;

	return path[0] != '\0' && access(path, F_OK) == 0 && take(take_arg, path);
}

int
sharing_open(struct sharing *l, const struct config *config, const struct segment *segment,
             const char *state, rules_take *take, void *take_arg, uint64_t now_ns)
{
	struct cluster_options options;
	struct store_tls tls;

	*l = (struct sharing){0};
	if (!config->cluster.is_there)
		return 0;
	l->text = describe(&config->cluster);
	if (read_options(&config->cluster, &options, &tls)) {
		options.user = l->user = copy(options.user);
		tls.name = l->server_name = copy(tls.name);
		options.sentinel = l->sentinel = copy(options.sentinel);
		options.secret_file = l->secret_file = copy(options.secret_file);
		options.state = state;
		options.take_rules = config->cluster.has_shared_rules ? take : NULL;
		options.take_arg = take_arg;
		l->cluster = cluster_open(&options, segment->rl, config->name, now_ns);
	}
	if (l->cluster) {
		log_line(LOG_INFO, "limits with scope cluster are shared over %s%s",
		         options.nodes[0], options.node_count > 1 ? " and others" : "");
		l->has_rules = take_kept(l, take, take_arg);
	}
	free_options(&options);
	return l->cluster ? 0 : -1;
}

void
sharing_close(struct sharing *l, uint64_t now_ns)
{
	cluster_close(l->cluster, now_ns);
	free(l->text);
	free(l->user);
	free(l->server_name);
	free(l->sentinel);
	free(l->secret_file);
	*l = (struct sharing){0};
}

void
sharing_compare(const struct sharing *l, const struct config *config)
{
	char *text = config->cluster.is_there ? describe(&config->cluster) : NULL;

	if (strcmp(text ? text : "", l->text ? l->text : "") != 0)
		log_line(LOG_WARNING, "%s: 'cluster' is another now: that takes a restart",
		         config->path);
	free(text);
}

#define FEW_HOSTS 10

static void
warn_of_limit(const char *path, const char *rule, const struct rl_limit *limit)
{
	if (limit->scope != RL_SCOPE_CLUSTER || limit->blind == 0 ||
	    limit->blind == RL_BLIND_AUTO || limit->capacity / limit->blind >= FEW_HOSTS)
		return;
	log_line(LOG_WARNING,
	         "%s: rule '%s': each host admits %" PRIu32 " without a share, and all may admit "
	         "%" PRIu32 ": %d hosts admit up to %" PRIu64
	         ". 'strict' admits nothing without a share; a smaller 'blind' less",
	         path, rule, limit->blind, limit->capacity, FEW_HOSTS,
	         limit->capacity + (uint64_t)limit->blind * FEW_HOSTS);
}

void
sharing_warn(const struct config *config)
{
	for (size_t i = 0; i < config->rule_count; i++) {
		const struct rl_rule *rule = &config->rules[i].rule;

		for (size_t l = 0; l < config_limit_count(rule); l++)
			warn_of_limit(config->path, rule->name, config_limit(rule, l));
	}
}

bool
sharing_has_rules(const struct sharing *l)
{
	return l->has_rules || (l->cluster && l->cluster->rules.version > 0);
}

int
sharing_fd(const struct sharing *l)
{
	return l->cluster ? cluster_fd(l->cluster) : -1;
}

uint64_t
sharing_run(struct sharing *l, uint64_t now_ns)
{
	return l->cluster ? cluster_run(l->cluster, now_ns) : UINT64_MAX;
}
