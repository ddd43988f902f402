/* SPDX-License-Identifier: BSD-2-Clause */
#include "cluster/client.h"

#include <apply/apply.h>
#include <cluster/script.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <rl_cluster.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "base/output.h"
#include "config/config_verb.h"

#define PATIENCE_NS (5 * RL_SECOND)

static void
report(void *arg, bool is_trouble, const char *text)
{
	struct client *c = arg;

	if (is_trouble)
		snprintf(c->trouble, sizeof c->trouble, "%s", text);
}

static void
run(struct client *c)
{
	struct pollfd p = {.fd = store_fd(c->store), .events = POLLIN};

	store_run(c->store, now_by(CLOCK_MONOTONIC));
	poll(&p, 1, 5);
}

static void
name_nodes(struct client *c)
{
	const struct config_cluster *cluster = &c->config->cluster;

	c->nodes = need(calloc(cluster->node_count + 1, sizeof *c->nodes));
	for (size_t i = 0; i < cluster->node_count; i++) {
		const char *form = strchr(cluster->nodes[i].host, ':') ? "[%s]:%u" : "%s:%u";

		if (asprintf(&c->nodes[i], form, cluster->nodes[i].host,
		             (unsigned)cluster->nodes[i].port) < 0)
			need(NULL);
	}
}

static bool
connect_store(struct client *c, char *why, size_t size)
{
	const struct config_cluster *cluster = &c->config->cluster;
	struct store_options o = {
		.node_count = cluster->node_count,
		.sentinel = cluster->sentinel,
		.epoch_key = SCRIPT_EPOCH,
		.is_observer = true,
		.user = cluster->user,
		.password = cluster->password_file ? c->password : NULL,
		.name = "rlctl",
		.tls = cluster->has_tls ? &c->tls : NULL,
		.timeout_ns = cluster->timeout_ns,
		.report = report,
		.report_arg = c,
	};

	name_nodes(c);
	o.nodes = (const char *const *)c->nodes;
	c->tls = (struct store_tls){.ca = cluster->tls_ca,
	                            .cert = cluster->tls_cert,
	                            .key = cluster->tls_key,
	                            .name = cluster->tls_server_name};
	if (!secret_read(&c->secret, cluster->secret_file, why, size) ||
	    !secret_read_next(&c->other, cluster->secret_file, why, size) ||
	    (cluster->password_file &&
	     !secret_read_line(c->password, sizeof c->password, cluster->password_file, why, size)))
		return false;
	c->store = store_open(&o, now_by(CLOCK_MONOTONIC), why, size);
	return c->store != NULL;
}

/* A part of it that answers is enough to say what the rest is like. */
static bool
is_there(const struct client *c, uint64_t waited_ns)
{
	struct store_node node;

	if (store_is_whole(c->store))
		return true;
	for (unsigned i = 0; waited_ns > RL_SECOND && store_node(c->store, i, &node); i++)
		if (node.is_ready && node.has_slots)
			return true;
	return false;
}

static bool
wait_until_there(struct client *c, char *why, size_t size)
{
	uint64_t begin_ns = now_by(CLOCK_MONOTONIC), waited_ns = 0;

	while (!is_there(c, waited_ns) && waited_ns < PATIENCE_NS) {
		run(c);
		waited_ns = now_by(CLOCK_MONOTONIC) - begin_ns;
	}
	if (is_there(c, waited_ns))
		return true;
	snprintf(why, size, "%s", c->trouble[0] ? c->trouble : "the store does not answer");
	return false;
}

static void
take_check(void *arg, const struct store_value *v)
{
	snprintf(arg, SECRET_CHECK, "%s", store_text(v));
}

/* Of the two secrets the one that is in use there. */
static bool
compare_secrets(struct client *c, char *why, size_t size)
{
	const char *argv[] = {"GET", SCRIPT_CHECK};
	struct secret first = c->secret;

	if (!client_ask(c, SCRIPT_CHECK, 2, argv, take_check, c->check)) {
		snprintf(why, size, "%s: the store does not say whose it is", SCRIPT_CHECK);
		return false;
	}
	if (c->other.check[0] && strcmp(c->check, c->other.check) == 0) {
		c->secret = c->other;
		c->other = first;
		c->is_next = true;
	}
	explicit_bzero(&first, sizeof first);
	return true;
}

static bool
is_of_secret(const struct client *c, char *why, size_t size)
{
	if (c->check[0] == '\0' || strcmp(c->check, c->secret.check) == 0)
		return true;
	snprintf(why, size, "%s",
	         strncmp(c->check, SECRET_FORM, strlen(SECRET_FORM)) != 0
	                 ? "the store is in use by hosts of another version of rl: "
	                   "'rlctl cluster secret' says how to go over"
	                 : "secret: the store is in use with another one: 'rlctl cluster secret' "
	                   "says by whom");
	return false;
}

static bool
connect_any(struct client *c, struct config *config, char *why, size_t size)
{
	*c = (struct client){.config = config};
	if (connect_store(c, why, size) && wait_until_there(c, why, size) &&
	    compare_secrets(c, why, size))
		return true;
	client_close(c);
	return false;
}

bool
client_connect(struct client *c, struct config *config, char *why, size_t size)
{
	if (!connect_any(c, config, why, size))
		return false;
	if (is_of_secret(c, why, size))
		return true;
	client_close(c);
	return false;
}

typedef bool connect_by(struct client *c, struct config *config, char *why, size_t size);

static bool
open_by(struct client *c, const struct context *context, int *status, connect_by *connect)
{
	struct config *config = config_need(config_file(context), status);
	char why[320];

	if (!config)
		return false;
	*status = EXIT_TROUBLE;
	if (!config->cluster.is_there) {
		complain("%s: it has no 'cluster'", config->path);
		config_free(config);
		return false;
	}
	if (connect(c, config, why, sizeof why))
		return true;
	complain("%s", why);
	return false;
}

bool
client_open(struct client *c, const struct context *context, int *status)
{
	return open_by(c, context, status, client_connect);
}

bool
client_open_any(struct client *c, const struct context *context, int *status)
{
	return open_by(c, context, status, connect_any);
}

void
client_close(struct client *c)
{
	store_close(c->store, now_by(CLOCK_MONOTONIC));
	for (size_t i = 0; c->nodes && c->nodes[i]; i++)
		free(c->nodes[i]);
	free(c->nodes);
	config_free(c->config);
	explicit_bzero(c, sizeof *c);
}

void
client_tell_masters(const struct client *c)
{
	struct store_node n;

	for (unsigned i = 0; store_node(c->store, i, &n); i++)
		if (n.is_ready && n.trouble[0])
			complain("%s: %s", n.address, n.trouble);
}

struct waiting {
	client_take *take;
	void *arg;
	bool is_done, is_answered, is_refused;
};

static void
take_answer(void *arg, uint64_t label, const struct store_value *v, uint64_t now_ns)
{
	struct waiting *w = arg;

	(void)label;
	(void)now_ns;
	w->is_done = true;
	w->is_refused = v && v->type == STORE_ERROR;
	if (w->is_refused)
		complain("the store says: %.200s", v->text);
	w->is_answered = v && v->type != STORE_ERROR;
	if (w->is_answered && w->take)
		w->take(w->arg, v);
}

static bool
ask(struct client *c, struct store_question q, client_take *take, void *arg)
{
	uint64_t end_ns = now_by(CLOCK_MONOTONIC) + PATIENCE_NS;
	struct waiting w = {.take = take, .arg = arg};
	int error = -EAGAIN;

	q.answer = take_answer;
	q.arg = &w;
	while (error == -EAGAIN && now_by(CLOCK_MONOTONIC) < end_ns) {
		error = store_ask(c->store, &q, now_by(CLOCK_MONOTONIC));
		run(c);
	}
	while (error == 0 && !w.is_done)
		run(c);
	if (!w.is_done || (!w.is_answered && !w.is_refused))
		complain("%s", c->trouble[0] ? c->trouble : "the store does not answer");
	return w.is_answered;
}

bool
client_ask_bytes(struct client *c, const char *key, int argc, const char *const *argv,
                 const size_t *sizes, client_take *take, void *arg)
{
	struct store_question q = {
		.key = key, .key_size = strlen(key), .argc = argc, .argv = argv, .sizes = sizes};

	return ask(c, q, take, arg);
}

bool
client_ask(struct client *c, const char *key, int argc, const char *const *argv, client_take *take,
           void *arg)
{
	return client_ask_bytes(c, key, argc, argv, NULL, take, arg);
}

bool
client_ask_node(struct client *c, unsigned node, int argc, const char *const *argv,
                client_take *take, void *arg)
{
	struct store_question q = {.node = node, .argc = argc, .argv = argv};

	return ask(c, q, take, arg);
}

/* ---- what the store calls a key ---- */

struct tags {
	char (*to)[CLIENT_KEY];
	unsigned count, limit;
};

static int
take_tag(const struct rl_share *share, void *arg)
{
	struct tags *t = arg;

	if (t->limit != CLIENT_EACH_LIMIT && t->limit != share->limit)
		return 0;
	if (share->has_hash && t->count < CLIENT_KEYS)
		snprintf(t->to[t->count++], CLIENT_KEY, "%016" PRIx64 "%016" PRIx64, share->hash[0],
		         share->hash[1]);
	return 0;
}

static void
ignore(enum config_level level, const char *text, void *arg)
{
	(void)level;
	(void)text;
	(void)arg;
}

/*
 * In a segment of its own a request that is too much for a host without a share leaves a wish, and
 * that has the hash.
 */
unsigned
client_tags(struct client *c, const char *rule, const char *key, unsigned limit,
            char tags[static CLIENT_KEYS][CLIENT_KEY])
{
	struct rl_options o = config_options(c->config);
	struct rl_config_outcome outcome;
	struct tags found = {.to = tags, .limit = limit};
	struct rl_rule_info info;
	struct rl *rl = NULL;
	uint64_t from = 0;
	int handle;

	o.keys = 16;
	if (rl_open_private(&o, &rl) < 0 || rl_cluster_secret(rl, c->secret.bytes) < 0 ||
	    config_apply(rl, c->config, 0, &outcome, ignore, NULL) < 0) {
		complain("there is no memory for a segment to look the key up in");
		return 0;
	}
	handle = rl_find(rl, rule);
	if (handle < 0 || rl_rule_info(rl, handle, &info) != 1) {
		complain("%s: no rule '%s'", c->config->path, rule);
	} else {
		for (unsigned i = 0; i < info.limit_count; i++)
			rl_check(rl, handle, key, strlen(key), info.limits[i].capacity, NULL);
		rl_share_wishes(rl, &from, UINT32_MAX, rl_now(rl), take_tag, &found);
		if (found.count == 0)
			complain("rule '%s' has no limit of the cluster", rule);
	}
	rl_close(rl);
	return found.count;
}

uint64_t
client_now_ns(void)
{
	return now_by(CLOCK_REALTIME);
}
