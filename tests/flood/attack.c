/* SPDX-License-Identifier: BSD-2-Clause */
#include "attack.h"

#include <inttypes.h>
#include <stdio.h>

#include "dice.h"

#define NETWORKS 8000       /* of users: /24 or /48 */
#define NEIGHBOURHOODS 1000 /* that these are in: /16 or /32 */
#define SMALL 20            /* tables: of one alone the hash decides most */

#define USERS .users = 20000, .user_rate = 2000, .user_capacity = 20
#define EVEN_USERS \
	.users = 5000, .user_rate = 500, .user_capacity = 20, .is_even = 1, .is_shaped = 1

/*
 * What is promised has room for the chance of the hash: which of the few users that come most often
 * have a slot. On the reduced scale these count for more.
 */
static const struct attack attacks[] = {
	{"one-shot, the users' rule", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000, USERS,
         .most = {{0.5, 0.5}, {1, 1}}},
	{"one-shot, another rule, 1 in 600 s", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000, .rules = 1,
         .capacity = 1, USERS, .most = {{0.5, 0.5}, {1, 1}}},
	{"pinned, another rule, 5 in 600 s", ATTACK_PIN, ATTACK_TEXT, .rate = 10000, .rules = 1,
         .capacity = 5, USERS, .most = {{0.5, 1.5}, {1, 1}}},
	{"pinned, the users' rule", ATTACK_PIN, ATTACK_TEXT, .rate = 20000, USERS,
         .most = {{0.5, 1}, {1, 1}}},
	{"65,536 keys in turns, the users' rule", ATTACK_ROTATE, ATTACK_TEXT, .rate = 50000,
         .rotating = 65536, USERS, .most = {{0.5, 1}, {1, 1}}},
	{"one /48, random /64s", ATTACK_ONCE, ATTACK_48, .rate = 10000, USERS,
         .most = {{0.1, 0.1}, {1, 1}}},
	{"one /32, random /64s", ATTACK_ONCE, ATTACK_32, .rate = 10000, USERS,
         .most = {{0.5, 2}, {1, 1}}},
	{"one IPv4 /16 in turns", ATTACK_ROTATE, ATTACK_16, .rate = 50000, .rotating = 65536, USERS,
         .most = {{0.5, 2}, {1, 1}}},
	{"65,536 IPv4 addresses all over in turns", ATTACK_ROTATE, ATTACK_BOTNET, .rate = 50000,
         .rotating = 65536, USERS, .most = {{0.5, 1}, {1, 1}}},
	{"eight other rules, 1 in 600 s", ATTACK_ONCE, ATTACK_TEXT, .rate = 20000, .rules = 8,
         .capacity = 1, USERS, .most = {{5, 10}, {1, 1}}},
	{"no attack, 100,000 users", ATTACK_ONCE, ATTACK_TEXT, .users = 100000, .user_rate = 5000,
         .user_capacity = 20, .most = {{0.3, 1}, {0, 0}}},
	{"2, there before the users", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000, .rules = 1,
         .capacity = 1, .alone_s = 30, USERS, .most = {{0.5, 0.5}, {1, 1}}},
	{"2, there before the users, of 5 each", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000,
         .rules = 1, .capacity = 1, .alone_s = 30, .users = 20000, .user_rate = 2000,
         .user_capacity = 5, .most = {{1, 1}, {1, 1}}},
	{"10, there before the users", ATTACK_ONCE, ATTACK_TEXT, .rate = 20000, .rules = 8,
         .capacity = 1, .alone_s = 30, USERS, .most = {{6, 12}, {1, 1}}},
	{"10, there before the users, of 5 each", ATTACK_ONCE, ATTACK_TEXT, .rate = 20000,
         .rules = 8, .capacity = 1, .alone_s = 30, .users = 20000, .user_rate = 2000,
         .user_capacity = 5, .most = {{15, 20}, {1, 1}}},
	{"one-shot, the users' rule, of even users", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000,
         EVEN_USERS, .most = {{0.5, 0.5}, {1, 1}}},
	{"16, there before the users", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000, .alone_s = 60,
         EVEN_USERS, .most = {{0.5, 0.5}, {1, 1}}},
	{"16, 40,000 a second", ATTACK_ONCE, ATTACK_TEXT, .rate = 40000, EVEN_USERS,
         .most = {{1, 1}, {1, 1}}},
	{"18, there before the users", ATTACK_ONCE, ATTACK_TEXT, .rate = 40000, .alone_s = 60,
         EVEN_USERS, .most = {{1, 1}, {1, 1}}},
	{"16, of IPv4 addresses all over", ATTACK_ONCE, ATTACK_BOTNET, .rate = 10000, EVEN_USERS,
         .most = {{0.5, 0.5}, {1, 1}}},
	{"16, 400 a second of a table of 600 keys", ATTACK_ONCE, ATTACK_TEXT, .rate = 400,
         .table = 600, .tables = SMALL, .users = 120, .user_rate = 12, .user_capacity = 20,
         .is_even = 1, .is_shaped = 1, .most = {{1, 1}, {1, 1}}},
	{"21, there before the users", ATTACK_ONCE, ATTACK_TEXT, .rate = 400, .table = 600,
         .tables = SMALL, .users = 120, .user_rate = 12, .user_capacity = 20, .is_even = 1,
         .is_shaped = 1, .alone_s = 60, .most = {{1, 1}, {1, 1}}},
	{"17, 100,000 a second of a table of 1,000,000 keys, 200,000 users", ATTACK_ONCE,
         ATTACK_TEXT, .rate = 100000, .table = 1000000, .users = 200000, .user_rate = 20000,
         .user_capacity = 20, .is_even = 1, .alone_s = 60, .most = {{1, 1}, {1, 1}}},
	{"17, of 7 each", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000, .users = 5000, .user_rate = 500,
         .user_capacity = 7, .is_even = 1, .alone_s = 60, .most = {{35, 35}, {1, 1}}},
	{"17, of 100 each, 30 a minute", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000, .users = 5000,
         .user_rate = 2500, .user_capacity = 100, .is_even = 1, .alone_s = 60,
         .most = {{0.5, 0.5}, {1, 1}}},
	{"17, of 1,000 each, 60 a minute", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000, .users = 5000,
         .user_rate = 5000, .user_capacity = 1000, .is_even = 1, .alone_s = 60,
         .most = {{0.5, 0.5}, {1, 1}}},
	{"17, of 100,000 each, 30 a minute at 800", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000,
         .cost = 800, .users = 5000, .user_rate = 2500, .user_capacity = 100000, .is_even = 1,
         .alone_s = 60, .most = {{0.5, 0.5}, {1, 1}}},
	{"17, of users who come 15 times a minute", ATTACK_ONCE, ATTACK_TEXT, .rate = 10000,
         .users = 5000, .user_rate = 1250, .user_capacity = 20, .is_even = 1, .alone_s = 60,
         .most = {{30, 30}, {1, 1}}},
	{"16, of IPv6 /32s all over", ATTACK_ONCE, ATTACK_32S, .rate = 10000, EVEN_USERS,
         .most = {{0.5, 0.5}, {1, 1}}},
	{"29, there before the users", ATTACK_ONCE, ATTACK_32S, .rate = 10000, .alone_s = 60,
         EVEN_USERS, .most = {{0.5, 0.5}, {1, 1}}},
	{"29, 40,000 a second", ATTACK_ONCE, ATTACK_32S, .rate = 40000, EVEN_USERS,
         .most = {{1, 1}, {1, 1}}},
	{"31, there before the users", ATTACK_ONCE, ATTACK_32S, .rate = 40000, .alone_s = 60,
         EVEN_USERS, .most = {{1, 1}, {1, 1}}},
	{"20, there before the users", ATTACK_ONCE, ATTACK_BOTNET, .rate = 10000, .alone_s = 60,
         EVEN_USERS, .most = {{0.5, 0.5}, {1, 1}}},
	{"no attack, three times as many even users as slots", ATTACK_ONCE, ATTACK_TEXT,
         .users = 123000, .user_rate = 12300, .user_capacity = 20, .is_even = 1, .is_shaped = 1,
         .most = {{1, 1}, {0, 0}}},
};

const struct attack *
attack_number(unsigned i)
{
	return i < sizeof attacks / sizeof *attacks ? &attacks[i] : NULL;
}

size_t
attack_user(const struct attack *a, uint32_t i, char text[ATTACK_KEY_SIZE])
{
	uint32_t net = i % NETWORKS, host = 1 + i / NETWORKS, hood = net % NEIGHBOURHOODS;
	int n;

	net /= NEIGHBOURHOODS;
	if (a->keys == ATTACK_TEXT)
		n = snprintf(text, ATTACK_KEY_SIZE, "user:%" PRIu32, i);
	else if (a->keys == ATTACK_48 || a->keys == ATTACK_32 || a->keys == ATTACK_32S)
		n = snprintf(text, ATTACK_KEY_SIZE, "2a00:%" PRIx32 ":%" PRIx32 ":%" PRIx32 "::1",
		             hood, net, host);
	else
		n = snprintf(text, ATTACK_KEY_SIZE, "%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".%" PRIu32,
		             11 + hood / 250, hood % 250, net, host);
	return (size_t)n;
}

/* An odd factor: 2^31 addresses, each once, from 64.0.0.0 on. */
static size_t
bot(uint32_t i, char text[ATTACK_KEY_SIZE])
{
	uint32_t a = (i * UINT32_C(0x9e3779b1) & 0x7fffffff) + (UINT32_C(64) << 24);

	return (size_t)snprintf(text, ATTACK_KEY_SIZE,
	                        "%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".%" PRIu32, a >> 24,
	                        a >> 16 & 255, a >> 8 & 255, a & 255);
}

size_t
attack_key(const struct attack *a, uint32_t i, char text[ATTACK_KEY_SIZE])
{
	uint64_t any = dice_mix(i);
	int n;

	switch (a->keys) {
	case ATTACK_48:
		n = snprintf(text, ATTACK_KEY_SIZE, "2b00:1:1:%" PRIx32 "::1", i & 0xffff);
		break;
	case ATTACK_32:
		n = snprintf(text, ATTACK_KEY_SIZE, "2b00:1:%" PRIx64 ":%" PRIx64 "::1",
		             any & 0xffff, any >> 16 & 0xffff);
		break;
	case ATTACK_32S:
		n = snprintf(text, ATTACK_KEY_SIZE, "2b%02" PRIx64 ":%" PRIx64 ":%" PRIx64 "::1",
		             any & 0xff, any >> 8 & 0xffff, any >> 24 & 0xffff);
		break;
	case ATTACK_16:
		n = snprintf(text, ATTACK_KEY_SIZE, "45.1.%" PRIu32 ".%" PRIu32, i & 255,
		             i >> 8 & 255);
		break;
	case ATTACK_BOTNET:
		return bot(i, text);
	default:
		n = snprintf(text, ATTACK_KEY_SIZE, "x%016" PRIx64, any);
	}
	return (size_t)n;
}

/* All of them `hard`, of four sub-buckets. */
struct rl_limit
attack_limit(const struct attack *a, unsigned rule)
{
	struct rl_limit l = {.capacity = rule == 0 ? a->user_capacity : a->capacity,
	                     .window_ns = (rule == 0 ? 60 : 600) * RL_SECOND,
	                     .granularity = 4,
	                     .hard = 1};

	if (a->keys != ATTACK_TEXT) {
		l.prefix_v4 = 32;
		l.prefix_v6 = 64;
	}
	return l;
}
