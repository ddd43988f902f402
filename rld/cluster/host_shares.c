/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_shares.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define LOOK_NS (100 * RL_MILLISECOND)
#define ROUND_NS (10 * RL_MILLISECOND)
#define HURRY_NS RL_MILLISECOND /* a round, until HURRY_FOR_NS after a caller waited */
#define HURRY_FOR_NS RL_SECOND
#define TRY_NS (2 * RL_MILLISECOND) /* after it who waits comes again, and is denied once more */
#define SCAN_SLOTS 65536u           /* a round, at the start */
#define KEY_TEXT 48

/* ---- what is known of a key ---- */

static uint64_t
draw(struct host_shares *l)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random;
}

static void
count_share(struct host_shares *l, struct key *key, int rule, uint32_t share)
{
	if (key->share > 0)
		rule_shares_change(&l->of_rules, key->rule, key->share, 0);
	key->share = rule_shares_change(&l->of_rules, rule, 0, share) ? share : 0;
	key->rule = rule;
}

/* A share whose lease is known, or whose end is. */
static void
hold(struct host_shares *l, struct key *key, const struct rl_share *s, uint64_t until_ns)
{
	count_share(l, key, s->rule, s->share);
	if (key->lease_ns > 0)
		leases_remove(&l->leases, key->lease_ns);
	key->lease_ns = until_ns;
	leases_add(&l->leases, until_ns);
}

static void
hold_nothing(struct host_shares *l, struct key *key)
{
	if (key->lease_ns == 0)
		return;
	count_share(l, key, key->rule, 0);
	leases_remove(&l->leases, key->lease_ns);
	key->lease_ns = 0;
}

/* Who is denied of it is told to come again, or not. */
static void
tell_dry(struct host_shares *l, struct key *key, bool is_dry, uint64_t segment_ns)
{
	if (key->is_dry != is_dry && rl_share_dry(l->rl, &key->of, is_dry, segment_ns) == 0)
		key->is_dry = is_dry;
}

/*
 * The slot has become another key's, or nothing is left to remember: what stands in the store
 * lapses.
 */
static void
forget(struct host_shares *l, uint32_t number)
{
	hold_nothing(l, &l->keys.of[number]);
	keys_remove(&l->keys, number);
}

static bool
is_same(const struct rl_incarnation *a, const struct rl_incarnation *b)
{
	return a->table == b->table && a->slot == b->slot && a->tag == b->tag;
}

/* Has it moved from the one place to the other? A share that nobody here has set was brought. */
static bool
has_moved(const struct rl_incarnation *from, const struct rl_share *s)
{
	return from->table != s->of.table && s->share > 0;
}

static struct policy_seen
seen_of(const struct rl_share *s, bool is_wished)
{
	return (struct policy_seen){
		.share = s->share,
		.load = s->load,
		.is_wished = is_wished,
		.denied = s->denied,
		.largest = s->largest,
		.is_waiting = s->waits != 0,
	};
}

static uint32_t
claim(struct host_shares *l, const struct rl_share *s, uint64_t segment_ns)
{
	uint32_t number = keys_find(&l->keys, s->of.key_hash);
	struct key *key = number != KEYS_NONE ? &l->keys.of[number] : NULL;
	struct policy_seen seen = seen_of(s, false);

	if (key && (is_same(&key->of, &s->of) || has_moved(&key->of, s))) {
		key->of = s->of;
		return number;
	}
	if (key)
		forget(l, number);
	number = keys_claim(&l->keys, &s->of);
	if (number == KEYS_NONE)
		return number;
	key = &l->keys.of[number];
	policy_begin(&key->policy, &seen, segment_ns);
	key->rule = s->rule;
	key->name =
		(struct key_name){.table = s->of.table, .slot = s->of.slot, .number = s->number};
	return number;
}

static struct policy_limit
limit_of(struct host_shares *l, const struct rl_share *s)
{
	struct policy_limit p = {
		.capacity = s->shared,
		.blind = s->blind,
		.window_ns = s->hold_ns,
		.lease_ns = l->lease_ns,
		.look_ns = LOOK_NS,
		.answer_ns = l->timeout_ns,
		.hosts = l->hosts,
	};
	struct rl_rule_info rule;

	if (rl_rule_info(l->rl, s->rule, &rule) == 1 && s->limit < rule.limit_count) {
		const struct rl_limit *limit = &rule.limits[s->limit];

		p.is_bucket =
			limit->algorithm == RL_TOKEN_BUCKET || limit->algorithm == RL_LEAKY_BUCKET;
		p.window_ns = limit->window_ns;
	}
	return p;
}

/* ---- questions ---- */

struct question {
	char key[KEY_TEXT], over[KEY_TEXT];
	char host[IDENTITY_TEXT + 64];
	char numbers[SCRIPT_ARGUMENTS][24];
};

static void
write_number(struct question *q, enum script_argument a, uint64_t n)
{
	snprintf(q->numbers[a], sizeof q->numbers[a], "%" PRIu64, n);
}

/* A share counts in windows until it has left them; a tenth more for clocks of different pace. */
static uint64_t
hold_ms(const struct rl_share *s)
{
	return (s->hold_ns + s->hold_ns / 10) / RL_MILLISECOND + 10;
}

static void
write_question(struct host_shares *l, struct question *q, const struct rl_share *s,
               const struct key_name *name, const struct policy_wish *wish,
               const struct policy_limit *limit, uint64_t seq)
{
	snprintf(q->key, sizeof q->key, "rl1:{%016" PRIx64 "%016" PRIx64 "}", s->hash[0],
	         s->hash[1]);
	snprintf(q->over, sizeof q->over, "rl1:o:{%016" PRIx64 "%016" PRIx64 "}", s->hash[0],
	         s->hash[1]);
	snprintf(q->host, sizeof q->host, "%s.%" PRIx64 ".%" PRIx64 ".%x", l->identity->text,
	         name->table, name->slot, name->number);
	write_number(q, SCRIPT_SEQ, seq);
	write_number(q, SCRIPT_WANT, wish->want);
	write_number(q, SCRIPT_NEED, wish->need);
	write_number(q, SCRIPT_LIMIT, s->shared);
	write_number(q, SCRIPT_IS_SHORT, wish->is_short);
	write_number(q, SCRIPT_LEASE_MS, l->lease_ns / RL_MILLISECOND);
	write_number(q, SCRIPT_HOLD_MS, hold_ms(s));
	write_number(q, SCRIPT_STARVE_MS, policy_starve_ns(limit) / RL_MILLISECOND);
	write_number(q, SCRIPT_IS_CALL, wish->is_call);
}

static store_answer take_answer;

/* The lower half of its seq goes along, so that an answer finds the key and nobody else's. */
static uint64_t
label_of(uint32_t number, uint64_t seq)
{
	return (uint64_t)number << 32 | (seq & UINT32_MAX);
}

static int
post(struct host_shares *l, uint32_t number, struct question *q, const struct rl_share *s,
     uint64_t seq)
{
	const char *argv[5 + SCRIPT_ARGUMENTS] = {"EVALSHA", store_script(l->store, SCRIPT_TAKE),
	                                          "2", q->key, q->over};
	const struct store_question ask = {
		.key = q->key,
		.key_size = strlen(q->key),
		.argc = 5 + SCRIPT_ARGUMENTS,
		.argv = argv,
		.is_durable = s->blind == 0 && !s->is_auto,
		.answer = take_answer,
		.arg = l,
		.label = label_of(number, seq),
	};

	argv[5] = q->host;
	for (int i = SCRIPT_SEQ; i < SCRIPT_ARGUMENTS; i++)
		argv[5 + i] = q->numbers[i];
	return store_ask(l->store, &ask, l->now_ns);
}

/* The word is what is asked for, or below, before the question is sent. */
static int
lower(struct host_shares *l, struct rl_share *s, const struct policy_wish *wish,
      uint64_t segment_ns)
{
	uint32_t before = s->share;
	int error;

	if (wish->want >= s->share)
		return 0;
	error = rl_share_lower(l->rl, &s->of, (uint32_t)wish->want, segment_ns, s);
	l->counts.lowered += error == 0 && s->share < before;
	return error;
}

static int
ask(struct host_shares *l, uint32_t number, struct rl_share *s, struct policy_wish *wish,
    const struct policy_limit *limit, uint64_t segment_ns)
{
	struct key *key = &l->keys.of[number];
	struct question q;
	uint64_t seq;
	int error;

	if (!s->has_hash) {
		l->counts.without_hash++;
		return 0;
	}
	error = lower(l, s, wish, segment_ns);
	if (error < 0)
		return error;
	wish->want = wish->want > s->load ? wish->want : s->load;
	wish->want = wish->want > s->share ? wish->want : s->share;
	if (s->share == 0)
		hold_nothing(l, key);
	else
		count_share(l, key, s->rule, s->share);
	seq = identity_next_seq(l->identity);
	keys_name(&l->keys, number, s->hash);
	write_question(l, &q, s, &key->name, wish, limit, seq);
	policy_asked(&key->policy, segment_ns, draw(l));
	key->seq = seq;
	error = post(l, number, &q, s, seq);
	l->counts.asks += error == 0;
	l->counts.unanswered += error < 0;
	return 0;
}

/* The rule has changed: what the store said goes for the capacity before, until it says more. */
static void
compare_capacity(struct key *key, const struct rl_share *s)
{
	if (s->shared != key->shared)
		key->policy.is_known = false;
	key->shared = s->shared;
}

/* Returns false where the key was forgotten. */
static bool
look(struct host_shares *l, uint32_t number, struct rl_share *s, bool is_wished,
     uint64_t segment_ns)
{
	struct key *key = &l->keys.of[number];
	struct policy_limit limit = limit_of(l, s);
	struct policy_seen seen = seen_of(s, is_wished);
	struct policy_wish wish;

	seen.is_called = key->is_called;
	seen.is_room = key->is_room;
	key->is_called = key->is_room = false;
	compare_capacity(key, s);
	wish = policy_look(&limit, &key->policy, &seen, segment_ns);
	if (wish.is_over ||
	    (wish.is_ask && ask(l, number, s, &wish, &limit, segment_ns) == -ESTALE)) {
		forget(l, number);
		return false;
	}
	tell_dry(l, key, policy_is_dry(&limit, &key->policy, segment_ns), segment_ns);
	keys_schedule(&l->keys, number, wish.next_ns);
	return true;
}

/* ---- a reset ---- */

struct held {
	struct host_shares *l;
	struct share_left of[RL_LIMITS_MAX];
	size_t count;
	uint64_t segment_ns;
};

static int
take_held(const struct rl_entry *entry, void *arg)
{
	struct held *h = arg;
	struct share_left *left = &h->of[h->count];
	uint32_t number;

	if (h->count == RL_LIMITS_MAX ||
	    rl_share_at(h->l->rl, entry->slot, h->segment_ns, &left->share) < 0)
		return 0;
	number = keys_find(&h->l->keys, left->share.of.key_hash);
	if (number == KEYS_NONE)
		return 0;
	left->name = h->l->keys.of[number].name;
	h->count++;
	return 0;
}

static bool
is_same_name(const struct key_name *a, const struct key_name *b)
{
	return a->table == b->table && a->slot == b->slot && a->number == b->number;
}

/*
 * Its count is forgotten, so nobody has to wait until that has left the window. An answer finds no
 * key.
 */
static int
give_back(struct host_shares *l, const struct share_left *left)
{
	const struct rl_share *s = &left->share;
	struct policy_limit limit = limit_of(l, s);
	struct policy_wish nothing = {0};
	uint32_t number = keys_find(&l->keys, s->of.key_hash);
	uint64_t seq = identity_next_seq(l->identity);
	struct rl_share now;
	struct question q;

	if (rl_share_read(l->rl, &s->of, rl_now(l->rl), &now) != -ESTALE)
		return 0;
	if (number != KEYS_NONE && is_same_name(&l->keys.of[number].name, &left->name))
		forget(l, number);
	if (!s->has_hash)
		return 0;
	write_question(l, &q, s, &left->name, &nothing, &limit, seq);
	return post(l, KEYS_NONE, &q, s, seq);
}

int
host_shares_reset(struct host_shares *l, int rule, const void *key, size_t key_len)
{
	struct held h = {.l = l, .segment_ns = rl_now(l->rl)};
	int error;

	if (rule != RL_ANY_RULE)
		rl_lookup(l->rl, rule, key, key_len, h.segment_ns, take_held, &h);
	error = rl_reset(l->rl, rule, key, key_len);
	for (size_t i = 0; i < h.count; i++)
		give_back(l, &h.of[i]);
	return error;
}

/* Without memory a share lapses with its lease and window. */
static void
leave(struct host_shares *l, const struct key_name *name, const struct rl_share *s)
{
	size_t room = l->left_room > 0 ? 2 * l->left_room : 64;
	struct share_left *grown = l->left;

	if (l->left_count == l->left_room) {
		grown = realloc(grown, room * sizeof *grown);
		if (!grown)
			return;
		l->left = grown;
		l->left_room = room;
	}
	grown[l->left_count++] = (struct share_left){.share = *s, .name = *name};
}

/*
 * Of what is reset the hash is known no more. What was asked for and not answered may have been
 * lent, too.
 */
static void
leave_all(struct host_shares *l, int rule)
{
	uint64_t segment_ns = rl_now(l->rl);
	struct rl_share s;

	for (uint32_t i = 0; i < l->keys.count; i++) {
		const struct key *key = &l->keys.of[i];

		if (key->tick != KEYS_NONE && (rule == RL_ANY_RULE || key->rule == rule) &&
		    (key->share > 0 || key->policy.is_open) &&
		    rl_share_read(l->rl, &key->of, segment_ns, &s) == 0)
			leave(l, &key->name, &s);
	}
}

/* Nobody waits for the store: what it does not take now it takes in another round. */
static void
give_back_some(struct host_shares *l)
{
	for (unsigned i = 0; i < SHARES_WORK && l->left_count > 0; i++) {
		if (give_back(l, &l->left[l->left_count - 1]) < 0)
			return;
		l->left_count--;
	}
	if (l->left_count > 0)
		return;
	free(l->left);
	l->left = NULL;
	l->left_room = 0;
}

int
host_shares_reset_many(struct host_shares *l, int rule, const struct rl_pattern *pattern)
{
	leave_all(l, rule);
	return rl_reset_matching(l->rl, rule, pattern, NULL);
}

/* ---- another secret ---- */

/* Ends the share in a word, whatever the daemon knows of it. */
static int
end_found(const struct rl_share *s, void *arg)
{
	struct host_shares *l = arg;
	struct rl_share ended;

	return s->share == 0 ? 0 : rl_share_end(l->rl, &s->of, rl_now(l->rl), &ended);
}

static int
end_all(struct host_shares *l)
{
	struct rl_info info;

	rl_info(l->rl, &info);
	return rl_share_scan(l->rl, 0, info.slots + info.slots_before, rl_now(l->rl), end_found, l);
}

int
host_shares_change_secret(struct host_shares *l, const unsigned char secret[32])
{
	int error = end_all(l);

	if (error < 0)
		return error;
	for (uint32_t i = 0; i < l->keys.count; i++)
		if (l->keys.of[i].tick != KEYS_NONE)
			forget(l, i);
	free(l->left);
	l->left = NULL;
	l->left_count = l->left_room = 0;
	return rl_cluster_secret(l->rl, secret);
}

/* ---- answers ---- */

/* Another host with this name has asked. All that was lent to the name is no longer used here. */
static void
become_another(struct host_shares *l, uint64_t segment_ns)
{
	struct rl_share s;
	bool is_cached;

	l->counts.foreign++;
	for (uint32_t i = 0; i < l->keys.count; i++) {
		struct key *key = &l->keys.of[i];

		if (key->tick == KEYS_NONE)
			continue;
		rl_share_end(l->rl, &key->of, segment_ns, &s);
		hold_nothing(l, key);
		key->seq = 0;
		key->policy.share = 0;
		key->policy.is_open = false;
	}
	is_cached = identity_renew(l->identity);
	l->report(l->report_arg, true,
	          is_cached
	                  ? "cluster: another host has this one's name, as a copied machine has; "
	                    "this "
	                    "one has taken a new name"
	                  : "cluster: another host has this one's name, as a copied machine has; "
	                    "this "
	                    "one has taken a new name, which could not be kept for its next start");
}

static void
set(struct host_shares *l, uint32_t number, const struct policy_answer *a, uint64_t until_ns,
    uint64_t segment_ns)
{
	struct key *key = &l->keys.of[number];
	struct policy_limit limit = {0};
	struct rl_share s;
	uint32_t to = a->share < UINT32_MAX ? (uint32_t)a->share : UINT32_MAX;

	if (rl_share_set(l->rl, &key->of, to, segment_ns, &s) < 0)
		return; /* stale: found at the next look; busy: asked again */
	l->counts.raised++;
	limit.window_ns = s.hold_ns;
	if (s.share > 0)
		hold(l, key, &s, until_ns);
	else
		hold_nothing(l, key);
	policy_answered(&key->policy, a, segment_ns, &limit);
	tell_dry(l, key, policy_is_dry(&limit, &key->policy, segment_ns), segment_ns);
	if (key->policy.unmet > 0) /* it may lack more, or wait no longer */
		keys_schedule(&l->keys, number, segment_ns + KEYS_TICK_NS);
}

static bool
is_answer(const struct store_value *v)
{
	for (size_t i = 0; i < ANSWERS; i++)
		if (store_integer(store_item(v, i), -1) < 0)
			return false;
	return v->count == ANSWERS;
}

static uint64_t
number_in(const struct store_value *v, enum script_answer i)
{
	return (uint64_t)store_integer(store_item(v, i), 0);
}

static void
take_answer(void *arg, uint64_t label, const struct store_value *v, uint64_t now_ns)
{
	struct host_shares *l = arg;
	uint32_t number = (uint32_t)(label >> 32);
	struct key *key = number < l->keys.count ? &l->keys.of[number] : NULL;
	uint64_t segment_ns = rl_now(l->rl), until_ns;

	(void)now_ns;
	l->counts.unanswered += v == NULL;
	if (!v || !is_answer(v))
		return; /* asked again when it is due */
	l->counts.answers++;
	l->answered_ns = segment_ns;
	if (!key || key->tick == KEYS_NONE || (key->seq & UINT32_MAX) != (label & UINT32_MAX)) {
		l->counts.late++;
		return;
	}
	if (number_in(v, ANSWER_SEQ) > key->seq) {
		become_another(l, segment_ns);
		return;
	}
	until_ns = key->policy.asked_ns + l->lease_ns;
	if (until_ns < l->until_ns || segment_ns >= until_ns) {
		l->counts.late++;
		return;
	}
	set(l, number,
	    &(struct policy_answer){
		    .share = number_in(v, ANSWER_SHARE),
		    .sum = number_in(v, ANSWER_SUM),
		    .hosts = number_in(v, ANSWER_HOSTS),
		    .capacity = number_in(v, ANSWER_LIMIT),
		    .other_starves = number_in(v, ANSWER_OTHER_STARVES) != 0,
	    },
	    until_ns, segment_ns);
}

/* ---- leases ---- */

static void
end_share(struct host_shares *l, uint32_t number, uint64_t segment_ns)
{
	struct key *key = &l->keys.of[number];
	struct rl_share s;
	int error = rl_share_end(l->rl, &key->of, segment_ns, &s);

	if (error == -EBUSY)
		return; /* the next round */
	l->counts.ended++;
	hold_nothing(l, key); /* the store has it until it is given back, or its life is over */
}

/*
 * Some of those whose lease ends soon, while the others' goes on. Returns whether all keys were
 * looked at.
 */
static bool
end_stragglers(struct host_shares *l, uint64_t before_ns, uint64_t segment_ns)
{
	uint32_t end = l->straggler + SHARES_WORK;

	for (; l->straggler < l->keys.count && l->straggler < end; l->straggler++) {
		const struct key *key = &l->keys.of[l->straggler];

		if (key->lease_ns > 0 && key->lease_ns < before_ns)
			end_share(l, l->straggler, segment_ns);
	}
	return l->straggler >= l->keys.count;
}

/*
 * All go on together to the earliest end of a lease, and half a lease at most. Where that is nearer
 * than an eighth, some were not renewed: theirs end, if others were; if none was, the store is
 * away, and shares_until stays. Where nothing is lent it goes on while the store answers.
 */
static void
advance(struct host_shares *l, uint64_t segment_ns)
{
	uint64_t eighth = l->lease_ns / 8, aim_ns = segment_ns + 4 * eighth, earliest_ns;

	if (segment_ns < l->advance_ns || l->to_scan > 0)
		return;
	if (l->leases.total == 0 && l->answered_ns + 2 * eighth < segment_ns)
		return; /* nothing is lent, and nobody would lend: each limit's 'away' holds */
	earliest_ns = leases_earliest(&l->leases, segment_ns);
	if (earliest_ns < segment_ns + 2 * eighth && l->answered_ns + eighth > segment_ns) {
		if (!end_stragglers(l, segment_ns + 2 * eighth, segment_ns))
			return;
		l->straggler = 0;
		earliest_ns = leases_earliest(&l->leases, segment_ns);
	}
	aim_ns = earliest_ns < aim_ns ? earliest_ns : aim_ns;
	if (aim_ns > l->until_ns && aim_ns > segment_ns && rl_share_advance(l->rl, aim_ns) == 0)
		l->until_ns = aim_ns;
	l->advance_ns =
		l->until_ns > segment_ns + 2 * eighth ? segment_ns + eighth : segment_ns + ROUND_NS;
}

/* ---- the round ---- */

struct visit {
	struct host_shares *l;
	uint64_t segment_ns;
};

/* Of a key whose hash is not known nobody could say where it moves to: its share ends at once. */
static int
take_found(const struct rl_share *s, void *arg)
{
	struct visit *v = arg;
	struct rl_share ended;
	uint32_t number;

	if (s->of.key_hash == 0)
		return rl_share_end(v->l->rl, &s->of, v->segment_ns, &ended);
	number = claim(v->l, s, v->segment_ns);
	if (number == KEYS_NONE)
		return 0;
	hold(v->l, &v->l->keys.of[number], s, v->l->until_ns > 0 ? v->l->until_ns : 1);
	keys_schedule(&v->l->keys, number, v->segment_ns + draw(v->l) % LOOK_NS);
	return 0;
}

static void
begin_scan(struct host_shares *l)
{
	struct rl_info info;

	rl_info(l->rl, &info);
	l->table = info.table;
	l->to_scan = info.slots + info.slots_before;
}

/*
 * From the last slot to the first, for that way keys move. One that could not be looked at: all
 * that again.
 */
static void
scan(struct host_shares *l, uint64_t segment_ns)
{
	struct visit v = {l, segment_ns};
	uint64_t count = l->to_scan < SCAN_SLOTS ? l->to_scan : SCAN_SLOTS;
	struct rl_info info;
	int error;

	if (count == 0)
		return;
	error = rl_share_scan(l->rl, l->to_scan - count, count, segment_ns, take_found, &v);
	rl_info(l->rl, &info);
	if (info.table != l->table)
		begin_scan(l);
	else if (error == 0 ||
	         error == -EINVAL) /* there were such slots before all keys had moved */
		l->to_scan -= count;
	else if (error == -ESTALE)
		begin_scan(l);
}

/*
 * Who waits was denied as often as he came since the last round, so that only a part of it was
 * denied; what is lacking then is asked for a round later.
 */
static uint32_t
denied_once(const struct rl_share *s, uint64_t since_ns)
{
	uint64_t tries = s->waits ? 1 + since_ns / TRY_NS : 1;
	uint32_t part = (uint32_t)(s->denied / tries);

	return part > s->largest ? part : s->largest;
}

static int
take_wish(const struct rl_share *s, void *arg)
{
	struct visit *v = arg;
	struct rl_share copy = *s;
	uint32_t number;

	if (s->of.key_hash == 0) { /* a worker that wishes again writes its record again */
		v->l->counts.without_hash++;
		return 0;
	}
	copy.denied = denied_once(s, v->segment_ns - v->l->round_ns);
	if (s->waits)
		v->l->hurry_ns = v->segment_ns + HURRY_FOR_NS;
	number = claim(v->l, s, v->segment_ns);
	if (number != KEYS_NONE)
		look(v->l, number, &copy, true, v->segment_ns);
	return 0;
}

static unsigned
look_at_due(struct host_shares *l, uint64_t segment_ns)
{
	unsigned done = 0;
	uint32_t number;

	while (done < SHARES_WORK && (number = keys_next_due(&l->keys, segment_ns)) != KEYS_NONE) {
		struct rl_share s;
		int error = rl_share_read(l->rl, &l->keys.of[number].of, segment_ns, &s);

		if (error == -EBUSY)
			keys_schedule(&l->keys, number, segment_ns + LOOK_NS);
		else if (error < 0)
			forget(l, number);
		else {
			l->keys.of[number].of = s.of;
			look(l, number, &s, false, segment_ns);
		}
		done++;
	}
	return done;
}

/* Who has nothing of it and lacks nothing does not mind. */
void
host_shares_hear(struct host_shares *l, const uint64_t hash[2], bool is_room)
{
	uint32_t number = keys_named(&l->keys, hash);
	struct key *key = number != KEYS_NONE ? &l->keys.of[number] : NULL;

	if (!key || (key->policy.share == 0 && key->policy.unmet == 0 && key->policy.misses == 0))
		return;
	l->counts.heard++;
	key->is_room |= is_room;
	key->is_called |= !is_room;
	keys_schedule(&l->keys, number, rl_now(l->rl));
}

uint64_t
host_shares_run(struct host_shares *l, uint64_t now_ns)
{
	uint64_t segment_ns = rl_now(l->rl);
	struct visit v = {l, segment_ns};

	l->now_ns = now_ns;
	scan(l, segment_ns);
	if (l->is_allowed) {
		rl_share_wishes(l->rl, &l->wished, SHARES_WORK, segment_ns, take_wish, &v);
		l->round_ns = segment_ns;
		look_at_due(l, segment_ns);
		give_back_some(l);
	}
	advance(l, segment_ns);
	l->counts.keys = l->keys.used;
	return now_ns + (segment_ns < l->hurry_ns ? HURRY_NS : ROUND_NS);
}

int
host_shares_open(struct host_shares *l, uint64_t now_ns)
{
	struct rl_cluster_info cluster;
	int error = rl_cluster_info(l->rl, &cluster);

	if (error < 0)
		return error;
	begin_scan(l);
	l->until_ns = cluster.shares_until_ns;
	l->random = now_ns | 1;
	leases_init(&l->leases, l->lease_ns, rl_now(l->rl));
	return keys_open(&l->keys, rl_now(l->rl)) ? 0 : -ENOMEM;
}

void
host_shares_close(struct host_shares *l)
{
	keys_close(&l->keys);
	rule_shares_free(&l->of_rules);
	free(l->left);
}
