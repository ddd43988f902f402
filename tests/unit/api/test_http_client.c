/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client behind proxies: by examples, and by lists made of parts whose meaning is known, beside
 * a walk over an array of them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "at.h"
#include "rl_http.h"
#include "testing.h"

#define NETWORKS 6

static const char *const trusted[NETWORKS] = {"10.9.9.1/8",       "192.0.2.77",
                                              "2001:db8:aa::/47", "::ffff:172.16.0.0/108",
                                              "fd00::1",          "unix:"};

static struct rl_http_trust
trust_of(struct rl_http_network networks[NETWORKS])
{
	for (size_t i = 0; i < NETWORKS; i++)
		assert_int_equal(rl_http_network(trusted[i], &networks[i]), 0);
	return (struct rl_http_trust){.networks = networks, .count = NETWORKS};
}

static struct rl_http_value
value(const char *text)
{
	return (struct rl_http_value){text, strlen(text)};
}

static struct rl_http_client
ask(const struct rl_http_trust *t, const char *peer, const char *line)
{
	struct rl_http_value lines = value(line);
	struct rl_http_client c;

	assert_int_equal(rl_http_client(t, value(peer), &lines, 1, &c), 0);
	return c;
}

static void
expect(enum rl_http_field field, const char *peer, const char *line, const char *address,
       enum rl_http_client_end end)
{
	struct rl_http_network networks[NETWORKS];
	struct rl_http_trust t = trust_of(networks);
	struct rl_http_client c;

	t.field = field;
	c = ask(&t, peer, line);
	if (strcmp(c.address, address) != 0 || c.end != end)
		print_error("peer %s, list %s\n", peer, line);
	assert_string_equal(c.address, address);
	assert_int_equal(c.end, end);
}

static void
test_the_first_that_is_not_trusted(void **state)
{
	const enum rl_http_field x = RL_HTTP_X_FORWARDED_FOR;

	(void)state;
	expect(x, "203.0.113.9", "6.6.6.6", "203.0.113.9", RL_HTTP_CLIENT_FOUND);
	expect(x, "10.0.0.1", "6.6.6.6", "6.6.6.6", RL_HTTP_CLIENT_FOUND);
	expect(x, "10.0.0.1", "6.6.6.6, 203.0.113.7, 10.255.0.2", "203.0.113.7",
	       RL_HTTP_CLIENT_FOUND);
	expect(x, "10.0.0.1", "unknown, 203.0.113.7 ,10.0.0.2", "203.0.113.7",
	       RL_HTTP_CLIENT_FOUND);
	expect(x, "10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3", RL_HTTP_CLIENT_LISTED);
	expect(x, "10.0.0.1", "", "10.0.0.1", RL_HTTP_CLIENT_LISTED);
	expect(x, "10.0.0.1", ", \t ,", "10.0.0.1", RL_HTTP_CLIENT_LISTED);
	expect(x, "10.0.0.1", "1.1.1.1, , 10.0.0.2,", "1.1.1.1", RL_HTTP_CLIENT_FOUND);
	expect(x, "11.0.0.0", "1.1.1.1", "11.0.0.0", RL_HTTP_CLIENT_FOUND);
	expect(x, "192.0.2.77", "1.1.1.1", "1.1.1.1", RL_HTTP_CLIENT_FOUND);
	expect(x, "192.0.2.76", "1.1.1.1", "192.0.2.76", RL_HTTP_CLIENT_FOUND);
	expect(x, "172.31.0.1", "1.1.1.1", "1.1.1.1", RL_HTTP_CLIENT_FOUND);
	expect(x, "172.32.0.1", "1.1.1.1", "172.32.0.1", RL_HTTP_CLIENT_FOUND);
	expect(x, "2001:db8:ab::9", "1.1.1.1", "1.1.1.1", RL_HTTP_CLIENT_FOUND);
	expect(x, "2001:db8:ac::9", "1.1.1.1", "2001:db8:ac::", RL_HTTP_CLIENT_FOUND);
	expect(x, "fd00::1", "1.1.1.1", "1.1.1.1", RL_HTTP_CLIENT_FOUND);
	expect(x, "fd00::2", "1.1.1.1", "fd00::", RL_HTTP_CLIENT_FOUND);
}

static void
test_what_is_no_address_ends_the_walk(void **state)
{
	static const char *const bad[] = {
		"unknown",      "_x",          "_hidden",    "1.2.3",
		"1.2.3.4.5",    "1.2.3.4:",    "1.2.3.4:x",  "1.2.3.4:123456",
		"[::1",         "::1]",        "[::1]x",     "[::1]:",
		"[1.2.3.4]",    "fe80::1%",    "fe80::1%\"", "256.1.1.1",
		"01.2.3.4",     "\"1.2.3.4\"", "1.2.3.4 5",  "0x1.2.3.4",
		"example.com",  ":::",         "[]",         "-",
		"1.2.3.4%eth0", "1.2.3.4/8",   "\x01",       "\xff\xfe",
		"[::1]:80:80",  "for=1.2.3.4",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char line[64];

		snprintf(line, sizeof line, "6.6.6.6, %s, 10.0.0.2", bad[i]);
		expect(RL_HTTP_X_FORWARDED_FOR, "10.0.0.1", line, "10.0.0.2",
		       RL_HTTP_CLIENT_NO_ADDRESS);
		snprintf(line, sizeof line, "for=6.6.6.6, for=%s, for=10.0.0.2", bad[i]);
		if (strcmp(bad[i], "\"1.2.3.4\"") != 0)
			expect(RL_HTTP_FORWARDED, "10.0.0.1", line, "10.0.0.2",
			       RL_HTTP_CLIENT_NO_ADDRESS);
	}
}

static void
test_forms_of_an_address(void **state)
{
	static const struct {
		const char *form, *address;
	} forms[] = {
		{"203.0.113.7", "203.0.113.7"},
		{"203.0.113.7:80", "203.0.113.7"},
		{"203.0.113.7:_obf", "203.0.113.7"},
		{"2001:db8:1:2:3::4", "2001:db8:1:2::"},
		{"[2001:DB8:1:2:3::4]", "2001:db8:1:2::"},
		{"[2001:db8:1:2:3::4]:65535", "2001:db8:1:2::"},
		{"::ffff:203.0.113.7", "203.0.113.7"},
		{"[::FFFF:cb00:7107]:1", "203.0.113.7"},
		{"fe80::1%eth0.2", "fe80::"},
		{"[fe80::1%25eth0]:443", "fe80::"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		char line[128];

		expect(RL_HTTP_X_FORWARDED_FOR, forms[i].form, "", forms[i].address,
		       RL_HTTP_CLIENT_FOUND);
		expect(RL_HTTP_X_FORWARDED_FOR, "10.0.0.1", forms[i].form, forms[i].address,
		       RL_HTTP_CLIENT_FOUND);
		snprintf(line, sizeof line, "proto=http;For=\"%s\"", forms[i].form);
		expect(RL_HTTP_FORWARDED, "10.0.0.1", line, forms[i].address, RL_HTTP_CLIENT_FOUND);
	}
}

static void
test_forwarded(void **state)
{
	const enum rl_http_field f = RL_HTTP_FORWARDED;

	(void)state;
	/* RFC 7239, sections 4 and 7.1 */
	expect(f, "10.0.0.1", "For=\"[2001:db8:cafe::17]:4711\"",
	       "2001:db8:cafe::", RL_HTTP_CLIENT_FOUND);
	expect(f, "10.0.0.1", "for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60",
	       RL_HTTP_CLIENT_FOUND);
	expect(f, "10.0.0.1", "for=192.0.2.43, for=10.51.100.17", "192.0.2.43",
	       RL_HTTP_CLIENT_FOUND);
	/* what is said of somebody else, twice, or not at all */
	expect(f, "10.0.0.1", "by=1.1.1.1", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
	expect(f, "10.0.0.1", "for=1.1.1.1;for=2.2.2.2", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
	expect(f, "10.0.0.1", "for", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
	expect(f, "10.0.0.1", "xfor=1.1.1.1;;for=2.2.2.2 ; by=x", "2.2.2.2", RL_HTTP_CLIENT_FOUND);
	/* strings */
	expect(f, "10.0.0.1", "for=\"\\1.1.1.1\"", "1.1.1.1", RL_HTTP_CLIENT_FOUND);
	expect(f, "10.0.0.1", "for=6.6.6.6;host=\"a\\\",for=7.7.7.7;\\\\\";for=1.1.1.1", "10.0.0.1",
	       RL_HTTP_CLIENT_NO_ADDRESS);
	expect(f, "10.0.0.1", "host=\"a\\\",for=7.7.7.7;\\\\\";for=1.1.1.1", "1.1.1.1",
	       RL_HTTP_CLIENT_FOUND);
	expect(f, "10.0.0.1", "for=\"1.1.1.1", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
	expect(f, "10.0.0.1", "for=\"", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
	expect(f, "10.0.0.1", "for=\"1.1.1.1\\\"", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
	/* no pairs, so that nobody can say where it begins */
	expect(f, "10.0.0.1", "for=1.1.1.1;proto=https, f=\"x", "10.0.0.1",
	       RL_HTTP_CLIENT_NO_ADDRESS);
	expect(f, "10.0.0.1", "for=1.1.1.1;\"a\"=b", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
	/* somebody opens a string that the proxy's own element would be in */
	expect(f, "10.0.0.1", "for=\", for=\"[2001:db8::1]\"", "2001:db8::", RL_HTTP_CLIENT_FOUND);
	expect(f, "10.0.0.1", "for=\"\\, for=1.1.1.1", "1.1.1.1", RL_HTTP_CLIENT_FOUND);
}

static void
test_unix_sockets(void **state)
{
	struct rl_http_trust nobody = {.count = 0};
	struct rl_http_client c;

	(void)state;
	expect(RL_HTTP_X_FORWARDED_FOR, "unix:", "1.1.1.1", "1.1.1.1", RL_HTTP_CLIENT_FOUND);
	expect(RL_HTTP_X_FORWARDED_FOR, "", "1.1.1.1", "1.1.1.1", RL_HTTP_CLIENT_FOUND);
	expect(RL_HTTP_X_FORWARDED_FOR, "unix:/run/x", "", "unix:", RL_HTTP_CLIENT_LISTED);
	expect(RL_HTTP_X_FORWARDED_FOR, "10.0.0.1", "1.1.1.1, unix:", "1.1.1.1",
	       RL_HTTP_CLIENT_FOUND);
	c = ask(&nobody, "unix:", "1.1.1.1");
	assert_string_equal(c.address, "unix:");
	assert_int_equal(c.end, RL_HTTP_CLIENT_FOUND);
	/* an address of all zeros is no unix socket, and the other way round */
	expect(RL_HTTP_X_FORWARDED_FOR, "::", "1.1.1.1", "::", RL_HTTP_CLIENT_FOUND);
	expect(RL_HTTP_X_FORWARDED_FOR, "0.0.0.0", "1.1.1.1", "0.0.0.0", RL_HTTP_CLIENT_FOUND);
}

static void
test_prefixes(void **state)
{
	struct rl_http_trust t = {.prefix_v4 = 24, .prefix_v6 = 48};

	(void)state;
	assert_string_equal(ask(&t, "203.0.113.7", "").address, "203.0.113.0");
	assert_string_equal(ask(&t, "2001:db8:1:2::3", "").address, "2001:db8:1::");
	t.prefix_v6 = 128;
	assert_string_equal(ask(&t, "fe80::1%eth0", "").address, "fe80::1");
	t.prefix_v4 = t.prefix_v6 = 1;
	assert_string_equal(ask(&t, "203.0.113.7", "").address, "128.0.0.0");
	assert_string_equal(ask(&t, "2001:db8::", "").address, "::");
	/* the longest there is */
	t.prefix_v6 = 128;
	assert_string_equal(ask(&t, "1111:2222:3333:4444:5555:6666:7777:8888", "").address,
	                    "1111:2222:3333:4444:5555:6666:7777:8888");
}

static void
test_families_are_apart(void **state)
{
	struct rl_http_network n;
	struct rl_http_trust t = {.networks = &n, .count = 1};

	(void)state;
	assert_int_equal(rl_http_network("::/0", &n), 0);
	assert_string_equal(ask(&t, "10.0.0.1", "1.1.1.1").address, "10.0.0.1");
	assert_string_equal(ask(&t, "2001:db8::", "1.1.1.1").address, "1.1.1.1");
	assert_int_equal(rl_http_network("0.0.0.0/0", &n), 0);
	assert_string_equal(ask(&t, "10.0.0.1", "2001:db8::").address, "2001:db8::");
}

static void
test_invalid(void **state)
{
	static const char *const none[] = {"",       "unix",      "10.0.0.0/33", "10.0.0.0/",
	                                   "10.0.0", "::1%eth0",  "[::1]",       "10.0.0.1:80",
	                                   "*",      "localhost", "::/129",      "10.0.0.0/-1"};
	struct rl_http_trust t = {.count = 0}, bad;
	struct rl_http_value line = {"1.1.1.1", 7};
	struct rl_http_network n;
	struct rl_http_client c;

	(void)state;
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
		assert_int_equal(rl_http_network(none[i], &n), -EINVAL);
		/* and trusts nobody, should somebody use it */
		t = (struct rl_http_trust){.networks = &n, .count = 1};
		assert_string_equal(ask(&t, "0.0.0.0", "1.1.1.1").address, "0.0.0.0");
		assert_string_equal(ask(&t, "unix:", "1.1.1.1").address, "unix:");
	}
	assert_int_equal(rl_http_network(NULL, &n), -EINVAL);
	assert_int_equal(rl_http_network("::1", NULL), -EINVAL);
	assert_int_equal(rl_http_client(&t, value("10.0.0.1"), &line, 1, NULL), -EINVAL);
#define REFUSED(...)                                                    \
	do {                                                            \
		memset(&c, 'x', sizeof c);                              \
		assert_int_equal(rl_http_client(__VA_ARGS__), -EINVAL); \
		assert_string_equal(c.address, "");                     \
	} while (0)
	REFUSED(NULL, value("10.0.0.1"), &line, 1, &c);
	REFUSED(&t, value("nobody"), &line, 1, &c);
	REFUSED(&t, ((struct rl_http_value){NULL, 1}), &line, 1, &c);
	REFUSED(&t, value("10.0.0.1"), NULL, 1, &c);
	bad = (struct rl_http_trust){.count = 1};
	REFUSED(&bad, value("10.0.0.1"), &line, 1, &c);
	bad = (struct rl_http_trust){.field = (enum rl_http_field)2};
	REFUSED(&bad, value("10.0.0.1"), &line, 1, &c);
	bad = (struct rl_http_trust){.prefix_v4 = 33};
	REFUSED(&bad, value("10.0.0.1"), &line, 1, &c);
	bad = (struct rl_http_trust){.prefix_v6 = 129};
	REFUSED(&bad, value("10.0.0.1"), &line, 1, &c);
}

/* An element of which is known what it says. NULL: no address; "": nothing at all. */
static const struct {
	const char *text, *address;
} parts[] = {
	{"203.0.113.7", "203.0.113.7"},
	{"198.51.100.1:1", "198.51.100.1"},
	{"[2001:db8:ff::7]:80", "2001:db8:ff::7"},
	{"10.1.2.3", "10.1.2.3"},
	{"10.1.2.3:9", "10.1.2.3"},
	{"::ffff:10.9.9.9", "10.9.9.9"},
	{"[2001:db8:ab::1]", "2001:db8:ab::1"},
	{"172.16.5.5", "172.16.5.5"},
	{"fd00::1", "fd00::1"},
	{"192.0.2.77", "192.0.2.77"},
	{"10.0.0.7", "10.0.0.7"},
	{"10.200.0.7", "10.200.0.7"},
	{"unknown", NULL},
	{"_x", NULL},
	{"10.0.0", NULL},
	{"", ""},
};
#define PARTS (sizeof parts / sizeof parts[0])

/* The first `bits` of the address, bit by bit. */
static bool
is_in(const char *network, int bits, const char *address)
{
	unsigned char a[16], b[16];
	int family = strchr(address, ':') ? AF_INET6 : AF_INET;

	if (inet_pton(family, network, a) != 1 || inet_pton(family, address, b) != 1)
		return false;
	for (int i = 0; i < bits; i++)
		if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1)
			return false;
	return true;
}

static bool
naive_trusts(const char *address)
{
	return is_in("10.0.0.0", 8, address) || is_in("192.0.2.77", 32, address) ||
	       is_in("2001:db8:aa::", 47, address) || is_in("172.16.0.0", 12, address) ||
	       is_in("fd00::1", 128, address);
}

/* The address of an array of parts, the last of them the peer. Its index in the array. */
static int
naive_client(const int *part, int count, enum rl_http_client_end *end)
{
	int client = count - 1, read = 0;

	for (int i = count - 2;; i--) {
		if (!naive_trusts(parts[part[client]].address))
			return *end = RL_HTTP_CLIENT_FOUND, client;
		while (i >= 0 && read < RL_HTTP_HOPS_MAX && strcmp(parts[part[i]].text, "") == 0) {
			read++;
			i--;
		}
		if (read == RL_HTTP_HOPS_MAX)
			return *end = RL_HTTP_CLIENT_FAR, client;
		if (i < 0)
			return *end = RL_HTTP_CLIENT_LISTED, client;
		read++;
		if (!parts[part[i]].address)
			return *end = RL_HTTP_CLIENT_NO_ADDRESS, client;
		client = i;
	}
}

#define LIST_MAX 80

struct made {
	char text[LIST_MAX * 128];
	size_t len;
	struct rl_http_value line[LIST_MAX];
	size_t lines;
};

static void
append(struct made *m, const char *text)
{
	size_t len = strlen(text);

	assert_true(m->len + len < sizeof m->text);
	memcpy(m->text + m->len, text, len);
	m->len += len;
	m->line[m->lines - 1].len += len;
}

static void
begin_line(struct made *m)
{
	m->line[m->lines++] = (struct rl_http_value){m->text + m->len, 0};
}

static const char *
one_of(uint64_t *seed, const char *const *texts, size_t count)
{
	return texts[test_below(seed, count)];
}

static void
append_forwarded(struct made *m, uint64_t *seed, const char *part)
{
	static const char *const before[] = {
		"",  "",        "by=1.1.1.1;", "host=\"a,b;for=1.1.1.1\";", "host=\"a\\\",\\\\\";",
		";", "FORM=x; "};
	static const char *const after[] = {"", "", ";proto=https", ";host=\"\\\\\"",
	                                    " ;x=\"\\\",for=\\\"\""};

	if (part[0] == '\0')
		return;
	append(m, one_of(seed, before, 7));
	append(m, test_below(seed, 2) ? "for=\"" : "For=\"");
	append(m, part);
	append(m, "\"");
	append(m, one_of(seed, after, 5));
}

/* What a stranger begins the list with: any bytes, and then a comma or a line of its own. */
static void
append_noise(struct made *m, uint64_t *seed)
{
	static const char bytes[] = "\",;=\\ for[]:.1_%\t\x80";
	char noise[64];
	size_t len = test_below(seed, sizeof noise - 1);

	for (size_t i = 0; i < len; i++)
		noise[i] = bytes[test_below(seed, sizeof bytes - 1)];
	noise[len] = '\0';
	append(m, noise);
}

static void
make(struct made *m, uint64_t *seed, enum rl_http_field field, const int *part, int count,
     bool has_noise)
{
	static const char *const commas[] = {",", ", ", " ,", "\t, \t"};

	m->len = m->lines = 0;
	begin_line(m);
	if (has_noise) {
		append_noise(m, seed);
		append(m, ",");
	}
	for (int i = 0; i < count - 1; i++) {
		if (field == RL_HTTP_FORWARDED)
			append_forwarded(m, seed, parts[part[i]].text);
		else
			append(m, parts[part[i]].text);
		if (i < count - 2 && test_below(seed, 4) == 0)
			begin_line(m);
		else if (i < count - 2)
			append(m, one_of(seed, commas, 4));
	}
}

/* One list in a line of its own per call, against the array. */
static void
compare(uint64_t *seed, const struct rl_http_trust *t, int count, uint64_t kinds)
{
	static struct made m;
	bool has_noise = test_below(seed, 2) == 0;
	enum rl_http_client_end end;
	struct rl_http_client c;
	int part[LIST_MAX], client;

	for (int i = 0; i < count; i++)
		part[i] = (int)(test_below(seed, 4) > 0 ? 3 + test_below(seed, 9)
		                                        : test_below(seed, kinds));
	part[count - 1] = (int)test_below(seed, 12);
	client = naive_client(part, count, &end);
	if (has_noise && end == RL_HTTP_CLIENT_LISTED)
		has_noise = false; /* which would be read */
	make(&m, seed, t->field, part, count, has_noise);
	assert_int_equal(rl_http_client(t, value(parts[part[count - 1]].text), m.line, m.lines, &c),
	                 0);
	if (strcmp(c.address, parts[part[client]].address) != 0 || c.end != end)
		print_error("%.*s\n", (int)m.len, m.text);
	assert_string_equal(c.address, parts[part[client]].address);
	assert_int_equal(c.end, end);
}

static void
test_lists_by_parts(void **state)
{
	struct rl_http_network networks[NETWORKS];
	struct rl_http_trust t = trust_of(networks);
	uint64_t seed = 1;

	(void)state;
	t.prefix_v6 = 128;
	for (int i = 0; i < 100000; i++) {
		t.field = i % 2 == 0 ? RL_HTTP_X_FORWARDED_FOR : RL_HTTP_FORWARDED;
		compare(&seed, &t, (int)(1 + test_below(&seed, i % 50 == 0 ? LIST_MAX : 8)), PARTS);
	}
}

/* A list of so many bytes at the end of a page, of which only the last `read` may be looked at. */
static char *
guarded(size_t bytes, size_t read)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), hidden = (bytes - read) / page * page;
	size_t whole = (bytes + page - 1) / page * page;
	char *map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map, hidden, PROT_NONE), 0);
	return map + whole - bytes;
}

#define HOSTILE (16 << 20)

static void
expect_bounded(enum rl_http_field field, const char *repeated, const char *address,
               enum rl_http_client_end end)
{
	struct rl_http_network networks[NETWORKS];
	struct rl_http_trust t = trust_of(networks);
	size_t len = strlen(repeated), read = RL_HTTP_HOPS_MAX * (RL_HTTP_ELEMENT_MAX + 1);
	char *list = guarded(HOSTILE, read);
	struct rl_http_value line = {list, HOSTILE};
	struct rl_http_client c;

	t.field = field;
	for (size_t i = HOSTILE - read; i < HOSTILE; i++)
		list[i] = repeated[(i + len - HOSTILE % len) % len];
	assert_int_equal(rl_http_client(&t, value("10.0.0.1"), &line, 1, &c), 0);
	assert_string_equal(c.address, address);
	assert_int_equal(c.end, end);
	assert_int_equal(munmap(list, HOSTILE), 0);
}

static void
test_cost_has_a_bound(void **state)
{
	char wide[RL_HTTP_ELEMENT_MAX + 2];
	struct rl_http_network networks[NETWORKS];
	struct rl_http_trust t = trust_of(networks);
	static struct rl_http_value lines[100];
	struct rl_http_client c;

	(void)state;
	for (int f = 0; f < 2; f++) {
		enum rl_http_field field = (enum rl_http_field)f;
		expect_bounded(field, ",", "10.0.0.1", RL_HTTP_CLIENT_FAR);
		expect_bounded(field, "x", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
		expect_bounded(field, "\"", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
		expect_bounded(field, "\\", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
		expect_bounded(field, "\\\"", "10.0.0.1", RL_HTTP_CLIENT_NO_ADDRESS);
	}
	expect_bounded(RL_HTTP_X_FORWARDED_FOR, "10.0.0.2, , ", "10.0.0.2", RL_HTTP_CLIENT_FAR);
	expect_bounded(RL_HTTP_FORWARDED, ",for=10.0.0.2", "10.0.0.2", RL_HTTP_CLIENT_FAR);
	/* the longest elements, each of which is read */
	memset(wide, ' ', sizeof wide);
	memcpy(wide, "10.0.0.2", 8);
	wide[RL_HTTP_ELEMENT_MAX] = ',';
	wide[RL_HTTP_ELEMENT_MAX + 1] = '\0';
	expect_bounded(RL_HTTP_X_FORWARDED_FOR, wide, "10.0.0.2", RL_HTTP_CLIENT_FAR);
	wide[RL_HTTP_ELEMENT_MAX] = '\0';
	assert_string_equal(ask(&t, "10.0.0.1", wide).address, "10.0.0.2");
	wide[RL_HTTP_ELEMENT_MAX] = ' ';
	assert_string_equal(ask(&t, "10.0.0.1", wide).address, "10.0.0.1");
	/* lines with nothing in them */
	assert_int_equal(rl_http_client(&t, value("10.0.0.1"), lines, 100, &c), 0);
	assert_int_equal(c.end, RL_HTTP_CLIENT_FAR);
}

/* The answer is a key that a rule with prefixes takes, too, and a ban of a network meets it. */
static void
test_the_answer_is_a_key(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "login", 2, RL_SECOND, 0, false);
	int nets = rl_define(rl, &(struct rl_rule){.name = "nets",
	                                           .limit = {.capacity = 1,
	                                                     .window_ns = RL_SECOND,
	                                                     .prefix_v4 = 24,
	                                                     .prefix_v6 = 48}});
	struct rl_http_trust t = {.count = 0};
	struct rl_http_client c = ask(&t, "[2001:db8:1:2:3::4]:80", "");
	struct rl_pattern net = rl_pattern_of("2001:db8::/32", 13);

	(void)state;
	assert_int_equal(at_check(rl, nets, c.address, strlen(c.address), 1, 0, NULL), RL_ALLOWED);
	c = ask(&t, "2001:db8:1:ffff::", "");
	assert_int_equal(at_check(rl, nets, c.address, strlen(c.address), 1, 0, NULL), RL_DENIED);
	assert_int_equal(rl_ban(rl, rule, &net, RL_NEVER_NS), 0);
	assert_int_equal(rl_check(rl, rule, c.address, strlen(c.address), 1, NULL), RL_DENIED);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_that_is_not_trusted),
		cmocka_unit_test(test_what_is_no_address_ends_the_walk),
		cmocka_unit_test(test_forms_of_an_address),
		cmocka_unit_test(test_forwarded),
		cmocka_unit_test(test_unix_sockets),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_families_are_apart),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_lists_by_parts),
		cmocka_unit_test(test_cost_has_a_bound),
		cmocka_unit_test(test_the_answer_is_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
