/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lends, as rld does it, in two hosts of a cluster: rld/cluster/host_shares.c and all below
 * it, by a clock of the test's own, with a store and a network of its own, which loses, delays,
 * doubles and reorders. Daemons are killed and start anew. Whenever anything was done:
 *
 *	a share is at most what the store has for the incarnation, while shares_until holds
 *	shares_until, and then for how long a charge counts, are over before the store forgets it
 *	a question asks for no less than the word then counts and has
 *	all real windows hold at most the capacity, and the blind part of each host
 *
 * And a daemon is killed after each instruction of a round that has changed a byte: the same holds
 * for what stands, and for the next daemon, whom no store answers. A failure names its seed, which
 * repeats it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../rld/cluster/host_shares.h"
#include "../../rld/cluster/script.h"
#include "../crash/step.h"
#include "at.h"
#include "reference.h"
#include "rule/handle.h"
#include "testing.h"

#define HOSTS 2
#define CAPACITY 20
#define WINDOW RL_SECOND
#define LEASE (2 * RL_SECOND)
#define T0 (UINT64_C(1000000) * RL_SECOND)
#define HELD 64 /* messages under way */
#define ADMITTED 4096

static uint64_t seed, run;
static uint32_t blind;
static uint64_t counts_ns;  /* for how long a charge does */
static uint64_t timeout_ns; /* of a question */
static uint64_t way_ns;     /* how long a message is under way at least */
static bool is_shared;      /* segments are a child's, too */
static bool has_resizes;    /* keys move to other tables */
static uint64_t followed;   /* how often a share was seen in another table than it was lent in */

/* The clock of everything here. */
static uint64_t now_ns;

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	t->tv_sec = (time_t)(now_ns / RL_SECOND);
	t->tv_nsec = (long)(now_ns % RL_SECOND);
	return 0;
}

static struct host {
	struct rl *rl;
	int rule;
	struct host_shares shares;
	struct identity identity;
	unsigned daemon; /* which of its daemons it is; answers to those before have nobody */
} hosts[HOSTS];

/* The store, and all that is on its way to it or from it. In memory that a child shares. */
struct message {
	bool is_there, is_answer;
	int host;
	unsigned daemon;
	uint64_t sent_ns;
	struct reference_ask ask;
	struct reference_answer answer;
	uint64_t label;
};

static struct store_of_test {
	uint64_t is_changing; /* it is elsewhere, where nobody is killed */
	struct reference reference;
	char names[REFERENCE_HOSTS][64]; /* each incarnation is a host of its own */
	struct message held[HELD];
} * store;

static store_answer *to_answer;

static void
begin_change(void)
{
	rl_atomic_store(&store->is_changing, 1);
	rl_atomic_fence();
}

static void
end_change(void)
{
	rl_atomic_store(&store->is_changing, 0);
}

static int
name_number(const char *name)
{
	int i = 0;

	while (store->names[i][0] != '\0' && strcmp(store->names[i], name) != 0)
		assert_true(++i < REFERENCE_HOSTS);
	if (store->names[i][0] != '\0')
		return i;
	begin_change();
	snprintf(store->names[i], sizeof store->names[i], "%s", name);
	end_change();
	return i;
}

static void
hold_message(const struct message *m)
{
	int i = 0;

	while (i < HELD && store->held[i].is_there)
		i++;
	if (i == HELD) /* it is lost */
		return;
	begin_change();
	store->held[i] = *m;
	store->held[i].is_there = true;
	store->held[i].sent_ns = now_ns;
	end_change();
}

static int
host_of(const struct host_shares *l)
{
	for (int i = 0; i < HOSTS; i++)
		if (l == &hosts[i].shares)
			return i;
	fail();
	return -1;
}

const char *
store_script(const struct store *s, unsigned i)
{
	(void)s;
	assert_int_equal(i, SCRIPT_TAKE);
	return "take";
}

static uint64_t
number_of(const struct store_question *q, enum script_argument i)
{
	return strtoull(q->argv[5 + i], NULL, 10);
}

/* By then the word is lowered, and it is not asked for less than it counts. */
static void
check_asked(const struct host_shares *l, const struct store_question *q)
{
	uint32_t number = (uint32_t)(q->label >> 32);
	struct rl_share s;

	if (number == KEYS_NONE || rl_share_read(l->rl, &l->keys.of[number].of, now_ns, &s) < 0)
		return;
	if (number_of(q, SCRIPT_WANT) < s.share || number_of(q, SCRIPT_WANT) < s.load)
		fail_msg("run %llu: asked for %llu, with a share of %u and %u that count",
		         (unsigned long long)run, (unsigned long long)number_of(q, SCRIPT_WANT),
		         s.share, s.load);
}

int
store_ask(struct store *s, const struct store_question *q, uint64_t at_ns)
{
	struct host_shares *l = q->arg;
	struct message m = {.host = host_of(l), .label = q->label};

	(void)s;
	(void)at_ns;
	check_asked(l, q);
	to_answer = q->answer;
	m.daemon = hosts[m.host].daemon;
	m.ask = (struct reference_ask){
		.host = name_number(q->argv[5]),
		.seq = number_of(q, SCRIPT_SEQ),
		.want = number_of(q, SCRIPT_WANT),
		.need = number_of(q, SCRIPT_NEED),
		.limit = number_of(q, SCRIPT_LIMIT),
		.life = number_of(q, SCRIPT_LEASE_MS) + number_of(q, SCRIPT_HOLD_MS),
		.starve = number_of(q, SCRIPT_STARVE_MS),
		.is_short = number_of(q, SCRIPT_IS_SHORT) != 0,
	};
	hold_message(&m);
	return 0;
}

/* As the script answers. */
static void
give_answer(const struct message *m)
{
	uint64_t numbers[ANSWERS] = {
		[ANSWER_SHARE] = m->answer.share,
		[ANSWER_SUM] = m->answer.sum,
		[ANSWER_HOSTS] = m->answer.hosts,
		[ANSWER_OTHER_STARVES] = m->answer.other_starves,
		[ANSWER_LIMIT] = m->ask.limit,
		[ANSWER_SEQ] = m->answer.seq,
		[ANSWER_NOW_MS] = now_ns / RL_MILLISECOND,
	};
	struct store_value of[ANSWERS] = {{0}}, *items[ANSWERS];
	struct store_value v = {.type = STORE_ARRAY, .items = items, .count = ANSWERS};

	for (int i = 0; i < ANSWERS; i++) {
		of[i] = (struct store_value){.type = STORE_INTEGER, .integer = (int64_t)numbers[i]};
		items[i] = &of[i];
	}
	if (m->daemon == hosts[m->host].daemon)
		to_answer(&hosts[m->host].shares, m->label, &v, now_ns);
}

/* A question reaches the store, or an answer who has asked. */
static void
deliver(struct message *m)
{
	struct message copy = *m;

	m->is_there = false;
	copy.is_there = false;
	if (copy.is_answer) {
		give_answer(&copy);
		return;
	}
	begin_change();
	copy.answer = reference_take(&store->reference, &copy.ask, now_ns / RL_MILLISECOND, 1);
	end_change();
	copy.is_answer = true;
	hold_message(&copy);
}

static void
deliver_all(void)
{
	for (int i = 0; i < HELD; i++)
		while (store->held[i].is_there && store->held[i].sent_ns + way_ns <= now_ns)
			deliver(&store->held[i]);
}

/* Any of what is under way is lost, doubled, or arrives. */
static void
deliver_some(void)
{
	for (int n = (int)test_below(&seed, 6); n > 0; n--) {
		struct message *m = &store->held[test_below(&seed, 8)];

		if (!m->is_there)
			continue;
		switch (test_below(&seed, 12)) {
		case 0:
			m->is_there = false;
			break;
		case 1:
			hold_message(m);
			break;
		default:
			deliver(m);
		}
	}
}

/* ---- what must hold ---- */

static uint64_t
shares_until(const struct host *h)
{
	struct rl_cluster_info info;

	assert_int_equal(rl_cluster_info(h->rl, &info), 0);
	return info.shares_until_ns;
}

struct looked {
	struct host *h;
	bool is_ok;
};

static bool
is_given_to(int number, const struct rl_share *s, uint64_t until_ns)
{
	return s->share <= store->reference.of[number].share &&
	       until_ns + counts_ns <= store->reference.of[number].expires * RL_MILLISECOND;
}

/* To one of the names that a host's daemons gave it. */
static bool
is_given_to_any(const struct host *h, const struct rl_share *s, uint64_t until_ns)
{
	size_t len = strlen(h->identity.text);

	for (int i = 0; i < REFERENCE_HOSTS && store->names[i][0] != '\0'; i++)
		if (strncmp(store->names[i], h->identity.text, len) == 0 &&
		    store->names[i][len] == '.' && is_given_to(i, s, until_ns))
			return true;
	return false;
}

static int
look(const struct rl_share *s, void *arg)
{
	struct looked *looked = arg;
	const struct host *h = looked->h;
	uint64_t until_ns = shares_until(h);
	char name[64];

	snprintf(name, sizeof name, "%s.%llx.%llx.%x", h->identity.text,
	         (unsigned long long)s->of.table, (unsigned long long)s->of.slot, s->number);
	if (now_ns >= until_ns || is_given_to(name_number(name), s, until_ns))
		return 0;
	if (has_resizes && is_given_to_any(h, s, until_ns))
		followed++;
	else
		looked->is_ok = false;
	return 0;
}

static bool
is_covered(struct host *h)
{
	struct looked looked = {h, true};
	struct rl_info info;

	rl_info(h->rl, &info);
	assert_int_equal(
		rl_share_scan(h->rl, 0, info.slots + info.slots_before, now_ns, look, &looked), 0);
	return looked.is_ok;
}

static void
check_shares(const char *when)
{
	for (int i = 0; i < HOSTS; i++)
		if (!is_covered(&hosts[i]))
			fail_msg("run %llu: host %d uses what the store has not lent, %s",
			         (unsigned long long)run, i, when);
}

static uint64_t admitted_ns[ADMITTED];
static unsigned admitted;
static bool has_resets; /* which forget what was admitted */

/* The newest window; each is that once. */
static void
check_window(void)
{
	unsigned count = 0;

	for (unsigned i = admitted; i-- > 0 && admitted_ns[i] + WINDOW > now_ns;)
		count++;
	if (count > CAPACITY + HOSTS * blind && !has_resets)
		fail_msg("run %llu: %u admitted within a window", (unsigned long long)run, count);
}

static void
request(struct host *h)
{
	if (at_check(h->rl, h->rule, "k", 1, 1, now_ns, NULL) != RL_ALLOWED)
		return;
	assert_true(admitted < ADMITTED);
	admitted_ns[admitted++] = now_ns;
	check_window();
}

/* ---- hosts ---- */

static void
tell_nobody(void *arg, bool is_warning, const char *text)
{
	(void)arg;
	(void)is_warning;
	(void)text;
}

/* It knows nothing of the one before. */
static void
start_daemon(struct host *h)
{
	h->daemon++;
	h->identity = (struct identity){0};
	snprintf(h->identity.text, sizeof h->identity.text, "host-%d", (int)(h - hosts));
	h->shares = (struct host_shares){.rl = h->rl,
	                                 .identity = &h->identity,
	                                 .report = tell_nobody,
	                                 .lease_ns = LEASE,
	                                 .timeout_ns = timeout_ns,
	                                 .is_allowed = true,
	                                 .answered_ns = now_ns};
	assert_int_equal(host_shares_open(&h->shares, now_ns), 0);
}

static const char *
name_of(const struct host *h)
{
	static char name[80];

	snprintf(name, sizeof name, "%s-%d", test_segment_name(), (int)(h - hosts));
	return name;
}

static void
open_host(struct host *h, enum rl_algorithm algorithm)
{
	const struct rl_options o = {
		.keys = 9, .ring = 64, .on_full = RL_FULL_DENY, .flags = RL_OPEN_CLUSTER};
	const struct rl_limit limit = {.algorithm = algorithm,
	                               .capacity = CAPACITY,
	                               .window_ns = WINDOW,
	                               .granularity = algorithm == RL_SLIDING_WINDOW ? 4 : 0,
	                               .hard = algorithm == RL_SLIDING_WINDOW,
	                               .scope = RL_SCOPE_CLUSTER,
	                               .away = RL_AWAY_CLOSED,
	                               .blind = blind};
	const unsigned char secret[32] = {1};
	bool has_name = is_shared || has_resizes;

	assert_int_equal(has_name ? rl_open(name_of(h), &o, &h->rl) : rl_open_private(&o, &h->rl),
	                 0);
	if (!has_resizes)
		rl_unlink(name_of(h));
	assert_int_equal(rl_cluster_secret(h->rl, secret), 0);
	h->rule = rl_define(h->rl, &(struct rl_rule){.name = "r", .limit = limit});
	assert_true(h->rule >= 0);
	start_daemon(h);
}

static void
close_host(struct host *h)
{
	host_shares_close(&h->shares);
	rl_close(h->rl);
	rl_unlink(name_of(h));
}

static void
open_world(enum rl_algorithm algorithm)
{
	now_ns = T0;
	admitted = 0;
	counts_ns = algorithm == RL_SLIDING_WINDOW ? WINDOW + WINDOW / 4 : WINDOW;
	memset(store, 0, sizeof *store);
	reference_clear(&store->reference);
	for (int i = 0; i < HOSTS; i++)
		open_host(&hosts[i], algorithm);
}

static void
close_world(void)
{
	for (int i = 0; i < HOSTS; i++)
		close_host(&hosts[i]);
}

/* ---- the world ---- */

/* Now and then nobody comes for a while: a daemon is stopped, or the store is away. */
static void
pass_time(void)
{
	now_ns += test_below(&seed, 60) * RL_MILLISECOND;
	if (test_below(&seed, 60) == 0)
		now_ns += test_below(&seed, 3 * LEASE);
}

/* Keys move when they are asked for, and by a mover. */
static void
change_table(struct rl *rl)
{
	struct rl_resize to = {.keys = 9 + (uint32_t)test_below(&seed, 30)};
	struct rl_moving moving = {0};

	switch (test_below(&seed, 16)) {
	case 0:
		rl_resize(rl, &to, 0);
		break;
	case 1:
		rl_move_slots_at(rl, 0, UINT64_MAX, now_ns, &moving);
		break;
	case 2:
		rl_move_end(rl);
		break;
	default:
		break;
	}
}

static void
step_world(void)
{
	struct host *h = &hosts[test_below(&seed, HOSTS)];

	pass_time();
	for (int n = (int)test_below(&seed, 4); n > 0; n--)
		request(&hosts[test_below(&seed, HOSTS)]);
	if (has_resizes)
		change_table(h->rl);
	check_shares("before a round");
	host_shares_run(&h->shares, now_ns);
	check_shares("after a round");
	deliver_some();
	check_shares("after answers");
	if (has_resets && test_below(&seed, 20) == 0)
		rl_reset(h->rl, h->rule, "k", 1);
	if (test_below(&seed, 50) > 0)
		return;
	host_shares_close(&h->shares);
	start_daemon(h);
}

/* Nothing is lost any more. Returns how many were admitted. */
static unsigned
run_well(uint64_t for_ns)
{
	unsigned before = admitted;

	for (uint64_t i = 0; i < for_ns; i += 50 * RL_MILLISECOND) {
		now_ns += 50 * RL_MILLISECOND;
		for (int h = 0; h < HOSTS; h++) {
			request(&hosts[h]);
			host_shares_run(&hosts[h].shares, now_ns);
		}
		deliver_all();
	}
	return admitted - before;
}

/* Once all arrives again, leases go on, and each host is lent what it needs. */
static void
check_healed(void)
{
	unsigned count = run_well(10 * WINDOW);

	for (int i = 0; i < HOSTS; i++)
		if (shares_until(&hosts[i]) <= now_ns)
			fail_msg("run %llu: host %d has no lease", (unsigned long long)run, i);
	if (count < 5 * CAPACITY)
		fail_msg("run %llu: %u admitted in ten windows", (unsigned long long)run, count);
}

static const enum rl_algorithm algorithms[] = {RL_SLIDING_WINDOW, RL_SLIDING_LOG};

static void
test_what_is_used_is_a_share(void **state)
{
	const char *more = getenv("RL_SHARE_RUNS");
	uint64_t runs = more ? strtoull(more, NULL, 10) : test_scaled(200);
	uint64_t all = 0;

	(void)state;
	followed = 0;
	for (run = 1; run <= runs; run++) {
		seed = run;
		blind = run % 2;
		has_resizes = run % 6 == 5;
		open_world(algorithms[run / 2 % 2]);
		has_resets = run % 8 >= 6;
		for (int i = 0; i < 400; i++)
			step_world();
		check_healed();
		all += admitted;
		close_world();
	}
	printf("%llu runs, %llu admitted\n", (unsigned long long)runs, (unsigned long long)all);
	assert_true(all > runs * CAPACITY && followed > runs / 2);
	has_resizes = false;
}

/* A share that has moved is renewed under the name that the store has lent it to. */
static void
test_no_share_waits_for_a_lease(void **state)
{
	(void)state;
	blind = 0;
	has_resizes = true;
	open_world(RL_SLIDING_WINDOW);
	check_healed();
	for (int i = 0; i < HOSTS; i++) {
		struct rl_resize to = {.keys = 100};
		struct rl_moving moving = {0};

		assert_int_equal(rl_resize(hosts[i].rl, &to, 0), 0);
		assert_int_equal(rl_move_slots_at(hosts[i].rl, 0, UINT64_MAX, now_ns, &moving), 0);
		assert_int_equal(rl_move_end(hosts[i].rl), 1);
	}
	assert_true(run_well(2 * LEASE) > 5 * CAPACITY / 2);
	close_world();
	has_resizes = false;
}

/* An answer that comes within the timeout is not made void by another question meanwhile. */
static void
test_a_slow_store_lends(void **state)
{
	(void)state;
	blind = 0;
	timeout_ns = RL_SECOND;
	way_ns = 150 * RL_MILLISECOND;
	open_world(RL_SLIDING_WINDOW);
	assert_true(run_well(10 * WINDOW) > 5 * CAPACITY);
	close_world();
	timeout_ns = way_ns = 0;
}

/* ---- a daemon that is killed ---- */

/* All that outlives a daemon. */
struct bytes {
	unsigned char *segment[HOSTS];
	struct store_of_test store;
};

static struct bytes before_run, as_left;

static void
keep(struct bytes *b)
{
	for (int i = 0; i < HOSTS; i++)
		memcpy(b->segment[i], hosts[i].rl->segment.header, hosts[i].rl->segment.bytes);
	b->store = *store;
}

static void
restore(const struct bytes *b)
{
	for (int i = 0; i < HOSTS; i++)
		memcpy(hosts[i].rl->segment.header, b->segment[i], hosts[i].rl->segment.bytes);
	*store = b->store;
}

/* By what lending changes. */
static bool
is_as(const struct bytes *b)
{
	const struct rl_segment *s = &hosts[0].rl->segment;
	const unsigned char *base = (const unsigned char *)s->header;
	size_t table = (size_t)((unsigned char *)s->table.bucket - base);
	size_t wishes = (size_t)((unsigned char *)s->wishes - base);

	return memcmp(base, b->segment[0], sizeof *s->header) == 0 &&
	       memcmp(base + table, b->segment[0] + table,
	              s->table.buckets * sizeof *s->table.bucket) == 0 &&
	       memcmp(base + wishes, b->segment[0] + wishes, 2 * sizeof *s->wishes) == 0 &&
	       memcmp(store, &b->store, sizeof *store) == 0;
}

/*
 * What the first host's daemon asks now is lost; all else arrives, late questions of the killed
 * one, too.
 */
static void
deliver_but_to_first(void)
{
	for (int i = 0; i < HELD; i++) {
		struct message *m = &store->held[i];

		if (m->is_there && m->host == 0 && m->daemon == hosts[0].daemon)
			m->is_there = false;
	}
	deliver_all();
}

/* Others go on, the next daemon without an answer, and both hosts admit what they can. */
static void
go_on(void)
{
	for (int i = 0; i < 80; i++) {
		now_ns += 50 * RL_MILLISECOND;
		for (int h = 0; h < HOSTS; h++) {
			host_shares_run(&hosts[h].shares, now_ns);
			check_shares("after another round");
			for (int n = 0; n < 4; n++)
				request(&hosts[h]);
		}
		deliver_but_to_first();
		check_shares("after late messages");
	}
}

static void
survive(void)
{
	struct host_shares dead[HOSTS];
	uint64_t at_ns = now_ns;
	unsigned had_admitted = admitted;

	check_shares("where a daemon was killed");
	for (int i = 0; i < HOSTS; i++) {
		dead[i] = hosts[i].shares;
		start_daemon(&hosts[i]);
	}
	go_on();
	for (int i = 0; i < HOSTS; i++) {
		host_shares_close(&hosts[i].shares);
		hosts[i].shares = dead[i];
		hosts[i].daemon--;
	}
	now_ns = at_ns;
	admitted = had_admitted;
}

static void
run_round(void)
{
	host_shares_run(&hosts[0].shares, now_ns);
	deliver_all();
}

/* Returns at how many instructions. */
static int
kill_everywhere(void)
{
	int changes = 0;
	pid_t pid;

	keep(&before_run);
	keep(&as_left);
	pid = start(run_round);
	while (step(PTRACE_SINGLESTEP, pid)) {
		if (store->is_changing || is_as(&as_left))
			continue;
		keep(&as_left);
		survive();
		restore(&as_left);
		changes++;
	}
	finish(pid);
	restore(&before_run);
	return changes;
}

/* So many rounds in which all is answered, and requests that use what is lent. */
static void
live(int rounds, int requests)
{
	for (int i = 0; i < rounds; i++) {
		now_ns += 50 * RL_MILLISECOND;
		for (int n = 0; n < requests; n++)
			request(&hosts[0]);
		run_round();
	}
}

static void
wish(void)
{
	now_ns += 50 * RL_MILLISECOND;
	request(&hosts[0]);
}

/*
 * The first wish, a renewal, what is given back, and the end of a share that was not renewed while
 * others were.
 */
static void
prepare_first(void)
{
	wish();
}

static void
prepare_more(void)
{
	live(4, 2);
	now_ns += 50 * RL_MILLISECOND;
	for (int i = 0; i < CAPACITY; i++)
		request(&hosts[0]);
}

static void
prepare_less(void)
{
	live(20, 2);
	now_ns += 3 * WINDOW / 2;
}

/* Would a round end a share? A child tries, and what it did is undone. */
static bool
is_to_end(void)
{
	int status;
	pid_t pid;

	keep(&before_run);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		host_shares_run(&hosts[0].shares, now_ns);
		_exit(hosts[0].shares.counts.ended > 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	restore(&before_run);
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/*
 * Both keys are in use, and the first one's questions are lost, until its lease is the only one
 * that is not renewed.
 */
static void
prepare_end(void)
{
	struct host *h = &hosts[0];
	uint64_t end_ns;

	live(4, 2);
	end_ns = now_ns + LEASE;
	while (!is_to_end()) {
		assert_true(now_ns < end_ns);
		host_shares_run(&h->shares, now_ns);
		for (int i = 0; i < HELD; i++)
			if (store->held[i].ask.host == 0)
				store->held[i].is_there = false;
		deliver_all();
		now_ns += 50 * RL_MILLISECOND;
		request(h);
		at_check(h->rl, h->rule, "other", 5, 1, now_ns, NULL);
	}
}

static void
play_killed(const char *name, void (*prepare)(void))
{
	open_world(RL_SLIDING_WINDOW);
	for (int i = 0; i < HOSTS; i++) {
		before_run.segment[i] = malloc(hosts[i].rl->segment.bytes);
		as_left.segment[i] = malloc(hosts[i].rl->segment.bytes);
	}
	prepare();
	printf("%s: %d changes\n", name, kill_everywhere());
	for (int i = 0; i < HOSTS; i++) {
		free(before_run.segment[i]);
		free(as_left.segment[i]);
	}
	close_world();
}

static void
test_killed_anywhere(void **state)
{
	(void)state;
	is_shared = true;
	has_resets = false;
	run = 0;
	blind = 1;
	play_killed("a first wish", prepare_first);
	play_killed("given back", prepare_less);
	play_killed("a lease ends", prepare_end);
	blind = 0;
	play_killed("more is wished", prepare_more);
	play_killed("a lease ends", prepare_end);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_used_is_a_share),
		cmocka_unit_test(test_no_share_waits_for_a_lease),
		cmocka_unit_test(test_a_slow_store_lends),
		cmocka_unit_test(test_killed_anywhere),
	};

	store = test_shared(sizeof *store);
	is_done = test_shared(sizeof *is_done);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
