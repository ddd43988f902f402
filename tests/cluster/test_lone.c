/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store that is no cluster: a primary and its replica, real ones, named in any order or by
 * Sentinels. Whatever dies, returns, or is a master beside another: who has moved on to a
 * successor never asks the one before.
 */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../../rld/store/role.h"
#include "../../rld/store/store.h"
#include "server.h"
#include "testing.h"

#define TIMEOUT (2 * RL_SECOND) /* a server may be late */
#define EPOCH "rl1:{hosts}:epoch"
#define HOSTS 2
#define PATIENCE (90 * RL_SECOND) /* a Sentinel that stood still does nothing for 30 s */

static uint64_t
clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

/* ---- the choice ---- */

static struct role_choice
choose(const struct role *roles, size_t count, uint64_t epoch)
{
	const struct role *of[3];

	for (size_t i = 0; i < count; i++)
		of[i] = &roles[i];
	return role_choose(of, count, epoch);
}

static void
assert_used(const struct role *roles, size_t count, uint64_t epoch, size_t number)
{
	struct role_choice c = choose(roles, count, epoch);

	assert_int_equal(c.verdict, ROLE_USE);
	assert_int_equal(c.number, number);
}

static void
test_choice(void **state)
{
	const struct role first = {.kind = ROLE_MASTER, .id = "a", .epoch = 1},
			  successor = {.kind = ROLE_MASTER, .id = "b", .before = "a", .epoch = 1},
			  used = {.kind = ROLE_MASTER, .id = "b", .before = "a", .epoch = 2},
			  empty = {.kind = ROLE_MASTER, .id = "c"},
			  replica = {.kind = ROLE_REPLICA, .epoch = 1}, unknown = {0},
			  untold = {.kind = ROLE_UNTOLD};

	(void)state;
	assert_used(&first, 1, 0, 0);
	assert_used((struct role[]){replica, first}, 2, 1, 1);
	assert_used((struct role[]){first, successor}, 2, 1, 1);
	assert_used((struct role[]){successor, first}, 2, 1, 0);
	assert_used((struct role[]){first, used, unknown}, 3, 2, 1);
	assert_used((struct role[]){empty, used}, 2, 2, 1);
	assert_used((struct role[]){unknown, successor}, 2, 1, 1);
	assert_used((struct role[]){untold, first}, 2, 1, 1);
	assert_used(&untold, 1, 3, 0);
	assert_used((struct role[]){empty, replica}, 2, 5, 0); /* all is lost, and nobody has it */
	assert_used(&empty, 1, 5, 0);
	assert_int_equal(choose((struct role[]){empty, unknown}, 2, 0).verdict, ROLE_OLD);
	assert_int_equal(choose((struct role[]){empty, unknown}, 2, 5).verdict, ROLE_OLD);
	assert_int_equal(choose((struct role[]){first, unknown}, 2, 2).verdict, ROLE_OLD);
	assert_int_equal(choose((struct role[]){first, replica}, 2, 2).verdict, ROLE_OLD);
	assert_int_equal(choose((struct role[]){replica, unknown}, 2, 1).verdict, ROLE_NOBODY);
	assert_int_equal(
		choose((struct role[]){first, {.kind = ROLE_MASTER, .id = "d", .epoch = 1}}, 2, 1)
			.verdict,
		ROLE_TWO);
	assert_int_equal(choose((struct role[]){empty, empty}, 2, 0).verdict, ROLE_TWO);
}

/* ---- real ones ---- */

struct client {
	struct store *store;
	char told[4096];
};

static struct client clients[HOSTS];
static struct server a, b;
static char at[2][32];

static void
tell(void *arg, bool is_trouble, const char *text)
{
	struct client *c = arg;
	size_t size = strlen(c->told);

	snprintf(c->told + size, sizeof c->told - size, "%s%s\n", is_trouble ? "! " : "", text);
}

/* Of two hosts the second names the nodes in the other order. */
static void
open_client(int number, const char *sentinel, const char *first, const char *second)
{
	const char *nodes[] = {first, second};
	struct client *c = &clients[number];
	struct store_options o = {.nodes = nodes,
	                          .node_count = second ? 2 : 1,
	                          .sentinel = sentinel,
	                          .epoch_key = EPOCH,
	                          .timeout_ns = TIMEOUT,
	                          .report = tell,
	                          .report_arg = c};
	char why[200] = "";

	*c = (struct client){0};
	c->store = store_open(&o, 42, why, sizeof why);
	if (!c->store)
		fail_msg("%s", why);
}

static int
close_clients(void **state)
{
	(void)state;
	for (int i = 0; i < HOSTS; i++) {
		store_close(clients[i].store, clock_ns());
		clients[i].store = NULL;
	}
	server_kill(&a);
	server_kill(&b);
	return 0;
}

static void
run_all(void)
{
	for (int i = 0; i < HOSTS; i++)
		if (clients[i].store)
			store_run(clients[i].store, clock_ns());
	usleep(3000);
}

/* Which node has the slots; "" none. */
static const char *
used_by(int number)
{
	static struct store_node node;

	for (unsigned i = 0; store_node(clients[number].store, i, &node); i++)
		if (node.has_slots && node.is_ready)
			return node.address;
	return "";
}

static void
wait_until_used(int number, const char *address)
{
	for (uint64_t end_ns = clock_ns() + PATIENCE; clock_ns() < end_ns; run_all())
		if (strcmp(used_by(number), address) == 0)
			return;
	fail_msg("host %d uses '%s', not '%s':\n%s", number, used_by(number), address,
	         clients[number].told);
}

static void
wait_until_told(int number, const char *text)
{
	for (uint64_t end_ns = clock_ns() + PATIENCE; clock_ns() < end_ns; run_all())
		if (strstr(clients[number].told, text))
			return;
	fail_msg("host %d is not told '%s':\n%s", number, text, clients[number].told);
}

/* For some rounds nobody uses this one. */
static void
assert_never_used(const char *address)
{
	for (uint64_t end_ns = clock_ns() + RL_SECOND; clock_ns() < end_ns; run_all())
		for (int i = 0; i < HOSTS; i++)
			assert_string_not_equal(used_by(i), address);
}

static void
say(const struct server *s, const char *command)
{
	char line[512];

	snprintf(line, sizeof line, "redis-cli -s %s %s >/dev/null", s->socket, command);
	assert_int_equal(system(line), 0);
}

static bool
says(const struct server *s, const char *command, const char *pattern)
{
	char line[512];

	snprintf(line, sizeof line, "redis-cli -s %s %s | grep -q '%s'", s->socket, command,
	         pattern);
	return system(line) == 0;
}

static void
wait_until_says(const struct server *s, const char *command, const char *pattern)
{
	for (uint64_t end_ns = clock_ns() + PATIENCE; clock_ns() < end_ns; run_all())
		if (says(s, command, pattern))
			return;
	fail_msg("%s: '%s' never says '%s'", s->directory, command, pattern);
}

/* A server, and where it is. */
static void
start(struct server *s, char *where, const char *name, const char *more)
{
	server_start(s, name, server_free_port(), more);
	snprintf(where, sizeof at[0], "127.0.0.1:%u", s->port);
}

/* A primary and its replica, which has all. */
static void
start_pair(const char *name)
{
	char names[2][32], more[64];

	snprintf(names[0], sizeof names[0], "%s-a", name);
	snprintf(names[1], sizeof names[1], "%s-b", name);
	start(&a, at[0], names[0], "repl-diskless-sync-delay 0");
	snprintf(more, sizeof more, "replicaof 127.0.0.1 %u", a.port);
	start(&b, at[1], names[1], more);
	wait_until_says(&b, "info replication", "master_link_status:up");
}

static void
open_both(void)
{
	open_client(0, NULL, at[0], at[1]);
	open_client(1, NULL, at[1], at[0]);
}

static void
drop_clients_of(const struct server *s)
{
	say(s, "client kill type normal skipme yes");
}

static uint64_t
epoch_of(const struct server *s)
{
	char line[512], answer[64] = "";
	FILE *from;

	snprintf(line, sizeof line, "redis-cli -s %s get " EPOCH, s->socket);
	from = popen(line, "r");
	assert_non_null(from);
	assert_non_null(fgets(answer, sizeof answer, from));
	pclose(from);
	return strtoull(answer, NULL, 10);
}

static void
set_epoch(const struct server *s, uint64_t epoch)
{
	char command[120];

	snprintf(command, sizeof command, "set " EPOCH " %llu:cc", (unsigned long long)epoch);
	say(s, command);
}

static void
test_old_master_gets_nobody_back(void **state)
{
	uint64_t before;

	(void)state;
	start_pair("old");
	open_both();
	wait_until_used(0, at[0]);
	wait_until_used(1, at[0]);
	wait_until_says(&b, "get " EPOCH, "^[0-9]*:");
	before = epoch_of(&b);
	server_kill(&a);
	say(&b, "replicaof no one");
	wait_until_used(0, at[1]);
	wait_until_used(1, at[1]);
	assert_int_equal(epoch_of(&b), before + 1);
	server_restart(&a, ""); /* as a master, and empty */
	wait_until_told(0, "a master, too, and an earlier one");
	drop_clients_of(&b);
	assert_never_used(at[0]);
	wait_until_used(0, at[1]);
	server_kill(&b); /* the old one alone is left: nobody turns to it */
	wait_until_told(0, "it is empty");
	wait_until_told(1, "it is empty");
	assert_never_used(at[0]);
	server_restart(&b, "replicaof 127.0.0.1 1"); /* so nobody has what was lost */
	wait_until_used(0, at[0]);
	wait_until_used(1, at[0]);
}

/* Cut off and not dead: it has all that it had, and its hosts leave it once they see another. */
static void
test_a_successor_is_found_beside_the_old_master(void **state)
{
	(void)state;
	start_pair("beside");
	open_both();
	wait_until_used(0, at[0]);
	wait_until_used(1, at[0]);
	wait_until_says(&b, "get " EPOCH, "^[0-9]*:");
	say(&b, "replicaof no one");
	wait_until_used(0, at[1]);
	wait_until_used(1, at[1]);
	wait_until_told(0, "a master, too, and an earlier one");
	assert_never_used(at[0]);
}

/* Where no host may write, nobody is used, and who looks for the reason finds it. */
static void
test_a_store_that_cannot_be_written(void **state)
{
	(void)state;
	start(&a, at[0], "unwritten", "min-replicas-to-write 1");
	open_client(0, NULL, at[0], NULL);
	wait_until_told(0, "NOREPLICAS");
	assert_string_equal(used_by(0), "");
	say(&a, "config set min-replicas-to-write 0");
	wait_until_used(0, at[0]);
	assert_null(strstr(strstr(clients[0].told, "NOREPLICAS") + 1, "NOREPLICAS"));
}

/* As an address for readers is. */
static void
test_a_replica_alone_is_told(void **state)
{
	(void)state;
	start(&a, at[0], "reader", "replicaof 127.0.0.1 1");
	open_client(0, NULL, at[0], NULL);
	wait_until_told(0, "it is a replica, and none of 'nodes' is a master that answers");
	assert_string_equal(used_by(0), "");
	say(&a, "replicaof no one");
	wait_until_used(0, at[0]);
	wait_until_told(0, "there is one master, and it is asked");
}

static void
test_two_masters_are_refused(void **state)
{
	(void)state;
	start(&a, at[0], "two-a", "");
	start(&b, at[1], "two-b", "");
	set_epoch(&a, 1);
	set_epoch(&b, 1);
	open_both();
	wait_until_told(0, "two masters, and nothing tells the later one");
	wait_until_told(1, "two masters, and nothing tells the later one");
	assert_never_used(at[0]);
	assert_never_used(at[1]);
	say(&b, "replicaof 127.0.0.1 1");
	wait_until_used(0, at[0]);
	wait_until_used(1, at[0]);
	wait_until_told(0, "there is one master, and it is asked");
}

/* The first that answers may be an old one: who is slow is heard, too. */
static void
test_all_are_heard_first(void **state)
{
	(void)state;
	start(&a, at[0], "heard-a", "");
	start(&b, at[1], "heard-b", "");
	set_epoch(&a, 1);
	set_epoch(&b, 2);
	server_signal(&b, SIGSTOP);
	open_both();
	for (uint64_t end_ns = clock_ns() + RL_SECOND / 4; clock_ns() < end_ns; run_all())
		assert_string_equal(used_by(0), "");
	server_signal(&b, SIGCONT);
	wait_until_used(0, at[1]);
	wait_until_used(1, at[1]);
}

/* Cut off once, a host asks for nothing until it knows who answers now. */
static void
assert_refused(int number, const char *address)
{
	wait_until_used(number, "");
	for (uint64_t end_ns = clock_ns() + PATIENCE; clock_ns() < end_ns; run_all()) {
		assert_string_not_equal(used_by(number), address);
		if (strstr(clients[number].told, "an old master"))
			return;
	}
	fail_msg("host %d is not told:\n%s", number, clients[number].told);
}

/* A managed store is one address, and another machine behind it after a failover. */
static void
test_one_address(void **state)
{
	uint64_t before;

	(void)state;
	start(&a, at[0], "one", "");
	open_client(0, NULL, at[0], NULL);
	open_client(1, NULL, at[0], NULL);
	wait_until_used(0, at[0]);
	wait_until_used(1, at[0]);
	before = epoch_of(&a);
	set_epoch(&a, before + 7); /* as a failover has it */
	drop_clients_of(&a);
	while (epoch_of(&a) != before + 8)
		run_all();
	wait_until_used(0, at[0]);
	wait_until_used(1, at[0]);
	set_epoch(&a, before + 3); /* the one from before */
	drop_clients_of(&a);
	assert_refused(0, at[0]);
	assert_never_used(at[0]);
	say(&a, "flushall"); /* a fault that CLUSTER.md names: all is lent anew, once */
	wait_until_used(0, at[0]);
	wait_until_used(1, at[0]);
}

/* ---- Sentinels ---- */

static pid_t sentinel;

static void
start_sentinel(unsigned port, unsigned master)
{
	char path[200];
	FILE *to;

	snprintf(path, sizeof path, "%s/sentinel.conf", server_base());
	to = fopen(path, "w");
	assert_non_null(to);
	fprintf(to,
	        "port %u\nbind 127.0.0.1\ndir %s\nlogfile %s/sentinel.log\n"
	        "sentinel monitor limits 127.0.0.1 %u 1\n"
	        "sentinel down-after-milliseconds limits 2000\n"
	        "sentinel failover-timeout limits 2000\n",
	        port, server_base(), server_base(), master);
	assert_int_equal(fclose(to), 0);
	sentinel = fork();
	assert_true(sentinel >= 0);
	if (sentinel > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execlp("redis-server", "redis-server", path, "--sentinel", (char *)NULL);
	_exit(127);
}

static void
test_sentinel_names_the_master(void **state)
{
	unsigned port = server_free_port();
	uint64_t before;
	char where[32];

	(void)state;
	start_pair("named");
	start_sentinel(port, a.port);
	snprintf(where, sizeof where, "127.0.0.1:%u", port);
	open_client(1, "others", where, NULL);
	wait_until_told(1, "No such master with that name");
	store_close(clients[1].store, clock_ns());
	open_client(0, "limits", where, NULL);
	open_client(1, "limits", where, NULL);
	wait_until_used(0, at[0]);
	wait_until_used(1, at[0]);
	wait_until_says(&b, "get " EPOCH, "^[0-9]*:");
	before = epoch_of(&b);
	for (uint64_t end_ns = clock_ns() + PATIENCE; clock_ns() < end_ns; usleep(50000)) {
		char line[200];

		snprintf(line, sizeof line,
		         "redis-cli -p %u sentinel replicas limits | grep -q 127.0.0.1:%u", port,
		         b.port);
		if (system(line) == 0)
			break;
	}
	server_kill(&a);
	wait_until_used(0, at[1]);
	wait_until_used(1, at[1]);
	assert_int_equal(epoch_of(&b), before + 1);
	server_restart(&a, ""); /* a master until the Sentinel sees it */
	drop_clients_of(&b);
	assert_never_used(at[0]);
	wait_until_used(0, at[1]);
	wait_until_used(1, at[1]);
	kill(sentinel, SIGKILL);
	drop_clients_of(&b);
	wait_until_used(0, at[1]); /* without it, too */
}

static int
clean(void **state)
{
	(void)state;
	server_clean();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),
		cmocka_unit_test_teardown(test_old_master_gets_nobody_back, close_clients),
		cmocka_unit_test_teardown(test_a_successor_is_found_beside_the_old_master,
	                                  close_clients),
		cmocka_unit_test_teardown(test_a_store_that_cannot_be_written, close_clients),
		cmocka_unit_test_teardown(test_a_replica_alone_is_told, close_clients),
		cmocka_unit_test_teardown(test_two_masters_are_refused, close_clients),
		cmocka_unit_test_teardown(test_all_are_heard_first, close_clients),
		cmocka_unit_test_teardown(test_one_address, close_clients),
		cmocka_unit_test_teardown(test_sentinel_names_the_master, close_clients),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, clean);
}
