/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/cluster.h"
#include "text/digits.h"
#include "text/duration.h"

#define TIMEOUT_DEFAULT (150 * RL_MILLISECOND)
#define LEASE_DEFAULT (30 * RL_SECOND)
#define NODES_MAX 64
#define PORT_DEFAULT "6379"

enum cluster_id {
	CLUSTER_NODES,
	CLUSTER_SENTINEL,
	CLUSTER_TLS,
	CLUSTER_USER,
	CLUSTER_PASSWORD,
	CLUSTER_SECRET,
	CLUSTER_TIMEOUT,
	CLUSTER_LEASE,
	CLUSTER_RULES,
	CLUSTER_WITHOUT_REPLICA,
	CLUSTER_IDS
};

enum tls_id {
	TLS_CA,
	TLS_CERT,
	TLS_KEY,
	TLS_SERVER_NAME,
	TLS_IDS
};

static void read_path(struct reader *, const struct field *, struct node, struct value *);

static const char *const rules_names[] = {"local", "shared", NULL};
static const char *const without_replica_names[] = {"deny", "lend", NULL};

static const struct field cluster_fields[] = {
	{"nodes", read_any, CLUSTER_NODES, 0, 0, NULL},
	{"sentinel", read_text, CLUSTER_SENTINEL, 0, 0, NULL},
	{"tls", read_any, CLUSTER_TLS, 0, 0, NULL},
	{"user", read_text, CLUSTER_USER, 0, 0, NULL},
	{"password_file", read_path, CLUSTER_PASSWORD, 0, 0, NULL},
	{"secret_file", read_path, CLUSTER_SECRET, 0, 0, NULL},
	{"timeout", read_duration, CLUSTER_TIMEOUT, 10 * RL_MILLISECOND, 10 * RL_SECOND, NULL},
	{"lease", read_duration, CLUSTER_LEASE, 5 * RL_SECOND, 300 * RL_SECOND, NULL},
	{"rules", read_word, CLUSTER_RULES, 0, 0, rules_names},
	{"without_replica", read_word, CLUSTER_WITHOUT_REPLICA, 0, 0, without_replica_names},
	{0},
};

static const struct field tls_fields[] = {
	{"ca", read_path, TLS_CA, 0, 0, NULL},
	{"cert", read_path, TLS_CERT, 0, 0, NULL},
	{"key", read_path, TLS_KEY, 0, 0, NULL},
	{"server_name", read_text, TLS_SERVER_NAME, 0, 0, NULL},
	{0},
};

/* A daemon has no directory that a relative path could be of. */
static void
read_path(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	const char *path = json_string_value(node.json);

	if (path && path[0] == '/') {
		read_text(reader, field, node, values);
		return;
	}
	report_value(reader->report, CONFIG_ERROR, node.token,
	             "expected the path of a file, from / on, got %s",
	             report_got(reader->report, node.token).text);
	value_set(reader, values, field->id, (struct value){.token = node.token, .is_bad = true});
}

static char *
copy(struct reader *reader, const struct value *value)
{
	const char *text = json_string_value(value->json);
	char *copied = text ? strdup(text) : NULL;

	if (text && !copied)
		report_memory(reader->report);
	return copied;
}

/* "host", "host:6379", "[::1]:6379": with brackets, or no colon in the host. */
static bool
splits(const char *text, const char **port, size_t *host_len)
{
	const char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
	const char *host = text[0] == '[' ? text + 1 : text;

	*host_len = end ? (size_t)(end - host) : strlen(host);
	if (text[0] == '[' && !end)
		return false;
	end = end ? end + (text[0] == '[') : host + *host_len;
	*port = *end == ':' ? end + 1 : PORT_DEFAULT;
	return *host_len > 0 && (*end == '\0' || *end == ':');
}

static bool
node_parse(const char *text, struct config_node *node)
{
	const char *port, *at;
	uint64_t number;
	size_t len;

	if (!splits(text, &port, &len))
		return false;
	at = port;
	if (!number_read(&at, &number) || *at != '\0' || number < 1 || number > 65535)
		return false;
	node->host = strndup(text + (text[0] == '['), len);
	node->port = (uint16_t)number;
	return true;
}

static void
visit_node(struct reader *reader, size_t index, struct node node, void *arg)
{
	struct config_cluster *cluster = arg;
	const char *text = json_string_value(node.json);
	struct config_node *to = &cluster->nodes[cluster->node_count];

	if (index >= NODES_MAX) {
		if (index == NODES_MAX)
			report_value(reader->report, CONFIG_ERROR, node.token,
			             "at most %d nodes; of a cluster a few are enough to find it",
			             NODES_MAX);
		return;
	}
	if (!text || !node_parse(text, to)) {
		report_value(reader->report, CONFIG_ERROR, node.token,
		             "expected \"host\", \"host:port\" or \"[address]:port\", got %s",
		             report_got(reader->report, node.token).text);
		return;
	}
	if (!to->host)
		report_memory(reader->report);
	cluster->node_count++;
}

static void
read_nodes(struct reader *reader, uint32_t owner, const struct value *list,
           struct config_cluster *cluster)
{
	if (!list->token) {
		report_name(reader->report, CONFIG_ERROR, owner,
		            "has no nodes; \"nodes\": [\"redis.example:6379\"]");
		return;
	}
	cluster->nodes = calloc(NODES_MAX, sizeof(*cluster->nodes));
	if (!cluster->nodes) {
		report_memory(reader->report);
		return;
	}
	each_element(reader, (struct node){list->json, list->token}, visit_node, cluster);
	if (json_is_array(list->json) && json_array_size(list->json) == 0)
		report_name(reader->report, CONFIG_ERROR, list->token, "is empty");
}

static void
read_tls(struct reader *reader, const struct value *object, struct config_cluster *cluster)
{
	static const struct field *const tables[] = {tls_fields, NULL};
	struct value v[TLS_IDS] = {0};

	read_fields(reader, (struct node){object->json, object->token}, tables, v);
	if (!v[TLS_CERT].token != !v[TLS_KEY].token)
		report_name(reader->report, CONFIG_ERROR, object->token,
		            "has a cert or a key, and needs both or none");
	cluster->has_tls = true;
	cluster->tls_ca = copy(reader, &v[TLS_CA]);
	cluster->tls_cert = copy(reader, &v[TLS_CERT]);
	cluster->tls_key = copy(reader, &v[TLS_KEY]);
	cluster->tls_server_name = copy(reader, &v[TLS_SERVER_NAME]);
}

static uint64_t
or_default(const struct value *value, uint64_t usual)
{
	return value->token && !value->is_bad ? value->number : usual;
}

/* Renewals are asked for in the last third but one of a lease. */
static void
warn_of_short_lease(struct reader *reader, const struct config_cluster *c, uint32_t timeout)
{
	if (c->timeout_ns > c->lease_ns / 3)
		report_value(reader->report, CONFIG_WARNING, timeout,
		             "is more than a third of the lease, %s: a share may end before the "
		             "answer to its renewal; the lease is to be %s or more",
		             duration_exact(c->lease_ns).text,
		             duration_exact(3 * c->timeout_ns).text);
}

void
read_cluster(struct reader *reader, struct node object, struct config *config)
{
	static const struct field *const tables[] = {cluster_fields, NULL};
	struct config_cluster *c = &config->cluster;
	struct value v[CLUSTER_IDS] = {0};

	read_fields(reader, object, tables, v);
	c->is_there = true;
	config->options.flags |= RL_OPEN_CLUSTER;
	read_nodes(reader, object.token, &v[CLUSTER_NODES], c);
	if (v[CLUSTER_TLS].token)
		read_tls(reader, &v[CLUSTER_TLS], c);
	c->sentinel = copy(reader, &v[CLUSTER_SENTINEL]);
	c->user = copy(reader, &v[CLUSTER_USER]);
	c->password_file = copy(reader, &v[CLUSTER_PASSWORD]);
	c->secret_file = copy(reader, &v[CLUSTER_SECRET]);
	c->timeout_ns = or_default(&v[CLUSTER_TIMEOUT], TIMEOUT_DEFAULT);
	c->lease_ns = or_default(&v[CLUSTER_LEASE], LEASE_DEFAULT);
	warn_of_short_lease(reader, c, v[CLUSTER_TIMEOUT].token);
	c->has_shared_rules = or_default(&v[CLUSTER_RULES], 0) != 0;
	c->lends_without_replica = or_default(&v[CLUSTER_WITHOUT_REPLICA], 0) != 0;
	if (c->user && !v[CLUSTER_PASSWORD].token)
		report_name(reader->report, CONFIG_ERROR, v[CLUSTER_USER].token,
		            "needs a \"password_file\"");
	if (!v[CLUSTER_SECRET].token)
		report_name(reader->report, CONFIG_ERROR, object.token,
		            "has no \"secret_file\": 32 bytes that all hosts have, by which keys "
		            "are hashed before they leave the host");
}
