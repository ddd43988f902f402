/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_MODEL_H
#define CONFIG_MODEL_H

/* A configuration in memory. */

#include <rl_admin.h>
#include <stdbool.h>

struct config_source;

struct config_node {
	char *host;
	uint16_t port;
};

/* The store that lends capacity to the hosts of a cluster. What is not said is NULL. */
struct config_cluster {
	bool is_there;
	struct config_node *nodes;
	size_t node_count;
	char *sentinel; /* the nodes are Sentinels: what they call the master */
	bool has_tls;
	char *tls_ca, *tls_cert, *tls_key; /* files */
	char *tls_server_name;
	char *user, *password_file;
	char *secret_file;          /* 32 bytes */
	uint64_t timeout_ns;        /* for an answer */
	uint64_t lease_ns;          /* of a share */
	bool has_shared_rules;      /* rules are the store's, else each host's own file's */
	bool lends_without_replica; /* strict limits, too */
};

/* A file as it was read, with every default filled in. */
struct config {
	char *path;
	char name[RL_NAME_MAX + 1]; /* of the segment */
	struct rl_options options;  /* to create it with: 0 where the file says nothing */
	uint32_t keys_most; /* rld: room for keys up to which it resizes the segment by itself; 0:
	                       it does not */
	char *group;        /* its group's name, or NULL; options.group is looked up */
	uint64_t gc_interval_ns; /* rld: aims to sweep every slot once in this time */
	struct config_cluster cluster;
	struct rl_config_rule *rules;
	size_t rule_count;
	struct config_source *source; /* where in the file each thing stands; private to config */
};

/* An empty one that is named after its file; NULL: no memory. */
struct config *config_create(const char *path);
void config_free(struct config *config);

/* The options a segment is created with: the file's, and defaults where it has none. */
struct rl_options config_options(const struct config *config);

/* Does the file say how long the ring is? Else it is as long as its rules need. */
bool config_says_ring(const struct config *config);

/* Limit number `i` of a rule, and how many it has. */
const struct rl_limit *config_limit(const struct rl_rule *rule, size_t i);
size_t config_limit_count(const struct rl_rule *rule);

/* Make the limits of a cluster limits of one host, as for all requests of all hosts at one. */
void config_join(struct config *config);

bool config_has_rule(const struct config *config, const char *name);

#endif
