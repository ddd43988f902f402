/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster show: which hosts hold how much of a key's capacity. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/output.h"
#include "cluster/client.h"

static void
read_host(json_t *shares, const char *field, const char *text)
{
	uint64_t share, seq;
	int64_t until_ms;
	json_t *host;

	if (strlen(field) < 2 ||
	    sscanf(text, "%" SCNu64 ":%" SCNu64 ":%" SCNd64, &share, &seq, &until_ms) != 3)
		return;
	host = need(json_object());
	json_put(host, "host", need(json_sprintf("%.*s", (int)strcspn(field, "."), field)));
	json_put(host, "share", json_count(share));
	json_put(host, "until_ms", json_count((uint64_t)until_ms));
	json_push(shares, host);
}

struct shown {
	json_t *shares;
	uint64_t sum;
};

static void
take(void *arg, const struct store_value *v)
{
	struct shown *s = arg;

	for (size_t i = 0; i + 1 < v->count; i += 2) {
		const char *field = store_text(v->items[i]);

		if (strcmp(field, "t") == 0)
			s->sum = (uint64_t)store_integer(v->items[i + 1], 0);
		read_host(s->shares, field, store_text(v->items[i + 1]));
	}
}

static void
print(const struct shown *s, const char *tag)
{
	json_t *host;
	size_t i;

	printf("%s: %" PRIu64 " lent\n", tag, s->sum);
	json_array_foreach(s->shares, i, host)
		printf("  %-12s %8" JSON_INTEGER_FORMAT "\n",
	               json_string_value(json_object_get(host, "host")),
	               json_integer_value(json_object_get(host, "share")));
}

/* Returns a limit's document, to be given up; NULL after a message. */
static json_t *
show_limit(struct client *c, const char *tag, bool is_json)
{
	struct shown s = {.shares = need(json_array())};
	char key[CLIENT_KEY + 8];
	const char *argv[] = {"HGETALL", key};
	json_t *limit;

	snprintf(key, sizeof key, "rl1:{%.32s}", tag);
	if (!client_ask(c, key, 2, argv, take, &s)) {
		json_decref(s.shares);
		return NULL;
	}
	if (!is_json)
		print(&s, tag);
	limit = need(json_object());
	json_put(limit, "tag", json_text(tag));
	json_put(limit, "lent", json_count(s.sum));
	json_put(limit, "shares", s.shares);
	return limit;
}

static int
show(struct client *c, const char *rule, const char *key, bool is_json)
{
	char tags[CLIENT_KEYS][CLIENT_KEY];
	unsigned count = client_tags(c, rule, key, CLIENT_EACH_LIMIT, tags);
	json_t *limits = need(json_array()), *document;
	bool is_whole = count > 0;

	for (unsigned i = 0; i < count && is_whole; i++) {
		json_t *limit = show_limit(c, tags[i], is_json);

		is_whole = limit != NULL;
		if (limit)
			json_push(limits, limit);
	}
	if (!is_whole || !is_json) {
		json_decref(limits);
		return is_whole ? EXIT_YES : EXIT_TROUBLE;
	}
	document = need(json_object());
	json_put(document, "limits", limits);
	output_json(document);
	return EXIT_YES;
}

int
cluster_show(const struct context *context)
{
	struct client c;
	int status;

	if (!client_open(&c, context, &status))
		return status;
	status = show(&c, context->operands[0], context->operands[1],
	              option_value(context, "json") != NULL);
	client_close(&c);
	return status;
}
