/* SPDX-License-Identifier: BSD-2-Clause */
/* What rl says of a request, as an action of access(5). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policyd.h"

#define NUMBER_SIZE 24

/*
 * The checks that apply to a request, all of them decided at once: allowed by all, or nothing is
 * spent.
 */
struct asked {
	size_t count;
	struct rl_item items[CHECKS_MAX];
	size_t checks[CHECKS_MAX]; /* which */
	char keys[CHECKS_MAX][RL_KEY_MAX];
	char digests[CHECKS_MAX][RL_KEY_DIGEST_SIZE];
};

static bool
is_state(const struct check *check, struct text state)
{
	for (size_t i = 0; i < check->state_count; i++)
		if (strlen(check->states[i]) == state.len &&
		    memcmp(check->states[i], state.bytes, state.len) == 0)
			return true;
	return check->state_count == 0;
}

/* A number; what is none, or 0 as at RCPT, counts as 1. */
static uint64_t
cost_of(const struct request *request, const struct check *check)
{
	struct text value = request_get(request, check->cost);
	uint64_t cost = 0;

	for (size_t i = 0; i < value.len && i < 18; i++) {
		if (value.bytes[i] < '0' || value.bytes[i] > '9')
			return 1;
		cost = cost * 10 + (uint64_t)(value.bytes[i] - '0');
	}
	return cost > 0 ? cost : 1;
}

/* A key is whole or, if it is long, its digest: nobody shares a counter because both are cut. */
static struct rl_item
item_of(const struct request *request, const struct check *check, char *buffer, size_t size,
        char *key, char *digest)
{
	struct rl_item item = {.key = key, .cost = 1};

	item.key_len = check_key(request, check, buffer, size);
	if (item.key_len <= RL_KEY_MAX) {
		memcpy(key, buffer, item.key_len);
	} else {
		item.key_len = rl_key_digest(buffer, item.key_len, digest);
		item.key = digest;
	}
	if (check->cost[0])
		item.cost = cost_of(request, check);
	return item;
}

/* Whether checks ever apply, for one that asks for what Postfix does not send here is of no use. */
#define WATCHED 1000 /* requests */
static struct {
	unsigned requests;
	bool has_applied[CHECKS_MAX];
} watch;

void
policy_begin(void)
{
	memset(&watch, 0, sizeof watch);
}

static void
look_at_checks(const struct settings *settings)
{
	if (watch.requests == WATCHED || ++watch.requests < WATCHED)
		return;
	for (size_t i = 0; i < settings->check_count; i++)
		if (!watch.has_applied[i])
			say(SAY_ALWAYS,
			    "/checks/%zu (rule %s) has applied to none of %d requests: \"%s\" was "
			    "empty, \"state\" is another than main.cf asks at, or \"if\" does not "
			    "hold",
			    i, settings->checks[i].rule, WATCHED, settings->checks[i].key[0].name);
}

static void
ask(const struct segment *segment, const struct settings *settings, const struct request *request,
    struct asked *asked)
{
	static char buffer[2 * REQUEST_MAX + PARTS_MAX];
	struct text state = request_get(request, "protocol_state");

	asked->count = 0;
	for (size_t i = 0; i < settings->check_count; i++) {
		const struct check *check = &settings->checks[i];
		size_t n = asked->count;

		if (!is_state(check, state) || !conditions_all(request, &check->when) ||
		    conditions_any(request, &check->unless))
			continue;
		asked->items[n] = item_of(request, check, buffer, sizeof buffer, asked->keys[n],
		                          asked->digests[n]);
		if (asked->items[n].key_len == 0)
			continue;
		asked->items[n].rule = segment->rules[i];
		asked->checks[n] = i;
		watch.has_applied[i] = true;
		asked->count++;
	}
}

/* What a placeholder stands for. */
static const char *
meaning_of(enum placeholder which, const struct rl_result *r, const char *rule,
           char number[NUMBER_SIZE])
{
	uint64_t seconds = r->retry_after_ns / RL_SECOND + (r->retry_after_ns % RL_SECOND > 0);
	const uint64_t meanings[] = {[IN_SECONDS] = seconds > 0 ? seconds : 1,
	                             [IN_LIMIT] = r->limit,
	                             [IN_REMAINING] = r->remaining};

	if (which == IN_RULE)
		return rule;
	snprintf(number, NUMBER_SIZE, "%" PRIu64, meanings[which]);
	return number;
}

/*
 * The action with its placeholders filled in, as far as there is room: a reply is one short line.
 */
static size_t
fill_in(const char *action, const struct rl_result *r, const char *rule, char *reply, size_t size)
{
	char number[NUMBER_SIZE];
	size_t len = 0;

	for (const char *at = action; *at; at++) {
		enum placeholder which = placeholder_at(at);
		const char *meaning =
			which < PLACEHOLDERS ? meaning_of(which, r, rule, number) : NULL;
		size_t bytes = meaning ? strlen(meaning) : 1;

		bytes = bytes < size - len ? bytes : size - len;
		memcpy(reply + len, meaning ? meaning : at, bytes);
		len += bytes;
		if (meaning)
			at = strchr(at, '}');
	}
	return len;
}

static size_t
action(const char *text, const struct rl_result *r, const char *rule, char reply[REPLY_MAX])
{
	size_t len = strlen(strcpy(reply, "action="));

	len += fill_in(text, r, rule, reply + len, REPLY_MAX - len - 2);
	memcpy(reply + len, "\n\n", 2);
	return len + 2;
}

static size_t
fill_error(const struct settings *settings, const char *rule, int error, char reply[REPLY_MAX])
{
	say(SAY_ERROR, "rule %s: %s; the answer is %s", rule, rl_strerror(error), settings->error);
	return action(settings->error, &(struct rl_result){0}, rule, reply);
}

/* The first check that has an action of its own for who is allowed says it. */
static size_t
fill_let(const struct settings *settings, const struct asked *asked,
         const struct rl_result *results, char reply[REPLY_MAX])
{
	for (size_t i = 0; i < asked->count; i++) {
		const struct check *check = &settings->checks[asked->checks[i]];

		if (check->allow[0])
			return action(check->allow, &results[i], check->rule, reply);
	}
	return action(settings->allow, &(struct rl_result){0}, "", reply);
}

/* A request that came too early waits in Postfix, which knows whole seconds. */
static size_t
fill_allowed(const struct settings *settings, const struct asked *asked,
             const struct rl_result *results, char reply[REPLY_MAX])
{
	uint64_t delay_ns = 0;

	for (size_t i = 0; i < asked->count; i++)
		if (results[i].delay_ns > delay_ns)
			delay_ns = results[i].delay_ns;
	if (delay_ns == 0)
		return fill_let(settings, asked, results, reply);
	return (size_t)snprintf(reply, REPLY_MAX, "action=sleep %llu\n\n",
	                        (unsigned long long)((delay_ns + RL_SECOND - 1) / RL_SECOND));
}

/* Denied for want of a share: whether it comes again, as long as the limit says. */
static bool
waits(struct wait *wait, const struct rl_result *r)
{
	uint64_t now_ms = clock_ms(), next_ms = now_ms + r->retry_after_ns / RL_MILLISECOND;

	if (r->reason != RL_BY_SHARE || r->delay_ns == 0)
		return false;
	if (wait->end_ms == 0)
		wait->end_ms = now_ms + r->delay_ns / RL_MILLISECOND;
	wait->next_ms = next_ms < wait->end_ms ? next_ms : wait->end_ms;
	return true;
}

/* All but the last try say that they come again. */
static enum rl_verdict
decide(struct rl *rl, struct asked *asked, const struct wait *wait, struct rl_result *results,
       size_t *decided)
{
	bool comes_again = wait->end_ms == 0 || clock_ms() < wait->end_ms;

	for (size_t i = 0; i < asked->count; i++)
		asked->items[i].flags |= comes_again ? RL_ITEM_WAITS : 0;
	return rl_check_all(rl, asked->items, asked->count, results, decided);
}

size_t
policy_reply(struct segment *segment, const struct settings *settings,
             const struct request *request, struct wait *wait, char reply[REPLY_MAX])
{
	static struct asked asked;
	struct rl_result results[CHECKS_MAX] = {0};
	struct rl *rl = segment_get(segment, settings);
	size_t decided = 0;
	enum rl_verdict verdict;

	if (conditions_any(request, &settings->exempt))
		return action(settings->allow, &results[0], "", reply);
	ask(segment, settings, request, &asked);
	look_at_checks(settings);
	if (asked.count == 0)
		return action(settings->allow, &results[0], "", reply);
	if (!rl)
		return fill_error(settings, settings->checks[asked.checks[0]].rule, segment->error,
		                  reply);
	verdict = decide(rl, &asked, wait, results, &decided);
	if (verdict == RL_DENIED && waits(wait, &results[decided]))
		return 0;
	if (verdict == RL_ALLOWED)
		return fill_allowed(settings, &asked, results, reply);
	if (decided >= asked.count)
		decided = 0;
	const struct check *check = &settings->checks[asked.checks[decided]];
	const struct rl_result *r = &results[decided];
	if (verdict == RL_UNDECIDED)
		return fill_error(settings, check->rule, r->error, reply);
	return action(verdict == RL_NEVER || r->retry_after_ns == RL_NEVER_NS ? check->never
	                                                                      : check->deny,
	              r, check->rule, reply);
}
