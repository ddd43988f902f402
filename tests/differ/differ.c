/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * differ A.so B.so [CALLS [SEED]]: the same calls, at the same times, to two builds of the library.
 * Every field of every answer must be the same, and so must the statistics at the end. Each has a
 * segment of its own, in its own memory, with room for all keys: what a table's secret decides
 * is the only thing that may differ.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rl.h"
#include "rl_admin.h"
#include "testing.h"

#define RULES 24
#define KEYS 40
#define BATCH 6
#define CALLS 200000
#define STRETCH 2000 /* calls between one set of rules and the next */

/* What is called, by the names that the library exports. */
#define CALLED(call)                                                                             \
	call(rl_open_private) call(rl_close) call(rl_define) call(rl_forget) call(rl_configure)  \
		call(rl_check_item) call(rl_check_limits) call(rl_check_all) call(rl_check_many) \
			call(rl_decide) call(rl_refund) call(rl_settle) call(rl_reset)           \
				call(rl_ban) call(rl_allow) call(rl_unban) call(rl_stats)        \
					call(rl_now)

struct build {
	void *handle;
	struct rl *rl;
	int rule[RULES];
	struct rl_charges last; /* to be given back */
#define FIELD(name) __typeof__(&name) name;
	CALLED(FIELD)
};

static struct build two[2];
static uint64_t seed, now_ns, calls;
static char text[KEYS][32];

static void
differ_at(const char *what, const struct rl_result *a, const struct rl_result *b)
{
	fprintf(stderr, "call %lu: %s differs\n", calls, what);
	for (int i = 0; a && i < 2; i++, a = b)
		fprintf(stderr,
		        "  verdict %d error %d reason %d index %u limit %u remaining %u retry %lu "
		        "reset %lu delay %lu window %lu shadow %d\n",
		        a->verdict, a->error, a->reason, a->index, a->limit, a->remaining,
		        a->retry_after_ns, a->reset_after_ns, a->delay_ns, a->window_ns,
		        a->is_shadow_denied);
	exit(1);
}

static void
same(const char *what, int64_t a, int64_t b)
{
	if (a != b) {
		fprintf(stderr, "%ld and %ld\n", a, b);
		differ_at(what, NULL, NULL);
	}
}

static void
same_results(const char *what, const struct rl_result *a, const struct rl_result *b)
{
	bool is_same = a->verdict == b->verdict && a->error == b->error && a->reason == b->reason &&
	               a->index == b->index && a->limit == b->limit &&
	               a->remaining == b->remaining && a->retry_after_ns == b->retry_after_ns &&
	               a->reset_after_ns == b->reset_after_ns && a->delay_ns == b->delay_ns &&
	               a->window_ns == b->window_ns && a->is_shadow_denied == b->is_shadow_denied;

	if (!is_same)
		differ_at(what, a, b);
}

/* The rest of a charge is where the key has its slot: by its segment's secret. */
static void
same_charges(const struct rl_charges *a, const struct rl_charges *b)
{
	same("how many charges", a->count, b->count);
	for (unsigned i = 0; i < a->count; i++) {
		same("a charge's cost", a->charge[i].cost, b->charge[i].cost);
		same("a charge's epoch", (int64_t)a->charge[i].epoch, (int64_t)b->charge[i].epoch);
		same("a charge's capacity", a->charge[i].capacity, b->charge[i].capacity);
		same("a charge's memory", a->charge[i].memory, b->charge[i].memory);
	}
}

static uint64_t
below(uint64_t n)
{
	return test_below(&seed, n);
}

static void
load(struct build *b, const char *path)
{
	b->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!b->handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
#define LOAD(name)                                    \
	*(void **)&b->name = dlsym(b->handle, #name); \
	if (!b->name)                                 \
		exit((fprintf(stderr, "%s has no %s\n", path, #name), 2));
	CALLED(LOAD)
}

static struct rl_limit
random_limit(int prefixes)
{
	static const uint32_t granularity[] = {1, 1, 2, 5, 8, 60, 64};
	struct rl_limit l = {
		.algorithm = (enum rl_algorithm)below(5),
		.capacity = (uint32_t)(below(4) == 0 ? 1 + below(3) : 1 + below(60)),
		.window_ns = RL_SECOND * (1 + below(3)) + (below(3) == 0 ? below(RL_SECOND) : 0),
		.shadow = below(8) == 0,
	};

	if (l.algorithm == RL_SLIDING_WINDOW) {
		l.granularity = granularity[below(7)];
		l.hard = below(2) == 0;
	}
	if (l.algorithm == RL_TOKEN_BUCKET)
		l.burst = (uint32_t)below(30);
	if (l.algorithm == RL_LEAKY_BUCKET) {
		l.burst = (uint32_t)below(30);
		l.undelayed = l.burst > 0 ? (uint32_t)below(l.burst + 1) : 0;
	}
	if (prefixes) {
		l.prefix_v4 = (uint8_t)(32 - 8 * below(3));
		l.prefix_v6 = below(3) > 0 ? (uint8_t)(128 - 32 * below(3)) : 0;
	}
	return l;
}

/* A rule of the same number is sometimes the same, sometimes with other quotas, sometimes new. */
static void
random_rule(int i, struct rl_rule *rule, char *name, struct rl_limit more[RL_LIMITS_MAX - 1])
{
	int prefixes = i % 5 == 4;

	snprintf(name, 16, "rule-%d", i);
	*rule = (struct rl_rule){.name = name, .limit = random_limit(prefixes), .more = more};
	rule->more_count = below(3) == 0 ? below(RL_LIMITS_MAX) : 0;
	for (size_t m = 0; m < rule->more_count; m++)
		more[m] = random_limit(prefixes);
}

static void
define_some(int count)
{
	for (int n = 0; n < count; n++) {
		struct rl_limit more[RL_LIMITS_MAX - 1];
		int i = (int)below(RULES);
		struct rl_rule rule;
		char name[16];

		random_rule(i, &rule, name, more);
		for (int b = 0; b < 2; b++)
			two[b].rule[i] = two[b].rl_define(two[b].rl, &rule);
		same("a definition", two[0].rule[i], two[1].rule[i]);
	}
}

static struct rl_pattern
random_pattern(char *space)
{
	static const char *const networks[] = {"192.0.2.0/24", "192.0.2.16/28", "192.0.0.0/16",
	                                       "2001:db8::/32", "2001:db8::7"};
	const char *key = text[below(KEYS)];

	switch (below(4)) {
	case 0:
		strcpy(space, networks[below(5)]);
		return (struct rl_pattern){RL_MATCH_NETWORK, space, strlen(space)};
	case 1:
		strcpy(space, key);
		return (struct rl_pattern){RL_MATCH_PREFIX, space, 1 + below(strlen(key))};
	default:
		strcpy(space, key);
		return (struct rl_pattern){RL_MATCH_KEY, space, strlen(key)};
	}
}

static void
configure(void)
{
	static struct rl_limit more[RULES][RL_LIMITS_MAX - 1];
	static struct rl_override override[RULES][4];
	static char name[RULES][16], space[RULES][4][64];
	struct rl_config_rule rules[RULES] = {0};
	size_t count = 0;
	int error[2];

	for (int i = 0; i < RULES; i++) {
		struct rl_config_rule *c = &rules[count];
		if (below(3) > 0)
			continue;
		random_rule(i, &c->rule, name[i], more[i]);
		c->overrides = override[i];
		c->override_count = below(3) == 0 ? below(4) : 0;
		for (size_t o = 0; o < c->override_count; o++) {
			override[i][o] = (struct rl_override){
				.pattern = random_pattern(space[i][o]),
				.kind = (enum rl_override_kind)below(3),
			};
			if (override[i][o].kind == RL_OVERRIDE_CAPACITY)
				override[i][o].capacity[0] = (uint32_t)(1 + below(9));
		}
		count++;
	}
	for (int b = 0; b < 2; b++)
		error[b] = two[b].rl_configure(two[b].rl, rules, count, 0, NULL, NULL);
	same("a configuration", error[0], error[1]);
}

static void
ban(void)
{
	char space[64];
	struct rl_pattern pattern = random_pattern(space);
	int rule = below(2) == 0 ? RL_ANY_RULE : (int)below(RULES), error[2];
	uint64_t until = now_ns + RL_SECOND * below(20), what = below(5);

	until -= until % RL_MILLISECOND;
	if (rule >= 0 && two[0].rule[rule] < 0)
		return;
	for (int b = 0; b < 2; b++) {
		struct build *l = &two[b];
		int id = rule < 0 ? RL_ANY_RULE : l->rule[rule];
		if (what == 0)
			error[b] = l->rl_allow(l->rl, id, &pattern, until);
		else if (what < 3)
			error[b] = l->rl_ban(l->rl, id, &pattern, until);
		else
			error[b] = l->rl_unban(l->rl, id, &pattern);
	}
	same("a ban", error[0], error[1]);
}

static void
random_item(struct rl_item items[2])
{
	int i = (int)below(RULES);
	const char *key = text[i % 5 == 4 ? below(KEYS / 2) : below(KEYS)];

	items[0] = (struct rl_item){.key = key, .key_len = strlen(key), .now_ns = now_ns};
	items[0].cost = below(8) == 0 ? below(70) : below(12) > 0;
	if (below(10) == 0)
		items[0].capacity = (uint32_t)(1 + below(40));
	if (below(300) == 0)
		items[0].key_len = below(2) == 0 ? 0 : RL_KEY_MAX + 1;
	items[1] = items[0];
	for (int b = 0; b < 2; b++)
		items[b].rule = below(500) == 0 ? 77 : two[b].rule[i];
	if (items[0].rule == 77 || items[1].rule == 77)
		items[0].rule = items[1].rule = 77;
}

static void
check_one(void)
{
	struct rl_result r[2], limits[2][RL_LIMITS_MAX];
	struct rl_charges charges[2];
	struct rl_item items[2];
	size_t count[2] = {0};
	uint64_t how = below(10), wait = below(3) * RL_SECOND / 3;
	enum rl_verdict verdict[2];

	random_item(items);
	for (int b = 0; b < 2; b++) {
		struct build *l = &two[b];
		memset(&r[b], 0xa5, sizeof r[b]);
		memset(&charges[b], 0xa5, sizeof charges[b]);
		items[b].charges = how == 3 ? NULL : &charges[b];
		if (how == 0)
			verdict[b] =
				l->rl_check_limits(l->rl, &items[b], &r[b], &count[b], limits[b]);
		else if (how == 1)
			verdict[b] =
				l->rl_decide(l->rl, &items[b], 1, RL_RESERVE, wait, &r[b], NULL);
		else
			verdict[b] = l->rl_check_item(l->rl, &items[b], how == 2 ? NULL : &r[b]);
	}
	same("a verdict", verdict[0], verdict[1]);
	if (how != 3)
		same_charges(&charges[0], &charges[1]);
	if (how != 2)
		same_results("an answer", &r[0], &r[1]);
	same("how many limits", (int64_t)count[0], (int64_t)count[1]);
	for (size_t i = 0; i < count[0]; i++)
		same_results("the answer of a limit", &limits[0][i], &limits[1][i]);
	for (int b = 0; b < 2 && how != 3 && charges[0].count > 0; b++)
		two[b].last = charges[b];
}

static void
check_several(bool is_all)
{
	struct rl_item items[BATCH][2], of[2][BATCH];
	struct rl_charges charges[2][BATCH];
	struct rl_result r[2][BATCH];
	size_t count = 1 + below(BATCH), decided[2] = {0};
	enum rl_verdict verdict[2] = {0};

	for (size_t i = 0; i < count; i++)
		random_item(items[i]);
	for (int b = 0; b < 2; b++) {
		struct build *l = &two[b];
		memset(r[b], 0xa5, sizeof r[b]);
		memset(charges[b], 0xa5, sizeof charges[b]);
		for (size_t i = 0; i < count; i++) {
			of[b][i] = items[i][b];
			of[b][i].charges = &charges[b][i];
		}
		if (is_all)
			verdict[b] = l->rl_check_all(l->rl, of[b], count, r[b], &decided[b]);
		else
			l->rl_check_many(l->rl, of[b], count, r[b]);
	}
	same("a verdict of all", verdict[0], verdict[1]);
	same("who decided", (int64_t)decided[0], (int64_t)decided[1]);
	for (size_t i = 0; i < count; i++) {
		if (is_all && (verdict[0] == RL_UNDECIDED || r[0][i].error == -EINVAL))
			continue;
		same_results("one of several answers", &r[0][i], &r[1][i]);
		same_charges(&charges[0][i], &charges[1][i]);
	}
}

/* All of it, or what it has not cost; or it has cost more. */
static void
give_back(void)
{
	bool is_settled = below(2) == 0;
	uint64_t actual = below(4);
	int did[2];

	for (int b = 0; b < 2; b++) {
		struct build *l = &two[b];

		l->last.now_ns = now_ns;
		did[b] = is_settled ? l->rl_settle(l->rl, &l->last, actual)
		                    : l->rl_refund(l->rl, &l->last);
	}
	same(is_settled ? "a settlement" : "a refund", did[0], did[1]);
}

static void
forget(void)
{
	int i = (int)below(RULES), did[2];
	const char *key = text[below(KEYS)];

	for (int b = 0; b < 2; b++)
		did[b] = two[b].rl_reset(two[b].rl, two[b].rule[i], key, strlen(key));
	same("a reset", did[0], did[1]);
}

static void
move_time(void)
{
	if (below(3) == 0)
		now_ns += below(RL_SECOND / 20);
	if (below(400) == 0)
		now_ns += below(4 * RL_SECOND);
	if (below(50) == 0)
		now_ns -= below(RL_SECOND / 4);
}

static void
call_once(void)
{
	uint64_t what = below(1000);

	move_time();
	if (what < 2)
		configure();
	else if (what < 4)
		define_some(1);
	else if (what < 12)
		ban();
	else if (what < 20)
		forget();
	else if (what < 60)
		give_back();
	else if (what < 130)
		check_several(what < 100);
	else
		check_one();
}

static void
compare_statistics(void)
{
	for (int i = 0; i < RULES; i++) {
		uint64_t values[2][RL_COUNTERS];
		for (int b = 0; b < 2; b++)
			memset(values[b], 0, sizeof values[b]);
		for (int b = 0; b < 2; b++)
			two[b].rl_stats(two[b].rl, two[b].rule[i], values[b], RL_COUNTERS);
		for (int c = 0; c < RL_COUNTERS; c++)
			same("a statistic", (int64_t)values[0][c], (int64_t)values[1][c]);
	}
}

/* With no bans at first, for most segments have none. */
static void
play(uint64_t n)
{
	const struct rl_options options = {
		.keys = 20000, .ring = 128, .rules = 64, .bans = 200, .overrides = 200};

	for (int b = 0; b < 2; b++)
		if (two[b].rl_open_private(&options, &two[b].rl) < 0)
			exit(2);
	now_ns = two[0].rl_now(two[0].rl);
	for (int i = 0; i < RULES; i++)
		two[0].rule[i] = two[1].rule[i] = -1;
	define_some(5 * RULES);
	for (uint64_t i = 0; i < n; i++, calls++) {
		if (i < n / 2 && below(4) > 0)
			check_one();
		call_once();
	}
	compare_statistics();
	for (int b = 0; b < 2; b++)
		two[b].rl_close(two[b].rl);
}

static void
make_keys(void)
{
	for (int i = 0; i < KEYS; i++) {
		if (i % 2 == 0 || i >= KEYS / 2)
			snprintf(text[i], sizeof text[i], i < KEYS / 2 ? "192.0.2.%d" : "user-%d",
			         i);
		else
			snprintf(text[i], sizeof text[i], "2001:db8::%x", i);
	}
}

int
main(int count, char **arguments)
{
	uint64_t all = count > 3 ? strtoull(arguments[3], NULL, 10) : CALLS;

	if (count < 3)
		return 2;
	seed = count > 4 ? strtoull(arguments[4], NULL, 10) : 1;
	load(&two[0], arguments[1]);
	load(&two[1], arguments[2]);
	make_keys();
	while (calls < all)
		play(STRETCH);
	printf("%lu calls, the same answers\n", calls);
	return 0;
}
