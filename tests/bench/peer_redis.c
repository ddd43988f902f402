/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Redis over a unix socket, a decision being one Lua script: with two counters, one request at
 * a time or PEER_BATCH of them in a pipeline; and with a sorted set of times, which is exact.
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

static const char counters_script[] =
	"local window, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])\n"
	"local time = redis.call('TIME')\n"
	"local now = time[1] * 1000000 + time[2]\n"
	"local epoch = math.floor(now / window)\n"
	"local kept = redis.call('HMGET', KEYS[1], 'epoch', 'current', 'previous')\n"
	"local at = tonumber(kept[1] or -1)\n"
	"local current, previous = tonumber(kept[2] or 0), tonumber(kept[3] or 0)\n"
	"if at ~= epoch then\n"
	"	previous = at == epoch - 1 and current or 0\n"
	"	current = 0\n"
	"end\n"
	"local left = 1 - (now % window) / window\n"
	"if current + math.floor(previous * left) >= capacity then return 0 end\n"
	"redis.call('HSET', KEYS[1], 'epoch', epoch, 'current', current + 1,\n"
	"	'previous', previous)\n"
	"redis.call('PEXPIRE', KEYS[1], math.ceil(2 * window / 1000))\n"
	"return 1\n";

static const char log_script[] = "local window, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])\n"
				 "local time = redis.call('TIME')\n"
				 "local now = time[1] * 1000000 + time[2]\n"
				 "redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)\n"
				 "if redis.call('ZCARD', KEYS[1]) >= capacity then return 0 end\n"
				 "redis.call('ZADD', KEYS[1], now, ARGV[3])\n"
				 "redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))\n"
				 "return 1\n";

enum script {
	COUNTERS,
	LOG,
	SCRIPTS
};

static const char *const scripts[SCRIPTS] = {counters_script, log_script};
static char path[128];
static redisContext *client; /* this process's */
static char sha[SCRIPTS][48];

static const char *
start(void)
{
	static const char *const argv[] = {
		"redis-server", "--port", "0",     "--unixsocket", "SOCKET",     "--save",  "",
		"--appendonly", "no",     "--dir", "DIRECTORY",    "--loglevel", "warning", NULL};
	static const char *reason;

	if (path[0] == '\0')
		reason = peer_server_start(argv, path);
	return reason;
}

static redisReply *
check_reply(void *reply)
{
	redisReply *r = reply;

	if (!r)
		bench_die("redis: %s", client->errstr);
	if (r->type == REDIS_REPLY_ERROR)
		bench_die("redis: %s", r->str);
	return r;
}

static void
open_client(void)
{
	client = redisConnectUnix(path);
	if (!client || client->err)
		bench_die("redis: %s", client ? client->errstr : "no memory");
	for (int i = 0; i < SCRIPTS; i++) {
		redisReply *r = check_reply(redisCommand(client, "SCRIPT LOAD %s", scripts[i]));
		snprintf(sha[i], sizeof sha[i], "%s", r->str);
		freeReplyObject(r);
	}
}

/* Each use has keys of its own. The last argument makes an entry of the log unlike all others. */
static void
send_request(enum script script, const char *use, enum peer_limit_name limit, const char *key)
{
	const struct peer_limit *l = &peer_limits[limit];
	static uint64_t number;

	if (redisAppendCommand(client, "EVALSHA %s 1 %s:%s:%s %llu %u %ld:%llu", sha[script], use,
	                       l->name, key, (unsigned long long)(l->window_ns / 1000), l->capacity,
	                       (long)getpid(), (unsigned long long)number++) != REDIS_OK)
		bench_die("redis: %s", client->errstr);
}

static bool
read_answer(void)
{
	void *reply = NULL;
	redisReply *r;
	bool is_admitted;

	redisGetReply(client, &reply);
	r = check_reply(reply);
	is_admitted = r->integer == 1;
	freeReplyObject(r);
	return is_admitted;
}

static void
ask(enum script script, const char *use, enum peer_limit_name limit, const char *const *keys,
    size_t count, bool *admitted)
{
	if (!client)
		open_client();
	for (size_t i = 0; i < count; i++)
		send_request(script, use, limit, keys[i]);
	for (size_t i = 0; i < count; i++)
		admitted[i] = read_answer();
}

static void
check_counters(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	ask(COUNTERS, "one", limit, keys, count, admitted);
}

static void
check_pipelined(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	ask(COUNTERS, "pipelined", limit, keys, count, admitted);
}

static void
check_log(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	ask(LOG, "log", limit, keys, count, admitted);
}

const struct peer peer_redis = {
	"redis", "Redis, Lua script of two counters", start, check_counters, 1, 500, false};
const struct peer peer_redis_pipelined = {"redis_pipelined",
                                          "Redis, the same, 32 in a pipeline",
                                          start,
                                          check_pipelined,
                                          PEER_BATCH,
                                          1600,
                                          false};
const struct peer peer_redis_log = {
	"redis_log", "Redis, Lua script of a sorted set", start, check_log, 1, 500, false};
