/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HTTP_H
#define RL_HTTP_H

/*
 * rl for HTTP: what an answer says about a limit, as the values of its header fields.
 *
 * Pure functions from results to text in the caller's memory: no segment, no clock, no
 * allocation, no locale. They write values, not names and line ends, so that they suit
 * whatever builds the answer.
 *
 *	#include <rl_http.h>
 *
 *	char value[128];
 *	struct rl_http_policy policy = {
 *		.name = "login", .quota = 100, .window_ns = 60 * RL_SECOND};
 *	struct rl_http_limit limit = {.name = "login", .result = &result};
 *
 *	if (rl_http_retry_after(&result, value, sizeof value) > 0)
 *		add_field("Retry-After", value);                  // 21
 *	if (rl_http_ratelimit_policy(&policy, 1, value, sizeof value) > 0)
 *		add_field("RateLimit-Policy", value);             // "login";q=100;w=60
 *	if (rl_http_ratelimit(&limit, 1, value, sizeof value) > 0)
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
 * RateLimit are draft-ietf-httpapi-ratelimit-headers-11 (May 2026), sections 3 and 4; the
 * draft is not an RFC yet, and names of parameters may still change. Strings, integers, byte
 * sequences and lists are those of structured fields, RFC 9651, sections 3 and 4.1. The older
 * X-RateLimit fields have no specification.
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
 * undecided one nothing is known, and a request that costs more than the capacity is not
 * allowed later either: the field has no word for never, and a client that is given a
 * distant time comes back at that time. Answer RL_NEVER with a status that does not invite
 * another try. A denial with retry_after_ns == RL_NEVER_NS is empty for the same reason.
 */
ssize_t rl_http_retry_after(const struct rl_result *result, char *to, size_t size);

/*
 * A policy: what a server grants each client, the same in every answer. What is zero or
 * NULL, but for name and quota, is left out of the field.
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
 * that is NULL and has a length.
 */
ssize_t rl_http_ratelimit_policy(const struct rl_http_policy *policies, size_t count, char *to,
                                 size_t size);

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
 * - Left out if that time is RL_NEVER_NS.
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
 * -EINVAL: a name or partition as above.
 */
ssize_t rl_http_ratelimit(const struct rl_http_limit *limits, size_t count, char *to, size_t size);

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

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
