/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster override: another capacity for one key, on all hosts. */

#include <apply/apply.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text/duration.h>

#include "base/command.h"
#include "base/output.h"
#include "cluster/shared_capacity.h"

#define CAPACITY_MAX ((1u << 28) - 1)

static bool
read_capacity(const char *text, uint64_t *capacity)
{
	char *end;

	*capacity = CAPACITY_MAX;
	if (strcmp(text, "unlimited") == 0)
		return true;
	if (strcmp(text, "banned") == 0) {
		complain("cluster override: with no capacity a host still admits 'blind'; "
		         "'rlctl cluster ban KEY --rule RULE' denies all of a key");
		return false;
	}
	errno = 0;
	*capacity = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *capacity <= CAPACITY_MAX)
		return true;
	complain("cluster override: '%s': expected a capacity of 0 to %u, unlimited or none", text,
	         CAPACITY_MAX);
	return false;
}

/* A capacity that a host's word has no room for is told; it is given all the same, for hosts share
 * it. */
static void
warn_of_log(const struct client *c, const char *rule, uint64_t capacity)
{
	uint32_t room = config_options(c->config).ring / 2;

	for (size_t i = 0; i < c->config->rule_count; i++) {
		const struct rl_rule *of = &c->config->rules[i].rule;

		if (strcmp(of->name, rule) != 0 || capacity <= room)
			continue;
		for (size_t l = 0; l < config_limit_count(of); l++)
			if (config_limit(of, l)->algorithm == RL_SLIDING_LOG)
				complain("rule '%s' keeps a log: each host admits at most %u, for "
				         "which "
				         "its segment's 'ring' has room",
				         rule, room);
	}
}

static bool
read_life(const struct context *context, uint64_t *until_ns)
{
	const char *text = option_value(context, "for");
	uint64_t ns, now_ns = client_now_ns();

	*until_ns = RL_NEVER_NS;
	if (!text)
		return true;
	if (duration_parse(text, &ns) || ns < RL_MILLISECOND || ns > INT64_MAX - now_ns) {
		complain("cluster override: --for '%s': expected a duration, as 1h", text);
		return false;
	}
	*until_ns = now_ns + ns;
	return true;
}

static void
take(void *arg, const struct store_value *v)
{
	snprintf(arg, 64, "%s", v->type == STORE_TEXT ? store_text(v) : "none");
}

static bool
set(struct client *c, const char *key, const struct shared_capacity *wanted)
{
	uint64_t now_ns = client_now_ns(), until_ms = wanted->until_ns / RL_MILLISECOND;
	bool is_timed = wanted->until_ns != RL_NEVER_NS;
	char value[64], life_ms[24];
	const char *argv[] = {"SET", key, value, "PX", life_ms};

	snprintf(value, sizeof value, "%" PRIu64, wanted->capacity);
	if (is_timed)
		snprintf(value, sizeof value, "%" PRIu64 ":%" PRIu64, wanted->capacity, until_ms);
	snprintf(life_ms, sizeof life_ms, "%" PRIu64,
	         wanted->until_ns > now_ns + RL_MILLISECOND
	                 ? (wanted->until_ns - now_ns) / RL_MILLISECOND
	                 : UINT64_C(1));
	return client_ask(c, key, is_timed ? 5 : 3, argv, NULL, NULL);
}

static bool
change(struct client *c, const char *key, const struct shared_capacity *wanted)
{
	const char *del[] = {"DEL", key};

	if (wanted->what == CAPACITY_LIFTED)
		return client_ask(c, key, 2, del, NULL, NULL);
	return wanted->what == CAPACITY_ASKED || set(c, key, wanted);
}

/* The store's answer: none, a capacity, or that and the millisecond of its end. */
static void
report(const char *now, bool is_json)
{
	const char *until = strchr(now, ':');
	uint64_t capacity = strtoull(now, NULL, 10), until_ns = RL_NEVER_NS;
	bool is_none = strcmp(now, "none") == 0;
	json_t *document;

	if (until)
		until_ns = strtoull(until + 1, NULL, 10) * RL_MILLISECOND;
	if (is_json) {
		document = need(json_object());
		json_put(document, "capacity", is_none ? json_null() : json_count(capacity));
		json_put(document, "until_ns", is_none ? json_null() : json_duration(until_ns));
		output_json(document);
	} else if (until) {
		printf("%" PRIu64 " until %s UTC\n", capacity, time_format(until_ns, false).text);
	} else {
		puts(now);
	}
}

static int
apply(struct client *c, const struct shared_capacity *wanted, bool is_json)
{
	char tags[CLIENT_KEYS][CLIENT_KEY], key[CLIENT_KEY + 8], now[64];
	unsigned count = client_tags(c, wanted->rule, wanted->key, wanted->limit, tags);
	const char *get[] = {"GET", key};

	if (count == 0)
		return EXIT_TROUBLE;
	for (unsigned i = 0; i < count; i++) {
		snprintf(key, sizeof key, "rl1:o:{%.32s}", tags[i]);
		if (!change(c, key, wanted) || !client_ask(c, key, 2, get, take, now))
			return EXIT_TROUBLE;
	}
	report(now, is_json);
	return EXIT_YES;
}

int
shared_capacity_run(const struct context *context, const struct shared_capacity *wanted)
{
	struct client c;
	int status;

	if (!client_open(&c, context, &status))
		return status;
	if (wanted->what == CAPACITY_SET)
		warn_of_log(&c, wanted->rule, wanted->capacity);
	status = apply(&c, wanted, option_value(context, "json") != NULL);
	client_close(&c);
	return status;
}

int
cluster_override(const struct context *context)
{
	const char *capacity = context->operand_count == 3 ? context->operands[2] : NULL;
	struct shared_capacity wanted = {.rule = context->operands[0],
	                                 .key = context->operands[1],
	                                 .limit = CLIENT_EACH_LIMIT};

	if (capacity && strcmp(capacity, "none") == 0)
		wanted.what = CAPACITY_LIFTED;
	else if (capacity)
		wanted.what = CAPACITY_SET;
	if (wanted.what == CAPACITY_SET &&
	    (!read_capacity(capacity, &wanted.capacity) || !read_life(context, &wanted.until_ns)))
		return EXIT_TROUBLE;
	return shared_capacity_run(context, &wanted);
}
