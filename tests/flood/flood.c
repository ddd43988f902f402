/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What users and attackers of a full table get, by what it does when it is full: deny, allow,
 * reserve. Each policy is the library itself, in a private segment, asked in virtual time.
 *
 * Users come at a steady rate, Zipf by their number, and after a minute the attack begins; or all
 * equally often, and it begins with them; or the attack is alone for half a minute or a whole one,
 * and users come to a full table. For three minutes all is measured. At the end, those attacks
 * where users come equally often are repeated by limits of other capacities, `reserve` alone.
 *
 * Beside it are exact limiters with a counter for each key, of the same algorithm:
 *
 * - of users and attackers, by what that limiter itself has admitted. A user's request that it
 *   admits and the policy does not is wrongly denied, or undecided: in percent of what it admits.
 *   An attacker's gain is what the policy admits him, divided by what that limiter does.
 * - of users, by what the policy has admitted. A request that the policy admits and this one does
 *   not was forgotten something: in percent of all requests.
 *
 * The full scale is the table that a segment has by default, the reduced one, and its users and
 * rates, an eighth of it.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "attack.h"
#include "dice.h"
#include "pinned.h"
#include "rl_admin.h"

#define REDUCED 8 /* times fewer of all */
#define QUIET_S 60
#define MEASURED_S 180
#define SUB_BUCKETS 4
#define START_NS (UINT64_C(1700000000) * RL_SECOND / (600 * RL_SECOND) * (600 * RL_SECOND))

static const char *const policies[] = {
	[RL_FULL_DENY] = "deny",
	[RL_FULL_ALLOW] = "allow",
	[RL_FULL_RESERVE] = "reserve",
};

#define POLICIES (sizeof policies / sizeof *policies)

struct arguments {
	uint32_t divisor; /* of the scale */
	uint32_t cells;   /* of a limit, on the full scale */
	int policy;       /* -1: all */
	unsigned attack;  /* 0: all */
	int is_check;
	int is_shapes; /* those alone */
};

/*
 * One key's hard sliding window: what was admitted in the current sub-bucket and in those before
 * it.
 */
struct window {
	uint64_t epoch;
	uint32_t admitted[SUB_BUCKETS + 1]; /* costs */
};

struct score {
	uint64_t users;     /* their requests */
	uint64_t right;     /* admitted by an exact limiter */
	uint64_t denied;    /* of these, by the policy */
	uint64_t undecided; /* of these */
	uint64_t forgotten;
	uint64_t attacker, attacker_right; /* admitted */
	uint64_t without_place;            /* decisions */
	uint64_t folded;
};

struct flood {
	const struct attack *attack;
	uint32_t divisor;
	struct rl *rl;
	int rule[ATTACK_RULES];
	struct rl_limit limit[ATTACK_RULES];
	struct window *user;          /* of what an exact limiter admits */
	struct window *user_admitted; /* of what the policy admits */
	struct window *key;           /* the attacker's, as `user`; NULL: each is used once */
	double *share;                /* of users up to this one */
	uint32_t users, keys;
	uint64_t dice;
	uint64_t attacked; /* requests of the attack */
	uint64_t user_credit, attack_credit;
	int is_measured;
	struct score score;
};

static int violations;

static void *
room(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);

	if (!p)
		err(2, NULL);
	return p;
}

static int
check(int error, const char *what)
{
	if (error < 0)
		errx(2, "%s: %s", what, rl_strerror(error));
	return error;
}

/* Sub-buckets that have left the window are no more. */
static void
window_move(struct window *w, uint64_t epoch)
{
	uint64_t by = epoch - w->epoch;

	for (unsigned i = SUB_BUCKETS + 1; i-- > 0;)
		w->admitted[i] = i >= by ? w->admitted[i - by] : 0;
	w->epoch = epoch;
}

static int
window_admits(struct window *w, const struct rl_limit *l, uint32_t cost, uint64_t now_ns)
{
	uint32_t used = 0;

	window_move(w, now_ns / (l->window_ns / SUB_BUCKETS));
	for (unsigned i = 0; i <= SUB_BUCKETS; i++)
		used += w->admitted[i];
	return used + cost <= l->capacity;
}

static struct rl *
open_segment(const struct attack *attack, const struct arguments *a, enum rl_on_full on_full)
{
	uint32_t keys = attack->table > 0 ? attack->table : RL_KEYS_DEFAULT;
	struct rl_options o = {.keys = keys / a->divisor,
	                       .cells = on_full == RL_FULL_RESERVE ? a->cells / a->divisor : 0,
	                       .ring = SUB_BUCKETS,
	                       .on_full = on_full,
	                       .rules = 16};
	struct rl *rl;

	check(rl_open_private(&o, &rl), policies[on_full]);
	return rl;
}

static void
define_rules(struct flood *f)
{
	char name[RL_NAME_MAX + 1];

	for (unsigned i = 0; i <= f->attack->rules; i++) {
		f->limit[i] = attack_limit(f->attack, i);
		snprintf(name, sizeof name, "rule-%u", i);
		f->rule[i] = check(
			rl_define(f->rl, &(struct rl_rule){.name = name, .limit = f->limit[i]}),
			name);
	}
}

/* How many keys the attacker has. */
static uint32_t
count_keys(const struct flood *f)
{
	uint32_t requests = f->attack->rate / f->divisor * (MEASURED_S + f->attack->alone_s) + 1;

	if (f->attack->kind == ATTACK_ROTATE)
		return f->attack->rotating / f->divisor;
	if (f->attack->kind == ATTACK_PIN)
		return requests / f->limit[f->attack->rules > 0].capacity + 1;
	return requests;
}

static void
make_users(struct flood *f)
{
	double sum = 0;

	f->share = room(f->users, sizeof *f->share);
	for (uint32_t i = 0; i < f->users; i++)
		f->share[i] = sum += 1.0 / (i + 1);
}

static void
flood_open(struct flood *f, const struct attack *attack, const struct arguments *a,
           enum rl_on_full on_full)
{
	*f = (struct flood){
		.attack = attack, .divisor = a->divisor, .users = attack->users / a->divisor};
	f->rl = open_segment(attack, a, on_full);
	define_rules(f);
	f->keys = count_keys(f);
	f->user = room(f->users, sizeof *f->user);
	f->user_admitted = room(f->users, sizeof *f->user_admitted);
	if (attack->kind != ATTACK_ONCE || attack->keys == ATTACK_48)
		f->key = room(f->keys, sizeof *f->key);
	make_users(f);
}

static void
flood_close(struct flood *f)
{
	rl_close(f->rl);
	free(f->user);
	free(f->user_admitted);
	free(f->key);
	free(f->share);
}

/* Zipf: number i, from 0, as often as 1 / (i + 1). */
static uint32_t
choose_user(struct flood *f)
{
	double at = (double)(dice(&f->dice) >> 11) * 0x1p-53 * f->share[f->users - 1];
	uint32_t low = 0, high = f->users - 1;

	if (f->attack->is_even)
		return (uint32_t)dice_below(&f->dice, f->users);
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (f->share[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t
cost_of(const struct flood *f)
{
	return f->attack->cost > 0 ? f->attack->cost : 1;
}

static enum rl_verdict
ask(struct flood *f, unsigned rule, const char *text, size_t len, uint64_t now_ns)
{
	struct rl_item item = {
		.rule = f->rule[rule], .key = text, .key_len = len, .cost = cost_of(f)};
	struct rl_result result;
	enum rl_verdict verdict = at_check_item(f->rl, &item, now_ns, &result);

	if (verdict == RL_UNDECIDED && result.error != -ENOSPC)
		errx(2, "%s: %s", text, rl_strerror(result.error));
	return verdict;
}

static void
user_request(struct flood *f, uint64_t now_ns)
{
	char text[ATTACK_KEY_SIZE];
	uint32_t i = choose_user(f);
	size_t len = attack_user(f->attack, i, text);
	enum rl_verdict verdict = ask(f, 0, text, len, now_ns);
	int is_admitted = verdict == RL_ALLOWED;
	uint32_t cost = cost_of(f);
	int is_right = window_admits(&f->user[i], &f->limit[0], cost, now_ns);
	int may_be = window_admits(&f->user_admitted[i], &f->limit[0], cost, now_ns);

	f->user[i].admitted[0] += is_right ? cost : 0;
	f->user_admitted[i].admitted[0] += is_admitted ? cost : 0;
	if (!f->is_measured)
		return;
	f->score.users++;
	f->score.right += (unsigned)is_right;
	f->score.denied += is_right && verdict == RL_DENIED;
	f->score.undecided += is_right && verdict == RL_UNDECIDED;
	f->score.forgotten += is_admitted && !may_be;
}

static void
attacker_request(struct flood *f, uint64_t now_ns)
{
	char text[ATTACK_KEY_SIZE];
	unsigned rules = f->attack->rules,
		 rule = rules > 0 ? 1 + (unsigned)(f->attacked % rules) : 0;
	uint64_t i = f->attacked++;
	size_t len;
	int is_right, is_admitted;

	if (f->attack->kind == ATTACK_PIN)
		i /= f->limit[rule].capacity;
	i %= f->keys;
	if (f->attack->keys == ATTACK_48)
		i = dice_mix(i) & 0xffff; /* so many /64s there are, and the key is one of them */
	len = attack_key(f->attack, (uint32_t)i, text);
	is_admitted = ask(f, rule, text, len, now_ns) == RL_ALLOWED;
	is_right = !f->key || window_admits(&f->key[i], &f->limit[rule], cost_of(f), now_ns);
	if (f->key)
		f->key[i].admitted[0] += is_right ? cost_of(f) : 0;
	if (!f->is_measured)
		return;
	f->score.attacker += (unsigned)is_admitted;
	f->score.attacker_right += (unsigned)is_right;
}

static void
count(struct flood *f)
{
	uint64_t counters[RL_COUNTERS];

	f->score.without_place = f->score.folded = 0;
	for (unsigned i = 0; i <= f->attack->rules; i++) {
		check(rl_stats(f->rl, f->rule[i], counters, RL_COUNTERS), "rl_stats");
		f->score.without_place +=
			counters[RL_COUNT_reserved] + counters[RL_COUNT_full_denied] +
			counters[RL_COUNT_full_allowed] + counters[RL_COUNT_full_undecided];
		f->score.folded += counters[RL_COUNT_folded];
	}
}

static void
millisecond(struct flood *f, uint64_t ms, int is_attacked, int is_used)
{
	uint64_t now_ns = START_NS + ms * RL_MILLISECOND;

	if (is_used)
		f->user_credit += f->attack->user_rate / f->divisor;
	for (; f->user_credit >= 1000; f->user_credit -= 1000)
		user_request(f, now_ns);
	if (is_attacked)
		f->attack_credit += f->attack->rate / f->divisor;
	for (; f->attack_credit >= 1000; f->attack_credit -= 1000)
		attacker_request(f, now_ns);
}

static struct score
flood_table(const struct attack *attack, const struct arguments *a, enum rl_on_full on_full)
{
	struct flood f;
	uint32_t quiet_s = attack->is_even ? 0 : QUIET_S;
	uint64_t from = (attack->alone_s > 0 ? attack->alone_s : quiet_s) * UINT64_C(1000);
	struct score before;

	flood_open(&f, attack, a, on_full);
	for (uint64_t ms = 0; ms < from; ms++)
		millisecond(&f, ms, attack->alone_s > 0, attack->alone_s == 0);
	count(&f);
	before = f.score;
	f.is_measured = 1;
	for (uint64_t ms = from; ms < from + MEASURED_S * 1000; ms++)
		millisecond(&f, ms, 1, 1);
	count(&f);
	f.score.without_place -= before.without_place;
	f.score.folded -= before.folded;
	flood_close(&f);
	return f.score;
}

static unsigned
count_tables(const struct attack *attack)
{
	return attack->tables > 0 ? attack->tables : 1;
}

static struct score
flood_run(const struct attack *attack, const struct arguments *a, enum rl_on_full on_full)
{
	struct score all = {0};

	for (unsigned i = 0; i < count_tables(attack); i++) {
		struct score one = flood_table(attack, a, on_full);

		all.users += one.users;
		all.right += one.right;
		all.denied += one.denied;
		all.undecided += one.undecided;
		all.forgotten += one.forgotten;
		all.attacker += one.attacker;
		all.attacker_right += one.attacker_right;
		all.without_place += one.without_place;
		all.folded += one.folded;
	}
	return all;
}

static double
percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static double
gain(const struct score *s)
{
	return s->attacker_right ? (double)s->attacker / (double)s->attacker_right : 0;
}

__attribute__((format(printf, 3, 4))) static void
expect(int holds, unsigned attack, const char *format, ...)
{
	va_list arguments;

	if (holds)
		return;
	violations++;
	va_start(arguments, format);
	fprintf(stderr, "flood: violated by attack %u: ", attack);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}

/* What is promised of `reserve`. */
static void
judge(const struct arguments *a, unsigned number, const struct score *s)
{
	int is_reduced = a->divisor > 1;
	const struct attack_most *most = &attack_number(number - 1)->most;
	double denied = percent(s->denied, s->right);

	expect(denied <= most->denied[is_reduced], number, "%.2f %% of users are wrongly denied",
	       denied);
	expect(s->undecided == 0, number, "%" PRIu64 " requests are undecided", s->undecided);
	expect(s->forgotten == 0, number, "%" PRIu64 " requests are forgotten", s->forgotten);
	expect(most->attacker[is_reduced] == 0 || gain(s) <= most->attacker[is_reduced], number,
	       "the attacker is admitted %.3f of his limit", gain(s));
}

static void
print_score(const struct arguments *a, unsigned number, unsigned policy, const struct score *s)
{
	unsigned seconds = MEASURED_S * count_tables(attack_number(number - 1));

	printf(a->is_check ? "%u %s: denied %.2f %%, undecided %.2f %%, forgotten %.3f %%, "
	                     "attacker %.3f, without a place %.0f/s, folded %.0f/s\n"
	                   : "| %u | %s | %.2f | %.2f | %.3f | %.3f | %.0f | %.0f |\n",
	       number, policies[policy], percent(s->denied, s->right),
	       percent(s->undecided, s->right), percent(s->forgotten, s->users), gain(s),
	       (double)s->without_place / seconds, (double)s->folded / seconds);
	fflush(stdout);
}

static void
run_attack(const struct arguments *a, unsigned number)
{
	for (unsigned i = 0; i < POLICIES; i++) {
		if (a->policy >= 0 && i != (unsigned)a->policy)
			continue;
		struct score s = flood_run(attack_number(number - 1), a, (enum rl_on_full)i);
		print_score(a, number, i, &s);
		if (i == RL_FULL_RESERVE)
			judge(a, number, &s);
	}
}

/* Limits of a minute, and how often users come in one. */
static const struct shape {
	const char *name;
	uint32_t capacity, each, cost;
	double most; /* users wrongly denied, in percent */
} shapes[] = {
	{"7, 6 a minute", 7, 6, 1, 55},    {"20, 6", 20, 6, 1, 1},
	{"100, 30", 100, 30, 1, 1},        {"1,000, 60", 1000, 60, 1, 1},
	{"100,000, 30", 100000, 30, 1, 1}, {"100,000, 30 at 800", 100000, 30, 800, 1},
};

#define SHAPES (sizeof shapes / sizeof *shapes)

static void
run_shape(const struct arguments *a, unsigned number, const struct shape *shape)
{
	struct attack attack = *attack_number(number - 1);
	struct score s;
	double denied;

	attack.user_capacity = shape->capacity;
	attack.user_rate = attack.users / 60 * shape->each;
	attack.cost = shape->cost;
	s = flood_run(&attack, a, RL_FULL_RESERVE);
	denied = percent(s.denied, s.right);
	printf(" %.2f |", denied);
	fflush(stdout);
	expect(denied <= shape->most && s.undecided == 0 && s.forgotten == 0, number,
	       "of %s: %.2f %% of users are wrongly denied, %" PRIu64 " undecided, %" PRIu64
	       " forgotten",
	       shape->name, denied, s.undecided, s.forgotten);
}

/* Users who come equally often, by each of these limits. */
static void
run_shapes(const struct arguments *a)
{
	printf("\n| wrongly denied %%, by a limit of |");
	for (unsigned i = 0; i < SHAPES; i++)
		printf(" %s |", shapes[i].name);
	printf("\n|---|--:|--:|--:|--:|--:|--:|\n");
	for (unsigned n = 1; attack_number(n - 1); n++) {
		if (!attack_number(n - 1)->is_shaped)
			continue;
		printf("| %u |", n);
		for (unsigned i = 0; i < SHAPES; i++)
			run_shape(a, n, &shapes[i]);
		putchar('\n');
	}
}

static void
run_all(const struct arguments *a)
{
	if (!a->is_check) {
		for (unsigned n = 1; attack_number(n - 1); n++)
			printf("%u. %s\n", n, attack_number(n - 1)->name);
		printf("\n| attack | on_full | wrongly denied %% | undecided %% | forgotten %% | "
		       "attacker's gain | without a place, /s | folded, /s |\n"
		       "|--:|---|--:|--:|--:|--:|--:|--:|\n");
	}
	for (unsigned n = 1; attack_number(n - 1); n++)
		if (a->attack == 0 || a->attack == n)
			run_attack(a, n);
	if (a->attack == 0 && a->cells == 0 && (a->policy < 0 || a->policy == RL_FULL_RESERVE))
		violations += pinned(a->divisor, !a->is_check);
	if (a->attack == 0 && !a->is_check)
		run_shapes(a);
}

static void
usage(FILE *file)
{
	fputs("usage: flood [--reduced] [--check] [--on-full POLICY] [--attack N]\n             "
	      "[--cells N] [--capacities]\n"
	      "\n"
	      "Flood a table, and print as Markdown what users and attackers get.\n"
	      "\n"
	      "  --reduced          an eighth of all places, users and rates\n"
	      "  --check            lines in place of a table\n"
	      "  --on-full POLICY   deny, allow or reserve alone\n"
	      "  --attack N         this one alone\n"
	      "  --cells N          of a set, on the full scale; else the default\n"
	      "  --capacities       only what is repeated by limits of other capacities\n"
	      "  --help             this text\n"
	      "\n"
	      "Exit: 0 `reserve` keeps what is promised of it, 1 it does not, 2 trouble.\n",
	      file);
}

static int
parse_policy(const char *word)
{
	for (unsigned i = 0; i < POLICIES; i++)
		if (strcmp(word, policies[i]) == 0)
			return (int)i;
	errx(2, "%s: deny, allow or reserve", word);
}

static void
parse_option(int option, struct arguments *a)
{
	switch (option) {
	case 'r':
		a->divisor = REDUCED;
		break;
	case 'k':
		a->is_check = 1;
		break;
	case 'f':
		a->policy = parse_policy(optarg);
		break;
	case 's':
		a->is_shapes = 1;
		break;
	case 'c':
		a->cells = (uint32_t)strtoul(optarg, NULL, 10);
		break;
	case 'a':
		a->attack = (unsigned)strtoul(optarg, NULL, 10);
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
		{"reduced", no_argument, NULL, 'r'},       {"check", no_argument, NULL, 'k'},
		{"on-full", required_argument, NULL, 'f'}, {"attack", required_argument, NULL, 'a'},
		{"cells", required_argument, NULL, 'c'},   {"capacities", no_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},          {0},
	};
	struct arguments a = {.divisor = 1, .policy = -1};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		parse_option(option, &a);
	if (optind != argc)
		parse_option('?', &a);
	(a.is_shapes ? run_shapes : run_all)(&a);
	return violations > 0;
}
