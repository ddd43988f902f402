/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster override: another capacity for one key, on all hosts. */

#include <apply/apply.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text/duration.h>
#include <time.h>

#include "base/command.h"
#include "base/output.h"
#include "cluster/client.h"

#define CAPACITY_MAX ((1u << 28) - 1)

struct override {
	char key[CLIENT_KEY + 8], value[64], life_ms[24];
	bool is_timed;
};

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
read_life(const struct context *context, struct override *o, uint64_t capacity)
{
	const char *text = option_value(context, "for");
	struct timespec now;
	uint64_t ns, until_ms;

	snprintf(o->value, sizeof o->value, "%" PRIu64, capacity);
	if (!text)
		return true;
	if (duration_parse(text, &ns) || ns < RL_MILLISECOND) {
		complain("cluster override: --for '%s': expected a duration, as 1h", text);
		return false;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	until_ms =
		(uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + ns / RL_MILLISECOND;
	snprintf(o->value, sizeof o->value, "%" PRIu64 ":%" PRIu64, capacity, until_ms);
	snprintf(o->life_ms, sizeof o->life_ms, "%" PRIu64, ns / RL_MILLISECOND);
	o->is_timed = true;
	return true;
}

static void
take(void *arg, const struct store_value *v)
{
	snprintf(arg, 64, "%s", v->type == STORE_TEXT ? store_text(v) : "none");
}

static bool
change(struct client *c, const struct override *o, const char *capacity)
{
	const char *set[] = {"SET", o->key, o->value, "PX", o->life_ms}, *del[] = {"DEL", o->key};

	if (capacity && strcmp(capacity, "none") == 0)
		return client_ask(c, o->key, 2, del, NULL, NULL);
	return !capacity || client_ask(c, o->key, o->is_timed ? 5 : 3, set, NULL, NULL);
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
apply(struct client *c, char **operands, struct override *o, bool is_json)
{
	char tags[CLIENT_KEYS][CLIENT_KEY], now[64];
	unsigned count = client_tags(c, operands[0], operands[1], tags);
	const char *get[] = {"GET", o->key};

	if (count == 0)
		return EXIT_TROUBLE;
	for (unsigned i = 0; i < count; i++) {
		snprintf(o->key, sizeof o->key, "rl1:o:{%.32s}", tags[i]);
		if (!change(c, o, operands[2]) || !client_ask(c, o->key, 2, get, take, now))
			return EXIT_TROUBLE;
	}
	report(now, is_json);
	return EXIT_YES;
}

int
cluster_override(const struct context *context)
{
	char **operands = context->operands;
	bool is_change = context->operand_count == 3;
	char *wanted[] = {operands[0], operands[1], is_change ? operands[2] : NULL};
	struct override o = {0};
	uint64_t capacity = 0;
	struct client c;
	int status;

	if (wanted[2] && strcmp(wanted[2], "none") != 0 &&
	    (!read_capacity(wanted[2], &capacity) || !read_life(context, &o, capacity)))
		return EXIT_TROUBLE;
	if (!client_open(&c, context, &status))
		return status;
	if (wanted[2] && strcmp(wanted[2], "none") != 0)
		warn_of_log(&c, wanted[0], capacity);
	status = apply(&c, wanted, &o, option_value(context, "json") != NULL);
	client_close(&c);
	return status;
}
