/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters by key. A space of counters is a rule with one limit, of the algorithm RL_COUNTER. So it
 * has a name, it is defined, forgotten and given away as rules are, and its keys lie in the table
 * like any others.
 *
 * A call finds the key's slot, loads the state, computes the next one, and replaces the state by
 * one CAS16. If another process was quicker, the call starts again from the find. The next state is
 * a function of the state that is there and the time. So the calls have an order, and a process
 * that is killed has done all of its call or nothing. A process that is killed between claiming a
 * slot and its CAS leaves a slot without a count. The sweep frees it, and so does a key that needs
 * a slot.
 *
 * A counter that is alive is never evicted: that would lose its count in silence. If there is no
 * slot, the call returns an error, whatever `on_full` says.
 */
#include <errno.h>

#include "algorithm/counter.h"
#include "decide/decide.h"
#include "evict/evict.h"
#include "move/migrate.h"
#include "rl.h"
#include "segment/record.h"
#include "segment/stats.h"
#include "segment/view.h"
#include "shared/reserved.h"

#define FIND_TRIES 16
#define TRY_STEPS 24    /* as a decision's, see there */
#define CLAIM_STEPS 64  /* to look at all slots and claim one */
#define EVICT_STEPS 512 /* to judge who is there */

struct operation {
	enum rl_counter_op op;
	int64_t amount;
	uint64_t expiry_ms; /* of one that is new, or set; 0: none is made, and the other's stays */
};

/* One call, made ready. */
struct call {
	struct rl *rl;
	const struct rl_compiled *limit;
	const void *key;
	size_t key_len;
	uint64_t now_ns;
	uint64_t key_hash; /* whatever the limit */
	struct rl_candidates candidates;
	struct operation op;
	struct rl_count *count;
};

/* -EAGAIN: what was read is of two configurations, or of a row that was given away meanwhile. */
static int
find_space_at(struct rl *rl, int space, uint64_t generation, const struct rl_compiled **limit)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_u128 refs, list;
	int id;

	if (rl_rules_in_force(s, space, generation, &refs) == RL_BANKS)
		return RL_EREMOVED;
	list = refs;
	id = rl_refs_take(s, &refs);
	*limit = rl_handle_limit(rl, id);
	if (!*limit)
		return rl_handle_no_limit(rl, id);
	if ((*limit)->rule != rl_rule_row(space) ||
	    !rl_rules_settle(s, space, generation, list, (*limit)->row) ||
	    !rl_compiled_holds(*limit))
		return -EAGAIN;
	return (*limit)->limiter.algorithm == RL_COUNTER ? 0 : -EINVAL;
}

/* The limit of a space. 0, -EINVAL: it is none, RL_EREMOVED, -ENOMEM, -EBUSY. */
static int
find_space(struct rl *rl, int space, const struct rl_compiled **limit)
{
	const uint64_t *generation = &rl->segment.header->generation;

	if (!rl_rules_had(&rl->segment, space))
		return -EINVAL;
	for (int tries = 0; tries < FIND_TRIES; tries++) {
		uint64_t g = rl_atomic_load(generation);
		int error = find_space_at(rl, space, g, limit);

		rl_atomic_fence(); /* all of it, and then whose it is: as a decision does */
		if (!rl_rules_has(&rl->segment, space))
			return RL_EREMOVED;
		if (rl_atomic_load(generation) == g && error != -EAGAIN)
			return error;
	}
	return -EBUSY;
}

static int
begin(struct rl *rl, int space, const void *key, size_t key_len, uint64_t now_ns, struct call *c)
{
	int error;

	if (key_len == 0)
		return RL_EEMPTY;
	if (key_len > RL_KEY_MAX)
		return -ENAMETOOLONG;
	error = find_space(rl, space, &c->limit);
	if (error < 0)
		return error;
	if (c->op.op != RL_COUNTER_GET && !rl->segment.is_writable)
		return -EROFS;
	c->rl = rl;
	c->key = key;
	c->key_len = key_len;
	c->now_ns = rl_clamp_now(now_ns);
	c->key_hash = rl_hash_of_key(rl->segment.key_start, key, key_len);
	rl_part_candidates(&rl->segment.table, c->limit, c->key_hash, &c->candidates);
	return 0;
}

static void
fill_count(const struct call *c, uint64_t value, uint64_t expiry_ms, bool is_new)
{
	if (!c->count)
		return;
	c->count->value = value;
	c->count->expires_after_ns = expiry_ms == RL_COUNTER_EXPIRY_NEVER
	                                     ? RL_NEVER_NS
	                                     : rl_until(expiry_ms * RL_MILLISECOND, c->now_ns);
	c->count->is_new = is_new;
}

/* What a counter becomes that is there. False: it stays as it is, and *done says why. */
static bool
change(const struct operation *op, uint64_t *value, uint64_t *expiry_ms, int *done)
{
	*done = op->op != RL_COUNTER_SET_NEW;
	if (op->op == RL_COUNTER_ADD) {
		*value = rl_counter_sum(*value, op->amount);
		return op->amount != 0;
	}
	if (op->op != RL_COUNTER_SET && op->op != RL_COUNTER_TOUCH)
		return false;
	if (op->op == RL_COUNTER_SET)
		*value = (uint64_t)op->amount;
	if (op->expiry_ms > 0)
		*expiry_ms = op->expiry_ms;
	return true;
}

/* Does the operation make one where there is none? */
static bool
makes(const struct operation *op)
{
	return op->expiry_ms > 0 && op->op != RL_COUNTER_TOUCH &&
	       (op->op != RL_COUNTER_ADD || op->amount > 0);
}

/* There is none, and there will be none. */
static int
fill_none(const struct call *c)
{
	fill_count(c, 0, 0, false);
	return 0;
}

static int
put(const struct call *c, struct rl_slot slot, const struct rl_view *v, uint64_t value,
    uint64_t expiry_ms, bool is_new)
{
	struct rl_u128 next = rl_counter_word(v->word, expiry_ms, value, v->slot_bits);

	if (rl_view_is_unused(v)) {
		rl_view_use(&c->rl->segment, slot, v);
		return -EAGAIN;
	}
	if (!rl_atomic_cas16(rl_table_state(&c->rl->segment.table, slot.index), v->word, next))
		return -EAGAIN;
	fill_count(c, value, expiry_ms, is_new);
	return 1;
}

static int
drop(const struct call *c, struct rl_slot slot, const struct rl_view *v)
{
	return rl_table_retire(&c->rl->segment.table, slot, v->word) ? 1 : -EAGAIN;
}

/* On a word that was seen: 1 done, 0 not, or -EAGAIN. */
static int
apply(const struct call *c, struct rl_slot slot, const struct rl_view *v)
{
	const struct operation *op = &c->op;
	uint64_t value, expiry_ms;
	int done;

	if (v->is_zero || rl_counter_has_expired(v->word, c->now_ns)) {
		if (!makes(op))
			return fill_none(c);
		value = op->op == RL_COUNTER_ADD ? rl_counter_sum(0, op->amount)
		                                 : (uint64_t)op->amount;
		return put(c, slot, v, value, op->expiry_ms, true);
	}
	value = rl_counter_value(v->word);
	expiry_ms = rl_counter_expiry_ms(v->word);
	if (op->op == RL_COUNTER_DROP)
		return drop(c, slot, v);
	if (change(op, &value, &expiry_ms, &done))
		return put(c, slot, v, value, expiry_ms, false);
	fill_count(c, value, expiry_ms, false);
	return done;
}

static void
write_name(const struct call *c, struct rl_slot slot)
{
	rl_record_write(&c->rl->segment, slot, c->key_hash ^ c->limit->salt, c->key, c->key_len);
}

/* While tables change: point the call at the table where its key is. 0 or -errno. */
static int
migrate(struct call *c)
{
	struct rl_sought k = {.rl = c->rl,
	                      .limit = c->limit,
	                      .candidates = c->candidates,
	                      .key_hash = c->key_hash,
	                      .now_ns = c->now_ns};
	int error = rl_migrate(&k);

	c->rl = k.rl;
	c->limit = k.limit;
	c->candidates = k.candidates;
	if (k.unnamed.tag != 0)
		write_name(c, k.unnamed);
	return error;
}

static int
full(const struct call *c)
{
	rl_stats_add(&c->rl->segment, c->limit->rule, RL_COUNT_full_undecided);
	return -ENOSPC;
}

/* Claim a slot for a key that has none: 1 *slot is LIVE, -EAGAIN, -ENOSPC. */
static int
claim(const struct call *c, struct rl_budget *budget, struct rl_slot *slot)
{
	const struct rl_segment *s = &c->rl->segment;

	rl_budget_take(budget, CLAIM_STEPS);
	if (!rl_evict_may_claim(c->rl, c->limit, &c->candidates, budget, c->now_ns))
		return full(c);
	switch (rl_table_claim(&s->table, &c->candidates, slot)) {
	case RL_CLAIM_NEW:
		write_name(c, *slot);
		rl_stats_add(s, c->limit->rule, RL_COUNT_inserted);
		return 1;
	case RL_CLAIM_FOUND:
		return 1;
	case RL_CLAIM_BUSY:
		return -EAGAIN;
	case RL_CLAIM_FULL:
		break;
	}
	rl_budget_take(budget, EVICT_STEPS);
	if (rl_evict_for(c->rl, c->limit, &c->candidates, budget, c->now_ns).is_freed)
		return -EAGAIN;
	return full(c);
}

/* One try. */
static int
attempt(const struct call *c, struct rl_budget *budget)
{
	const struct rl_segment *s = &c->rl->segment;
	struct rl_slot slot;
	struct rl_view v;
	int claimed;

	if (!rl_table_find(&s->table, &c->candidates, &slot)) {
		if (!makes(&c->op))
			return rl_table_is_left(&s->table) ? -EAGAIN : fill_none(c);
		claimed = claim(c, budget, &slot);
		if (claimed < 0)
			return claimed;
	}
	switch (rl_view_load(s, slot, &v)) {
	case RL_SEEN_DEAD:
		if (s->is_writable)
			rl_table_free(&s->table, slot);
		else if (c->op.op == RL_COUNTER_GET) /* whoever wrote it has dropped it */
			return fill_none(c);
		return -EAGAIN;
	case RL_SEEN_GONE:
		return -EAGAIN;
	case RL_SEEN:
		break;
	}
	return apply(c, slot, &v);
}

static int
run(struct rl *rl, int space, const void *key, size_t key_len, uint64_t now_ns, struct call *c)
{
	struct rl_budget budget;
	int done;

	rl = rl_here(rl);
	budget = rl_decision_budget(&rl->segment, 1);
	if (c->count)
		*c->count = (struct rl_count){0};
	done = begin(rl, space, key, key_len, now_ns, c);
	if (done < 0)
		return done;
	while (rl_budget_take(&budget, TRY_STEPS)) {
		done = rl_must_migrate(c->rl) ? migrate(c) : 0;
		if (done == 0)
			done = attempt(c, &budget);
		if (done != -EAGAIN)
			return done;
		rl_atomic_pause();
	}
	return -EBUSY;
}

/* A new counter lives so long. -EINVAL: longer than a word can say. */
static int
set_lifetime(struct operation *op, uint64_t now_ns, uint64_t lifetime_ns)
{
	if (lifetime_ns == 0)
		return 0;
	op->expiry_ms = rl_counter_expiry(rl_clamp_now(now_ns), lifetime_ns);
	return op->expiry_ms > 0 ? 0 : -EINVAL;
}

/* What the step asks for is within bounds, and has what it needs. */
static bool
is_sound(enum rl_counter_op op, const struct rl_counter_item *item)
{
	bool sets = op == RL_COUNTER_SET || op == RL_COUNTER_SET_NEW;

	if (op > RL_COUNTER_DROP || !RL_IS_RESERVED(item->reserved))
		return false;
	if ((op == RL_COUNTER_SET_NEW || op == RL_COUNTER_TOUCH) && item->lifetime_ns == 0)
		return false;
	return !sets || (uint64_t)item->amount <= RL_COUNT_MAX;
}

int
rl_counter_apply(struct rl *rl, enum rl_counter_op op, const struct rl_counter_item *item,
                 struct rl_count *count)
{
	struct call c = {.op = {.op = op, .amount = item->amount}, .count = count};
	uint64_t now_ns = item->now_ns > 0 ? item->now_ns : rl_segment_now(&rl->segment);
	int error = is_sound(op, item) ? 0 : -EINVAL;

	if (error == 0 && op != RL_COUNTER_GET && op != RL_COUNTER_DROP)
		error = set_lifetime(&c.op, now_ns, item->lifetime_ns);
	return error < 0 ? error : run(rl, item->space, item->key, item->key_len, now_ns, &c);
}
