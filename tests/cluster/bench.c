/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a cluster costs, on this machine: the script, by how many hosts have a share; questions and
 * bytes of three hosts for loads below the capacity; how long one waits for what is free; the
 * daemon's processor time for many keys in use; and how long nothing new is admitted when a master
 * dies.
 *
 *	bench [KEYS]	keys in use, 1,000,000 if not said
 */

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../rld/cluster/script.h"
#include "host.h"
#include "nodes.h"
#include "testing.h"

#define HOSTS 3
#define HOSTS_MAX 10
#define LEASE (300 * RL_SECOND)

static struct server server;
static redisContext *redis;
static struct cluster_options options;
static char secret_path[160], address[32];

static void
tell(void *arg, bool is_trouble, const char *text)
{
	(void)arg;
	if (is_trouble)
		fprintf(stderr, "%s\n", text);
}

static void
write_secret(void)
{
	FILE *to;

	snprintf(secret_path, sizeof secret_path, "%s/secret", server_base());
	to = fopen(secret_path, "w");
	assert_non_null(to);
	fputs("0123456789abcdef0123456789abcdef", to);
	fclose(to);
	assert_int_equal(chmod(secret_path, 0600), 0);
	options = (struct cluster_options){.node_count = 1,
	                                   .secret_file = secret_path,
	                                   .timeout_ns = RL_SECOND,
	                                   .lease_ns = LEASE,
	                                   .report = tell};
}

static void
start_store(const char *name)
{
	server_start(&server, name, server_free_port(), "");
	snprintf(address, sizeof address, "127.0.0.1:%u", server.port);
	options.nodes[0] = address;
	redis = redisConnectUnix(server.socket);
	assert_non_null(redis);
}

static void
stop_store(void)
{
	redisFree(redis);
	server_kill(&server);
}

static redisReply *
say(const char *command)
{
	redisReply *r = redisCommand(redis, command);

	assert_non_null(r);
	return r;
}

/*
 * The number behind `name`, which stands behind `part`, in what INFO says of `section`; 0 where it
 * is not.
 */
static double
info(const char *section, const char *part, const char *name)
{
	redisReply *r = redisCommand(redis, "INFO %s", section);
	const char *at;
	double number;

	assert_non_null(r);
	at = strstr(r->str, part);
	at = at ? strstr(at, name) : NULL;
	number = at ? strtod(at + strlen(name), NULL) : 0;
	freeReplyObject(r);
	return number;
}

static double
calls(void)
{
	return info("commandstats", "cmdstat_evalsha:", "calls=");
}

/* Of a process, in seconds. */
static double
processor_time(pid_t pid)
{
	unsigned long user, system;
	char path[64];
	FILE *from;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	from = fopen(path, "r");
	assert_non_null(from);
	assert_int_equal(fscanf(from, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
	                        &user, &system),
	                 2);
	fclose(from);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* ---- the script ---- */

static void
bench_script(int hosts)
{
	const int rounds = 20000 / hosts;
	redisReply *r = redisCommand(redis, "SCRIPT LOAD %s", script_take);
	char sha[64];

	snprintf(sha, sizeof sha, "%s", r->str);
	freeReplyObject(r);
	freeReplyObject(say("FLUSHALL"));
	freeReplyObject(say("CONFIG RESETSTAT"));
	for (int i = 1; i <= rounds; i++) {
		for (int h = 0; h < hosts; h++)
			redisAppendCommand(
				redis,
				"EVALSHA %s 2 rl1:{k} rl1:o:{k} host%d.%d.1 %d %d %d 100000 0 "
				"30000 60000 1000",
				sha, h, h, i, 10 + i % 7, 11 + i % 7);
		for (int h = 0; h < hosts; h++) {
			assert_int_equal(redisGetReply(redis, (void **)&r), REDIS_OK);
			freeReplyObject(r);
		}
	}
	r = say("MEMORY USAGE rl1:{k} SAMPLES 0");
	printf("%8d %12.1f %12lld\n", hosts,
	       info("commandstats", "cmdstat_evalsha:", "usec_per_call="), r->integer);
	freeReplyObject(r);
}

static void
bench_scripts(void)
{
	start_store("script");
	printf("the script\n%8s %12s %12s\n", "hosts", "us a call", "bytes a key");
	for (int hosts = 1; hosts <= 256; hosts *= 4)
		bench_script(hosts);
	stop_store();
}

/* ---- questions and bytes ---- */

#define CAPACITY 1000
#define KEYS 10
#define WINDOW (4 * RL_SECOND)
#define WINDOWS 3

static struct host hosts[HOSTS_MAX];
static int rules[HOSTS_MAX], names;

static void
open_host(int i, uint32_t keys, const struct rl_limit *limit)
{
	host_open_for(&hosts[i], names++, keys);
	rules[i] = rl_define(hosts[i].rl, &(struct rl_rule){.name = "r", .limit = *limit});
	assert_true(rules[i] >= 0);
	host_start_daemon(&hosts[i], &options);
}

enum load {
	EVEN,
	ONE_HOST,
	MOVING
};

static int
host_of(enum load load, uint64_t n, uint64_t passed_ns)
{
	if (load == EVEN)
		return (int)(n % HOSTS);
	return load == ONE_HOST ? 0 : (int)(passed_ns / RL_SECOND % HOSTS);
}

struct driven {
	uint64_t requests, denied;
};

static struct driven
drive(enum load load, double part)
{
	uint64_t begin_ns = rl_now(hosts[0].rl), passed_ns, n = 0, denied = 0;

	while ((passed_ns = rl_now(hosts[0].rl) - begin_ns) < WINDOWS * WINDOW) {
		uint64_t due =
			(uint64_t)((double)passed_ns * part * CAPACITY * KEYS / (double)WINDOW);

		for (; n < due; n++) {
			int i = host_of(load, n / KEYS, passed_ns);
			char key[8];
			int size = snprintf(key, sizeof key, "k%d", (int)(n % KEYS));

			denied += rl_check(hosts[i].rl, rules[i], key, (size_t)size, 1, NULL) ==
			          RL_DENIED;
		}
		usleep(1000);
	}
	return (struct driven){n, denied};
}

/* A counter in the store is asked for each request, and admits what it has. */
static double
central_asks(const struct driven *d)
{
	double most = (double)CAPACITY * KEYS * WINDOWS;

	return (double)d->requests > most ? (double)d->requests / most : 1;
}

static void
bench_load(const char *name, enum load load, double part)
{
	static const struct rl_limit limit = {.algorithm = RL_SLIDING_WINDOW,
	                                      .capacity = CAPACITY,
	                                      .window_ns = WINDOW,
	                                      .granularity = 8,
	                                      .hard = 1,
	                                      .scope = RL_SCOPE_CLUSTER,
	                                      .blind = CAPACITY / 50,
	                                      .away = RL_AWAY_CLOSED};
	double asked, received, sent;
	struct driven d;

	freeReplyObject(say("FLUSHALL"));
	for (int i = 0; i < HOSTS; i++)
		open_host(i, 1000, &limit);
	freeReplyObject(say("CONFIG RESETSTAT"));
	d = drive(load, part);
	asked = calls();
	received = info("stats", "", "total_net_input_bytes:");
	sent = info("stats", "", "total_net_output_bytes:");
	printf("%-34s %14.1f %13.4f %11.1f %10.0f %10.0f %8.1f %%\n", name, asked / KEYS / WINDOWS,
	       asked / (double)(d.requests - d.denied), central_asks(&d),
	       asked > 0 ? received / asked : 0, asked > 0 ? sent / asked : 0,
	       100.0 * (double)d.denied / (double)d.requests);
	for (int i = 0; i < HOSTS; i++)
		host_end(&hosts[i]);
}

static void
bench_loads(void)
{
	start_store("loads");
	printf("\nthree hosts, %d keys, 1,000 in 4 s, blind 20\n%-34s %14s %10s %10s %10s %10s "
	       "%10s\n",
	       KEYS, "", "asks a window", "each admitted", "a counter's", "bytes in", "bytes out",
	       "denied");
	bench_load("even, 80 % of the capacity", EVEN, 0.8);
	bench_load("all on one host, 80 %", ONE_HOST, 0.8);
	bench_load("all on one host, another each s", MOVING, 0.8);
	bench_load("even, twice the capacity", EVEN, 2);
	stop_store();
}

/* Before that no key has a hash to ask by. */
static void
wait_until_joined(int host)
{
	struct rl_cluster_info cluster = {0};

	while (rl_cluster_info(hosts[host].rl, &cluster) == 0 && !cluster.has_secret)
		usleep(10000);
}

/* ---- who waits ---- */

#define TRIES_MAX 1000
/* The others use the key for that long, or twice: calls are as far apart. */
#define HOLDERS_NS (100 * RL_MILLISECOND)
#define LONGEST_NS (40 * RL_SECOND) /* after which a try is given up */

static uint64_t seed = 1;

static bool
ask(int host, int number, uint64_t cost)
{
	char key[16];
	struct rl_item item = {.rule = rules[host],
	                       .key = key,
	                       .key_len = (size_t)snprintf(key, sizeof key, "w%d", number),
	                       .cost = cost,
	                       .flags = RL_ITEM_WAITS};

	return rl_check_item(hosts[host].rl, &item, NULL) == RL_ALLOWED;
}

/* The others use some of it, one after the other, each by requests that wait. Returns how much. */
static uint64_t
use_some(int number, int count)
{
	uint64_t used = 0;

	for (int i = 1; i < count; i++) {
		uint64_t cost = 1 + test_below(&seed, CAPACITY / (uint64_t)count);

		for (int tries = 0; tries < 100; tries++) {
			if (ask(i, number, cost)) {
				used += cost;
				break;
			}
			usleep(1000);
		}
	}
	return used;
}

/* For so long; the others go on, one unit each millisecond, up to so many. Returns these. */
static uint64_t
pass(int number, int count, uint64_t units, uint64_t span_ns)
{
	uint64_t end_ns = rl_now(hosts[0].rl) + span_ns, used = 0;

	do {
		if (used < units)
			used += ask(1 + (int)test_below(&seed, (uint64_t)count - 1), number, 1);
		usleep(1000);
	} while (rl_now(hosts[0].rl) < end_ns);
	return used;
}

struct waited {
	uint64_t ns[TRIES_MAX], asks[TRIES_MAX];
	size_t count;
};

static int
by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* One of a cost that is free comes again each millisecond; a tenth is for others who go on. */
static void
try_one(struct waited *w, int number, int count, bool are_busy)
{
	uint64_t used = use_some(number, count), room, cost, asks, begin_ns;

	used += pass(number, count, are_busy ? CAPACITY : 0,
	             HOLDERS_NS + test_below(&seed, HOLDERS_NS));
	room = are_busy ? (CAPACITY - used) / 10 : 0;
	cost = 1 + test_below(&seed, CAPACITY - used - room);
	asks = *hosts[0].asks;
	begin_ns = rl_now(hosts[0].rl);
	while (!ask(0, number, cost) && rl_now(hosts[0].rl) - begin_ns < LONGEST_NS)
		room -= pass(number, count, room, RL_MILLISECOND);
	w->ns[w->count] = rl_now(hosts[0].rl) - begin_ns;
	w->asks[w->count++] = *hosts[0].asks - asks;
}

static void
bench_who_waits(int count, bool are_busy, size_t times)
{
	static const struct rl_limit limit = {.algorithm = RL_SLIDING_WINDOW,
	                                      .capacity = CAPACITY,
	                                      .window_ns = 60 * RL_SECOND,
	                                      .granularity = 8,
	                                      .hard = 1,
	                                      .scope = RL_SCOPE_CLUSTER,
	                                      .blind = RL_BLIND_AUTO,
	                                      .away = RL_AWAY_CLOSED};
	static struct waited w;

	w.count = 0;
	freeReplyObject(say("FLUSHALL")); /* of the same keys */
	for (int i = 0; i < count; i++)
		open_host(i, 1000, &limit);
	for (int i = 0; i < count; i++)
		wait_until_joined(i);
	while (w.count < times)
		try_one(&w, (int)w.count, count, are_busy);
	qsort(w.ns, w.count, sizeof *w.ns, by_size);
	qsort(w.asks, w.count, sizeof *w.asks, by_size);
	printf("%8d %6s %10.1f %10.1f %10.1f %10d %10d\n", count, are_busy ? "busy" : "idle",
	       (double)w.ns[w.count / 2] / 1e6, (double)w.ns[w.count * 99 / 100] / 1e6,
	       (double)w.ns[w.count - 1] / 1e6, (int)w.asks[w.count * 99 / 100],
	       (int)w.asks[w.count - 1]);
	for (int i = 0; i < count; i++)
		host_end(&hosts[i]);
}

static void
bench_waits(void)
{
	static const int counts[] = {2, 4, 10};

	start_store("waits");
	options.lease_ns = 30 * RL_SECOND;
	for (int is_forbidden = 0; is_forbidden < 2; is_forbidden++) {
		printf("\nany cost that is free, of callers that wait%s\n%8s %6s %10s %10s %10s "
		       "%10s %10s\n",
		       is_forbidden ? "; publishing forbidden" : "", "hosts", "others", "half, ms",
		       "99 %", "all", "asks, 99 %", "all");
		if (is_forbidden)
			freeReplyObject(say("ACL SETUSER default -publish"));
		for (size_t i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++)
			bench_who_waits(counts[i / 2], i & 1, is_forbidden ? 20 : 100);
	}
	options.lease_ns = LEASE;
	stop_store();
}

/* ---- the daemon's processor time ---- */

#define STEADY 100 /* seconds, in which each lease is renewed once */
#define SETTLE 30  /* and in which what was borrowed in a hurry is given back */

/* All keys ask for a share, and keep it. */
static void
ask_for_all(uint32_t keys)
{
	for (uint32_t k = 0; k < keys; k++) {
		char key[16];
		int size = snprintf(key, sizeof key, "k%u", k);

		rl_check(hosts[0].rl, rules[0], key, (size_t)size, 1, NULL);
	}
}

static void
bench_keys(uint32_t keys)
{
	static const struct rl_limit limit = {.algorithm = RL_FIXED_WINDOW,
	                                      .capacity = 100,
	                                      .window_ns = 3600 * RL_SECOND,
	                                      .scope = RL_SCOPE_CLUSTER,
	                                      .blind = 1,
	                                      .away = RL_AWAY_CLOSED};
	double cpu, asked, store_cpu, first;
	uint64_t begin_ns;

	start_store("keys");
	options.node_count = 1;
	options.timeout_ns = RL_SECOND;
	open_host(0, keys + keys / 4, &limit);
	wait_until_joined(0);
	begin_ns = rl_now(hosts[0].rl);
	while (info("keyspace", "", "keys=") < keys * 0.99 &&
	       rl_now(hosts[0].rl) - begin_ns < 600 * RL_SECOND) {
		ask_for_all(keys);
		usleep(200000);
	}
	first = (double)(rl_now(hosts[0].rl) - begin_ns) / RL_SECOND;
	printf("\n%u keys in use on a host, lease 5 min: all have a share after %.0f s\n", keys,
	       first);
	sleep(SETTLE);
	cpu = processor_time(hosts[0].daemon);
	store_cpu = processor_time(server.pid);
	asked = calls();
	sleep(STEADY);
	printf("then the daemon takes %.1f %% of a core, the store %.1f %%, for %.0f asks a "
	       "second; "
	       "%.0f bytes a key in the store\n",
	       100 * (processor_time(hosts[0].daemon) - cpu) / STEADY,
	       100 * (processor_time(server.pid) - store_cpu) / STEADY, (calls() - asked) / STEADY,
	       info("memory", "", "used_memory:") / keys);
	host_end(&hosts[0]);
	stop_store();
}

/* ---- a master dies ---- */

#define ROUNDS 5
#define FRESH 4000 /* keys of a round */
#define EACH_NS (2 * RL_MILLISECOND)

static struct nodes nodes;
static struct fresh {
	uint64_t born_ns, admitted_ns;
	int admitted; /* the first unasked */
} fresh[FRESH];

static void
try_fresh(int round, int born)
{
	for (int k = 0; k < born; k++) {
		char key[24];
		int size = snprintf(key, sizeof key, "f%d.%d", round, k);

		if (fresh[k].admitted_ns == 0 &&
		    rl_check(hosts[0].rl, rules[0], key, (size_t)size, 1, NULL) == RL_ALLOWED &&
		    ++fresh[k].admitted == 2)
			fresh[k].admitted_ns = rl_now(hosts[0].rl);
	}
}

/*
 * A new key each 2 ms, and a second request of it, which takes a share. Returns how long the
 * longest waited, in s.
 */
static double
bench_failover(int round)
{
	uint64_t begin_ns = rl_now(hosts[0].rl), longest_ns = 0, now_ns;
	bool is_killed = false;

	memset(fresh, 0, sizeof fresh);
	while ((now_ns = rl_now(hosts[0].rl)) - begin_ns < FRESH * EACH_NS) {
		int born = (int)((now_ns - begin_ns) / EACH_NS);

		for (int k = born; k >= 0 && fresh[k].born_ns == 0; k--)
			fresh[k].born_ns = now_ns;
		try_fresh(round, born + 1);
		if (!is_killed && now_ns - begin_ns > RL_SECOND) {
			server_kill(&nodes.of[nodes_master(&nodes)]);
			is_killed = true;
		}
		usleep(1000);
	}
	for (int k = 0; k < FRESH * 9 / 10; k++) {
		uint64_t end_ns = fresh[k].admitted_ns ? fresh[k].admitted_ns : now_ns;

		longest_ns = end_ns - fresh[k].born_ns > longest_ns ? end_ns - fresh[k].born_ns
		                                                    : longest_ns;
	}
	nodes_mend(&nodes);
	return (double)longest_ns / RL_SECOND;
}

static void
bench_failovers(void)
{
	static const struct rl_limit limit = {.algorithm = RL_FIXED_WINDOW,
	                                      .capacity = 10,
	                                      .window_ns = 60 * RL_SECOND,
	                                      .scope = RL_SCOPE_CLUSTER,
	                                      .blind = 1,
	                                      .away = RL_AWAY_CLOSED};

	nodes_start(&nodes, false);
	for (int i = 0; i < NODES; i++)
		options.nodes[i] = nodes.addresses[i];
	options.node_count = NODES;
	options.timeout_ns = 150 * RL_MILLISECOND;
	open_host(0, 2 * ROUNDS * FRESH, &limit);
	wait_until_joined(0);
	printf("\na master of three dies, cluster-node-timeout 0.7 s: a new key waits for a share "
	       "at most");
	for (int i = 0; i < ROUNDS; i++)
		printf(" %.1f", bench_failover(i));
	puts(" s");
	host_end(&hosts[0]);
	nodes_stop(&nodes);
}

int
main(int argc, char **argv)
{
	uint32_t keys = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;

	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	write_secret();
	bench_scripts();
	bench_loads();
	bench_waits();
	bench_failovers();
	bench_keys(keys);
	server_clean();
	return 0;
}
