/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters by key and units in flight can be counted in a slot alone. An attacker makes up keys of
 * such, of another rule than the users', which stay: counters for an hour, units that are never
 * given back. Users, each six times a minute, count for a minute, and hold a unit for as long as a
 * request takes, which is no time here. How many of these are refused?
 */
#include "pinned.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>

#include "at.h"
#include "dice.h"
#include "rl_admin.h"
#include "rl_flight.h"

#define ALONE_S 60
#define MEASURED_S 60
#define RATE 10000
#define HOUR (3600 * RL_SECOND)
#define MINUTE (60 * RL_SECOND)
#define START_NS (UINT64_C(1700000000) * RL_SECOND)

#define UNLUCKY 3 /* users who may have no room by the chance of the hash, where there are few */

/* What is promised at most of all places, in percent of what users ask for. */
static const struct flood {
	const char *name;
	uint32_t users;
	int is_held;  /* units; else counters */
	int is_first; /* the attack is there before the users */
	double units, counters;
} floods[] = {
	{"counters of another space", 5000, 0, 0, 25, 10},
	{"the same, there before the users", 5000, 0, 1, 25, 10},
	{"the same, 2,000 users", 2000, 0, 1, 1, 1},
	{"held units of another rule", 5000, 1, 0, 25, 10},
	{"the same, there before the users", 5000, 1, 1, 25, 10},
	{"the same, 2,000 users", 2000, 1, 1, 1, 1},
};

struct table {
	struct rl *rl;
	int attack, space, flight;
	uint64_t dice;
	uint32_t made_up;
	uint64_t asked, units, counters; /* refused of so many */
};

static int
check(int error, const char *what)
{
	if (error < 0)
		errx(2, "%s: %s", what, rl_strerror(error));
	return error;
}

static int
in_flight(struct rl *rl, const char *name)
{
	const struct rl_rule rule = {.name = name,
	                             .limit = {.algorithm = RL_IN_FLIGHT, .capacity = 5}};

	return check(rl_define(rl, &rule), name);
}

static void
table_open(struct table *t, const struct flood *f, uint32_t divisor)
{
	const struct rl_options o = {.keys = RL_KEYS_DEFAULT / divisor, .ring = 8};

	*t = (struct table){.dice = 1};
	check(rl_open_private(&o, &t->rl), "rl_open_private");
	t->attack = f->is_held ? in_flight(t->rl, "attack")
	                       : check(rl_define_counters(t->rl, "attack"), "attack");
	t->flight = in_flight(t->rl, "flight");
	t->space = check(rl_define_counters(t->rl, "space"), "space");
}

/* 1, or 0: there is no slot for it. */
static int
hold(struct table *t, int rule, const void *key, size_t len, uint64_t now_ns,
     struct rl_charges *charges)
{
	const struct rl_item item = {
		.rule = rule, .key = key, .key_len = len, .cost = 1, .charges = charges};
	struct rl_result r;

	return at_check_item(t->rl, &item, now_ns, &r) == RL_ALLOWED;
}

static int
add(struct table *t, int space, const void *key, size_t len, uint64_t lifetime_ns, uint64_t now_ns)
{
	int done = at_counter_add(t->rl, space, key, len, 1, lifetime_ns, now_ns, NULL);

	return done == -ENOSPC ? 0 : check(done, "rl_counter_apply");
}

static void
attack(struct table *t, const struct flood *f, uint64_t now_ns)
{
	uint64_t key = dice_mix(t->made_up++);
	struct rl_charges charges;

	if (f->is_held)
		hold(t, t->attack, &key, sizeof key, now_ns, &charges);
	else
		add(t, t->attack, &key, sizeof key, HOUR, now_ns);
}

static void
use(struct table *t, uint32_t users, uint64_t now_ns)
{
	uint32_t key = (uint32_t)dice_below(&t->dice, users);
	struct rl_charges charges;
	struct rl_hold held;

	t->asked++;
	if (hold(t, t->flight, &key, sizeof key, now_ns, &charges))
		rl_release(t->rl, &held, rl_holds(&charges, &held, 1));
	else
		t->units++;
	t->counters += !add(t, t->space, &key, sizeof key, MINUTE, now_ns);
}

static void
run(struct table *t, const struct flood *f, uint32_t divisor)
{
	uint32_t users = f->users / divisor, user_credit = 0, attack_credit = 0;
	uint64_t begin = f->is_first ? ALONE_S * 1000 : 0;

	for (uint64_t ms = 0; ms < begin + MEASURED_S * 1000; ms++) {
		uint64_t now_ns = START_NS + ms * RL_MILLISECOND;

		for (attack_credit += RATE / divisor; attack_credit >= 1000; attack_credit -= 1000)
			attack(t, f, now_ns);
		user_credit += ms >= begin ? users / 10 : 0;
		for (; user_credit >= 1000; user_credit -= 1000)
			use(t, users, now_ns);
	}
}

static double
percent(uint64_t part, uint64_t whole)
{
	return 100.0 * (double)part / (double)whole;
}

int
pinned(uint32_t divisor, int is_table)
{
	int broken = 0;

	if (is_table)
		printf("\n| attack of units or counters | users | units refused %% | "
		       "counters refused %% |\n|---|--:|--:|--:|\n");
	for (size_t i = 0; i < sizeof floods / sizeof *floods; i++) {
		const struct flood *f = &floods[i];
		struct table t;
		double units, counters,
			chance = divisor > 1 ? 100.0 * UNLUCKY * divisor / f->users : 0;

		table_open(&t, f, divisor);
		run(&t, f, divisor);
		units = percent(t.units, t.asked);
		counters = percent(t.counters, t.asked);
		printf(is_table ? "| %s | %u | %.1f | %.1f |\n"
		                : "%s, %u users: units refused %.1f %%, counters %.1f %%\n",
		       f->name, f->users, units, counters);
		fflush(stdout);
		if (units > f->units + chance || counters > f->counters + chance) {
			fprintf(stderr, "flood: violated: %s\n", f->name);
			broken++;
		}
		rl_close(t.rl);
	}
	return broken;
}
