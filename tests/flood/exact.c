/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random requests to a tiny segment that is full, beside an exact log of each key: nobody is
 * admitted more than the limit, wherever what he has used is counted.
 *
 * A run is a segment of 16 to 60 places and 1 to 4 overflow counters a limit, two rules of any
 * algorithms and of capacities that an overflow counter has eight, four or two lanes for, many
 * more keys than places, and some thousand requests in virtual time. In one run half of them are
 * of a few keys, which are at their limits all the time, in another all keys are equal; the rules
 * take turns, so that keys lose their places and come back. Clocks are late by up to the buffer,
 * or stand at an edge of a sub-bucket. There are costs, capacities of requests' own, requests
 * under both rules, refunds, resets, peeks and sweeps. Some requests are settled, at once or
 * much later, to less than they were charged or to more.
 *
 * What is checked (exit code 1 if it is not so)
 *
 * 1. No request is admitted beyond what log.h says.
 * 2. With `reserve` none is undecided.
 * 3. The segment is whole afterwards, and empty once all windows are over.
 * 4. Who is told when to come back is admitted then, if nobody else comes.
 *
 * With --kills, see storm.c, processes do this at the same time and are killed.
 *
 * A run is chosen by its seed, and by the secret of the segment's hash, which decides who shares an
 * overflow counter and a place: exact --seed N --secret N --times 1 --trace is one run again.
 */

#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "at.h"
#include "dice.h"
#include "rl_admin.h"
#include "storm.h"
#include "world.h"

#define RUN 5000  /* requests of a segment */
#define PENDING 8 /* charges that may still be given back */
#define KEPT 32   /* charges that may still be settled */
#define COSTS 32  /* of the least, a limit admits no more at once: the log has room for them */
#define SHOWN 10  /* over-admissions that are told of */

struct arguments {
	enum rl_on_full on_full;
	uint64_t seed;
	uint64_t secret;
	uint64_t requests;
	uint64_t times;   /* 0: as many seeds as there are runs; else this one so often */
	unsigned seconds; /* of a storm */
	int is_traced;
};

struct totals {
	uint64_t requests;
	uint64_t admitted;
	uint64_t undecided;
	uint64_t over;
	uint64_t early; /* denied when they came back */
	uint64_t strangers;
	uint64_t folded;
	uint64_t lowered; /* settled to less */
	uint64_t owed;    /* units of debts */
	uint64_t damaged; /* segments */
};

/* An admission that may be given back. */
struct pending {
	unsigned rule, key;
	uint64_t id;
	uint64_t cost;
	struct rl_charges charges;
};

struct run {
	struct world world;
	uint64_t secret;
	uint64_t dice;
	uint64_t now_ns; /* the latest that any clock has shown */
	uint64_t step_ns;
	unsigned hot;   /* keys */
	uint64_t phase; /* requests */
	uint64_t ids;
	struct pending pending[PENDING];
	struct pending kept[KEPT];
	FILE *trace; /* NULL: none */
	struct totals *totals;
};

static struct run run; /* large */

static uint64_t secret_dice;

/* In place of the kernel's: the secret of a segment's hash is a run's. */
ssize_t
getrandom(void *bytes, size_t size, unsigned flags)
{
	(void)flags;
	for (size_t i = 0; i < size; i++)
		((unsigned char *)bytes)[i] = (unsigned char)dice(&secret_dice);
	return (ssize_t)size;
}

__attribute__((format(printf, 2, 3))) static void
trace(const struct run *r, const char *format, ...)
{
	va_list arguments;

	if (!r->trace)
		return;
	va_start(arguments, format);
	vfprintf(r->trace, format, arguments);
	va_end(arguments);
}

static void
tell_over(struct run *r, unsigned rule, unsigned limit, unsigned key, uint64_t at_ns)
{
	if (r->totals->over++ >= SHOWN)
		return;
	printf("over-admission: rule %u limit %u key %u at %" PRIu64 ", request %" PRIu64
	       " of secret %" PRIu64 ", ",
	       rule, limit, key, at_ns - WORLD_START_NS, r->ids, r->secret);
	world_print(&r->world);
}

/* A capacity of the request's own is the first limit's. */
static void
admitted(struct run *r, unsigned rule, unsigned key, const struct rl_item *item, uint64_t at_ns)
{
	struct world_rule *it = &r->world.rule[rule];

	r->totals->admitted++;
	for (unsigned i = 0; i < it->limits; i++) {
		unsigned as = world_counted_as(&r->world, i, key);
		struct log_limit exact = it->limit[i].exact;
		if (i == 0 && item->capacity > 0)
			exact.capacity = item->capacity;
		if (!log_admit(&it->limit[i].log[as], &exact, at_ns, r->now_ns, item->cost, r->ids))
			tell_over(r, rule, i, key, at_ns);
	}
}

/* Half of them are a few keys, or all are equal. */
static unsigned
choose_key(struct run *r)
{
	return (unsigned)dice_below(&r->dice, dice_one_in(&r->dice, 2) ? r->hot : r->world.keys);
}

/* Time moves on by a little, at times by much, or to an edge of a sub-bucket, or just beside it. */
static void
move_on(struct run *r)
{
	uint64_t *dice = &r->dice;
	const struct world_rule *rule = &r->world.rule[dice_below(dice, WORLD_RULES)];
	const struct log_limit *l = &rule->limit[dice_below(dice, rule->limits)].exact;
	uint64_t width_ns = l->kind == LOG_BUCKET ? l->window_ns : l->width_ns;

	if (dice_one_in(dice, 1000))
		r->now_ns += dice_below(dice, 3 * r->world.window_ns);
	else if (dice_one_in(dice, 64))
		r->now_ns += width_ns - r->now_ns % width_ns - 1 + dice_below(dice, 3);
	else
		r->now_ns += dice_below(dice, r->step_ns);
}

static uint64_t
choose_clock(struct run *r)
{
	if (!dice_one_in(&r->dice, 6))
		return r->now_ns;
	return r->now_ns - dice_below(&r->dice, r->world.options.buffer_ns + 1);
}

static uint64_t
choose_cost(struct run *r, uint64_t most)
{
	uint64_t least = 1 + most / COSTS;

	return dice_one_in(&r->dice, 5) ? least + dice_below(&r->dice, most - least + 1) : least;
}

/* Whoever is told when to come back is told right. */
static void
look_back(struct run *r, const struct rl_item *item, uint64_t at_ns, const struct rl_result *result)
{
	struct rl_result then;
	uint64_t back_ns = at_ns + result->retry_after_ns;

	if (!dice_one_in(&r->dice, 16) || item->capacity > 0 || result->error != 0 ||
	    result->retry_after_ns == RL_NEVER_NS)
		return;
	if (at_peek(r->world.rl, item->rule, item->key, item->key_len, back_ns, &then) ==
	    RL_ALLOWED)
		return;
	if (r->totals->early++ < SHOWN) {
		printf("comes back too early: %.*s, denied by limit %u (%d) at %" PRIu64
		       ", is told %" PRIu64 ", then %d by limit %u (%d), error %d, of ",
		       (int)item->key_len, (const char *)item->key, result->index,
		       (int)result->reason, at_ns - WORLD_START_NS, result->retry_after_ns,
		       (int)then.verdict, then.index, (int)then.reason, then.error);
		world_print(&r->world);
	}
}

/* Now and then a tier: of a window or a log, whose promise does not depend on earlier ones. */
static uint32_t
choose_capacity(struct run *r, const struct world_rule *rule, uint64_t cost)
{
	enum log_kind kind = rule->limit[0].exact.kind;

	if (kind == LOG_BUCKET || kind == LOG_TWICE || !dice_one_in(&r->dice, 8))
		return 0;
	return (uint32_t)(cost + dice_below(&r->dice, 10));
}

/* Now one rule is asked more often, now the other: each then has to give way. */
static unsigned
choose_rule(struct run *r)
{
	if (dice_one_in(&r->dice, 4))
		return (unsigned)dice_below(&r->dice, WORLD_RULES);
	return (unsigned)(r->ids / r->phase % WORLD_RULES);
}

static void
ask(struct run *r)
{
	char text[WORLD_KEY_SIZE];
	unsigned rule = choose_rule(r), key = choose_key(r);
	uint64_t at_ns = choose_clock(r);
	struct pending *p = &r->pending[r->ids % PENDING];
	struct rl_item item = {.rule = r->world.rule[rule].handle,
	                       .key = text,
	                       .key_len = world_key(&r->world, key, text),
	                       .cost = choose_cost(r, r->world.rule[rule].cost_most),
	                       .charges = &p->charges};
	struct rl_result result;
	enum rl_verdict verdict;

	item.capacity = choose_capacity(r, &r->world.rule[rule], item.cost);
	verdict = at_check_item(r->world.rl, &item, at_ns, &result);

	trace(r,
	      "%" PRIu64 ": rule %u %s cost %" PRIu64 " at %" PRIu64 " (now %" PRIu64
	      "): %d by %d, %" PRIu32 " of %" PRIu32 "\n",
	      r->ids, rule, text, item.cost, at_ns - WORLD_START_NS, r->now_ns - WORLD_START_NS,
	      verdict, result.reason, result.used, result.limit);
	*p = (struct pending){
		.rule = rule, .key = key, .id = r->ids, .cost = item.cost, .charges = p->charges};
	if (verdict == RL_ALLOWED)
		admitted(r, rule, key, &item, at_ns);
	else
		look_back(r, &item, at_ns, &result);
	r->totals->undecided += verdict == RL_UNDECIDED;
}

static void
ask_both(struct run *r)
{
	char text[WORLD_KEY_SIZE];
	struct rl_item items[WORLD_RULES];
	unsigned key = choose_key(r);
	uint64_t at_ns = choose_clock(r);
	size_t len = world_key(&r->world, key, text);
	enum rl_verdict verdict;

	for (unsigned i = 0; i < WORLD_RULES; i++)
		items[i] = (struct rl_item){
			.rule = r->world.rule[i].handle, .key = text, .key_len = len, .cost = 1};
	verdict = at_check_all(r->world.rl, items, WORLD_RULES, at_ns, NULL, NULL);
	trace(r, "%" PRIu64 ": both %s at %" PRIu64 " (now %" PRIu64 "): %d\n", r->ids, text,
	      at_ns - WORLD_START_NS, r->now_ns - WORLD_START_NS, verdict);
	r->pending[r->ids % PENDING].charges.count = 0;
	for (unsigned i = 0; i < WORLD_RULES && verdict == RL_ALLOWED; i++)
		admitted(r, i, key, &items[i], at_ns);
	r->totals->undecided += verdict == RL_UNDECIDED;
}

/* Of an admission so much counts still, under each of its limits. */
static void
lower(struct run *r, const struct pending *p, uint64_t stays)
{
	struct world_rule *rule = &r->world.rule[p->rule];

	for (unsigned i = 0; i < rule->limits; i++)
		log_take_back(&rule->limit[i].log[world_counted_as(&r->world, i, p->key)],
		              &rule->limit[i].exact, r->now_ns, p->id, stays);
}

static void
give_back(struct run *r)
{
	struct pending *p = &r->pending[dice_below(&r->dice, PENDING)];

	if (p->charges.count == 0 || at_refund(r->world.rl, &p->charges, choose_clock(r)) != 1)
		return;
	trace(r, "%" PRIu64 " is given back\n", p->id);
	lower(r, p, 0);
}

/* An admission is to be settled, sooner or later. */
static void
keep(struct run *r)
{
	struct pending *p = &r->pending[dice_below(&r->dice, PENDING)];
	struct pending *kept = &r->kept[dice_below(&r->dice, KEPT)];

	if (p->charges.count == 0 || kept->charges.count > 0)
		return;
	*kept = *p;
	p->charges.count = 0;
}

/* Less as a rule; more by a little, at times by much. */
static uint64_t
choose_actual(struct run *r, const struct pending *p)
{
	uint64_t most = r->world.rule[p->rule].cost_most;

	if (dice_one_in(&r->dice, 32))
		return p->cost + dice_below(&r->dice, 2 * most);
	if (dice_one_in(&r->dice, 8))
		return p->cost + 1 + dice_below(&r->dice, p->cost);
	return dice_below(&r->dice, p->cost + 1);
}

/*
 * A debt of several limits that was not counted in full by each of them is forgiven, for nobody
 * tells by which.
 */
static void
owe(struct run *r, const struct pending *p, uint64_t at_ns, uint64_t units, uint64_t counted)
{
	struct world_rule *rule = &r->world.rule[p->rule];

	r->totals->owed += counted;
	for (unsigned i = 0; i < rule->limits && counted == units * rule->limits; i++)
		log_owe(&rule->limit[i].log[world_counted_as(&r->world, i, p->key)],
		        &rule->limit[i].exact, at_ns, units);
}

static uint64_t
owed_in_all(const struct run *r)
{
	return world_counter(&r->world, RL_COUNT_settle_debt);
}

static void
settle(struct run *r)
{
	struct pending *p = &r->kept[dice_below(&r->dice, KEPT)];
	uint64_t actual, at_ns, before;
	int done;

	if (p->charges.count == 0)
		return;
	actual = choose_actual(r, p);
	at_ns = choose_clock(r);
	before = actual > p->cost ? owed_in_all(r) : 0;
	done = at_settle(r->world.rl, &p->charges, actual, at_ns);
	trace(r, "%" PRIu64 " settled to %" PRIu64 " at %" PRIu64 " (now %" PRIu64 "): %d\n", p->id,
	      actual, at_ns - WORLD_START_NS, r->now_ns - WORLD_START_NS, done);
	p->charges.count = 0;
	if (actual > p->cost) {
		owe(r, p, at_ns, actual - p->cost, owed_in_all(r) - before);
	} else if (actual < p->cost && done == 1) {
		r->totals->lowered++;
		lower(r, p, actual);
	}
}

/* Of an address this forgets its network as well. */
static void
reset(struct run *r)
{
	char text[WORLD_KEY_SIZE];
	unsigned key = choose_key(r);
	size_t len = world_key(&r->world, key, text);

	for (unsigned i = 0; i < WORLD_RULES; i++) {
		struct world_rule *rule = &r->world.rule[i];
		int is_reset = rl_reset(r->world.rl, rule->handle, text, len);
		trace(r, "reset rule %u %s: %d\n", i, text, is_reset);
		for (unsigned j = 0; j < rule->limits; j++)
			log_forget(&rule->limit[j].log[world_counted_as(&r->world, j, key)]);
	}
}

static void
step(struct run *r)
{
	r->ids++;
	move_on(r);
	if (dice_one_in(&r->dice, 500))
		trace(r, "sweep at %" PRIu64 ": %" PRId64 "\n", r->now_ns - WORLD_START_NS,
		      rl_sweep_at(r->world.rl, r->now_ns));
	if (dice_one_in(&r->dice, 2000))
		reset(r);
	if (dice_one_in(&r->dice, 50))
		give_back(r);
	if (dice_one_in(&r->dice, 3))
		keep(r);
	if (dice_one_in(&r->dice, 2))
		settle(r);
	if (dice_one_in(&r->dice, 10))
		ask_both(r);
	else
		ask(r);
}

/* In a window come 1 to 16 times as many requests as there are places. */
static void
run_one(uint64_t seed, uint64_t secret, const struct arguments *a, struct totals *totals)
{
	struct run *r = &run;
	struct rl_info info;

	r->secret = secret;
	secret_dice = dice_mix(seed) + secret;
	world_open(&r->world, seed, a->on_full, NULL);
	rl_info(r->world.rl, &info);
	totals->requests += RUN;
	r->dice = dice_mix(seed);
	r->ids = 0;
	r->now_ns = WORLD_START_NS + dice_below(&r->dice, r->world.window_ns);
	r->step_ns = 2 * r->world.window_ns / (info.slots << dice_below(&r->dice, 5)) + 1;
	r->hot = dice_one_in(&r->dice, 2) ? r->world.keys : 1 + (unsigned)dice_below(&r->dice, 8);
	r->phase = 20 + dice_below(&r->dice, 200);
	r->totals = totals;
	for (unsigned i = 0; i < PENDING; i++)
		r->pending[i].charges.count = 0;
	for (unsigned i = 0; i < KEPT; i++)
		r->kept[i].charges.count = 0;
	for (unsigned i = 0; i < RUN; i++)
		step(r);
	totals->strangers += world_counter(&r->world, RL_COUNT_reserved);
	totals->folded += world_counter(&r->world, RL_COUNT_folded);
	totals->damaged += (unsigned)world_is_damaged(&r->world, r->now_ns);
	world_close(&r->world);
}

/* What was asked in a run is told if something was wrong in it. */
static void
run_traced(uint64_t seed, uint64_t secret, const struct arguments *a, struct totals *totals)
{
	uint64_t wrong = totals->over + totals->early + totals->damaged;
	char *text = NULL;
	size_t size;

	run.trace = open_memstream(&text, &size);
	if (!run.trace)
		err(2, NULL);
	run_one(seed, secret, a, totals);
	fclose(run.trace);
	run.trace = NULL;
	if (totals->over + totals->early + totals->damaged != wrong)
		fputs(text, stdout);
	free(text);
}

static int
run_all(const struct arguments *a)
{
	struct totals t = {0};

	for (uint64_t i = 0; t.requests < a->requests || i < a->times; i++)
		(a->is_traced ? run_traced : run_one)(a->times > 0 ? a->seed : a->seed + i,
		                                      a->secret + i, a, &t);
	printf("%" PRIu64 " requests, %" PRIu64 " admitted, %" PRIu64 " of strangers, %" PRIu64
	       " keys folded, %" PRIu64 " settled to less, %" PRIu64 " units owed; %" PRIu64
	       " over-admissions, %" PRIu64 " undecided, %" PRIu64 " came back too early\n",
	       t.requests, t.admitted, t.strangers, t.folded, t.lowered, t.owed, t.over,
	       t.undecided, t.early);
	return t.over > 0 || t.early > 0 || t.damaged > 0 ||
	       (a->on_full == RL_FULL_RESERVE && t.undecided > 0);
}

static void
usage(FILE *file)
{
	fputs("usage: exact [--on-full POLICY] [--seed N] [--secret N] [--requests N | --times N]\n"
	      "             [--trace]\n"
	      "       exact [--on-full POLICY] [--seed N] --kills SECONDS\n"
	      "\n"
	      "Random requests to tiny segments that are full, beside an exact log of each key.\n"
	      "\n"
	      "  --on-full POLICY   deny, allow or reserve, which is the default\n"
	      "  --seed N           of the first run; each has its own\n"
	      "  --secret N         of the first run's hash; each has its own; 0\n"
	      "  --requests N       in all; 1000000\n"
	      "  --times N          only the run of the seed, so often\n"
	      "  --trace            print the requests of runs with a fault\n"
	      "  --kills SECONDS    by processes that are killed\n"
	      "  --help             this text\n"
	      "\n"
	      "Exit: 0 all is as promised, 1 it is not, 2 trouble.\n",
	      file);
}

static uint64_t
parse_number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (*end || end == text || *text == '-')
		errx(2, "%s: not a number", text);
	return n;
}

static enum rl_on_full
parse_policy(const char *word)
{
	int on_full = world_on_full(word);

	if (on_full < 0)
		errx(2, "%s: deny, allow or reserve", word);
	return (enum rl_on_full)on_full;
}

static void
parse_option(int option, struct arguments *a)
{
	switch (option) {
	case 'f':
		a->on_full = parse_policy(optarg);
		break;
	case 's':
		a->seed = parse_number(optarg);
		break;
	case 'r':
		a->requests = parse_number(optarg);
		break;
	case 'n':
		a->times = parse_number(optarg);
		a->requests = 0;
		break;
	case 'x':
		a->secret = parse_number(optarg);
		break;
	case 'k':
		a->seconds = (unsigned)parse_number(optarg);
		break;
	case 't':
		a->is_traced = 1;
		break;
	default:
		usage(option == 'h' ? stdout : stderr);
		exit(option == 'h' ? 0 : 2);
	}
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{"on-full", required_argument, NULL, 'f'},
		{"seed", required_argument, NULL, 's'},
		{"requests", required_argument, NULL, 'r'},
		{"times", required_argument, NULL, 'n'},
		{"secret", required_argument, NULL, 'x'},
		{"kills", required_argument, NULL, 'k'},
		{"trace", no_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct arguments a = {.on_full = RL_FULL_RESERVE, .seed = 1, .requests = 1000000};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		parse_option(option, &a);
	if (optind != argc)
		parse_option('?', &a);
	return a.seconds > 0 ? storm(a.on_full, a.seed, a.seconds) : run_all(&a);
}
