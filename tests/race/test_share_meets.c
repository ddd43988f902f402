/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A worker that charges, or is denied, under a share, and the lender who takes the wishes: each
 * comes whole before each access of the other (see intrude.h). Whatever their order, the lender has
 * seen what counts, or finds a wish the next time: no key waits for more than one look; and of what
 * was denied he is told all, once. And a
 * change of the share comes before each access of a charge: what was admitted and what counts are
 * as in one of both orders.
 */
#include "at.h"
#include "intrude.h"
#include "rl_cluster.h"

#define BLIND 1
#define SHARE 4
#define CAPACITY 100

static const struct rl_limit kinds[] = {
	{.algorithm = RL_SLIDING_WINDOW, .granularity = 4, .hard = 1},
	{.algorithm = RL_SLIDING_LOG},
	{.algorithm = RL_TOKEN_BUCKET, .burst = CAPACITY},
	{.algorithm = RL_LEAKY_BUCKET, .burst = CAPACITY - 1},
};

static struct rl_incarnation of_key;
static unsigned visits;
static uint32_t seen;   /* what counted at the last visit */
static uint32_t denied; /* what was told of it, in all */
static enum rl_verdict told;

static int
visit(const struct rl_share *share, void *arg)
{
	(void)arg;
	visits++;
	seen = share->load;
	denied += share->denied;
	of_key = share->of;
	return 0;
}

static void
take_wishes(struct rl *rl, int rule)
{
	uint64_t from = 0;

	(void)rule;
	assert_true(rl_share_wishes(rl, &from, UINT32_MAX, T0, visit, NULL) >= 0);
}

static void
ask(struct rl *rl, int rule)
{
	told = check(rl, rule);
}

static struct rl_share
read_share(struct rl *rl)
{
	struct rl_share s;

	assert_int_equal(rl_share_read(rl, &of_key, T0, &s), 0);
	return s;
}

/* A key with a share, of which so much is left, and no wish. */
static int
open_with(const struct rl_limit *kind, uint32_t left, struct rl **rl)
{
	const struct rl_options o = {
		.keys = 9, .ring = 2 * CAPACITY, .on_full = RL_FULL_DENY, .flags = RL_OPEN_CLUSTER};
	struct rl_limit limit = *kind;
	struct rl_share s;
	int rule;

	limit.capacity = CAPACITY;
	limit.window_ns = RL_SECOND;
	limit.scope = RL_SCOPE_CLUSTER;
	limit.away = RL_AWAY_CLOSED;
	limit.blind = BLIND;
	assert_int_equal(rl_open_private(&o, rl), 0);
	rule = rl_define(*rl, &(struct rl_rule){.name = "r", .limit = limit});
	assert_true(rule >= 0);
	assert_int_equal(rl_share_advance(*rl, 2 * T0), 0);
	assert_int_equal(check(*rl, rule), RL_ALLOWED);
	take_wishes(*rl, rule);
	assert_int_equal(rl_share_set(*rl, &of_key, SHARE, T0, &s), 0);
	for (uint32_t i = 1; i < SHARE + BLIND - left; i++)
		assert_int_equal(check(*rl, rule), RL_ALLOWED);
	take_wishes(*rl, rule);
	return rule;
}

static void
check_heard(struct rl *rl, int rule, int n)
{
	uint32_t load = read_share(rl).load;
	bool has_seen = visits > 0 && seen == load;

	visits = 0;
	take_wishes(rl, rule);
	if (!has_seen && (visits == 0 || seen != load))
		fail_msg("access %d: nobody hears of %u that count", n, load);
}

/* More than there is: it is denied, and noted. */
static void
wish(struct rl *rl, int rule)
{
	assert_int_equal(at_check(rl, rule, "k", 1, SHARE + BLIND, T0, NULL), RL_DENIED);
}

static void
meet(const struct rl_limit *kind, uint32_t left, call_fn *first, call_fn *second)
{
	bool has_come = true;

	for (int n = 1; has_come; n++) {
		struct rl *rl;
		int rule = open_with(kind, left, &rl);

		if (first == take_wishes) /* that there are some */
			wish(rl, rule);
		visits = denied = 0;
		has_come = intrude(rl, rule, first, second, n);
		if (!has_come)
			second(rl, rule);
		assert_int_equal(told, left > 0 ? RL_ALLOWED : RL_DENIED);
		check_heard(rl, rule, n);
		assert_int_equal(denied, (first == take_wishes ? SHARE + BLIND : 0) + (left == 0));
		rl_close(rl);
	}
}

static void
test_a_wish_is_heard(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		for (uint32_t left = 0; left < 2; left++) {
			meet(&kinds[i], left, ask, take_wishes);
			meet(&kinds[i], left, take_wishes, ask);
		}
	}
}

/* ---- changes of the share ---- */

static uint32_t to; /* UINT32_MAX: its lease is over */

static void
change(struct rl *rl, int rule)
{
	struct rl_share s;
	int error;

	(void)rule;
	if (to == UINT32_MAX)
		error = rl_share_end(rl, &of_key, T0, &s);
	else if (to < SHARE)
		error = rl_share_lower(rl, &of_key, to, T0, &s);
	else
		error = rl_share_set(rl, &of_key, to, T0, &s);
	assert_int_equal(error, 0);
}

struct outcome {
	enum rl_verdict told;
	uint32_t share, load;
};

static struct outcome
outcome_of(struct rl *rl)
{
	struct rl_share s = read_share(rl);

	return (struct outcome){told, s.share, s.load};
}

static bool
is_same(struct outcome a, struct outcome b)
{
	return a.told == b.told && a.share == b.share && a.load == b.load;
}

static struct outcome
one_after_the_other(const struct rl_limit *kind, uint32_t left, call_fn *first, call_fn *second)
{
	struct outcome outcome;
	struct rl *rl;
	int rule = open_with(kind, left, &rl);

	first(rl, rule);
	second(rl, rule);
	outcome = outcome_of(rl);
	rl_close(rl);
	return outcome;
}

/* Admitted is what the share of the outcome, or of before, has room for; nothing else counts. */
static void
check_outcome(struct outcome o, uint32_t left)
{
	uint32_t counted = SHARE + BLIND - left + (o.told == RL_ALLOWED);

	assert_int_equal(o.load, counted);
	if (to < SHARE) /* lowered, and not below what counts */
		assert_true(o.share + BLIND >= counted);
}

static void
change_meanwhile(const struct rl_limit *kind, uint32_t left, call_fn *first, call_fn *second)
{
	struct outcome a = one_after_the_other(kind, left, first, second);
	struct outcome b = one_after_the_other(kind, left, second, first);
	bool has_come = true;

	check_outcome(a, left);
	check_outcome(b, left);
	for (int n = 1; has_come; n++) {
		struct rl *rl;
		int rule = open_with(kind, left, &rl);
		struct outcome o;

		has_come = intrude(rl, rule, first, second, n);
		if (!has_come)
			second(rl, rule);
		o = outcome_of(rl);
		if (!is_same(o, a) && !is_same(o, b))
			fail_msg("algorithm %d, to %u, access %d: verdict %d, a share of %u, %u "
			         "count",
			         (int)kind->algorithm, to, n, (int)o.told, o.share, o.load);
		rl_close(rl);
	}
}

static void
test_a_charge_beside_a_change(void **state)
{
	static const uint32_t changes[] = {0, 2, SHARE, SHARE + 3, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		for (size_t c = 0; c < sizeof changes / sizeof changes[0]; c++) {
			for (uint32_t left = 0; left < 4; left++) {
				to = changes[c];
				change_meanwhile(&kinds[i], left, ask, change);
				change_meanwhile(&kinds[i], left, change, ask);
			}
		}
	}
}

/* ---- a key that its overflow counter counts ---- */

#define FILLERS 200
#define MUCH 400 /* what is blind, more than all fillers use */
/* of its overflow counter the next, in which what was charged counts still */
#define EPOCH (T0 + RL_SECOND)
#define LATE (EPOCH - RL_SECOND / 8)
#define EARLY    \
	(EPOCH - \
	 5 * RL_SECOND / 4) /* what was charged then is stale in that epoch, and not before */

static struct rl_incarnation filler[FILLERS];
static unsigned fillers;
static unsigned shares_set;

static int
keep_filler(const struct rl_share *share, void *arg)
{
	(void)arg;
	if (fillers < FILLERS)
		filler[fillers++] = share->of;
	return 0;
}

/* Whoever has come to a slot of which there was a wish is lent what he has not asked for. */
static int
give_to_new(const struct rl_share *share, void *arg)
{
	struct rl *rl = arg;
	struct rl_share s;

	for (unsigned i = 0; i < fillers; i++)
		if (share->of.slot == filler[i].slot && share->of.tag == filler[i].tag)
			return 0;
	shares_set += rl_share_set(rl, &share->of, SHARE, EPOCH + 1, &s) == 0;
	return 0;
}

static void
give_to_all_new(struct rl *rl, int rule)
{
	uint64_t from = 0;

	(void)rule;
	assert_true(rl_share_wishes(rl, &from, UINT32_MAX, EPOCH + 1, give_to_new, rl) >= 0);
}

static void
ask_later(struct rl *rl, int rule)
{
	told = at_check(rl, rule, "k", 1, 1, EPOCH + 1, NULL);
}

static void
wish_for_all(struct rl *rl, int rule)
{
	for (uint64_t key = 0; key < FILLERS; key++)
		at_check(rl, rule, &key, sizeof key, MUCH + 1, LATE, NULL);
}

/* All slots are others', who wish; the key was charged without one; one slot is soon stale. */
static int
open_full(struct rl **rl)
{
	const struct rl_options o = {
		.keys = 10, .ring = 8, .cells = 1, .buffer_ns = 1, .flags = RL_OPEN_CLUSTER};
	const struct rl_limit limit = {.capacity = 2 * MUCH,
	                               .window_ns = RL_SECOND,
	                               .granularity = 4,
	                               .hard = 1,
	                               .scope = RL_SCOPE_CLUSTER,
	                               .away = RL_AWAY_CLOSED,
	                               .blind = MUCH};
	uint64_t from = 0;
	int rule;

	fillers = shares_set = 0;
	assert_int_equal(rl_open_private(&o, rl), 0);
	rule = rl_define(*rl, &(struct rl_rule){.name = "r", .limit = limit});
	assert_true(rule >= 0);
	assert_int_equal(rl_share_advance(*rl, 2 * T0), 0);
	for (uint64_t key = 0; key < FILLERS; key++)
		at_check(*rl, rule, &key, sizeof key, 1, key > 0 ? LATE : EARLY, NULL);
	wish_for_all(*rl, rule);
	rl_share_wishes(*rl, &from, UINT32_MAX, LATE, keep_filler, NULL);
	assert_int_equal(at_check(*rl, rule, "k", 1, MUCH / 4, LATE, NULL), RL_ALLOWED);
	wish_for_all(*rl, rule);
	return rule;
}

/*
 * It was charged without a slot, and one is lent to before it has begun with that: the bound is the
 * host's.
 */
static void
test_a_share_before_the_first_charge(void **state)
{
	bool has_come = true;

	(void)state;
	for (int n = 1; has_come; n++) {
		unsigned count = MUCH / 4;
		struct rl *rl;
		int rule = open_full(&rl);

		has_come = intrude(rl, rule, ask_later, give_to_all_new, n);
		count += told == RL_ALLOWED;
		for (int i = 0; i < 2 * MUCH; i++)
			count += at_check(rl, rule, "k", 1, 1, EPOCH + 1, NULL) == RL_ALLOWED;
		if (count > (shares_set > 0 ? SHARE : 0) + MUCH)
			fail_msg("access %d: %u admitted", n, count);
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_wish_is_heard),
		cmocka_unit_test(test_a_charge_beside_a_change),
		cmocka_unit_test(test_a_share_before_the_first_charge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
