/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store's client: slots and maps by example; a server that is silent, lies, floods or closes,
 * which is this test, and so is the clock; then real ones, with passwords, TLS and scripts that are
 * gone.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../rld/store/map.h"
#include "../../rld/store/nodes.h"
#include "../../rld/store/protocol.h"
#include "../../rld/store/store.h"
#include "server.h"
#include "testing.h"

#define TIMEOUT (150 * RL_MILLISECOND)

static struct store *store;
static char told[4096];
static int answers, nothings;
static struct store_value last; /* of the last answer, its type and number */
static char last_text[128];

static void
tell(void *arg, bool is_trouble, const char *text)
{
	size_t size = strlen(told);

	(void)arg;
	snprintf(told + size, sizeof told - size, "%s%s\n", is_trouble ? "! " : "", text);
}

static void
take(void *arg, uint64_t label, const struct store_value *v, uint64_t now_ns)
{
	(void)arg;
	(void)label;
	(void)now_ns;
	answers += v != NULL;
	nothings += v == NULL;
	if (v)
		last = *v;
	snprintf(last_text, sizeof last_text, "%s", v && v->text ? v->text : "");
}

static void
open_store(const struct store_options *options)
{
	char why[200] = "";
	struct store_options o = *options;

	told[0] = '\0';
	answers = nothings = 0;
	o.report = tell;
	o.timeout_ns = o.timeout_ns > 0 ? o.timeout_ns : TIMEOUT;
	store = store_open(&o, 42, why, sizeof why);
	if (!store)
		fail_msg("%s", why);
}

static int
ask(const char *const *argv, int argc, const char *key, uint64_t now_ns)
{
	struct store_question q = {.key = key,
	                           .key_size = key ? strlen(key) : 0,
	                           .argc = argc,
	                           .argv = argv,
	                           .answer = take};

	return store_ask(store, &q, now_ns);
}

static int
ask_get(uint64_t now_ns)
{
	const char *argv[] = {"GET", "k"};

	return ask(argv, 2, "k", now_ns);
}

/* ---- slots, maps, protocol ---- */

static void
test_slots(void **state)
{
	(void)state;
	assert_int_equal(store_slot("123456789", 9), 0x31C3);
	assert_int_equal(store_slot("{user1000}.following", 20), store_slot("user1000", 8));
	assert_int_equal(store_slot("foo{}{bar}", 10), 8363);
	assert_int_equal(store_slot("foo{{bar}}zap", 13), store_slot("{bar", 4));
	assert_int_equal(store_slot("foo{bar}{zap}", 13), store_slot("bar", 3));
	assert_int_equal(store_slot("a{b", 3), store_slot("a{b", 3));
	assert_int_not_equal(store_slot("a{b", 3), store_slot("b", 1));
}

static struct store_address numbered[8];
static unsigned number_count;

static uint16_t
number(void *arg, const struct store_address *a)
{
	(void)arg;
	for (unsigned i = 0; i < number_count; i++)
		if (address_is_same(&numbered[i], a))
			return (uint16_t)i;
	if (number_count == 8)
		return MAP_NOBODY;
	numbered[number_count++] = *a;
	return (uint16_t)(number_count - 1);
}

static struct store_value *
parse(const char *resp)
{
	struct protocol *p = protocol_new();
	struct store_value *v = NULL;

	assert_int_equal(protocol_feed(p, resp, strlen(resp)), 0);
	assert_int_equal(protocol_next(p, &v), 1);
	protocol_free(p);
	return v;
}

static bool
read_map(struct map *m, const char *resp)
{
	const struct store_address from = {"10.0.0.1", 7000};
	struct store_value *v = parse(resp);
	bool is_map = map_read(m, v, &from, number, NULL);

	store_value_free(v);
	return is_map;
}

static void
test_maps(void **state)
{
	static struct map m, before;
	const struct store_address from = {"10.0.0.1", 7000};
	struct store_address to;
	unsigned slot;

	(void)state;
	map_clear(&m);
	assert_true(read_map(&m, "*2\r\n*4\r\n:0\r\n:99\r\n*2\r\n$0\r\n\r\n:7000\r\n*2\r\n$8\r\n10."
	                         "0.0.9\r\n:7001\r\n"
	                         "*3\r\n:100\r\n:16383\r\n*2\r\n$8\r\n10.0.0.2\r\n:7002\r\n"));
	assert_string_equal(numbered[m.owner[0]].host, "10.0.0.1");
	assert_string_equal(numbered[m.owner[100]].host, "10.0.0.2");
	assert_int_equal(map_slots(&m, m.owner[0]), 100);
	assert_int_equal(m.replicas[m.owner[0]], 1);
	assert_int_equal(map_slots(&m, MAP_NOBODY), 0);
	before = m;
	assert_false(read_map(&m, "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n"));
	assert_false(read_map(&m, "*1\r\n*3\r\n:9\r\n:8\r\n*2\r\n$1\r\nh\r\n:1\r\n"));
	assert_false(read_map(&m, "*1\r\n*3\r\n:-1\r\n:8\r\n*2\r\n$1\r\nh\r\n:1\r\n"));
	assert_false(read_map(&m, "*1\r\n*3\r\n:1\r\n:8\r\n*2\r\n$1\r\nh\r\n:65536\r\n"));
	assert_false(read_map(&m, "*1\r\n*2\r\n:1\r\n:8\r\n"));
	assert_false(read_map(&m, "*0\r\n"));
	assert_false(read_map(&m, ":7\r\n"));
	assert_memory_equal(&m, &before, sizeof m);
	assert_true(map_redirect("MOVED 3999 127.0.0.1:6381", &from, &slot, &to));
	assert_int_equal(slot, 3999);
	assert_int_equal(to.port, 6381);
	assert_true(map_redirect("ASK 1 :6381", &from, &slot, &to));
	assert_string_equal(to.host, "10.0.0.1");
	assert_false(map_redirect("MOVED 16384 127.0.0.1:6381", &from, &slot, &to));
	assert_false(map_redirect("MOVED", &from, &slot, &to));
	assert_false(map_redirect("MOVED 1 nowhere", &from, &slot, &to));
}

/* ---- a server that is this test ---- */

static int listener, peer = -1;
static char address[32];
static uint64_t now_ns;

static void
open_to_fake(void)
{
	static const char *nodes[1];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof at;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(at.sin_port));
	nodes[0] = address;
	now_ns = 1000 * RL_SECOND;
	open_store(&(struct store_options){.nodes = nodes, .node_count = 1, .name = "t"});
}

static int
close_fake(void **state)
{
	(void)state;
	store_close(store, now_ns);
	store = NULL;
	if (peer >= 0)
		close(peer);
	close(listener);
	peer = listener = -1;
	return 0;
}

static void
wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, 10000), 1);
}

static void
meet(void)
{
	store_run(store, now_ns); /* connects */
	wait_for(listener);
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(peer >= 0);
	store_run(store, now_ns); /* says hello */
	wait_for(peer);
}

static void
say(const char *bytes, size_t size)
{
	assert_int_equal(write(peer, bytes, size), size);
}

/* The store reads what was said, or sees the end. */
static void
listen_to_peer(void)
{
	wait_for(store_fd(store));
	store_run(store, now_ns);
}

/* As one node without a cluster. */
static void
be_ready(void)
{
	static const char hello[] = "+OK\r\n+PONG\r\n", single[] = "-ERR no cluster\r\n",
			  unsaid[] = "-ERR no info\r\n";

	meet();
	say(hello, sizeof hello - 1);
	listen_to_peer();
	store_run(store, now_ns);
	say(single, sizeof single - 1);
	listen_to_peer();
	say(unsaid, sizeof unsaid - 1);
	listen_to_peer();
	assert_true(store_is_whole(store));
}

static void
test_garbage(void **state)
{
	(void)state;
	open_to_fake();
	be_ready();
	assert_int_equal(ask_get(now_ns), 0);
	store_run(store, now_ns);
	say("HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	listen_to_peer();
	assert_int_equal(nothings, 1);
	assert_non_null(strstr(told, "does not keep to the protocol"));
	assert_int_equal(ask_get(now_ns), -EAGAIN);
}

static void
test_endless_reply(void **state)
{
	static char much[1 << 16];
	size_t said = 0;

	(void)state;
	open_to_fake();
	be_ready();
	assert_int_equal(ask_get(now_ns), 0);
	store_run(store, now_ns);
	memset(much, 'x', sizeof much);
	memcpy(much, "$4000000000\r\n", 13);
	while (!strstr(told, "no end")) {
		ssize_t n = write(peer, much, sizeof much);

		said += n > 0 ? (size_t)n : 0;
		memset(much, 'x', 16);
		assert_true(said <= 2 * PROTOCOL_REPLY_MAX);
		listen_to_peer();
	}
	assert_int_equal(nothings, 1);
}

static void
test_huge_array(void **state)
{
	(void)state;
	open_to_fake();
	be_ready();
	assert_int_equal(ask_get(now_ns), 0);
	store_run(store, now_ns);
	say("*1000000000\r\n", 13);
	listen_to_peer();
	assert_int_equal(nothings, 1);
	assert_non_null(strstr(told, "an array is too long"));
}

static void
test_unasked(void **state)
{
	(void)state;
	open_to_fake();
	be_ready();
	say("+hm\r\n", 5);
	listen_to_peer();
	assert_non_null(strstr(told, "answers what was not asked"));
}

/* A node that has answered all is not come back to before there is something to do. */
static void
test_idle(void **state)
{
	uint64_t due_ns;

	(void)state;
	open_to_fake();
	be_ready();
	due_ns = store_run(store, now_ns);
	assert_true(due_ns > now_ns + RL_SECOND);
	now_ns += 9 * RL_SECOND;
	assert_true(store_run(store, now_ns) > now_ns + RL_SECOND);
	assert_true(store_is_whole(store));
}

/* Overdue: given up, and its late answer is nobody's; then asked anew. */
static void
test_late_answer(void **state)
{
	(void)state;
	open_to_fake();
	be_ready();
	assert_int_equal(ask_get(now_ns), 0);
	store_run(store, now_ns);
	now_ns += TIMEOUT;
	store_run(store, now_ns);
	assert_int_equal(nothings, 1);
	assert_int_equal(ask_get(now_ns), -EAGAIN); /* a stalled node is asked no more */
	say("$1\r\na\r\n", 7);
	listen_to_peer();
	assert_int_equal(answers, 0);
	assert_int_equal(ask_get(now_ns), 0);
	store_run(store, now_ns);
	say("$1\r\nb\r\n", 7);
	listen_to_peer();
	assert_int_equal(answers, 1);
	assert_string_equal(last_text, "b");
}

static int
times_told(const char *text)
{
	int times = 0;

	for (const char *at = strstr(told, text); at; at = strstr(at + 1, text))
		times++;
	return times;
}

/* One that says nothing is left, and come back to with more and more time between. */
static void
test_silence(void **state)
{
	uint64_t due_ns, first_ns;

	(void)state;
	open_to_fake();
	be_ready();
	assert_int_equal(ask_get(now_ns), 0);
	store_run(store, now_ns);
	now_ns += 20 * TIMEOUT;
	first_ns = store_run(store, now_ns);
	assert_int_equal(nothings, 1);
	assert_non_null(strstr(told, "it does not answer"));
	assert_true(first_ns > now_ns && first_ns <= now_ns + 50 * RL_MILLISECOND);
	for (int i = 0; i < 12; i++) {
		close(listener); /* nobody listens any more */
		due_ns = store_run(store, now_ns);
		assert_true(due_ns <= now_ns + 10 * RL_SECOND);
		now_ns = due_ns;
		due_ns = store_run(store, now_ns);
		if (i > 0)
			continue;
		listener = -1;
	}
	assert_int_equal(times_told("Connection refused"), 1);
}

static void
test_redirects(void **state)
{
	char text[64];

	(void)state;
	open_to_fake();
	be_ready();
	assert_int_equal(ask_get(now_ns), 0);
	store_run(store, now_ns);
	snprintf(text, sizeof text, "-MOVED 7629 %s\r\n", address); /* to itself, for ever */
	for (int i = 0; i < 8 && nothings == 0; i++) {
		say(text, strlen(text));
		listen_to_peer();
		store_run(store, now_ns);
	}
	assert_int_equal(nothings, 1);
}

/* ---- real ones ---- */

static uint64_t
clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

/* Until so many answers have come, or this is told. */
static bool
run_until(int want, const char *text)
{
	uint64_t end_ns = clock_ns() + 20 * RL_SECOND;

	while (clock_ns() < end_ns) {
		struct pollfd p = {.fd = store_fd(store), .events = POLLIN};

		store_run(store, clock_ns());
		if (want >= 0 && answers >= want)
			return true;
		if (text && strstr(told, text))
			return true;
		poll(&p, 1, 5);
	}
	return false;
}

static void
run_briefly(void)
{
	struct pollfd p = {.fd = store_fd(store), .events = POLLIN};

	poll(&p, 1, 5);
	store_run(store, clock_ns());
}

static bool
ask_until_asked(const char *const *argv, int argc)
{
	for (int i = 0; i < 2000; i++) {
		if (ask(argv, argc, "k", clock_ns()) == 0)
			return true;
		run_until(-1, NULL);
	}
	return false;
}

static bool
wait_until_whole(void)
{
	uint64_t end_ns = clock_ns() + 60 * RL_SECOND;

	while (!store_is_whole(store) && clock_ns() < end_ns) {
		struct pollfd p = {.fd = store_fd(store), .events = POLLIN};

		store_run(store, clock_ns());
		poll(&p, 1, 5);
	}
	return store_is_whole(store);
}

static int
close_store(void **state)
{
	(void)state;
	store_close(store, clock_ns());
	store = NULL;
	return 0;
}

/* ---- a server that answers with errors ---- */

static int slots_heard, asking_heard; /* CLUSTER SLOTS, ASKING */

/*
 * The word of a command that comes first in what was heard, and *at behind it; NULL: there is none.
 */
static const char *
next_word(const char **at)
{
	static const char *const words[] = {"SLOTS", "ASKING", "GET", "INFO"};
	const char *first = NULL, *found, *word = NULL;

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		found = strstr(*at, words[i]);
		if (found && (!first || found < first)) {
			first = found;
			word = words[i];
		}
	}
	*at = first ? first + strlen(word) : *at;
	return word;
}

/* Ready, and what it has said so far is read. */
static void
be_heard(void)
{
	char heard[4096];

	be_ready();
	while (read(peer, heard, sizeof heard) > 0)
		;
	slots_heard = asking_heard = 0;
}

static uint64_t
redirects(void)
{
	struct store_counts counts;

	store_counts(store, &counts);
	return counts.redirected;
}

static void
answer_heard(const char *answer)
{
	static char heard[1 << 18];
	const char *at = heard, *word;
	ssize_t size = read(peer, heard, sizeof heard - 1);

	assert_true(size > 0);
	heard[size] = '\0';
	while ((word = next_word(&at))) {
		const char *said = word[0] == 'S'   ? "-ERR no cluster\r\n"
		                   : word[0] == 'A' ? "+OK\r\n"
		                   : word[0] == 'I' ? "-ERR no info\r\n"
		                                    : answer;

		slots_heard += word[0] == 'S';
		asking_heard += word[0] == 'A';
		say(said, strlen(said));
	}
}

/*
 * Until a question was answered, or given up: each time so, and what the store itself wants as one
 * node does.
 */
static void
answer_by(const char *first, const char *then)
{
	int before = answers + nothings, asked = (int)redirects();

	for (;;) {
		struct pollfd p[] = {{.fd = peer, .events = POLLIN},
		                     {.fd = store_fd(store), .events = POLLIN}};

		store_run(store, now_ns);
		if (answers + nothings != before)
			return;
		assert_true(poll(p, 2, 10000) > 0);
		if (p[0].revents)
			answer_heard((int)redirects() == asked ? first : then);
	}
}

/*
 * Errors of a node that is not ready, or of a user who may not: not answered, and told once,
 * however often they come.
 */
static void
test_refusals(void **state)
{
	static const char *const refusals[] = {
		"-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
		"-CLUSTERDOWN The cluster is down\r\n",
		"-LOADING Redis is loading the dataset in memory\r\n",
		"-MASTERDOWN Link with MASTER is down\r\n",
		"-NOREPLICAS Not enough good replicas to write.\r\n",
		"-NOAUTH Authentication required.\r\n",
		"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
		"-ERR The user executing the script can't run this command or subcommand\r\n",
	};
	const int count = sizeof refusals / sizeof refusals[0];

	(void)state;
	open_to_fake();
	be_heard();
	for (int i = 0; i < 50 * count; i++) {
		assert_int_equal(ask_get(now_ns), 0);
		answer_by(refusals[i % count], NULL);
		assert_int_equal(nothings, i + 1);
	}
	assert_int_equal(answers, 0);
	assert_int_equal(times_told("! "), 1); /* TRYAGAIN is none's trouble */
	now_ns += 60 * RL_SECOND;
	store_run(store, now_ns);
	while (answers == 0) {
		if (ask_get(now_ns) == 0)
			answer_by("$1\r\na\r\n", NULL);
	}
	assert_int_equal(times_told("it answers all questions again"), 1);
}

/*
 * ASK is for one question: ASKING goes before it, and the next goes where it went before, without.
 */
static void
test_ask(void **state)
{
	char text[64];

	(void)state;
	open_to_fake();
	be_heard();
	snprintf(text, sizeof text, "-ASK 7629 %s\r\n", address);
	assert_int_equal(ask_get(now_ns), 0);
	answer_by(text, "$1\r\na\r\n");
	assert_int_equal(answers, 1);
	assert_int_equal(asking_heard, 1);
	assert_int_equal(ask_get(now_ns), 0);
	answer_by("$1\r\nb\r\n", NULL);
	assert_int_equal(answers, 2);
	assert_int_equal(asking_heard, 1);
}

/* However many slots move at once, the map is read again ten times a second at most. */
static void
test_moved_storm(void **state)
{
	char text[64];

	(void)state;
	open_to_fake();
	be_heard();
	snprintf(text, sizeof text, "-MOVED 7629 %s\r\n", address);
	for (int i = 0; i < 300; i++) {
		assert_int_equal(ask_get(now_ns), 0);
		answer_by(text, "$1\r\na\r\n");
		assert_int_equal(answers, i + 1);
		now_ns += 10 * RL_MILLISECOND;
	}
	assert_int_equal(redirects(), 300);
	assert_true(slots_heard >= 1 && slots_heard <= 31);
	assert_int_equal(times_told("! "), 0);
}

static uint16_t
number_of(unsigned port)
{
	struct store_address a = {.host = "192.0.2.1", .port = port};

	return nodes_number_of(store, &a);
}

/* More addresses than there is room for, over the years: who is needed keeps his number. */
static void
test_addresses_come_and_go(void **state)
{
	uint16_t owner, named;

	(void)state;
	open_to_fake();
	owner = number_of(1);
	store->map.owner[7] = owner;
	for (unsigned port = 2; port < 3 * MAP_NODES_MAX; port++) {
		assert_in_range(number_of(port), 1, MAP_NODES_MAX - 1);
		if (port % (MAP_NODES_MAX / 2) == 0)
			nodes_choose_wanted(store); /* of a map that has none of them */
	}
	assert_int_equal(number_of(1), owner);
	nodes_choose_wanted(store);
	store->nodes[owner]->c.is_wanted = false; /* it does not know this user */
	named = number_of(3 * MAP_NODES_MAX - 1);
	for (unsigned port = 1; port < MAP_NODES_MAX - 2; port++) /* in one map */
		assert_in_range(number_of(10000 + port), 1, MAP_NODES_MAX - 1);
	assert_int_equal(number_of(3 * MAP_NODES_MAX - 1), named);
	assert_int_equal(number_of(1), owner);
	assert_int_equal(number_of(20000), MAP_NOBODY);
}

static char heard[64];

static void
hear(void *arg, const char *text, size_t size)
{
	(void)arg;
	assert_int_equal(strlen(text), size);
	snprintf(heard, sizeof heard, "%s", text);
}

static bool
publish_until_heard(const char *text)
{
	const char *argv[] = {"PUBLISH", "rl1:calls", text};

	for (int i = 1; i < 200 && strcmp(heard, text) != 0; i++) {
		assert_true(ask_until_asked(argv, 3));
		assert_true(run_until(answers + 1, NULL));
		for (int n = 0; n < 10 && strcmp(heard, text) != 0; n++)
			run_briefly();
	}
	return strcmp(heard, text) == 0;
}

/* A channel is heard, again once the server was away; and who may not hear it goes on without. */
static void
test_what_is_published(void **state)
{
	struct server s;
	char at[32];
	const char *nodes[] = {at};
	struct store_options o = {
		.nodes = nodes, .node_count = 1, .channel = "rl1:calls", .hear = hear};
	const char *drop[] = {"CLIENT", "KILL", "TYPE", "pubsub"};
	const char *forbid[] = {"ACL", "SETUSER", "default", "-subscribe"};

	(void)state;
	heard[0] = '\0';
	server_start(&s, "channel", server_free_port(), "");
	snprintf(at, sizeof at, "127.0.0.1:%u", s.port);
	open_store(&o);
	assert_true(wait_until_whole());
	assert_true(publish_until_heard("one"));
	assert_true(ask_until_asked(drop, 4));
	assert_true(publish_until_heard("two"));
	assert_true(ask_until_asked(forbid, 4));
	assert_true(ask_until_asked(drop, 4));
	assert_true(run_until(-1, "it refuses SUBSCRIBE"));
	assert_true(ask_get(clock_ns()) == 0);
	assert_true(run_until(answers + 1, NULL));
	assert_int_equal(nothings, 0);
	close_store(NULL);
	server_kill(&s);
}

static void
test_scripts_and_users(void **state)
{
	struct server s;
	char at[32];
	const char *nodes[] = {at}, *sha;
	struct store_options o = {.nodes = nodes,
	                          .node_count = 1,
	                          .user = "rl",
	                          .password = "secret",
	                          .name = "t",
	                          .scripts = {"return 7"}};

	(void)state;
	server_start(&s, "users", server_free_port(),
	             "user rl on >secret ~* +@all\nuser default off");
	snprintf(at, sizeof at, "127.0.0.1:%u", s.port);
	open_store(&o);
	assert_true(wait_until_whole());
	sha = store_script(store, 0);
	const char *eval[] = {"EVALSHA", sha, "0"}, *flush[] = {"SCRIPT", "FLUSH"};
	assert_true(ask_until_asked(eval, 3));
	assert_true(run_until(1, NULL));
	assert_int_equal(last.integer, 7);
	assert_true(ask_until_asked(flush, 2));
	assert_true(run_until(2, NULL));
	last.integer = 0;
	assert_true(ask_until_asked(eval, 3));
	assert_true(run_until(3, NULL));
	assert_int_equal(last.integer, 7);
	assert_int_equal(nothings, 0);
	close_store(NULL);
	o.password = "wrong";
	open_store(&o);
	assert_true(run_until(-1, "it refuses the user or password: WRONGPASS"));
	server_kill(&s);
}

/* Of two that are no cluster the one that takes writes is found, whichever is named first. */
static void
test_read_only(void **state)
{
	const char *set[] = {"SET", "k", "v"}, *nodes[2];
	struct server master, replica;
	char at[2][32], more[64];

	(void)state;
	server_start(&master, "master", server_free_port(), "");
	snprintf(more, sizeof more, "replicaof 127.0.0.1 %u", master.port);
	server_start(&replica, "replica", server_free_port(), more);
	snprintf(at[0], sizeof at[0], "127.0.0.1:%u", replica.port);
	snprintf(at[1], sizeof at[1], "127.0.0.1:%u", master.port);
	nodes[0] = at[0];
	nodes[1] = at[1];
	open_store(&(struct store_options){.nodes = nodes, .node_count = 2});
	assert_true(wait_until_whole());
	while (answers == 0 && nothings < 500) {
		struct pollfd p = {.fd = store_fd(store), .events = POLLIN};

		ask(set, 3, "k", clock_ns());
		poll(&p, 1, 5);
		store_run(store, clock_ns());
	}
	assert_true(answers > 0);
	server_kill(&replica);
	server_kill(&master);
}

/* Asks a durable question until one is answered; how long the second one took. */
static uint64_t
ask_durable(const struct store_options *options)
{
	const char *argv[] = {"SET", "k", "v"};
	struct store_question q = {.key = "k",
	                           .key_size = 1,
	                           .argc = 3,
	                           .argv = argv,
	                           .is_durable = true,
	                           .answer = take};
	uint64_t asked_ns = 0;

	open_store(options);
	for (int i = 1; i <= 2; i++) {
		/* A slow machine's may have been lost meanwhile. */
		assert_true(wait_until_whole());
		asked_ns = clock_ns();
		assert_int_equal(store_ask(store, &q, asked_ns), 0);
		while (answers + nothings < i) {
			struct pollfd p = {.fd = store_fd(store), .events = POLLIN};

			store_run(store, clock_ns());
			poll(&p, 1, 5);
		}
	}
	return clock_ns() - asked_ns;
}

/* What is to be durable is no answer without a replica, but where that is asked for. */
static void
test_without_replica(void **state)
{
	struct server s;
	char at[32];
	const char *nodes[] = {at};
	struct store_options o = {.nodes = nodes, .node_count = 1, .timeout_ns = RL_SECOND};
	uint64_t took_ns = RL_SECOND;

	(void)state;
	server_start(&s, "lonely", server_free_port(), "");
	snprintf(at, sizeof at, "127.0.0.1:%u", s.port);
	ask_durable(&o);
	assert_int_equal(nothings, 2);
	assert_non_null(strstr(told, "nothing is lent by it"));
	close_store(NULL);
	o.lends_without_replica = true;
	/* On a slow machine, not at once. */
	for (int tries = 0; tries < 10 && took_ns >= RL_SECOND / 2; tries++) {
		if (tries > 0)
			close_store(NULL);
		took_ns = ask_durable(&o);
	}
	assert_true(took_ns < RL_SECOND / 2); /* nobody waits for one twice */
	assert_int_equal(answers, 2);
	assert_non_null(strstr(told, "it is lent all the same"));
	server_kill(&s);
}

static void
make_certificates(void)
{
	char command[2048];

	snprintf(
		command, sizeof command,
		"cd %s && "
		"openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 "
		"-subj "
		"/CN=ca 2>/dev/null && "
		"openssl req -newkey rsa:2048 -nodes -keyout node.key -out node.csr -subj /CN=node "
		"2>/dev/null && "
		"printf 'subjectAltName=DNS:store.example,IP:127.0.0.1' >ext && "
		"openssl x509 -req -in node.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 "
		"-extfile ext -out node.crt 2>/dev/null",
		server_base());
	assert_int_equal(system(command), 0);
}

static void
test_tls(void **state)
{
	struct server s;
	char at[32], more[1024], ca[128], cert[128], key[128];
	const char *nodes[] = {at};
	struct store_tls tls = {.ca = ca, .cert = cert, .key = key};
	struct store_options o = {.nodes = nodes, .node_count = 1, .tls = &tls};
	const char *base = server_base();

	(void)state;
	make_certificates();
	snprintf(ca, sizeof ca, "%s/ca.crt", base);
	snprintf(cert, sizeof cert, "%s/node.crt", base);
	snprintf(key, sizeof key, "%s/node.key", base);
	snprintf(at, sizeof at, "127.0.0.1:%u", server_free_port());
	snprintf(more, sizeof more,
	         "tls-port %s\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\n"
	         "tls-auth-clients yes",
	         strchr(at, ':') + 1, cert, key, ca);
	server_start(&s, "tls", 0, more);
	open_store(&o);
	assert_true(wait_until_whole());
	const char *set[] = {"SET", "k", "v"};
	assert_true(ask_until_asked(set, 3));
	assert_true(run_until(1, NULL));
	close_store(NULL);

	tls.name = "another.example";
	open_store(&o);
	assert_true(run_until(-1, "its certificate:"));
	close_store(NULL);

	tls.name = "store.example";
	open_store(&o);
	assert_true(wait_until_whole());
	close_store(NULL);

	tls.ca = NULL; /* the system's: nobody who has signed this one */
	open_store(&o);
	assert_true(run_until(-1, "its certificate:"));
	server_kill(&s);
}

/* A name is looked up beside the caller. */
static void
test_names(void **state)
{
	struct server s;
	char at[32];
	const char *nodes[] = {at, "no.such.host.invalid:1"};

	(void)state;
	server_start(&s, "names", server_free_port(), "");
	snprintf(at, sizeof at, "localhost:%u", s.port);
	open_store(&(struct store_options){.nodes = nodes, .node_count = 2});
	if (!wait_until_whole())
		fail_msg("%s", told);
	server_kill(&s);
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
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_maps),
		cmocka_unit_test_teardown(test_garbage, close_fake),
		cmocka_unit_test_teardown(test_endless_reply, close_fake),
		cmocka_unit_test_teardown(test_huge_array, close_fake),
		cmocka_unit_test_teardown(test_unasked, close_fake),
		cmocka_unit_test_teardown(test_idle, close_fake),
		cmocka_unit_test_teardown(test_late_answer, close_fake),
		cmocka_unit_test_teardown(test_silence, close_fake),
		cmocka_unit_test_teardown(test_redirects, close_fake),
		cmocka_unit_test_teardown(test_refusals, close_fake),
		cmocka_unit_test_teardown(test_read_only, close_store),
		cmocka_unit_test_teardown(test_ask, close_fake),
		cmocka_unit_test_teardown(test_moved_storm, close_fake),
		cmocka_unit_test_teardown(test_addresses_come_and_go, close_fake),
		cmocka_unit_test_teardown(test_what_is_published, close_store),
		cmocka_unit_test_teardown(test_scripts_and_users, close_store),
		cmocka_unit_test_teardown(test_without_replica, close_store),
		cmocka_unit_test_teardown(test_tls, close_store),
		cmocka_unit_test_teardown(test_names, close_store),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, clean);
}
