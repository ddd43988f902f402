/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The script, call by call beside the reference: random hosts, wants, limits that change,
 * overrides, requests that come late or twice, leases from some milliseconds on, on a real server
 * by its own clock. The holes that were found in earlier forms of it have a test each.
 */

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../rld/cluster/script.h"
#include "reference.h"
#include "server.h"
#include "testing.h"

#define KEYS 64
#define TICK_MS 2 /* by how much the server's own expiry may differ from the time it told before */

static struct server server;
static redisContext *redis, *hears;
static char sha[64];

static redisReply *
check(redisReply *r, int type)
{
	assert_non_null(r);
	if (r->type != type)
		fail_msg("%s", r->str ? r->str : "a reply of another type");
	return r;
}

static int
start(void **state)
{
	redisReply *r;

	(void)state;
	server_start(&server, "take", 0, "enable-debug-command local");
	redis = redisConnectUnix(server.socket);
	assert_non_null(redis);
	r = check(redisCommand(redis, "SCRIPT LOAD %s", script_take), REDIS_REPLY_STRING);
	snprintf(sha, sizeof sha, "%s", r->str);
	freeReplyObject(r);
	hears = redisConnectUnix(server.socket);
	assert_non_null(hears);
	freeReplyObject(check(redisCommand(hears, "SUBSCRIBE " SCRIPT_CHANNEL), REDIS_REPLY_ARRAY));
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	redisFree(hears);
	redisFree(redis);
	server_kill(&server);
	server_clean();
	return 0;
}

static void
flush(void)
{
	freeReplyObject(check(redisCommand(redis, "FLUSHALL"), REDIS_REPLY_STATUS));
}

static void
send_ask(int key, const struct reference_ask *a, uint64_t lease)
{
	assert_int_equal(
		redisAppendCommand(redis,
	                           "EVALSHA %s 2 rl1:{%d} rl1:o:{%d} h%d %llu %llu %llu "
	                           "%llu %d %llu %llu %llu %d",
	                           sha, key, key, a->host, (unsigned long long)a->seq,
	                           (unsigned long long)a->want, (unsigned long long)a->need,
	                           (unsigned long long)a->limit, a->is_short,
	                           (unsigned long long)lease, (unsigned long long)(a->life - lease),
	                           (unsigned long long)a->starve, a->is_call),
		REDIS_OK);
}

static void
get_answer(uint64_t got[ANSWERS])
{
	redisReply *r = NULL;

	assert_int_equal(redisGetReply(redis, (void **)&r), REDIS_OK);
	check(r, REDIS_REPLY_ARRAY);
	assert_int_equal(r->elements, ANSWERS);
	for (int i = 0; i < ANSWERS; i++)
		got[i] = (uint64_t)r->element[i]->integer;
	freeReplyObject(r);
}

static uint64_t
ask(const struct reference_ask *a, uint64_t got[ANSWERS])
{
	send_ask(0, a, a->life / 2);
	get_answer(got);
	return got[ANSWER_SHARE];
}

static bool
is_same(const struct reference_answer *want, const uint64_t got[ANSWERS])
{
	return want->share == got[ANSWER_SHARE] && want->sum == got[ANSWER_SUM] &&
	       want->hosts == got[ANSWER_HOSTS] && want->seq == got[ANSWER_SEQ] &&
	       want->other_starves == (got[ANSWER_OTHER_STARVES] != 0);
}

/* What is published next, after it was answered. */
static void
assert_heard(char what, int key, int host)
{
	char text[64];
	redisReply *r = NULL;

	snprintf(text, sizeof text, "%c%dh%d", what, key, host);
	assert_int_equal(redisGetReply(hears, (void **)&r), REDIS_OK);
	check(r, REDIS_REPLY_ARRAY);
	assert_int_equal(r->elements, 3);
	assert_string_equal(r->element[2]->str, text);
	freeReplyObject(r);
}

/* Nothing else was, up to now. */
static void
assert_silence(void)
{
	redisReply *r = NULL;

	assert_int_equal(redisAppendCommand(hears, "PING"), REDIS_OK);
	assert_int_equal(redisGetReply(hears, (void **)&r), REDIS_OK);
	check(r, REDIS_REPLY_ARRAY);
	assert_string_equal(r->element[0]->str, "pong");
	freeReplyObject(r);
}

static void
hear(const struct reference_answer *want, int key, int host)
{
	if (want->calls)
		assert_heard('c', key, host);
	if (want->tells_room)
		assert_heard('r', key, host);
}

/* At the millisecond in which the key ends the server may have forgotten it, or not. */
static void
compare(struct reference *r, int key, struct reference_ask *a, const uint64_t got[ANSWERS])
{
	struct reference before = *r;
	uint64_t now = got[ANSWER_NOW_MS];
	bool is_near = before.gone <= now + TICK_MS && before.gone + TICK_MS >= now;
	struct reference_answer want;

	a->limit = got[ANSWER_LIMIT];
	want = reference_take(r, a, now, 1);
	for (int gone = 0; gone < 2 && is_near && !is_same(&want, got); gone++) {
		*r = before;
		r->gone = gone ? now : now + 1;
		want = reference_take(r, a, now, 1);
	}
	if (!is_same(&want, got))
		fail_msg(
			"share %llu, not %llu; sum %llu, not %llu; hosts %llu, not %llu; seq %llu, "
			"not %llu",
			(unsigned long long)got[ANSWER_SHARE], (unsigned long long)want.share,
			(unsigned long long)got[ANSWER_SUM], (unsigned long long)want.sum,
			(unsigned long long)got[ANSWER_HOSTS], (unsigned long long)want.hosts,
			(unsigned long long)got[ANSWER_SEQ], (unsigned long long)want.seq);
	hear(&want, key, a->host);
}

static struct reference_ask
draw(uint64_t *seed, uint64_t limit, uint64_t seq, uint64_t *lease)
{
	static const uint64_t lives[] = {4, 30, 200, 60000};
	struct reference_ask a = {
		.host = (int)test_below(seed, 6),
		.seq = seq,
		.want = test_below(seed, 14),
		.limit = limit,
		.life = lives[test_below(seed, 4)] + 2,
		.starve = test_below(seed, 2) ? 5 : 1000,
		.is_short = test_below(seed, 2),
		.is_call = test_below(seed, 2),
	};

	a.need = test_below(seed, a.want + 2);
	if (test_below(seed, 8) == 0) /* late, or doubled */
		a.seq -= test_below(seed, a.seq < 30 ? a.seq : 30);
	*lease = test_below(seed, a.life - 1) + 1;
	return a;
}

static void
set_override(int key, uint64_t *seed)
{
	static const char *const commands[] = {"SET rl1:o:{%d} 7", "SET rl1:o:{%d} 20:1",
	                                       "SET rl1:o:{%d} 9:99999999999999",
	                                       "SET rl1:o:{%d} nonsense", "DEL rl1:o:{%d}"};

	freeReplyObject(redisCommand(redis, commands[test_below(seed, 5)], key));
}

static void
test_random_calls(void **state)
{
	const char *more = getenv("RL_TAKE_CALLS");
	uint64_t rounds = (more ? strtoull(more, NULL, 10) : test_scaled(100000)) / KEYS;
	static struct reference of[KEYS];
	struct reference_ask asks[KEYS];
	uint64_t seed = 1, got[ANSWERS], lease;

	(void)state;
	flush();
	for (int k = 0; k < KEYS; k++)
		reference_clear(&of[k]);
	for (uint64_t i = 1; i <= rounds; i++) {
		if (i % 16 == 0)
			set_override((int)test_below(&seed, KEYS), &seed);
		for (int k = 0; k < KEYS; k++) {
			uint64_t limit = 10 + (i / 50 + (uint64_t)k) % 3 * 5;

			asks[k] = draw(&seed, limit, UINT64_C(10000000000000) + i, &lease);
			send_ask(k, &asks[k], lease);
		}
		for (int k = 0; k < KEYS; k++) {
			get_answer(got);
			compare(&of[k], k, &asks[k], got);
		}
	}
	assert_silence();
}

static struct reference_ask
of_host(int host, uint64_t seq, uint64_t want, uint64_t limit, uint64_t life)
{
	return (struct reference_ask){.host = host,
	                              .seq = seq,
	                              .want = want,
	                              .need = want,
	                              .limit = limit,
	                              .life = life,
	                              .starve = 1000};
}

/* Whoever writes last has the shortest life: what another has lives on. */
static void
test_life_is_the_longest(void **state)
{
	struct reference_ask a = of_host(1, 1, 10, 10, 5000), b = of_host(2, 1, 0, 10, 20);
	uint64_t got[ANSWERS];

	(void)state;
	flush();
	assert_int_equal(ask(&a, got), 10);
	assert_int_equal(ask(&b, got), 0);
	freeReplyObject(check(redisCommand(redis, "DEBUG SLEEP 0.05"), REDIS_REPLY_STATUS));
	b.want = b.need = 10;
	b.seq++;
	assert_int_equal(ask(&b, got), 0);
	assert_int_equal(got[ANSWER_SUM], 10);
}

/*
 * A limit that falls takes nothing from who uses it; when it rises again nobody is given what is in
 * use.
 */
static void
test_nothing_is_taken_away(void **state)
{
	struct reference_ask a = of_host(1, 1, 6, 10, 5000), b = of_host(2, 1, 4, 10, 5000);
	uint64_t got[ANSWERS];

	(void)state;
	flush();
	assert_int_equal(ask(&a, got), 6);
	assert_int_equal(ask(&b, got), 4);
	a.limit = 5;
	a.seq++;
	assert_int_equal(ask(&a, got), 6);
	a.need = 1; /* nor where that is free, of what it has */
	a.seq++;
	assert_int_equal(ask(&a, got), 6);
	b.want = b.need = 9;
	b.seq++;
	assert_int_equal(ask(&b, got), 4);
}

/* An older request, however late, changes nothing. */
static void
test_order(void **state)
{
	struct reference_ask a = of_host(1, 7, 3, 10, 5000);
	uint64_t got[ANSWERS];

	(void)state;
	flush();
	assert_int_equal(ask(&a, got), 3);
	a.seq = 6;
	a.want = 9;
	assert_int_equal(ask(&a, got), 3);
	assert_int_equal(got[ANSWER_SEQ], 7);
}

/* 15 digits come back as they were. */
/* As if the store's clock had gone on by that much and was set back then. */
static void
set_clock_back(uint64_t ms)
{
	static const char script[] =
		"local a = redis.call('HGETALL', KEYS[1])\n"
		"for i = 1, #a, 2 do\n"
		"  local first, ms, last = string.match(a[i + 1], "
		"'^(.-)(%d%d%d%d%d%d%d%d%d%d%d%d%d)(.*)$')\n"
		"  if ms then redis.call('HSET', KEYS[1], a[i], first .. (ms + ARGV[1]) .. last) "
		"end\n"
		"end\n"
		"return redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + ARGV[1])\n";

	freeReplyObject(
		check(redisCommand(redis, "EVAL %s 1 rl1:{0} %llu", script, (unsigned long long)ms),
	              REDIS_REPLY_INTEGER));
}

/* Nothing is lent twice, and what a dead host had comes back when it had to. */
static void
test_clock_set_back(void **state)
{
	struct reference_ask first = {.host = 0,
	                              .seq = 1,
	                              .want = 12,
	                              .need = 6,
	                              .limit = 10,
	                              .life = 60000,
	                              .starve = 1000};
	struct reference_ask dies = first, next = first;
	uint64_t got[ANSWERS];

	(void)state;
	flush();
	assert_int_equal(ask(&first, got), 10);
	first.seq = 2;
	first.want = 6;
	assert_int_equal(ask(&first, got), 6);
	dies.host = 1;
	dies.need = dies.want = 4;
	dies.life = 300;
	assert_int_equal(ask(&dies, got), 4);
	set_clock_back(3600 * 1000);
	next.host = 2;
	next.need = next.want = 4;
	next.is_short = true;
	assert_int_equal(ask(&next, got), 0);
	assert_int_equal(got[ANSWER_SUM], 10);
	first.seq = 3;
	assert_int_equal(ask(&first, got), 6);
	assert_true(got[ANSWER_OTHER_STARVES]);
	usleep(350 * 1000);
	next.seq = 2;
	assert_int_equal(ask(&next, got), 4);
	assert_int_equal(got[ANSWER_SUM], 10);
	assert_int_equal(got[ANSWER_HOSTS], 2);
}

static void
test_long_numbers(void **state)
{
	struct reference_ask a = of_host(1, UINT64_C(123456789012345), 3, 10, 5000);
	uint64_t got[ANSWERS];

	(void)state;
	flush();
	ask(&a, got);
	a.seq++;
	a.want = 4;
	assert_int_equal(ask(&a, got), 4);
	assert_true(got[ANSWER_SEQ] == a.seq);
}

/* Two that need 700 of 1,000 get it one after the other, and not 500 each for ever. */
static void
test_all_or_nothing(void **state)
{
	struct reference_ask a = of_host(1, 1, 700, 1000, 5000), b = of_host(2, 1, 700, 1000, 5000);
	uint64_t got[ANSWERS];

	(void)state;
	flush();
	assert_int_equal(ask(&a, got), 700);
	assert_int_equal(ask(&b, got), 0);
	assert_int_equal(got[ANSWER_OTHER_STARVES], 0);
	a.want = a.need = 0;
	a.seq++;
	assert_int_equal(ask(&a, got), 0);
	assert_int_equal(got[ANSWER_OTHER_STARVES], 1);
	b.seq++;
	assert_int_equal(ask(&b, got), 700);
}

/* Who is short calls the others, who tell him when they have given back: not too often. */
static void
test_calls(void **state)
{
	struct reference_ask a = of_host(1, 1, 8, 10, 5000), b = of_host(2, 1, 6, 10, 5000);
	uint64_t got[ANSWERS];

	(void)state;
	flush();
	ask(&a, got);
	b.is_short = b.is_call = true;
	assert_int_equal(ask(&b, got), 0);
	assert_heard('c', 0, 2);
	b.seq++;
	ask(&b, got);
	assert_silence();
	a.want = a.need = 3;
	a.seq++;
	assert_int_equal(ask(&a, got), 3);
	assert_heard('r', 0, 1);
	a.want = a.need = 2;
	a.seq++;
	assert_int_equal(ask(&a, got), 2);
	assert_silence();
	freeReplyObject(check(redisCommand(redis, "DEBUG SLEEP 0.12"), REDIS_REPLY_STATUS));
	b.want = b.need = 9;
	b.seq++;
	ask(&b, got);
	assert_heard('c', 0, 2);
}

/* Where nobody may publish, all else is as before. */
static void
test_publishing_forbidden(void **state)
{
	struct reference_ask a = of_host(1, 1, 8, 10, 5000), b = of_host(2, 1, 6, 10, 5000);
	uint64_t got[ANSWERS];

	(void)state;
	flush();
	freeReplyObject(
		check(redisCommand(redis, "ACL SETUSER default -publish"), REDIS_REPLY_STATUS));
	ask(&a, got);
	b.is_short = b.is_call = true;
	assert_int_equal(ask(&b, got), 0);
	a.want = a.need = 4;
	a.seq++;
	assert_int_equal(ask(&a, got), 4);
	b.seq++;
	assert_int_equal(ask(&b, got), 6);
	assert_silence();
	freeReplyObject(
		check(redisCommand(redis, "ACL SETUSER default +publish"), REDIS_REPLY_STATUS));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_calls),
		cmocka_unit_test(test_life_is_the_longest),
		cmocka_unit_test(test_nothing_is_taken_away),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_clock_set_back),
		cmocka_unit_test(test_long_numbers),
		cmocka_unit_test(test_all_or_nothing),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_publishing_forbidden),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
