/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_CLIENT_H
#define RLCTL_CLIENT_H

/*
 * The store of a configuration, asked one question after the other. What a verb below cluster
 * shares.
 */

#include <cluster/secret.h>
#include <limits.h>
#include <load/load.h>
#include <store/store.h>

#include "base/command.h"

#define CLIENT_KEY 48 /* room for a key of the store's */
#define CLIENT_KEYS 8 /* of a rule: one for each limit */

struct client {
	struct config *config;
	struct secret secret, other; /* that is in use there, and of the two files the other one */
	char check[SECRET_CHECK];    /* that stands there; "" none */
	bool is_next;                /* the one in use is the next file's */
	struct store *store;
	char password[256];
	char trouble[320]; /* what was told last */
	struct store_tls tls;
	char **nodes;
};

/*
 * Read the configuration, connect, and wait until the store answers. False after a message: *status
 * is what to exit with.
 */
bool client_open(struct client *c, const struct context *context, int *status);

/* The same with whatever secret: c->check may be neither's. */
bool client_open_any(struct client *c, const struct context *context, int *status);

void client_close(struct client *c);

/*
 * The same of a configuration with 'cluster', which is the client's from now on. False after
 * writing why.
 */
bool client_connect(struct client *c, struct config *config, char *why, size_t size);

/* Complain of masters that are not asked: hosts may be there that nobody hears of here. */
void client_tell_masters(const struct client *c);

/* `v` is the callee's only during the call. */
typedef void client_take(void *arg, const struct store_value *v);

/* Ask, wait, and give the answer. False after a message: none came, or it is an error. */
bool client_ask(struct client *c, const char *key, int argc, const char *const *argv,
                client_take *take, void *arg);
/* The same with bytes that are no text: sizes[i] of argv[i]. */
bool client_ask_bytes(struct client *c, const char *key, int argc, const char *const *argv,
                      const size_t *sizes, client_take *take, void *arg);
/* The same of one node. */
bool client_ask_node(struct client *c, unsigned node, int argc, const char *const *argv,
                     client_take *take, void *arg);

/*
 * What the store calls a key of a rule, for each of its limits of the cluster, or that limit alone:
 * 32 hex digits. Returns how many, 0 after a message.
 */
#define CLIENT_EACH_LIMIT UINT_MAX
unsigned client_tags(struct client *c, const char *rule, const char *key, unsigned limit,
                     char tags[static CLIENT_KEYS][CLIENT_KEY]);

/* Unix time. */
uint64_t client_now_ns(void);

#endif
