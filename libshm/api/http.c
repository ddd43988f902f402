/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_http.h"

#include <stdbool.h>
#include <string.h>

/* A text that grows past its buffer in length only. */
struct text {
	char *to;
	size_t size;
	size_t len; /* of all that was put, written or not */
	bool is_bad;
};

static struct text
begin(char *to, size_t size)
{
	return (struct text){.to = to, .size = to ? size : 0, .is_bad = !to && size > 0};
}

static void
put(struct text *t, char c)
{
	if (t->len < t->size)
		t->to[t->len] = c;
	t->len++;
}

static ssize_t
end(struct text *t)
{
	if (t->is_bad)
		t->len = 0;
	if (t->size > 0)
		t->to[t->len < t->size ? t->len : t->size - 1] = '\0';
	return t->is_bad ? -EINVAL : (ssize_t)t->len;
}

static void
put_plain(struct text *t, const char *s)
{
	for (; *s; s++)
		put(t, *s);
}

static unsigned
count_digits(uint64_t n)
{
	unsigned count = 1;

	for (; n >= 10000; n /= 10000)
		count += 4;
	return count + (n >= 10) + (n >= 100) + (n >= 1000);
}

/* By hundreds, the last first: a division is most of what a digit takes. */
static void
write_digits(char *end, uint64_t n)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";

	for (; n >= 100; n /= 100)
		memcpy(end -= 2, &pairs[2 * (n % 100)], 2);
	if (n >= 10)
		memcpy(end - 2, &pairs[2 * n], 2);
	else
		end[-1] = (char)('0' + n);
}

/* As much of it as there is room for. */
static void
put_number(struct text *t, uint64_t n)
{
	unsigned count = count_digits(n);
	char digits[20], *to = t->len + count <= t->size ? t->to + t->len : digits;

	write_digits(to + count, n);
	if (to == digits && t->len < t->size)
		memcpy(t->to + t->len, digits, t->size - t->len);
	t->len += count;
}

/* An Integer, RFC 9651 section 4.1.4. */
static void
put_integer(struct text *t, uint64_t n)
{
	if (n > RL_HTTP_INTEGER_MAX)
		t->is_bad = true;
	put_number(t, n);
}

/* A String, RFC 9651 section 4.1.6. */
static void
put_string(struct text *to, const char *s)
{
	struct text t = *to; /* in registers: no byte that is written is one of it */

	if (!s) {
		to->is_bad = true;
		return;
	}
	put(&t, '"');
	for (; *s; s++) {
		t.is_bad |= *s < 0x20 || *s > 0x7e;
		if (*s == '"' || *s == '\\')
			put(&t, '\\');
		put(&t, *s);
	}
	put(&t, '"');
	*to = t;
}

/* A Byte Sequence, RFC 9651 section 4.1.8: base64 with padding between colons. */
static void
put_bytes(struct text *t, const unsigned char *b, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	put(t, ':');
	for (size_t i = 0; i < len; i += 3) {
		uint32_t three = (uint32_t)b[i] << 16;
		if (i + 1 < len)
			three |= (uint32_t)b[i + 1] << 8;
		if (i + 2 < len)
			three |= b[i + 2];
		for (size_t d = 0; d < 4; d++)
			put(t, d <= len - i ? digits[three >> (18 - 6 * d) & 63] : '=');
	}
	put(t, ':');
}

static void
put_partition(struct text *t, const char *before, const void *partition, size_t len)
{
	if (!partition)
		t->is_bad |= len > 0;
	else if (before) {
		put_plain(t, before);
		put_bytes(t, partition, len);
	}
}

static uint64_t
seconds_up(uint64_t ns)
{
	return ns / RL_SECOND + (ns % RL_SECOND > 0);
}

/* now + wait in whole seconds, rounded up once; the sum in nanoseconds may not fit. */
static uint64_t
seconds_at(uint64_t now_ns, uint64_t wait_ns)
{
	return now_ns / RL_SECOND + wait_ns / RL_SECOND +
	       seconds_up(now_ns % RL_SECOND + wait_ns % RL_SECOND);
}

/* Of a concurrency limit, nobody knows when something comes back. */
static bool
is_untimed(const struct rl_result *r)
{
	return r->window_ns == 0 && r->limit > 0 && r->reset_after_ns == 0 &&
	       (r->retry_after_ns == 0 || r->verdict == RL_NEVER);
}

/* How long a client should expect no more than `remaining`: see struct rl_http_limit. */
static uint64_t
wait_of(const struct rl_result *r)
{
	if (is_untimed(r))
		return RL_NEVER_NS;
	if (r->verdict != RL_DENIED)
		return r->reset_after_ns;
	return r->retry_after_ns > 0 ? r->retry_after_ns : 1;
}

static bool
is_result(const struct rl_result *r)
{
	return r && (unsigned)r->verdict <= RL_UNDECIDED;
}

ssize_t
rl_http_retry_after(const struct rl_result *result, char *to, size_t size)
{
	struct text t = begin(to, size);

	if (!is_result(result))
		t.is_bad = true;
	else if (result->verdict == RL_DENIED && wait_of(result) != RL_NEVER_NS)
		put_number(&t, seconds_up(wait_of(result)));
	return end(&t);
}

/* What stands before each value; NULL: a version of the draft has no such parameter. */
struct names {
	const char *word;
	bool has_name; /* of the policy; without, `RateLimit` is of one limit */
	const char *quota, *unit, *window, *partition;
	const char *limit, *remaining, *until;
};

/* By enum rl_http_set: the next version of the draft is a line. */
static const struct names sets[] = {
	{"ietf-11", true, ";q=", ";qu=", ";w=", ";pk=", NULL, ";r=", ";t="},
	{"ietf-7", false, "", NULL, ";w=", NULL, "limit=", ", remaining=", ", reset="},
};

#define SETS (sizeof sets / sizeof sets[0])

int
rl_http_set(const char *word)
{
	if (word && strcmp(word, "ietf") == 0)
		return RL_HTTP_IETF_11;
	for (size_t i = 0; word && i < SETS; i++)
		if (strcmp(word, sets[i].word) == 0)
			return (int)i;
	return -EINVAL;
}

static void
put_parameter(struct text *t, const char *before, uint64_t n)
{
	if (before) {
		put_plain(t, before);
		put_integer(t, n);
	}
}

static void
put_policy(struct text *t, const struct names *names, const struct rl_http_policy *p)
{
	if (names->has_name)
		put_string(t, p->name);
	put_parameter(t, names->quota, p->quota);
	if (p->unit && names->unit) {
		put_plain(t, names->unit);
		put_string(t, p->unit);
	}
	if (p->window_ns > 0 && p->window_ns != RL_NEVER_NS)
		put_parameter(t, names->window, seconds_up(p->window_ns));
	put_partition(t, names->partition, p->partition, p->partition_len);
}

ssize_t
rl_http_ratelimit_policy(enum rl_http_set set, const struct rl_http_policy *policies, size_t count,
                         char *to, size_t size)
{
	struct text t = begin(to, size);

	t.is_bad |= (unsigned)set >= SETS || (!policies && count > 0);
	for (size_t i = 0; i < count && !t.is_bad; i++) {
		if (t.len > 0)
			put_plain(&t, ", ");
		put_policy(&t, &sets[set], &policies[i]);
	}
	return end(&t);
}

static void
put_limit(struct text *t, const struct names *names, const struct rl_http_limit *l)
{
	uint64_t wait_ns = wait_of(l->result);

	if (names->has_name)
		put_string(t, l->name);
	put_parameter(t, names->limit, l->result->limit);
	put_parameter(t, names->remaining, l->result->remaining);
	if (wait_ns != RL_NEVER_NS)
		put_parameter(t, names->until, seconds_up(wait_ns));
	put_partition(t, names->partition, l->partition, l->partition_len);
}

/* A denial before what remains; NULL: nothing is known of any. */
static const struct rl_http_limit *
tightest(const struct rl_http_limit *limits, size_t count)
{
	const struct rl_http_limit *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct rl_result *r = limits[i].result;

		if (r->verdict == RL_UNDECIDED)
			continue;
		if (!best || r->verdict > best->result->verdict ||
		    (r->verdict == best->result->verdict && r->remaining < best->result->remaining))
			best = &limits[i];
	}
	return best;
}

ssize_t
rl_http_ratelimit(enum rl_http_set set, const struct rl_http_limit *limits, size_t count, char *to,
                  size_t size)
{
	struct text t = begin(to, size);

	t.is_bad |= (unsigned)set >= SETS || (!limits && count > 0);
	for (size_t i = 0; i < count && !t.is_bad; i++)
		t.is_bad |= !is_result(limits[i].result);
	if (!t.is_bad && !sets[set].has_name) {
		limits = tightest(limits, count);
		count = limits != NULL;
	}
	for (size_t i = 0; i < count && !t.is_bad; i++) {
		if (limits[i].result->verdict == RL_UNDECIDED)
			continue;
		if (t.len > 0)
			put_plain(&t, ", ");
		put_limit(&t, &sets[set], &limits[i]);
	}
	return end(&t);
}

/* `n` alone, into RL_HTTP_SECONDS_SIZE bytes. */
static void
write_number(char *to, uint64_t n)
{
	struct text t = begin(to, RL_HTTP_SECONDS_SIZE);

	put_number(&t, n);
	end(&t);
}

int
rl_http_x_ratelimit(const struct rl_result *result, enum rl_http_reset reset, uint64_t now_ns,
                    struct rl_http_triple *to)
{
	uint64_t wait_ns;

	if (!to)
		return -EINVAL;
	*to = (struct rl_http_triple){.limit = ""};
	if (!is_result(result) || (unsigned)reset > RL_HTTP_RESET_UNIX)
		return -EINVAL;
	if (result->verdict == RL_UNDECIDED)
		return 0;
	write_number(to->limit, result->limit);
	write_number(to->remaining, result->remaining);
	wait_ns = wait_of(result);
	if (wait_ns != RL_NEVER_NS)
		write_number(to->reset,
		             seconds_at(reset == RL_HTTP_RESET_UNIX ? now_ns : 0, wait_ns));
	return 1;
}

struct kind {
	const char *type, *title, *detail;
};

static struct kind
kind_of(const struct rl_result *r)
{
	static const struct kind undecided = {"temporary-reduced-capacity",
	                                      "Temporary reduced capacity",
	                                      "The rate limit cannot be decided."},
				 banned = {"abnormal-usage-detected", "Abnormal usage detected",
	                                   "The client is banned."};
	struct kind used = {"quota-exceeded", "Quota exceeded",
	                    "The client has sent too many requests."};

	if (!r || r->verdict == RL_UNDECIDED)
		return undecided;
	if (r->reason == RL_BY_BAN)
		return banned;
	if (r->verdict == RL_NEVER)
		used.detail = "The request costs more than its limit admits.";
	else if (is_untimed(r))
		used.detail = "The client has too many requests under way.";
	return used;
}

static void
put_member(struct text *t, const char *name)
{
	put_plain(t, ", ");
	put_string(t, name);
	put_plain(t, ": ");
}

/* A string of JSON has the same escapes as one of a structured field. */
static void
put_problem(struct text *t, const struct rl_http_problem *p)
{
	struct kind kind = kind_of(p->result);

	put_plain(t, "{\"type\": \"https://iana.org/assignments/http-problem-types#");
	put_plain(t, kind.type);
	put_plain(t, "\"");
	put_member(t, "title");
	put_string(t, kind.title);
	put_member(t, "status");
	put_number(t, p->status);
	put_member(t, "detail");
	put(t, '"');
	put_plain(t, kind.detail);
	if (p->result && p->result->verdict == RL_DENIED && wait_of(p->result) != RL_NEVER_NS) {
		put_plain(t, " It may come again in ");
		put_number(t, seconds_up(wait_of(p->result)));
		put_plain(t, " s.");
	}
	put(t, '"');
	if (p->policy) {
		put_member(t, "violated-policies");
		put(t, '[');
		put_string(t, p->policy);
		put(t, ']');
	}
	put(t, '}');
}

ssize_t
rl_http_problem(const struct rl_http_problem *problem, char *to, size_t size)
{
	struct text t = begin(to, size);

	if (!problem || problem->status < 100 || problem->status > 599 ||
	    (problem->result && !is_result(problem->result)))
		t.is_bad = true;
	else
		put_problem(&t, problem);
	return end(&t);
}
