/* SPDX-License-Identifier: BSD-2-Clause */
#include "lone.h"

#include <stdio.h>
#include <string.h>

#include "nodes.h"
#include "refused.h"

#define LONE_EVERY (3 * RL_SECOND) /* two masters lend side by side no longer */

/* What the nodes of a store that is no cluster are, by their numbers. */
struct candidates {
	const struct role *roles[MAP_NODES_MAX];
	uint16_t numbers[MAP_NODES_MAX];
	size_t count;
};

static bool
is_candidate(const struct store *s, const struct node *n)
{
	return s->options.sentinel ? n->is_named : n->is_seed;
}

static struct node *
node_of(struct store *s, const struct connection *c)
{
	for (unsigned i = 0; i < s->node_count; i++)
		if (&s->nodes[i]->c == c)
			return s->nodes[i];
	return NULL;
}

/* Returns false without room or memory. */
static bool
ask(struct store *s, struct connection *c, request_take *take, int argc, const char *const *argv,
    uint64_t now_ns)
{
	size_t size = 0;
	char *bytes = protocol_command(argc, argv, NULL, &size);
	struct request *r = bytes ? request_new(bytes, size, take, s) : NULL;

	if (!r)
		return false;
	s->pending++;
	connection_ask(c, r, now_ns);
	return true;
}

/* ---- whom to use ---- */

/* That it is over is told once somebody is used. */
static void
tell(struct store *s, struct node *n, const char *trouble, enum role_verdict verdict)
{
	char address[STORE_ADDRESS_MAX], text[STORE_ADDRESS_MAX + 240];

	if (strcmp(n->trouble, trouble) == 0)
		return;
	snprintf(n->trouble, sizeof n->trouble, "%s", trouble);
	if (trouble[0] == '\0' && verdict != ROLE_USE)
		return;
	address_text(&n->c.address, address);
	snprintf(text, sizeof text, "store %s: %s", address,
	         trouble[0] ? trouble : "there is one master, and it is asked");
	s->options.report(s->options.report_arg, trouble[0] != '\0', text);
}

static const char *
trouble_of(const struct role_choice *choice, size_t number, const struct role *role)
{
	if (role->kind == ROLE_REPLICA && choice->verdict == ROLE_NOBODY)
		return "it is a replica, and none of 'nodes' is a master that answers: nobody is "
		       "asked";
	if (role->kind != ROLE_MASTER || (choice->verdict == ROLE_USE && choice->number == number))
		return "";
	if (choice->verdict == ROLE_TWO)
		return "two masters, and nothing tells the later one: neither is asked; make one a "
		       "replica of the other";
	if (choice->verdict == ROLE_OLD && choice->number == number)
		return role->epoch == 0 ? "it is empty, and others do not answer: it is not "
		                          "asked; start them, or take them out of 'nodes'"
		                        : "an old master: it is not asked; make it a replica";
	return "a master, too, and an earlier one: it is not asked; make it a replica";
}

static void
use(struct store *s, uint16_t number)
{
	s->is_known = true;
	map_single(&s->map, number);
	if (number != MAP_NOBODY)
		s->map.replicas[number] = s->nodes[number]->role.replicas;
	nodes_choose_wanted(s);
}

static void
take_claim(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	struct store *s = r->owner;
	uint64_t epoch = (uint64_t)store_integer(v, 0);
	struct node *n = node_of(s, c);

	s->pending--;
	s->is_asking = false;
	s->is_old |= epoch == 0;
	if (v && v->type == STORE_ERROR)
		refused_tell(s, c, v, now_ns);
	if (epoch > 0 && n) {
		s->epoch = epoch;
		use(s, nodes_number_of(s, &c->address));
	}
	store_value_free(v);
	request_free(r);
}

/* Before it is used: it may be the first time that it is a master. */
static void
claim(struct store *s, uint16_t number, uint64_t now_ns)
{
	struct node *n = s->nodes[number];
	const char *argv[] = {"EVAL", role_claim, "1", s->options.epoch_key, n->role.id};
	bool has_claimed = strcmp(n->role.id, n->role.epoch_id) == 0;

	if (has_claimed || n->role.kind != ROLE_MASTER || n->role.id[0] == '\0' ||
	    !s->options.epoch_key || s->options.is_observer) {
		s->epoch = n->role.epoch;
		use(s, number);
	} else {
		s->is_asking =
			connection_takes(&n->c, 1024) && ask(s, &n->c, take_claim, 5, argv, now_ns);
		s->is_old |= !s->is_asking;
	}
}

static struct candidates
find_candidates(const struct store *s)
{
	struct candidates c = {.count = 0};

	for (unsigned i = 0; i < s->node_count; i++)
		if (is_candidate(s, s->nodes[i])) {
			c.roles[c.count] = &s->nodes[i]->role;
			c.numbers[c.count++] = (uint16_t)i;
		}
	return c;
}

/* The one in use has not answered, and nobody else is a master: it stays. */
static bool
stays(const struct store *s, const struct role_choice *choice)
{
	uint16_t owner = s->map.owner[0];

	return choice->verdict == ROLE_NOBODY && owner < s->node_count &&
	       s->nodes[owner]->role.kind == ROLE_UNKNOWN;
}

/* Whoever is connected to for the first time is heard before somebody else is used. */
static bool
is_awaited(const struct node *n)
{
	return !n->c.is_ready && n->c.connected == 0 && n->c.reported[0] == '\0';
}

static void
decide(struct store *s, uint64_t now_ns)
{
	struct candidates c = find_candidates(s);
	struct role_choice choice = role_choose(c.roles, c.count, s->epoch);

	s->is_asking = false;
	for (size_t i = 0; i < c.count; i++)
		if (is_awaited(s->nodes[c.numbers[i]])) {
			s->is_old = true;
			return;
		}
	for (size_t i = 0; i < c.count; i++)
		tell(s, s->nodes[c.numbers[i]], trouble_of(&choice, i, c.roles[i]), choice.verdict);
	if (choice.verdict == ROLE_USE) {
		claim(s, c.numbers[choice.number], now_ns);
		return;
	}
	s->is_old = true;
	if (!stays(s, &choice))
		use(s, MAP_NOBODY);
}

/* ---- what they are ---- */

static void
end_answer(struct store *s, struct request *r, struct store_value *v, uint64_t now_ns)
{
	store_value_free(v);
	request_free(r);
	if (--s->pending == 0)
		decide(s, now_ns);
}

static void
take_role(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	struct store *s = r->owner;
	struct node *n = node_of(s, c);

	if (n) {
		role_read(&n->role, v);
		n->role.epoch = s->options.epoch_key ? 0 : 1; /* of all the same */
	}
	end_answer(r->owner, r, v, now_ns);
}

static void
take_epoch(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	struct node *n = node_of(r->owner, c);

	if (n)
		role_read_epoch(&n->role, v);
	end_answer(r->owner, r, v, now_ns);
}

static void
ask_role(struct store *s, struct node *n, uint64_t now_ns)
{
	const char *info[] = {"INFO", "replication"}, *get[] = {"GET", s->options.epoch_key};

	n->role = (struct role){0};
	if (!connection_takes(&n->c, 1024))
		return;
	ask(s, &n->c, take_role, 2, info, now_ns);
	if (s->options.epoch_key)
		ask(s, &n->c, take_epoch, 2, get, now_ns);
}

void
lone_begin(struct store *s, uint64_t now_ns)
{
	s->is_single = s->is_asking = true;
	s->is_old = false;
	s->map_next_ns = now_ns + LONE_EVERY;
	s->pending = 1; /* until all are asked */
	for (unsigned i = 0; i < s->node_count; i++)
		if (is_candidate(s, s->nodes[i]))
			ask_role(s, s->nodes[i], now_ns);
	if (--s->pending == 0)
		decide(s, now_ns);
}

void
lone_leave(struct store *s)
{
	s->is_old = true;
	use(s, MAP_NOBODY);
}

/* ---- Sentinels ---- */

static void
be_named(struct store *s, const struct store_address *a)
{
	uint16_t number = nodes_number_of(s, a);

	for (unsigned i = 0; i < s->node_count; i++)
		s->nodes[i]->is_named = i == number;
	nodes_choose_wanted(s);
}

/* What is of an epoch before counts only where no Sentinel is left that may know better. */
static void
end_naming(struct store *s, uint64_t now_ns)
{
	if (s->named.port != 0 && (s->naming_epoch >= s->named_epoch || s->unheard == 0)) {
		s->named_epoch = s->naming_epoch;
		be_named(s, &s->named);
	}
	lone_begin(s, now_ns);
}

static void
take_named(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	struct store *s = r->owner;
	struct store_address a;
	uint64_t epoch;

	if (v && v->type == STORE_ERROR)
		refused_tell(s, c, v, now_ns);
	s->unheard += v == NULL;
	if (role_named(v, &a, &epoch) && (s->named.port == 0 || epoch > s->naming_epoch)) {
		s->named = a;
		s->naming_epoch = epoch;
	}
	store_value_free(v);
	request_free(r);
	if (--s->pending == 0)
		end_naming(s, now_ns);
}

void
lone_ask_sentinels(struct store *s, uint64_t now_ns)
{
	const char *argv[] = {"SENTINEL", "MASTER", s->options.sentinel};

	s->map_due_ns = now_ns + MAP_PAUSE;
	s->is_asking = true;
	s->is_old = false;
	s->named.port = 0;
	s->unheard = 0;
	s->pending = 1;
	for (unsigned i = 0; i < s->node_count; i++) {
		struct connection *c = &s->nodes[i]->c;

		if (s->nodes[i]->is_seed &&
		    (!connection_takes(c, 1024) || !ask(s, c, take_named, 3, argv, now_ns)))
			s->unheard++;
	}
	if (--s->pending == 0)
		end_naming(s, now_ns);
}
