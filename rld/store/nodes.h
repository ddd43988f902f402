/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_NODES_H
#define RLD_STORE_NODES_H

/* The nodes of a store, and all else that its parts share. */

#include <rl_admin.h>

#include "connection.h"
#include "listener.h"
#include "map.h"
#include "role.h"

#define MAP_PAUSE (100 * RL_MILLISECOND)
#define MAP_EVERY (10 * RL_SECOND)
#define SHA_TEXT 41

struct node {
	struct connection c;
	bool is_seed, is_named; /* is_named: by a Sentinel, as the master */
	uint64_t seen_connected;
	struct role role;  /* where it is no cluster's */
	char trouble[200]; /* of its role; "" none */
};

struct store {
	struct store_options options;
	struct tls_context *tls;
	int epoll;
	struct node *nodes[MAP_NODES_MAX];
	unsigned node_count;
	struct map map;
	struct listener listener;
	unsigned heard_from;                         /* node */
	bool is_single, is_known, is_old, is_asking; /* of the map */
	uint64_t map_due_ns, map_next_ns;
	unsigned map_from;
	unsigned pending; /* answers, until the nodes of a store that is no cluster were heard */
	uint64_t epoch;   /* the highest of a master that was used */
	uint64_t named_epoch;       /* the same of what Sentinels said */
	struct store_address named; /* in this round, and its epoch; port 0: nobody was */
	uint64_t naming_epoch;
	unsigned unheard; /* Sentinels, in this round */
	uint64_t random;
	char sha[STORE_SCRIPTS][SHA_TEXT];
	struct store_counts counts;
	bool is_partial;     /* some slots have no node, and that was told */
	bool is_refusing;    /* some questions were not answered, and that was told */
	uint64_t refused_ns; /* when last */
};

/* One more, maybe in the place of one that is left. NULL: there are too many, or no memory. */
struct node *nodes_add(struct store *s, const struct store_address *a);

/* A map_number, of the store. */
uint16_t nodes_number_of(void *store, const struct store_address *a);

/* All slots have a node that answers. */
bool nodes_are_whole(const struct store *s);

/* A trouble once, and once that it is over; *is_told is the memory of that. */
void nodes_tell(struct store *s, bool *is_told, bool is_trouble, const char *text);

/* Who is to be connected; and the others are so no more, once they have answered. */
void nodes_choose_wanted(struct store *s);
void nodes_drop_unwanted(struct store *s, uint64_t now_ns);

#endif
