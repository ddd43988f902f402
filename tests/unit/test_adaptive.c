/* SPDX-License-Identifier: BSD-2-Clause */
/* examples/adaptive.c before a server that is simulated: so many at once, and more share it evenly. */
#include <string.h>

#include "../../examples/adaptive.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define MAX 64
#define MS RL_MILLISECOND

struct server {
	unsigned room; /* requests that it does at once: the knee */
	uint64_t work_ns;
	bool is_even; /* each takes the same time; else as it comes, almost exponential */
};

struct flight {
	struct adaptive_pass pass;
	double left_ns; /* of its work; 0: none is on its way here */
};

struct world {
	struct adaptive a;
	struct server server;
	struct flight flights[MAX];
	unsigned count; /* of flights */
	uint64_t now_ns, seed;
};

/* Of what happens in a while. */
struct seen {
	uint64_t allowed, denied, done;
	uint64_t time_ns; /* of all that were done */
	uint64_t limits;  /* the sum, at each arrival */
	uint32_t least, most;
};

static struct world *
open_world(unsigned room, uint64_t work_ns, bool is_even)
{
	static struct world w;

	memset(&w, 0, sizeof w);
	w.server = (struct server){.room = room, .work_ns = work_ns, .is_even = is_even};
	w.now_ns = T0;
	assert_int_equal(adaptive_open(&w.a, test_private(100), "s", MAX), 0);
	return &w;
}

/* Each further half is half as likely: a straight line between the points of an exponential. */
static uint64_t
about(uint64_t mean_ns, uint64_t *seed)
{
	uint64_t random = test_random(seed) | UINT64_C(1) << 40;
	uint64_t halves = (uint64_t)__builtin_ctzll(random) * 1000 + test_below(seed, 1000);

	return 1 + halves * mean_ns / 1500;
}

/* What of its work a request gets done in a nanosecond. */
static double
speed(const struct world *w)
{
	return w->count <= w->server.room ? 1 : (double)w->server.room / w->count;
}

static struct flight *
next_done(struct world *w)
{
	struct flight *next = NULL;

	for (int i = 0; i < MAX; i++) {
		struct flight *f = &w->flights[i];
		if (f->left_ns > 0 && (!next || f->left_ns < next->left_ns))
			next = f;
	}
	return next;
}

static double
more(double a, double b)
{
	return a > b ? a : b;
}

static void
pass_time(struct world *w, uint64_t ns)
{
	double done_ns = (double)ns * speed(w);

	for (int i = 0; i < MAX; i++)
		if (w->flights[i].left_ns > 0) /* and 1, until somebody has seen that it is done */
			w->flights[i].left_ns = more(1, w->flights[i].left_ns - done_ns);
	w->now_ns += ns;
}

/* Go on until then, and finish what is done before. */
static void
go_on(struct world *w, uint64_t until_ns, struct seen *seen)
{
	struct flight *f;

	while ((f = next_done(w)) != NULL) {
		uint64_t ns = 1 + (uint64_t)(f->left_ns / speed(w));
		if (w->now_ns + ns > until_ns)
			break;
		pass_time(w, ns);
		f->left_ns = 0;
		w->count--;
		adaptive_leave(&w->a, "k", w->now_ns, &f->pass);
		seen->time_ns += w->now_ns - f->pass.start_ns;
		seen->done++;
	}
	pass_time(w, until_ns - w->now_ns);
}

static void
arrive(struct world *w, struct seen *seen)
{
	const struct server *s = &w->server;
	struct adaptive_pass pass;
	int i = 0;

	if (adaptive_enter(&w->a, "k", w->now_ns, &pass) != RL_ALLOWED) {
		seen->denied++;
		return;
	}
	assert_int_equal(pass.holds, 1);
	while (i < MAX && w->flights[i].left_ns > 0)
		i++;
	assert_true(i < MAX); /* never more than `max` */
	w->flights[i].pass = pass;
	w->flights[i].left_ns = (double)(s->is_even ? s->work_ns : about(s->work_ns, &w->seed));
	w->count++;
	seen->allowed++;
}

/* Requests for so many times what the server can do. */
static struct seen
load(struct world *w, double times, unsigned seconds)
{
	struct seen seen = {.least = MAX};
	uint64_t end_ns = w->now_ns + seconds * RL_SECOND;
	uint64_t gap_ns = (uint64_t)((double)w->server.work_ns / w->server.room / times);

	while (w->now_ns < end_ns) {
		go_on(w, w->now_ns + about(gap_ns, &w->seed), &seen);
		arrive(w, &seen);
		uint32_t limit = adaptive_limit(&w->a, "k", w->now_ns);
		seen.limits += limit;
		seen.least = limit < seen.least ? limit : seen.least;
		seen.most = limit > seen.most ? limit : seen.most;
	}
	assert_in_range(seen.least, 1, MAX);
	assert_in_range(seen.most, 1, MAX);
	return seen;
}

static uint64_t
mean_limit(const struct seen *s)
{
	return s->limits / (s->allowed + s->denied);
}

/* The sum of what was done, in hundredths of what the server can do. */
static uint64_t
percent_done(const struct world *w, const struct seen *s, unsigned seconds)
{
	return 100 * s->done * w->server.work_ns / w->server.room / (seconds * RL_SECOND);
}

/* In tenths of the work. */
static uint64_t
mean_time(const struct world *w, const struct seen *s)
{
	return 10 * s->time_ns / s->done / w->server.work_ns;
}

/* The limit is where a request waits as long as it works, and what the server can do is done. */
static void
expect_found(struct world *w, double times, unsigned seconds)
{
	struct seen s = load(w, times, seconds);
	uint64_t room = w->server.room;

	assert_in_range(mean_limit(&s), room, 3 * room);
	assert_in_range(mean_time(w, &s), 14, 26);
	assert_in_range(percent_done(w, &s, seconds), 85, 110);
}

static void
test_finds_the_knee(void **state)
{
	(void)state;
	for (unsigned room = 1; room <= 16; room *= 4)
		for (int is_even = 0; is_even < 2; is_even++) {
			struct world *w = open_world(room, 10 * MS, is_even);
			load(w, 3, 10);
			expect_found(w, 3, 20);
			expect_found(w, 10, 10);
			rl_close(w->a.rl);
		}
}

/* A crowd that stays does not become what is usual. */
static void
test_does_not_drift(void **state)
{
	struct world *w = open_world(8, 100 * MS, false);

	(void)state;
	load(w, 3, 60);
	for (int i = 0; i < 10; i++)
		expect_found(w, 1.5, 360);
	rl_close(w->a.rl);
}

/* From wherever it begins: here with the most, and a crowd for what is usual. */
static void
test_comes_back_from_too_many(void **state)
{
	struct world *w = open_world(2, 10 * MS, true);

	(void)state;
	load(w, 3, 1);
	rl_counter_set_at(w->a.rl, w->a.limit, "k", 1, MAX * 1000000, RL_NEVER_NS, w->now_ns, NULL);
	rl_counter_set_at(w->a.rl, w->a.alone, "k", 1, 320 * MS, RL_NEVER_NS, w->now_ns, NULL);
	assert_int_equal(adaptive_limit(&w->a, "k", w->now_ns), MAX);
	load(w, 3, 180);
	expect_found(w, 3, 10);
	rl_close(w->a.rl);
}

static void
test_refuses_nobody_without_need(void **state)
{
	struct world *w = open_world(8, 10 * MS, false);
	struct seen s;

	(void)state;
	load(w, 3, 20);
	load(w, 0.3, 1);
	s = load(w, 0.3, 60);
	assert_int_equal(s.denied, 0);
	assert_in_range(mean_time(w, &s), 9, 11);
	s = load(w, 0.01, 60);
	assert_int_equal(s.least, s.most); /* of a limit that is not used nothing was learned */
	expect_found(w, 3, 20);
	rl_close(w->a.rl);
}

/* A server of half the room, and one that takes four times as long: each is found again, and back. */
static void
test_follows_the_server(void **state)
{
	struct world *w = open_world(8, 10 * MS, true);

	(void)state;
	load(w, 3, 10);
	expect_found(w, 3, 10);
	w->server.room = 4;
	load(w, 3, 5);
	expect_found(w, 3, 10);
	w->server.work_ns = 40 * MS;
	load(w, 3, 40);
	expect_found(w, 3, 10);
	w->server = (struct server){.room = 8, .work_ns = 10 * MS, .is_even = true};
	load(w, 3, 20);
	expect_found(w, 3, 10);
	rl_close(w->a.rl);
}

/* It gets slower at once, and lets fewer in before it knows why. */
static void
test_lets_fewer_into_a_slow_server(void **state)
{
	struct world *w = open_world(8, 10 * MS, true);
	struct seen s;

	(void)state;
	load(w, 3, 10);
	w->server.work_ns = 100 * MS;
	s = load(w, 3, 2);
	assert_in_range(s.least, 1, 4);
	load(w, 3, 60);
	expect_found(w, 3, 20);
	rl_close(w->a.rl);
}

/* A request of ten minutes among those of 10 ms, again and again. */
static void
test_a_pause_is_one_request(void **state)
{
	struct world *w = open_world(8, 10 * MS, true);
	struct adaptive_pass pass;

	(void)state;
	load(w, 3, 10);
	for (int i = 0; i < 10; i++) {
		load(w, 0.01, 2);
		assert_int_equal(adaptive_enter(&w->a, "k", w->now_ns - 600 * RL_SECOND, &pass),
		                 RL_ALLOWED);
		adaptive_leave(&w->a, "k", w->now_ns, &pass);
		expect_found(w, 3, 5);
	}
	rl_close(w->a.rl);
}

/* At one, and at the most, it goes no further; every unit comes back. */
static void
test_bounds(void **state)
{
	struct world *w = open_world(1, 10 * MS, false);
	struct seen seen = {0};
	struct rl_result r;

	(void)state;
	for (unsigned i = 0; i < test_scaled(200); i++) {
		w->server.room = 1 + (unsigned)test_below(&w->seed, 64);
		w->server.work_ns = 1 + test_below(&w->seed, 50 * MS);
		w->server.is_even = i % 2;
		load(w, 0.1 * (double)test_below(&w->seed, 40) + 0.1, 1);
	}
	go_on(w, w->now_ns + 600 * RL_SECOND, &seen);
	assert_int_equal(rl_peek_at(w->a.rl, w->a.rule, "k", 1, w->now_ns, &r), RL_ALLOWED);
	assert_int_equal(r.used, 0);
	rl_close(w->a.rl);
}

static uint64_t
millionths_after_one(struct world *w, uint64_t millionths, uint32_t limit)
{
	struct adaptive_pass pass;
	struct rl_count count;

	w->now_ns += RL_SECOND; /* nobody looks */
	rl_counter_set_at(w->a.rl, w->a.limit, "k", 1, millionths, RL_NEVER_NS, w->now_ns, NULL);
	assert_int_equal(adaptive_limit(&w->a, "k", w->now_ns), limit);
	for (uint32_t i = 0; i < limit; i++) /* the last finds so many that it moves the limit */
		assert_int_equal(adaptive_enter(&w->a, "k", w->now_ns, &pass), RL_ALLOWED);
	w->now_ns += 10 * MS;
	adaptive_leave(&w->a, "k", w->now_ns, &pass);
	assert_int_equal(rl_counter_get_at(w->a.rl, w->a.limit, "k", 1, w->now_ns, &count), 1);
	assert_true(rl_reset(w->a.rl, w->a.rule, "k", 1) >= 0);
	return count.value;
}

/* What others add at the same time takes it below one and above the most: it is neither. */
static void
test_beyond_its_bounds(void **state)
{
	struct world *w = open_world(1, 10 * MS, true);

	(void)state;
	assert_int_equal(millionths_after_one(w, 4000000, 4), 4000000); /* the first */
	assert_int_equal(millionths_after_one(w, 4000000, 4), 4050000);
	assert_int_equal(millionths_after_one(w, 1, 1), 1000000);
	assert_int_equal(millionths_after_one(w, 1000000000, MAX), MAX * 1000000);
	rl_close(w->a.rl);
}

static void
test_what_is_not_counted(void **state)
{
	struct world *w = open_world(1, 10 * MS, true);
	struct rl_pattern key = {.match = RL_MATCH_KEY, .key = "k", .key_len = 1};
	struct adaptive_pass pass;
	char name[RL_NAME_MAX + 1];

	(void)state;
	assert_int_equal(rl_allow(w->a.rl, w->a.rule, &key, RL_NEVER_NS), 0);
	for (int i = 0; i < 2 * MAX; i++)
		assert_int_equal(adaptive_enter(&w->a, "k", T0, &pass), RL_ALLOWED);
	adaptive_leave(&w->a, "k", T0 + 1, &pass);
	assert_int_equal(rl_counter_get_at(w->a.rl, w->a.alone, "k", 1, T0 + 1, NULL), 0);
	memset(name, 'n', RL_NAME_MAX);
	name[RL_NAME_MAX] = '\0';
	assert_int_equal(adaptive_open(&w->a, w->a.rl, name, MAX), -EINVAL);
	assert_int_equal(adaptive_open(&w->a, w->a.rl, "s", 0), -EINVAL);
	rl_close(w->a.rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_the_knee),
		cmocka_unit_test(test_does_not_drift),
		cmocka_unit_test(test_comes_back_from_too_many),
		cmocka_unit_test(test_refuses_nobody_without_need),
		cmocka_unit_test(test_follows_the_server),
		cmocka_unit_test(test_lets_fewer_into_a_slow_server),
		cmocka_unit_test(test_a_pause_is_one_request),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_beyond_its_bounds),
		cmocka_unit_test(test_what_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
