/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HTTP_H
#define RL_HTTP_H

/*
 * rl for HTTP: what an answer says about a limit, as the values of its header fields; and whom
 * a request comes from, if it came through proxies.
 *
 * Pure functions from results to text in the caller's memory: no segment, no clock, no
 * allocation, no locale. They write values, not names and line ends, so that they suit
 * whatever builds the answer.
 *
 *	#include <rl_http.h>
 *
 *	char value[128];
 *	struct rl_http_policy policy = {
 *		.name = "login", .quota = result.limit, .window_ns = result.window_ns};
 *	struct rl_http_limit limit = {.name = "login", .result = &result};
 *
 *	if (rl_http_retry_after(&result, value, sizeof value) > 0)
 *		add_field("Retry-After", value);                  // 21
 *	if (rl_http_ratelimit_policy(RL_HTTP_IETF_11, &policy, 1, value, sizeof value) > 0)
 *		add_field("RateLimit-Policy", value);             // "login";q=100;w=60
 *	if (rl_http_ratelimit(RL_HTTP_IETF_11, &limit, 1, value, sizeof value) > 0)
 *		add_field("RateLimit", value);                    // "login";r=0;t=21
 *
 * What holds for each call that takes `to` and `size`
 *
 * - It returns the length of the whole text without its NUL, as snprintf() does, whatever
 *   `size` is. At most `size` bytes are written, the last of them a NUL; `to` may be NULL
 *   when `size` is 0.
 * - Length 0 means that the field has no value: leave it out.
 * - -EINVAL is bad input, and the text is then empty. Each call says what it refuses. NULL
 *   for a result, for an array that is not empty, or for `to` when `size` is not 0 is always
 *   wrong, and so is a result whose verdict is none of the enum.
 * - No name, unit or partition can end a field early or begin another one.
 * - Any thread of any process may call it at any time.
 *
 * What to know, and the remedy
 *
 * - A text that was cut is no valid field. Remedy: send it only if the length is below
 *   `size`. RL_HTTP_SECONDS_SIZE bytes hold every Retry-After. In the other two fields an
 *   item takes its name and at most 40 bytes more, one more for each quote and backslash
 *   in the name, and what its unit and its partition take.
 * - Fields have whole seconds. They are rounded up, so that a client that waits as long
 *   as it is told does not come too early.
 *
 * Sources: Retry-After and delay-seconds are RFC 9110, section 10.2.3. RateLimit-Policy and
 * RateLimit are draft-ietf-httpapi-ratelimit-headers-11 (May 2026), sections 3 and 4; the draft
 * is not an RFC yet, and names of parameters may still change, for which there is enum
 * rl_http_set. Strings, integers, byte sequences and lists are those of structured fields, RFC
 * 9651, sections 3 and 4.1. The older X-RateLimit fields have no specification, nor has
 * X-Forwarded-For. Forwarded is RFC 7239, problems are RFC 9457. The draft has no field for a
 * partition of its own, nor for what a request has cost, and so has rl.
 */

#include <rl.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define RL_HTTP_SECONDS_SIZE 12                       /* digits of any number of seconds, NUL */
#define RL_HTTP_INTEGER_MAX UINT64_C(999999999999999) /* 15 digits, RFC 9651 */

/*
 * The value of Retry-After: after how many seconds the request that got `result` may be
 * allowed, at least 1.
 *
 * Empty unless the verdict is RL_DENIED. An allowed request has nothing to wait for, of an
 * undecided one nothing is known, and a request that costs more than the capacity is not allowed
 * later either: the field has no word for never, and a client that is given a distant time comes
 * back at that time. Answer RL_NEVER with a status that does not invite another try. A denial with
 * retry_after_ns == RL_NEVER_NS is empty for the same reason. So is one by a concurrency limit:
 * nobody knows when its units come back.
 */
ssize_t rl_http_retry_after(const struct rl_result *result, char *to, size_t size);

/*
 * By which version of the draft both fields are written. A client that was made for an older one
 * reads nothing of a newer one.
 */
enum rl_http_set {
	RL_HTTP_IETF_11 = 0, /* "login";q=100;w=60 and "login";r=0;t=21; as of version 8 */
	RL_HTTP_IETF_7 =
		1, /* 100;w=60 and limit=100, remaining=0, reset=21: without names, unit and
	                        partition, and RateLimit is of the tightest limit alone */
};

/* The set of a word: "ietf-11", "ietf-7", or "ietf", the one of 0. -EINVAL: it is none. */
int rl_http_set(const char *word);

/*
 * A policy: what a server grants each client, the same in every answer until the rule changes.
 * A parameter that is zero or NULL is left out of the field, but for name and quota.
 *
 * A result has both numbers as they are now, also after an administrator changed the rule:
 * `limit` and `window_ns`. Of a bucket, `limit` is the burst, which is not what comes in a window;
 * its quota is the rule's capacity.
 *
 * A window that is not whole seconds becomes the next longer one. A client that spreads
 * its requests over `w` is then slower than it might be and never denied for it; a shorter
 * window would promise a rate that the rule does not grant. w is at least 1.
 */
struct rl_http_policy {
	const char *name;      /* ASCII 0x20..0x7e, of any length; tells policies apart */
	uint64_t quota;        /* q: the rule's capacity, 0..RL_HTTP_INTEGER_MAX */
	uint64_t window_ns;    /* w; 0 or RL_NEVER_NS: not bound to a time */
	const char *unit;      /* qu: "content-bytes" or "concurrent-requests"; NULL: requests */
	const void *partition; /* pk: bytes that name the client's share. They are sent as they
	                          are: do not put into it what others must not read */
	size_t partition_len;  /* bytes in it, any number */
};

/*
 * The value of RateLimit-Policy: `count` policies, in this order. -EINVAL: a name that is
 * NULL, a name or unit with another character, a quota out of range, or a partition
 * that is NULL and has a length; no set. Names and what else a set leaves out are not looked at.
 */
ssize_t rl_http_ratelimit_policy(enum rl_http_set set, const struct rl_http_policy *policies,
                                 size_t count, char *to, size_t size);

/*
 * What a client has left under a policy.
 *
 * r is `remaining`; a bucket's burst may bring it above q. t is the time in which the
 * client can count on no more than r:
 * - retry_after_ns after a denial, and at least 1 s. The request may succeed then, though the
 *   whole quota is not back yet. So t and Retry-After name the same moment; the draft has
 *   Retry-After not end before t does.
 * - reset_after_ns otherwise, RL_NEVER included: r more before then do not exceed the limit,
 *   and from then on the whole quota is there. It is 0 when nothing counts. For a rolling limit
 *   some quota comes back before that, and later answers say so.
 * - Left out if that time is RL_NEVER_NS, or it is a concurrency limit.
 */
struct rl_http_limit {
	const char *name; /* as the policy's */
	const struct rl_result *result;
	const void *partition; /* pk, as the policy's; NULL leaves it out */
	size_t partition_len;
};

/*
 * The value of RateLimit: `count` limits, in this order. One whose verdict is RL_UNDECIDED is
 * left out, for nothing is known of it; the value is empty if that leaves none.
 * -EINVAL: a name, partition or set as above.
 */
ssize_t rl_http_ratelimit(enum rl_http_set set, const struct rl_http_limit *limits, size_t count,
                          char *to, size_t size);

/* What X-RateLimit-Reset counts from; clients of the older fields expect the one or the other. */
enum rl_http_reset {
	RL_HTTP_RESET_DELTA = 0, /* seconds from now */
	RL_HTTP_RESET_UNIX = 1,  /* seconds since 1970 */
};

/* The values of X-RateLimit-Limit, -Remaining and -Reset; each always fits. */
struct rl_http_triple {
	char limit[RL_HTTP_SECONDS_SIZE];
	char remaining[RL_HTTP_SECONDS_SIZE];
	char reset[RL_HTTP_SECONDS_SIZE]; /* empty if it is never: leave the field out */
};

/*
 * The three older values of one result; with several limits, send those of the tightest.
 * Reset is the same moment as t above. With RL_HTTP_RESET_UNIX it is the first whole second
 * that is not before it, `now_ns` being Unix time at the decision, as of rl_now(); otherwise
 * now_ns is not used.
 *
 * 1 filled; 0 the verdict is RL_UNDECIDED, all three are empty; -EINVAL no result, an
 * unknown verdict or `reset`, all three are empty; or no `to`.
 */
int rl_http_x_ratelimit(const struct rl_result *result, enum rl_http_reset reset, uint64_t now_ns,
                        struct rl_http_triple *to);

/*
 * The body of an answer that refuses a request: a problem of RFC 9457, in JSON. Its type, by the
 * draft's section 5, says what kind of refusal it is:
 *
 *	quota-exceeded               a limit was used up, or the request costs more than it admits
 *	abnormal-usage-detected      the key is banned
 *	temporary-reduced-capacity   RL_UNDECIDED, or no result: nothing could be decided
 */
#define RL_HTTP_PROBLEM_TYPE "application/problem+json"
#define RL_HTTP_PROBLEM_SIZE 512 /* holds any whose policy is the name of a rule, NUL */

struct rl_http_problem {
	unsigned status;                /* of the answer, 100..599 */
	const char *policy;             /* the rule that denied; NULL: none is told */
	const struct rl_result *result; /* its; NULL: there is none */
};

/*
 * The JSON of `problem`, one line without an end. -EINVAL: a status out of range, a policy with
 * another character than a name of a policy may have, an unknown verdict, or no `problem`.
 */
ssize_t rl_http_problem(const struct rl_http_problem *problem, char *to, size_t size);

/*
 * The client behind proxies.
 *
 * A proxy appends the address that called it to a field. What stands before that was sent by the
 * caller of the proxy, and may be anything. So the list is read from its end, beginning with the
 * peer of the connection: while an address lies in a trusted network, the address before it is
 * believed. The first address that is not trusted is the client.
 *
 *	X-Forwarded-For: 6.6.6.6, 203.0.113.7, 10.0.0.2      peer 10.0.0.1, 10.0.0.0/8 trusted
 *	                 a claim  the client   <-- trusted <-- trusted
 *
 *	struct rl_http_network proxies[2];
 *	if (rl_http_network("10.0.0.0/8", &proxies[0]) < 0 ||
 *	    rl_http_network("unix:", &proxies[1]) < 0)
 *		return -1;                                        // once, when configured
 *	struct rl_http_trust trust = {.networks = proxies, .count = 2};
 *
 *	struct rl_http_client client;                             // at each request
 *	struct rl_http_value field = {x_forwarded_for, strlen(x_forwarded_for)};
 *	if (rl_http_client(&trust, (struct rl_http_value){peer, peer_len}, &field, 1, &client) == 0)
 *		rl_check(rl, login, client.address, strlen(client.address), 1, &result);
 *
 * What holds
 *
 * - What stands before the element of a trusted proxy does not change how that element is read,
 *   whatever quotes and backslashes it has.
 * - Where the next element is missing or is no address, the answer is the last trusted address: a
 *   trusted proxy has vouched for it. So a proxy that hides its clients (`unknown`, `_name`) is
 *   limited as one client, and nobody gets a fresh limit by sending nonsense. `end` says how the
 *   reading ended. Log it: at RL_HTTP_CLIENT_NO_ADDRESS and RL_HTTP_CLIENT_LISTED many clients may
 *   share that address, and the proxy may write the other field.
 * - At most RL_HTTP_HOPS_MAX elements of RL_HTTP_ELEMENT_MAX bytes each are read, however long the
 *   field is. A longer element is no address. Each address is compared with each network.
 * - No call allocates. Any thread may call with the same trust.
 *
 * What to know, and the remedy
 *
 * - Proxies pass on the field that they do not write as the client has sent it. Remedy: trust one
 *   field only.
 * - A client inside a trusted network chooses whose limit it uses up. Remedy: trust only networks
 *   that clients cannot be in.
 * - IPv6 is counted by /64, which is what one subscriber has. All link-local addresses lie in one
 *   such network. Remedy: a `prefix_v6` of 128, which tells them apart, but for their zone.
 */
#define RL_HTTP_HOPS_MAX 32
#define RL_HTTP_ELEMENT_MAX 512
#define RL_HTTP_ADDRESS_SIZE 46 /* an address in text, NUL */

/* A network, made ready by rl_http_network(). Opaque; copy it as you like. */
struct rl_http_network {
	uint64_t address[2];
	uint64_t mask[2];
	uint32_t family;
};

/*
 * "ADDRESS/BITS", an address alone, or "unix:", which means every peer of a unix socket. Bits
 * behind the prefix are ignored, and ::ffff:10.0.0.0/104 is 10.0.0.0/8. Returns 0, or -EINVAL: the
 * text is none of these.
 */
int rl_http_network(const char *text, struct rl_http_network *network);

/* The field that the proxies write. */
enum rl_http_field {
	RL_HTTP_X_FORWARDED_FOR = 0, /* addresses, with a port or not; it has no specification */
	RL_HTTP_FORWARDED = 1,       /* RFC 7239: `for` of each element */
};

/* The proxies to believe, and the part of an address that is counted. Zero means the default. */
struct rl_http_trust {
	const struct rl_http_network *networks; /* of proxies; NULL if there are none */
	size_t count;
	enum rl_http_field field;
	unsigned prefix_v4; /* leading bits that are counted, 1..32; 0 means 32 */
	unsigned prefix_v6; /* 1..128; 0 means 64 */
};

/* Bytes, not ended by a NUL. */
struct rl_http_value {
	const char *text;
	size_t len;
};

/* How the reading ended. */
enum rl_http_client_end {
	RL_HTTP_CLIENT_FOUND = 0,  /* at an address that is not trusted, the peer's or one before */
	RL_HTTP_CLIENT_LISTED = 1, /* all are trusted, or there is no field: the first there is */
	RL_HTTP_CLIENT_NO_ADDRESS = 2, /* what stands before the last trusted one is no address */
	RL_HTTP_CLIENT_FAR = 3,        /* RL_HTTP_HOPS_MAX elements were read */
};

struct rl_http_client {
	char address[RL_HTTP_ADDRESS_SIZE]; /* a key for a rule with or without prefixes */
	enum rl_http_client_end end;
	unsigned hops; /* how many elements were believed; 0: it is the peer */
};

/*
 * Find the client of a request that came from `peer`. `lines` are the lines of the field, in the
 * order in which they came. Returns 0, or -EINVAL: the peer is no address, a prefix or the field is
 * out of range, or an array is NULL. client->address is empty then.
 *
 * An address may have a port, brackets if it is IPv6, and a zone: 203.0.113.7:80, [2001:db8::1]:80,
 * fe80::1%eth0. Ports and zones are left out, and ::ffff:192.0.2.1 is 192.0.2.1. The answer has
 * zeros behind its prefix, and no "/64". So it is the key of its network, and rules with prefixes,
 * overrides and bans take it for an address. A peer of a unix socket is "unix:" or empty, and
 * "unix:" in X-Forwarded-For. If it is the answer, the text is "unix:". Empty elements and lines
 * are skipped, and count as read.
 *
 * Every server and language here has this text as the key of a client that is given no other, also
 * where no proxy is trusted: one client is one key. A ban, an exemption or an override that is to
 * meet it says the network, "2001:db8:0:7::/64".
 */
int rl_http_client(const struct rl_http_trust *trust, struct rl_http_value peer,
                   const struct rl_http_value *lines, size_t count, struct rl_http_client *client);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
