/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts of rl_http.h, against strings worked out by hand, in buffers of every size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "rl_http.h"
#include "testing.h"

#define GUARD 0xa5
#define TEXT_MAX 2048

/* One call under test with its input. */
struct call {
	ssize_t (*write)(const struct call *c, char *to, size_t size);
	const void *input;
	size_t count;
};

static ssize_t
write_retry_after(const struct call *c, char *to, size_t size)
{
	return rl_http_retry_after(c->input, to, size);
}

static ssize_t
write_policies(const struct call *c, char *to, size_t size)
{
	return rl_http_ratelimit_policy(RL_HTTP_IETF_11, c->input, c->count, to, size);
}

static ssize_t
write_limits(const struct call *c, char *to, size_t size)
{
	return rl_http_ratelimit(RL_HTTP_IETF_11, c->input, c->count, to, size);
}

static ssize_t
write_policies_of_seven(const struct call *c, char *to, size_t size)
{
	return rl_http_ratelimit_policy(RL_HTTP_IETF_7, c->input, c->count, to, size);
}

static ssize_t
write_limits_of_seven(const struct call *c, char *to, size_t size)
{
	return rl_http_ratelimit(RL_HTTP_IETF_7, c->input, c->count, to, size);
}

static ssize_t
write_policies_of_none(const struct call *c, char *to, size_t size)
{
	return rl_http_ratelimit_policy((enum rl_http_set)(RL_HTTP_IETF_7 + 1), c->input, c->count,
	                                to, size);
}

static ssize_t
write_limits_of_none(const struct call *c, char *to, size_t size)
{
	return rl_http_ratelimit((enum rl_http_set) - 1, c->input, c->count, to, size);
}

static ssize_t
write_problem(const struct call *c, char *to, size_t size)
{
	return rl_http_problem(c->input, to, size);
}

/*
 * The call returns `returned` at every size, and leaves the prefix of `text` that fits,
 * a NUL, and the bytes from `size` on as they were. The copy that has no byte to spare is
 * for the sanitizer.
 */
static void
expect_at_any_size(const struct call *c, const char *text, ssize_t returned)
{
	size_t len = strlen(text);
	unsigned char buffer[TEXT_MAX + 16];

	assert_in_range(len, 0, TEXT_MAX - 8);
	assert_int_equal(c->write(c, NULL, 0), returned);
	for (size_t size = 0; size < len + 8; size++) {
		size_t shown = size == 0 ? 0 : len < size ? len : size - 1;
		char *exact = malloc(size + (size == 0));

		memset(buffer, GUARD, sizeof buffer);
		assert_int_equal(c->write(c, (char *)buffer, size), returned);
		assert_memory_equal(buffer, text, shown);
		if (size > 0)
			assert_int_equal(buffer[shown], '\0');
		for (size_t i = size; i < sizeof buffer; i++)
			assert_int_equal(buffer[i], GUARD);
		assert_non_null(exact);
		assert_int_equal(c->write(c, exact, size), returned);
		free(exact);
	}
}

static void
expect(const struct call *c, const char *text)
{
	expect_at_any_size(c, text, (ssize_t)strlen(text));
}

static void
expect_invalid(const struct call *c)
{
	char buffer[] = "full";

	expect_at_any_size(c, "", -EINVAL);
	/* a buffer that would have held the text is empty too */
	assert_int_equal(c->write(c, buffer, sizeof buffer), -EINVAL);
	assert_string_equal(buffer, "");
	/* and there must be one */
	assert_int_equal(c->write(c, NULL, 1), -EINVAL);
}

static void
expect_retry_after(enum rl_verdict verdict, uint64_t retry_after_ns, const char *text)
{
	struct rl_result r = {
		.verdict = verdict,
		.retry_after_ns = retry_after_ns,
		.reset_after_ns = 77 * RL_SECOND,
	};

	expect(&(struct call){write_retry_after, &r, 0}, text);
}

static void
expect_policies(const struct rl_http_policy *policies, size_t count, const char *text)
{
	expect(&(struct call){write_policies, policies, count}, text);
}

static void
expect_policy(struct rl_http_policy policy, const char *text)
{
	expect_policies(&policy, 1, text);
}

static void
expect_no_policy(struct rl_http_policy policy)
{
	expect_invalid(&(struct call){write_policies, &policy, 1});
}

static void
expect_limit(const char *name, struct rl_result result, const char *text)
{
	struct rl_http_limit limit = {.name = name, .result = &result};

	expect(&(struct call){write_limits, &limit, 1}, text);
}

static void
expect_of_seven(const struct rl_http_limit *limits, size_t count, const char *text)
{
	expect(&(struct call){write_limits_of_seven, limits, count}, text);
}

/* Durations at the edges of a second, and as whole seconds, rounded up. */
static const struct {
	uint64_t ns;
	const char *seconds;
} edges[] = {
	{1, "1"},
	{RL_SECOND - 1, "1"},
	{RL_SECOND, "1"},
	{RL_SECOND + 1, "2"},
	{2 * RL_SECOND - 1, "2"},
	{2 * RL_SECOND, "2"},
	{9 * RL_SECOND + 1, "10"},
	{2 * RL_WINDOW_MAX, "69120000"},
	{UINT64_C(18446744073000000000), "18446744073"},
	{UINT64_MAX - 1, "18446744074"},
};

#define EDGES (sizeof edges / sizeof edges[0])

static void
test_retry_after(void **state)
{
	(void)state;
	for (size_t i = 0; i < EDGES; i++)
		expect_retry_after(RL_DENIED, edges[i].ns, edges[i].seconds);
	/* never less than a second after a denial */
	expect_retry_after(RL_DENIED, 0, "1");
	/* what has no time has no field */
	expect_retry_after(RL_DENIED, RL_NEVER_NS, "");
	expect_retry_after(RL_NEVER, RL_NEVER_NS, "");
	expect_retry_after(RL_ALLOWED, 0, "");
	expect_retry_after(RL_UNDECIDED, 0, "");
	expect_retry_after(RL_UNDECIDED, RL_SECOND, "");
}

static void
test_results_that_are_none(void **state)
{
	struct rl_result r = {.verdict = (enum rl_verdict)4};
	struct rl_http_limit limits[] = {{.name = "a"}, {.name = "a", .result = &r}};

	(void)state;
	expect_invalid(&(struct call){write_retry_after, NULL, 0});
	expect_invalid(&(struct call){write_retry_after, &r, 0});
	expect_invalid(&(struct call){write_limits, &limits[0], 1});
	expect_invalid(&(struct call){write_limits, &limits[1], 1});
	expect_invalid(&(struct call){write_limits, NULL, 1});
	expect_invalid(&(struct call){write_policies, NULL, 1});
}

static void
test_an_empty_list_is_no_field(void **state)
{
	struct rl_result undecided = {.verdict = RL_UNDECIDED, .error = -ENOSPC};
	struct rl_http_limit limit = {.name = "a", .result = &undecided};

	(void)state;
	expect(&(struct call){write_limits, NULL, 0}, "");
	expect(&(struct call){write_policies, NULL, 0}, "");
	expect(&(struct call){write_limits, &limit, 1}, "");
}

static void
test_policies(void **state)
{
	const struct rl_http_policy policies[] = {
		{.name = "burst", .quota = 100, .window_ns = 60 * RL_SECOND},
		{.name = "daily", .quota = 1000, .window_ns = 86400 * RL_SECOND},
	};

	(void)state;
	expect_policies(policies, 1, "\"burst\";q=100;w=60");
	expect_policies(policies, 2, "\"burst\";q=100;w=60, \"daily\";q=1000;w=86400");
	expect_policy((struct rl_http_policy){.name = "none"}, "\"none\";q=0");
	expect_policy((struct rl_http_policy){.name = ""}, "\"\";q=0");
	expect_policy((struct rl_http_policy){"peruser", 65535, 10 * RL_SECOND, "content-bytes",
	                                      "App-999", 7},
	              "\"peruser\";q=65535;qu=\"content-bytes\";w=10;pk=:QXBwLTk5OQ==:");
}

static void
test_windows(void **state)
{
	char text[64];

	(void)state;
	for (size_t i = 0; i < EDGES; i++) {
		strcpy(text, "\"a\";q=7;w=");
		strcat(text, edges[i].seconds);
		expect_policy((struct rl_http_policy){"a", 7, .window_ns = edges[i].ns}, text);
	}
	expect_policy((struct rl_http_policy){"a", 7, .window_ns = RL_WINDOW_MIN}, "\"a\";q=7;w=1");
	expect_policy((struct rl_http_policy){"a", 7, .window_ns = 0}, "\"a\";q=7");
	expect_policy((struct rl_http_policy){"a", 7, .window_ns = RL_NEVER_NS}, "\"a\";q=7");
}

static void
test_quotas(void **state)
{
	(void)state;
	expect_policy((struct rl_http_policy){.name = "a", .quota = 9}, "\"a\";q=9");
	expect_policy((struct rl_http_policy){.name = "a", .quota = 10}, "\"a\";q=10");
	expect_policy((struct rl_http_policy){.name = "a", .quota = RL_CAPACITY_MAX},
	              "\"a\";q=268435455");
	expect_policy((struct rl_http_policy){.name = "a", .quota = RL_HTTP_INTEGER_MAX},
	              "\"a\";q=999999999999999");
	expect_no_policy((struct rl_http_policy){.name = "a", .quota = RL_HTTP_INTEGER_MAX + 1});
	expect_no_policy((struct rl_http_policy){.name = "a", .quota = UINT64_MAX});
}

static void
test_strings(void **state)
{
	struct rl_result r = {.verdict = RL_ALLOWED};

	(void)state;
	expect_policy((struct rl_http_policy){.name = "\"", .quota = 1}, "\"\\\"\";q=1");
	expect_policy((struct rl_http_policy){.name = "\\", .quota = 1}, "\"\\\\\";q=1");
	expect_policy((struct rl_http_policy){"say \"hi\" \\o/", 1, .unit = "\"\\"},
	              "\"say \\\"hi\\\" \\\\o/\";q=1;qu=\"\\\"\\\\\"");
	expect_limit("a\"b\\c", r, "\"a\\\"b\\\\c\";r=0;t=0");
	for (int c = 1; c < 256; c++) {
		char name[] = {'x', (char)c, 'y', '\0'};
		char text[] = {'"', 'x', (char)c, 'y', '"', ';', 'r',
		               '=', '0', ';',     't', '=', '0', '\0'};
		struct rl_http_limit limit = {.name = name, .result = &r};

		if (c == '"' || c == '\\')
			continue;
		if (c >= 0x20 && c <= 0x7e) {
			expect_limit(name, r, text);
			continue;
		}
		expect_invalid(&(struct call){write_limits, &limit, 1});
		expect_no_policy((struct rl_http_policy){.name = name, .quota = 1});
		expect_no_policy((struct rl_http_policy){"a", 1, .unit = name});
	}
	expect_no_policy((struct rl_http_policy){.name = NULL, .quota = 1});
	expect_no_policy((struct rl_http_policy){.name = "a\r\nSet-Cookie: b", .quota = 1});
	expect_no_policy((struct rl_http_policy){.name = "caf\xc3\xa9", .quota = 1});
}

static void
test_partitions(void **state)
{
	/* RFC 4648, section 10, and bytes that use the last digits */
	static const char *const coded[] = {"",         "Zg==",     "Zm8=",    "Zm9v",
	                                    "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
	struct rl_result r = {.verdict = RL_ALLOWED, .remaining = 999};
	struct rl_http_limit limit = {"default", &r, "trial121323", 11};
	char text[64];

	(void)state;
	for (size_t len = 0; len <= 6; len++) {
		strcpy(text, "\"a\";q=1;pk=:");
		strcat(text, coded[len]);
		strcat(text, ":");
		expect_policy((struct rl_http_policy){"a", 1, 0, NULL, "foobar", len}, text);
	}
	expect_policy((struct rl_http_policy){"a", 1, 0, NULL, "\xfb\xff\xfe\0\xff", 5},
	              "\"a\";q=1;pk=:+//+AP8=:");
	expect(&(struct call){write_limits, &limit, 1},
	       "\"default\";r=999;t=0;pk=:dHJpYWwxMjEzMjM=:");
	limit.partition = NULL;
	expect_invalid(&(struct call){write_limits, &limit, 1});
	expect_no_policy((struct rl_http_policy){"a", 1, .partition_len = 1});
}

static void
test_limits(void **state)
{
	struct rl_result r = {
		.verdict = RL_ALLOWED,
		.limit = 100,
		.remaining = 50,
		.window_ns = 60 * RL_SECOND,
		.reset_after_ns = 30 * RL_SECOND,
	};
	char text[64];

	(void)state;
	expect_limit("default", r, "\"default\";r=50;t=30");
	/* once denied, t is when to come back, and not when all is free */
	r.verdict = RL_DENIED;
	r.retry_after_ns = 20 * RL_SECOND + 1;
	expect_limit("default", r, "\"default\";r=50;t=21");
	for (size_t i = 0; i < EDGES; i++) {
		strcpy(text, "\"a\";r=50;t=");
		strcat(text, edges[i].seconds);
		r.verdict = RL_DENIED;
		r.retry_after_ns = edges[i].ns;
		r.reset_after_ns = 77 * RL_SECOND;
		expect_limit("a", r, text);
		r.verdict = RL_ALLOWED;
		r.retry_after_ns = 0;
		r.reset_after_ns = edges[i].ns;
		expect_limit("a", r, text);
	}
	r.reset_after_ns = 0;
	expect_limit("a", r, "\"a\";r=50;t=0");
	r.reset_after_ns = RL_NEVER_NS;
	expect_limit("a", r, "\"a\";r=50");
	/* as Retry-After, at least a second */
	r = (struct rl_result){.verdict = RL_DENIED};
	expect_limit("a", r, "\"a\";r=0;t=1");
	r.retry_after_ns = RL_NEVER_NS;
	expect_limit("a", r, "\"a\";r=0");
	/* a request that is too large says nothing about the others */
	r = (struct rl_result){.verdict = RL_NEVER,
	                       .limit = 5,
	                       .remaining = UINT32_MAX,
	                       .retry_after_ns = RL_NEVER_NS,
	                       .reset_after_ns = RL_SECOND + 1};
	expect_limit("a", r, "\"a\";r=4294967295;t=2");
}

static void
test_undecided_limits_are_left_out(void **state)
{
	struct rl_result none = {.verdict = RL_UNDECIDED, .error = -EINVAL};
	struct rl_result some = {.remaining = 3, .reset_after_ns = RL_SECOND};
	const struct rl_http_limit limits[] = {
		{.name = "a", .result = &none}, {.name = "b", .result = &some},
		{.name = "c", .result = &none}, {.name = "d", .result = &some},
		{.name = "e", .result = &none},
	};

	(void)state;
	expect(&(struct call){write_limits, limits, 5}, "\"b\";r=3;t=1, \"d\";r=3;t=1");
}

static void
test_many(void **state)
{
	enum {
		MANY = 60
	};
	struct rl_http_policy policies[MANY];
	struct rl_http_limit limits[MANY];
	struct rl_result r = {.remaining = 1, .reset_after_ns = RL_SECOND};
	char text[TEXT_MAX] = "", limit_text[TEXT_MAX] = "";

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		policies[i] = (struct rl_http_policy){"p", i % 10, RL_SECOND, NULL, NULL, 0};
		limits[i] = (struct rl_http_limit){.name = "p", .result = &r};
		strcat(text, i > 0 ? ", \"p\";q=" : "\"p\";q=");
		strcat(text, (char[]){(char)('0' + i % 10), '\0'});
		strcat(text, ";w=1");
		strcat(limit_text, i > 0 ? ", \"p\";r=1;t=1" : "\"p\";r=1;t=1");
	}
	expect_policies(policies, MANY, text);
	expect(&(struct call){write_limits, limits, MANY}, limit_text);
	/* one that is wrong empties all, wherever it is */
	for (size_t i = 0; i < MANY; i++) {
		policies[i].name = limits[i].name = "\x7f";
		expect_invalid(&(struct call){write_policies, policies, MANY});
		expect_invalid(&(struct call){write_limits, limits, MANY});
		policies[i].name = limits[i].name = "p";
	}
}

#define TYPES "{\"type\": \"https://iana.org/assignments/http-problem-types#"

static void
expect_problem(struct rl_http_problem problem, const char *text)
{
	expect(&(struct call){write_problem, &problem, 1}, text);
}

static void
expect_no_problem(struct rl_http_problem problem)
{
	expect_invalid(&(struct call){write_problem, &problem, 1});
}

/* Neither name, unit nor partition; of several limits the tightest. */
static void
test_version_seven(void **state)
{
	const struct rl_http_policy policies[] = {
		{"a", 100, 60 * RL_SECOND, .unit = "content-bytes", .partition = "me",
	         .partition_len = 2},
		{.name = "b", .quota = 5, .window_ns = RL_NEVER_NS}};
	struct rl_result wide = {.limit = 100, .remaining = 50, .reset_after_ns = 30 * RL_SECOND},
			 tight = {.limit = 5, .remaining = 2, .reset_after_ns = RL_NEVER_NS},
			 denied = {.verdict = RL_DENIED,
	                           .limit = 9,
	                           .remaining = 60,
	                           .retry_after_ns = RL_SECOND + 1},
			 unknown = {.verdict = RL_UNDECIDED};
	const struct rl_http_limit limits[] = {{.name = "u", .result = &unknown},
	                                       {"w", &wide, "me", 2},
	                                       {.name = "t", .result = &tight},
	                                       {.name = "d", .result = &denied},
	                                       {.name = "w", .result = &wide}};

	(void)state;
	expect(&(struct call){write_policies_of_seven, policies, 2}, "100;w=60, 5");
	expect_of_seven(limits, 1, "");
	expect_of_seven(limits, 2, "limit=100, remaining=50, reset=30");
	expect_of_seven(limits, 3, "limit=5, remaining=2");
	expect_of_seven(limits, 5, "limit=9, remaining=60, reset=2");
	expect_of_seven(limits + 2, 1, "limit=5, remaining=2");
	expect_of_seven(NULL, 0, "");
	expect_invalid(&(struct call){write_limits_of_seven, NULL, 1});
}

static void
test_sets(void **state)
{
	static const struct rl_http_policy policy = {.name = "a", .quota = 1};
	const struct rl_result r = {.limit = 1};
	const struct rl_http_limit limit = {.name = "a", .result = &r};

	(void)state;
	assert_int_equal(rl_http_set("ietf"), 0);
	assert_int_equal(rl_http_set("ietf-11"), RL_HTTP_IETF_11);
	assert_int_equal(rl_http_set("ietf-7"), RL_HTTP_IETF_7);
	assert_int_equal(rl_http_set("ietf-70"), -EINVAL);
	assert_int_equal(rl_http_set(""), -EINVAL);
	assert_int_equal(rl_http_set(NULL), -EINVAL);
	expect_invalid(&(struct call){write_policies_of_none, &policy, 1});
	expect_invalid(&(struct call){write_limits_of_none, &limit, 1});
}

static void
test_problems(void **state)
{
	struct rl_result r = {.verdict = RL_DENIED,
	                      .limit = 5,
	                      .window_ns = 60 * RL_SECOND,
	                      .retry_after_ns = 20 * RL_SECOND + 1};
	struct rl_result held = {.verdict = RL_DENIED, .limit = 3};
	struct rl_result never = {.verdict = RL_NEVER,
	                          .limit = 5,
	                          .window_ns = RL_SECOND,
	                          .retry_after_ns = RL_NEVER_NS};
	struct rl_result undecided = {.verdict = RL_UNDECIDED, .error = -EINVAL};
	struct rl_result ban = {
		.verdict = RL_DENIED, .reason = RL_BY_BAN, .retry_after_ns = RL_NEVER_NS};
	const char *nothing = TYPES "temporary-reduced-capacity\", \"title\": \"Temporary reduced "
				    "capacity\", \"status\": 503, \"detail\": \"The rate limit "
				    "cannot be decided.\"}";

	(void)state;
	expect_problem((struct rl_http_problem){429, "login", &r},
	               TYPES "quota-exceeded\", \"title\": \"Quota exceeded\", \"status\": 429, "
	                     "\"detail\": \"The client has sent too many requests. It may come "
	                     "again in 21 s.\", \"violated-policies\": [\"login\"]}");
	expect_problem((struct rl_http_problem){503, "a\"b\\", &held},
	               TYPES "quota-exceeded\", \"title\": \"Quota exceeded\", \"status\": 503, "
	                     "\"detail\": \"The client has too many requests under way.\", "
	                     "\"violated-policies\": [\"a\\\"b\\\\\"]}");
	expect_problem((struct rl_http_problem){403, NULL, &never},
	               TYPES "quota-exceeded\", \"title\": \"Quota exceeded\", \"status\": 403, "
	                     "\"detail\": \"The request costs more than its limit admits.\"}");
	expect_problem((struct rl_http_problem){429, "login", &ban},
	               TYPES "abnormal-usage-detected\", \"title\": \"Abnormal usage detected\", "
	                     "\"status\": 429, \"detail\": \"The client is banned.\", "
	                     "\"violated-policies\": [\"login\"]}");
	expect_problem((struct rl_http_problem){503, NULL, &undecided}, nothing);
	expect_problem((struct rl_http_problem){503, NULL, NULL}, nothing);
}

static void
test_no_problems(void **state)
{
	struct rl_result r = {.verdict = RL_DENIED}, none = {.verdict = (enum rl_verdict)4};

	(void)state;
	expect_invalid(&(struct call){write_problem, NULL, 0});
	expect_no_problem((struct rl_http_problem){99, NULL, &r});
	expect_no_problem((struct rl_http_problem){600, NULL, &r});
	expect_no_problem((struct rl_http_problem){429, "a\nb", &r});
	expect_no_problem((struct rl_http_problem){429, NULL, &none});
}

/* A rule's longest name, with the longest text: what the page promises of the size. */
static void
test_a_problem_fits(void **state)
{
	struct rl_result r = {.verdict = RL_DENIED, .retry_after_ns = RL_NEVER_NS - 1};
	char name[RL_NAME_MAX + 1] = "", text[RL_HTTP_PROBLEM_SIZE];
	ssize_t len;

	(void)state;
	memset(name, '"', RL_NAME_MAX);
	len = rl_http_problem(&(struct rl_http_problem){429, name, &r}, text, sizeof text);
	assert_in_range(len, 1, sizeof text - 1);
}

/* The three values between guards. */
static void
expect_triple(const struct rl_result *r, enum rl_http_reset reset, uint64_t now_ns, int returned,
              const char *limit, const char *remaining, const char *reset_text)
{
	struct {
		unsigned char before[8];
		struct rl_http_triple triple;
		unsigned char after[8];
	} space;

	memset(&space, GUARD, sizeof space);
	assert_int_equal(rl_http_x_ratelimit(r, reset, now_ns, &space.triple), returned);
	assert_string_equal(space.triple.limit, limit);
	assert_string_equal(space.triple.remaining, remaining);
	assert_string_equal(space.triple.reset, reset_text);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(space.before[i], GUARD);
		assert_int_equal(space.after[i], GUARD);
	}
}

static void
test_triple(void **state)
{
	struct rl_result r = {.verdict = RL_ALLOWED,
	                      .limit = 100,
	                      .remaining = 42,
	                      .reset_after_ns = 30 * RL_SECOND};
	uint64_t now = 1700000000 * RL_SECOND;

	(void)state;
	expect_triple(&r, RL_HTTP_RESET_DELTA, now, 1, "100", "42", "30");
	expect_triple(&r, RL_HTTP_RESET_UNIX, now, 1, "100", "42", "1700000030");
	/* the sum is rounded, and not its parts */
	expect_triple(&r, RL_HTTP_RESET_UNIX, now + 1, 1, "100", "42", "1700000031");
	r.reset_after_ns = 30 * RL_SECOND - 1;
	expect_triple(&r, RL_HTTP_RESET_DELTA, now, 1, "100", "42", "30");
	expect_triple(&r, RL_HTTP_RESET_UNIX, now, 1, "100", "42", "1700000030");
	expect_triple(&r, RL_HTTP_RESET_UNIX, now + 1, 1, "100", "42", "1700000030");
	expect_triple(&r, RL_HTTP_RESET_UNIX, now + 2, 1, "100", "42", "1700000031");
	expect_triple(&r, RL_HTTP_RESET_UNIX, now + RL_SECOND - 1, 1, "100", "42", "1700000031");
	/* the moment of t */
	r = (struct rl_result){.verdict = RL_DENIED,
	                       .limit = 100,
	                       .remaining = 0,
	                       .retry_after_ns = 5 * RL_SECOND + 1,
	                       .reset_after_ns = 30 * RL_SECOND};
	expect_triple(&r, RL_HTTP_RESET_DELTA, 0, 1, "100", "0", "6");
	r.retry_after_ns = 0;
	expect_triple(&r, RL_HTTP_RESET_DELTA, 0, 1, "100", "0", "1");
	r.retry_after_ns = RL_NEVER_NS;
	expect_triple(&r, RL_HTTP_RESET_DELTA, 0, 1, "100", "0", "");
	expect_triple(&r, RL_HTTP_RESET_UNIX, now, 1, "100", "0", "");
	r.verdict = RL_NEVER;
	expect_triple(&r, RL_HTTP_RESET_DELTA, 0, 1, "100", "0", "30");
	/* the longest there are; 2^64 - 1 + 2^64 - 2 ns are 36893488147.419103229 s */
	r = (struct rl_result){.verdict = RL_ALLOWED,
	                       .limit = UINT32_MAX,
	                       .remaining = UINT32_MAX,
	                       .reset_after_ns = UINT64_MAX - 1};
	expect_triple(&r, RL_HTTP_RESET_DELTA, 0, 1, "4294967295", "4294967295", "18446744074");
	expect_triple(&r, RL_HTTP_RESET_UNIX, UINT64_MAX, 1, "4294967295", "4294967295",
	              "36893488148");
}

static void
test_triple_of_nothing(void **state)
{
	struct rl_result r = {.verdict = RL_UNDECIDED,
	                      .error = -ENOSPC,
	                      .limit = 100,
	                      .remaining = 42,
	                      .reset_after_ns = RL_SECOND};

	(void)state;
	expect_triple(&r, RL_HTTP_RESET_DELTA, 0, 0, "", "", "");
	r.verdict = (enum rl_verdict)4;
	expect_triple(&r, RL_HTTP_RESET_DELTA, 0, -EINVAL, "", "", "");
	expect_triple(NULL, RL_HTTP_RESET_DELTA, 0, -EINVAL, "", "", "");
	r.verdict = RL_ALLOWED;
	expect_triple(&r, (enum rl_http_reset)2, 0, -EINVAL, "", "", "");
	assert_int_equal(rl_http_x_ratelimit(&r, RL_HTTP_RESET_DELTA, 0, NULL), -EINVAL);
}

/* What a denial by a real rule says. */
static void
test_of_a_check(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "login", 2, 10 * RL_SECOND, 0, false);
	uint64_t now = UINT64_C(1700000000) * RL_SECOND + 3 * RL_SECOND + 1;
	struct rl_result r;
	struct rl_http_limit limit = {.name = "login", .result = &r};

	(void)state;
	assert_int_equal(at_check(rl, rule, "k", 1, 1, now, &r), RL_ALLOWED);
	expect(&(struct call){write_retry_after, &r, 0}, "");
	expect(&(struct call){write_limits, &limit, 1}, "\"login\";r=1;t=7");
	assert_int_equal(at_check(rl, rule, "k", 1, 1, now, &r), RL_ALLOWED);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, now, &r), RL_DENIED);
	expect(&(struct call){write_retry_after, &r, 0}, "7");
	expect(&(struct call){write_limits, &limit, 1}, "\"login\";r=0;t=7");
	expect_triple(&r, RL_HTTP_RESET_UNIX, now, 1, "2", "0", "1700000010");
	assert_int_equal(at_check(rl, rule, "k", 1, 3, now, &r), RL_NEVER);
	expect(&(struct call){write_retry_after, &r, 0}, "");
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_results_that_are_none),
		cmocka_unit_test(test_an_empty_list_is_no_field),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_quotas),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_undecided_limits_are_left_out),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_version_seven),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_no_problems),
		cmocka_unit_test(test_a_problem_fits),
		cmocka_unit_test(test_triple),
		cmocka_unit_test(test_triple_of_nothing),
		cmocka_unit_test(test_of_a_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
