/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_OPTIONS_H
#define RLD_STORE_OPTIONS_H

/* How a store is reached. All texts are the caller's, and stay as long as the store is open. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_SCRIPTS 4

struct store_tls {
	const char *ca;   /* a file of certificates that are trusted; NULL: the system's */
	const char *cert; /* of this client, and its key; or NULL */
	const char *key;
	const char *name; /* that the server's certificate is to have; NULL: the node's host */
};

/* A line for a log. `is_trouble`: somebody should look; else it is well again. */
typedef void store_report(void *arg, bool is_trouble, const char *text);

/* What some client of the store has published; `text` is of `size` bytes, and a 0. */
typedef void store_hear(void *arg, const char *text, size_t size);

struct store_options {
	const char *const *nodes; /* "host:port" or "[address]:port": any of those there are */
	size_t node_count;
	const char *sentinel;  /* the nodes are Sentinels, and this is the master's name; or NULL */
	const char *epoch_key; /* where a store that is no cluster has its epoch; NULL: nowhere */
	bool is_observer;      /* who only looks raises no epoch */
	const char *user;      /* or NULL */
	const char *password;
	const char *name;            /* of this client, as CLIENT LIST shows it */
	const struct store_tls *tls; /* NULL: none */
	bool lends_without_replica;  /* what is durable is answered without one, too */
	uint64_t timeout_ns;         /* after which a question counts as not answered */
	const char *scripts[STORE_SCRIPTS];
	const char *channel; /* NULL: nothing is heard */
	store_hear *hear;
	void *hear_arg;
	store_report *report;
	void *report_arg;
};

#endif
