/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is asked: nodes, their slots, and where else an answer sends a question.
 *
 * The map of slots is asked for when nothing is known, when an answer says that it is old, when a
 * node has gone, and every MAP_EVERY; of any node that answers, and no more often than every
 * MAP_PAUSE.
 */
#include "store.h"

#include <errno.h>
#include <openssl/evp.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lone.h"
#include "nodes.h"
#include "refused.h"

#define HOPS_MAX 4

/* ---- the map ---- */

static void
report_whether_partial(struct store *s)
{
	bool is_partial = map_slots(&s->map, MAP_NOBODY) > 0;

	nodes_tell(s, &s->is_partial, is_partial,
	           is_partial ? "store: some slots have no node: their keys get no shares"
	                      : "store: all slots have a node again");
}

/* Others say that they load their data, or that who asks is to say who he is. */
static bool
is_no_cluster(const struct store_value *v)
{
	return store_is_error(v, "ERR") || store_is_error(v, "NOPERM");
}

static void
take_map(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	struct store *s = r->owner;

	s->is_asking = false;
	s->map_next_ns = now_ns + MAP_EVERY;
	if (is_no_cluster(v)) {
		lone_begin(s, now_ns);
	} else if (map_read(&s->map, v, &c->address, nodes_number_of, s)) {
		s->is_single = s->is_old = false;
		s->is_known = true;
		nodes_choose_wanted(s);
		nodes_drop_unwanted(s, now_ns);
		report_whether_partial(s);
	} else if (v && v->type == STORE_ARRAY && v->count == 0) {
		nodes_tell(s, &s->is_partial, true,
		           "store: it is a cluster, and none of its nodes has a slot: redis-cli "
		           "--cluster create gives them theirs");
	}
	store_value_free(v);
	request_free(r);
}

/* Any node that answers, in turns. */
static struct connection *
anybody(struct store *s)
{
	for (unsigned i = 0; i < s->node_count; i++) {
		struct connection *c = &s->nodes[(s->map_from + i) % s->node_count]->c;

		if (connection_takes(c, 64)) {
			s->map_from = (s->map_from + i + 1) % s->node_count;
			return c;
		}
	}
	return NULL;
}

static void
ask_map(struct store *s, uint64_t now_ns)
{
	const char *argv[] = {"CLUSTER", "SLOTS"};
	struct connection *from = anybody(s);
	struct request *r;
	size_t size = 0;
	char *bytes;

	if (!from)
		return;
	bytes = protocol_command(2, argv, NULL, &size);
	r = request_new(bytes, size, take_map, s);
	if (!r)
		return;
	s->is_asking = true;
	s->map_due_ns = now_ns + MAP_PAUSE;
	connection_ask(from, r, now_ns);
}

static void
look_at_map(struct store *s, uint64_t now_ns)
{
	bool is_due = !s->is_known || s->is_old || now_ns >= s->map_next_ns;

	if (!is_due || s->is_asking || now_ns < s->map_due_ns)
		return;
	if (s->options.sentinel)
		lone_ask_sentinels(s, now_ns);
	else
		ask_map(s, now_ns);
}

/* ---- questions ---- */

/* The caller's request, beside the one that goes over the wire. */
struct asked {
	store_answer *answer;
	void *arg;
	uint64_t label;
};

static void
finish(struct store *s, struct request *r, const struct store_value *v, uint64_t now_ns)
{
	struct asked *a = r->arg;

	s->counts.answered += v != NULL;
	s->counts.unanswered += v == NULL;
	a->answer(a->arg, a->label, v, now_ns);
	free(a);
	request_free(r);
}

/* Errors that say nothing of the question: it is not answered. */
static bool
is_no_answer(const struct store_value *v)
{
	static const char *const words[] = {"TRYAGAIN", "CLUSTERDOWN", "LOADING",    "READONLY",
	                                    "BUSY",     "MASTERDOWN",  "UNKILLABLE", "NOREPLICAS",
	                                    "MISCONF",  "OOM",         "NOAUTH",     "NOPERM",
	                                    "MOVED",    "ASK",         "NOSCRIPT",   "ERR"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (store_is_error(v, words[i]))
			return true;
	return false;
}

static bool
resend(struct request *r, struct connection *to, uint64_t now_ns)
{
	if (++r->hops > HOPS_MAX || !connection_takes(to, r->size + 64))
		return false;
	connection_ask(to, r, now_ns);
	return true;
}

static void
take_nothing(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	(void)c;
	(void)now_ns;
	store_value_free(v);
	request_free(r);
}

static bool
say_asking(struct connection *to, uint64_t now_ns)
{
	const char *argv[] = {"ASKING"};
	size_t size = 0;
	char *bytes = protocol_command(1, argv, NULL, &size);
	struct request *r = request_new(bytes, size, take_nothing, NULL);

	if (!r)
		return false;
	connection_ask(to, r, now_ns);
	return true;
}

/* Send it on to where the answer says. */
static bool
follow(struct store *s, struct connection *from, struct request *r, const struct store_value *v,
       uint64_t now_ns)
{
	bool is_moved = store_is_error(v, "MOVED");
	struct store_address to;
	struct connection *c;
	unsigned slot;
	uint16_t node;

	if (!map_redirect(v->text, &from->address, &slot, &to))
		return false;
	node = nodes_number_of(s, &to);
	if (node == MAP_NOBODY)
		return false;
	c = &s->nodes[node]->c;
	c->is_wanted = true;
	s->counts.redirected++;
	s->is_old = true;
	if (is_moved) {
		s->map.owner[slot] = node;
		return resend(r, c, now_ns);
	}
	return connection_takes(c, r->size + 64) && say_asking(c, now_ns) && resend(r, c, now_ns);
}

/* True where it was sent again, and is not answered as yet. */
static bool
ask_again(struct store *s, struct connection *from, struct request *r, const struct store_value *v,
          uint64_t now_ns)
{
	if (store_is_error(v, "MOVED") || store_is_error(v, "ASK"))
		return follow(s, from, r, v, now_ns);
	if (!store_is_error(v, "NOSCRIPT") || r->hops > 0)
		return false;
	s->counts.reloaded++;
	connection_load_scripts(from, now_ns);
	return resend(r, from, now_ns);
}

static void
take_question(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	struct store *s = r->owner;

	if (v && is_no_answer(v)) {
		s->is_old |= !store_is_error(v, "NOSCRIPT");
		if (store_is_error(v, "READONLY") && s->is_single)
			lone_leave(s);
		if (ask_again(s, c, r, v, now_ns)) {
			store_value_free(v);
			return;
		}
		refused_tell(s, c, v, now_ns);
		store_value_free(v);
		v = NULL;
	} else if (v) {
		refused_answered(s, now_ns);
	}
	finish(s, r, v, now_ns);
	store_value_free(v);
}

static struct connection *
find(struct store *s, const struct store_question *q, unsigned *slot)
{
	unsigned node = q->node;

	*slot = 0;
	if (q->key) {
		*slot = store_slot(q->key, q->key_size);
		node = s->map.owner[*slot];
	}
	return node < s->node_count ? &s->nodes[node]->c : NULL;
}

static struct request *
compose(struct store *s, const struct store_question *q)
{
	struct asked *a = malloc(sizeof *a);
	size_t size = 0;
	struct request *r;

	if (!a)
		return NULL;
	*a = (struct asked){q->answer, q->arg, q->label};
	r = request_new(protocol_command(q->argc, q->argv, q->sizes, &size), size, take_question,
	                s);
	if (!r) {
		free(a);
		return NULL;
	}
	r->size = size;
	r->arg = a;
	r->is_durable = q->is_durable;
	return r;
}

int
store_ask(struct store *s, const struct store_question *q, uint64_t now_ns)
{
	unsigned slot;
	struct connection *c = find(s, q, &slot);
	struct request *r;

	if (!c || !connection_takes(c, STREAM_OUT_MAX / 8)) {
		s->counts.refused++;
		return -EAGAIN;
	}
	r = compose(s, q);
	if (!r)
		return -ENOMEM;
	if (!connection_takes(c, r->size)) {
		free(r->arg);
		request_free(r);
		s->counts.refused++;
		return -EAGAIN;
	}
	r->slot = slot;
	s->counts.asked++;
	connection_ask(c, r, now_ns);
	return 0;
}

/* ---- the whole ---- */

static bool
add_seeds(struct store *s, char *why, size_t size)
{
	for (size_t i = 0; i < s->options.node_count; i++) {
		struct store_address a;
		struct node *n = NULL;

		if (!address_parse(s->options.nodes[i], &a)) {
			snprintf(why, size, "node '%s': expected host:port", s->options.nodes[i]);
			return false;
		}
		n = nodes_add(s, &a);
		if (!n) {
			snprintf(why, size, "%s", strerror(ENOMEM));
			return false;
		}
		n->is_seed = true;
		n->c.is_sentinel = s->options.sentinel != NULL;
	}
	return true;
}

static void
name_scripts(struct store *s)
{
	for (int i = 0; i < STORE_SCRIPTS; i++) {
		const char *text = s->options.scripts[i];
		unsigned char sha[EVP_MAX_MD_SIZE];
		unsigned size = 0;

		if (!text || EVP_Digest(text, strlen(text), sha, &size, EVP_sha1(), NULL) != 1)
			continue;
		for (unsigned b = 0; b < size; b++)
			snprintf(s->sha[i] + b * 2, 3, "%02x", sha[b]);
	}
}

static bool
set_up(struct store *s, char *why, size_t size)
{
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0) {
		snprintf(why, size, "epoll: %s", strerror(errno));
		return false;
	}
	if (s->options.tls) {
		s->tls = tls_context_new(s->options.tls, why, size);
		if (!s->tls)
			return false;
	}
	return add_seeds(s, why, size);
}

struct store *
store_open(const struct store_options *options, uint64_t random, char *why, size_t size)
{
	struct store *s = calloc(1, sizeof *s);

	if (!s) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return NULL;
	}
	s->options = *options;
	s->random = random;
	s->epoll = -1;
	map_clear(&s->map);
	s->is_single = options->sentinel != NULL;
	name_scripts(s);
	if (set_up(s, why, size))
		return s;
	store_close(s, 0);
	return NULL;
}

void
store_close(struct store *s, uint64_t now_ns)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->node_count; i++)
		connection_close(&s->nodes[i]->c, now_ns);
	listener_close(&s->listener, now_ns);
	for (unsigned i = 0; i < s->node_count; i++)
		free(s->nodes[i]);
	tls_context_free(s->tls);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

int
store_fd(const struct store *s)
{
	return s->epoll;
}

/* One that has gone may have been replaced; one that is back may have other slots. */
static void
notice(struct store *s, struct node *n, bool was_ready)
{
	if (was_ready == n->c.is_ready && n->seen_connected == n->c.connected)
		return;
	n->seen_connected = n->c.connected;
	s->is_old = true;
	s->map_next_ns = 0;
	if (s->is_single && s->map.owner[0] < s->node_count && s->nodes[s->map.owner[0]] == n)
		lone_leave(s);
	nodes_choose_wanted(s);
}

/* In turns, beginning with the last one, of those that are asked. */
static const struct store_address *
next_to_hear(void *arg)
{
	struct store *s = arg;

	for (unsigned i = 0; i < s->node_count; i++) {
		unsigned n = (s->heard_from + i) % s->node_count;
		const struct connection *c = &s->nodes[n]->c;

		if (c->is_ready && map_slots(&s->map, (uint16_t)n) > 0) {
			s->heard_from = n;
			return &c->address;
		}
	}
	return NULL;
}

/* One that is asked no more may be of another store by now. */
static uint64_t
hear(struct store *s, uint64_t now_ns)
{
	if (s->listener.is_begun && (!s->nodes[s->heard_from]->c.is_wanted ||
	                             (s->is_single && s->map.owner[0] != s->heard_from)))
		listener_close(&s->listener, now_ns);
	return listener_run(&s->listener, &s->options, s->epoll, s->tls, next_to_hear, s, now_ns);
}

uint64_t
store_run(struct store *s, uint64_t now_ns)
{
	uint64_t due_ns = now_ns + MAP_EVERY, hear_ns;

	/* A request that is made meanwhile may add nodes. */
	for (unsigned i = 0; i < s->node_count; i++) {
		struct node *n = s->nodes[i];
		bool was_ready = n->c.is_ready;
		uint64_t next_ns;

		connection_wait(&n->c, now_ns);
		next_ns = connection_run(&n->c, now_ns);
		notice(s, n, was_ready);
		due_ns = next_ns < due_ns ? next_ns : due_ns;
	}
	look_at_map(s, now_ns);
	hear_ns = hear(s, now_ns);
	due_ns = hear_ns < due_ns ? hear_ns : due_ns;
	if (s->is_old || !s->is_known)
		due_ns = s->map_due_ns < due_ns && s->map_due_ns > now_ns ? s->map_due_ns : due_ns;
	return due_ns;
}

const char *
store_script(const struct store *s, unsigned i)
{
	return s->sha[i];
}

bool
store_is_whole(const struct store *s)
{
	return nodes_are_whole(s);
}

bool
store_node(const struct store *s, unsigned i, struct store_node *node)
{
	const struct connection *c;

	if (i >= s->node_count)
		return false;
	c = &s->nodes[i]->c;
	*node = (struct store_node){
		.is_ready = c->is_ready,
		.slots = map_slots(&s->map, (uint16_t)i),
		.replicas = s->map.replicas[i],
		.rtt_ns = c->rtt_ns,
		.connected = c->connected,
	};
	node->has_slots = node->slots > 0;
	address_text(&c->address, node->address);
	memcpy(node->trouble, c->reported[0] ? c->reported : s->nodes[i]->trouble,
	       sizeof node->trouble);
	return true;
}

void
store_counts(const struct store *s, struct store_counts *counts)
{
	*counts = s->counts;
	for (unsigned i = 0; i < s->node_count; i++) {
		counts->sent += s->nodes[i]->c.stream.sent;
		counts->received += s->nodes[i]->c.stream.received;
		store_times_join(&counts->times, &s->nodes[i]->c.times);
	}
}
