/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl.h"

#include "decide/check.h"
#include "decide/each.h"
#include "decide/exception.h"
#include "decide/several.h"
#include "decide/sleep.h"
#include "decide/usual.h"

/* By what rl_usual_take() has taken of a look, or of several limits by the look. */
static inline __attribute__((always_inline)) int
check_usual(struct rl *rl, uint64_t kind, int rule, const void *key, size_t key_len, uint64_t cost,
            uint64_t now_ns, struct rl_result *result, const struct rl_policy_look *look,
            struct rl_usual *u)
{
	uint64_t hash = 0;

	if (kind != RL_POLICY_MORE || rl_each_asks_hash(look))
		hash = rl_hash_of_key(rl->segment.key_start, key, key_len);
	if (__builtin_expect((look->steps & RL_POLICY_ASKS) != 0, 0) &&
	    !rl_policy_has_none_for(rl, rule, look->version, key, key_len, hash))
		return kind != 0 ? RL_AGAIN
		                 : rl_exception_usual(rl, rule, key, key_len, cost, now_ns, result,
		                                      u->limit, u->quota.capacity, hash,
		                                      look->cached, look->sequence);
	if (kind == RL_POLICY_MORE)
		return rl_each_decide(rl, rule, key, key_len, hash, cost, now_ns, result, look);
	rl_usual_place(rl, hash, u);
	rl_table_prefetch(&rl->segment.table, &u->candidates);
	if (__builtin_expect(!rl_usual_find(rl, now_ns, u), 0))
		return RL_AGAIN;
	return rl_usual_decide(rl, kind, rule, key, key_len, cost, now_ns, result, u);
}

/*
 * A call of its own, and so are the next two: what it takes is no part of the frame of a usual
 * request.
 */
static __attribute__((noinline)) enum rl_verdict
check_any(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost, uint64_t now_ns,
          struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return rl_check_one(rl, rule, &item, NULL, now_ns, result);
}

static __attribute__((noinline)) int
check_other(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
            uint64_t now_ns, struct rl_result *result, const struct rl_policy_cached *cached,
            uint64_t sequence)
{
	const struct rl_policy_look look = rl_policy_looked(cached, sequence);
	struct rl_usual u;

	if (look.steps & (RL_POLICY_MORE | RL_POLICY_PREFIXES))
		return check_usual(rl, RL_POLICY_MORE, rule, key, key_len, cost, now_ns, result,
		                   &look, &u);
	return rl_usual_take(RL_POLICY_BUCKET, rule, cost, &look, &u)
	               ? check_usual(rl, RL_POLICY_BUCKET, rule, key, key_len, cost, now_ns, result,
	                             &look, &u)
	               : RL_AGAIN;
}

/* Rule and key alone, at a time that is known. RL_AGAIN: it is no usual request. */
static inline __attribute__((always_inline)) int
check(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost, uint64_t now_ns,
      struct rl_result *result)
{
	struct rl_policy_look look;
	struct rl_usual u;

	if (key_len - 1 >= RL_KEY_MAX || !key || !rl_usual_look(rl, rule, now_ns, &look))
		return RL_AGAIN;
	if (__builtin_expect(!rl_usual_take(0, rule, cost, &look, &u), 0))
		return look.steps & (RL_POLICY_BUCKET | RL_POLICY_MORE | RL_POLICY_PREFIXES)
		               ? check_other(rl, rule, key, key_len, cost, now_ns, result,
		                             look.cached, look.sequence)
		               : RL_AGAIN;
	return check_usual(rl, 0, rule, key, key_len, cost, now_ns, result, &look, &u);
}

/* By the caller's own copy, as often as it is slept. */
static __attribute__((noinline)) enum rl_verdict
check_asleep(struct rl *rl, const struct rl_item *item, struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_item own = *item;
	struct rl_sleep sleep = {0};
	enum rl_verdict verdict;

	do
		verdict = rl_check_one(rl, own.rule, &own, NULL, rl_request_now(rl, own.now_ns), r);
	while (rl_sleep_on(&sleep, rl, &own, 1, r));
	return verdict;
}

static __attribute__((noinline)) enum rl_verdict
check_any_item(struct rl *rl, const struct rl_item *item, struct rl_result *result)
{
	if (rl_sleeps(item, 1))
		return check_asleep(rl, item, result);
	return rl_check_one(rl, item->rule, item, NULL, rl_request_now(rl, item->now_ns), result);
}

static __attribute__((noinline)) enum rl_verdict
check_plain_item(struct rl *rl, const struct rl_item *item, struct rl_result *result)
{
	uint64_t now_ns = item->now_ns > 0 ? item->now_ns : rl_request_clock(rl);
	int decided = check(rl_here_known(rl), item->rule, item->key, item->key_len, item->cost,
	                    now_ns, result);

	return __builtin_expect(decided != RL_AGAIN, 1) ? (enum rl_verdict)decided
	                                                : check_any_item(rl, item, result);
}

enum rl_verdict
rl_check_item(struct rl *rl, const struct rl_item *item, struct rl_result *result)
{
	return item->charges || rl_request_has_own(item) ? check_any_item(rl, item, result)
	                                                 : check_plain_item(rl, item, result);
}

enum rl_verdict
rl_check(struct rl *app, int rule, const void *key, size_t key_len, uint64_t cost,
         struct rl_result *result)
{
	struct rl *rl = rl_here_known(app);
	uint64_t now_ns = rl_now(app);
	int decided = check(rl, rule, key, key_len, cost, now_ns, result);

	return __builtin_expect(decided != RL_AGAIN, 1)
	               ? (enum rl_verdict)decided
	               : check_any(rl, rule, key, key_len, cost, now_ns, result);
}

/* What a peek is asked of an item is the same whatever it costs. */
static enum rl_verdict
peek(struct rl *rl, int rule, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	struct rl_item own;
	int decided = RL_AGAIN;

	now_ns = rl_clamp_now(now_ns);
	if (!item->charges && !rl_request_has_own(item))
		decided = rl_usual_peek(rl_here_known(rl), rule, item->key, item->key_len, now_ns,
		                        result);
	if (decided != RL_AGAIN)
		return (enum rl_verdict)decided;
	own = *item;
	own.cost = 0;
	return rl_check_one(rl, rule, &own, NULL, now_ns, result);
}

enum rl_verdict
rl_peek(struct rl *rl, int rule, const void *key, size_t key_len, struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len};

	return peek(rl, rule, &item, rl_now(rl), result);
}

enum rl_verdict
rl_reserve(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
           uint64_t max_wait_ns, struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return rl_decide(rl, &item, 1, RL_RESERVE, max_wait_ns, result, NULL);
}

/* One item: no other says no, and it may spend what is prefetched. */
static enum rl_verdict
decide_one(struct rl *rl, const struct rl_item *item, enum rl_how how, uint64_t max_wait_ns,
           struct rl_result *result)
{
	const struct rl_booking booking = {.max_wait_ns = max_wait_ns};

	switch (how) {
	case RL_RESERVE:
		return rl_check_one(rl, item->rule, item, &booking,
		                    rl_request_now(rl, item->now_ns), result);
	case RL_PEEK:
		return peek(rl, item->rule, item, rl_request_now(rl, item->now_ns), result);
	default:
		return rl_check_item(rl, item, result);
	}
}

/* Each by itself: the first that is not allowed is said to have decided. */
static enum rl_verdict
decide_each(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results,
            size_t *decided)
{
	rl_check_many(rl, items, count, results);
	for (*decided = 0; *decided < count; ++*decided)
		if (results[*decided].verdict != RL_ALLOWED)
			return results[*decided].verdict;
	return RL_ALLOWED;
}

static enum rl_verdict
decide_all(struct rl *rl, const struct rl_item *items, size_t count, enum rl_how how,
           uint64_t max_wait_ns, struct rl_result *results, size_t *decided)
{
	const struct rl_booking booking = {.max_wait_ns = max_wait_ns};
	uint64_t now_ns = rl_request_now(rl, count > 0 ? items->now_ns : 0);
	struct rl_item looks[RL_ITEMS_MAX];

	*decided = count;
	if (how == RL_CHECK &&
	    rl_each_admit(rl_here_known(rl), items, count, now_ns, results) == RL_ALLOWED)
		return RL_ALLOWED;
	if (how == RL_PEEK && count <= RL_ITEMS_MAX) {
		for (size_t i = 0; i < count; i++) {
			looks[i] = items[i];
			looks[i].cost = 0;
		}
		items = looks;
	}
	return rl_several_check(rl, items, count, how == RL_RESERVE ? &booking : NULL, now_ns,
	                        results, decided);
}

/* Their own copies are tried again. Without a place for results nobody could say what decided. */
static enum rl_verdict
check_all(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results,
          size_t *decided)
{
	struct rl_item own[RL_ITEMS_MAX];
	struct rl_sleep sleep = {0};
	enum rl_verdict verdict;

	if (!results || count > RL_ITEMS_MAX || !rl_sleeps(items, count))
		return decide_all(rl, items, count, RL_CHECK, 0, results, decided);
	memcpy(own, items, count * sizeof *own);
	do
		verdict = decide_all(rl, own, count, RL_CHECK, 0, results, decided);
	while (verdict == RL_DENIED && *decided < count &&
	       rl_sleep_on(&sleep, rl, own, count, &results[*decided]));
	return verdict;
}

enum rl_verdict
rl_decide(struct rl *rl, const struct rl_item *items, size_t count, enum rl_how how,
          uint64_t max_wait_ns, struct rl_result *results, size_t *decided)
{
	enum rl_verdict verdict;
	size_t ignored;

	decided = decided ? decided : &ignored;
	*decided = 0;
	if (how > RL_EACH)
		return RL_UNDECIDED;
	if (how == RL_EACH)
		return decide_each(rl, items, count, results, decided);
	if (count != 1 && how == RL_CHECK)
		return check_all(rl, items, count, results, decided);
	if (count != 1)
		return decide_all(rl, items, count, how, max_wait_ns, results, decided);
	verdict = decide_one(rl, items, how, max_wait_ns, results);
	*decided = verdict == RL_ALLOWED;
	return verdict;
}

enum rl_verdict
rl_check_all(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results,
             size_t *decided)
{
	return rl_decide(rl, items, count, RL_CHECK, 0, results, decided);
}
