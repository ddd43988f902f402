/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster hosts, forget: who shares limits by the store. */

#include <cluster/script.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/output.h"
#include "cluster/client.h"
#include "cluster/said.h"

static void
take(void *arg, const struct store_value *v)
{
	json_t *hosts = arg;

	for (size_t i = 0; i + 1 < v->count; i += 2) {
		struct said s;
		json_t *host;

		if (!said_read(store_text(v->items[i + 1]), &s))
			continue;
		host = need(json_object());
		json_put(host, "id", json_text(store_text(v->items[i])));
		json_put(host, "host", json_text(s.host));
		json_put(host, "segment", json_text(s.segment));
		json_put(host, "version", json_text(s.version));
		json_put(host, "rules", s.rules > 0 ? json_count(s.rules) : json_null());
		json_put(host, "rules_state", json_text(s.state));
		json_put(host, "clock_ahead_ms", need(json_integer(s.skew_ms)));
		json_put(host, "order", s.orders > 0 ? json_count(s.orders) : json_null());
		json_push(hosts, host);
	}
}

static const char *
text_of(const json_t *host, const char *name)
{
	return json_string_value(json_object_get(host, name));
}

static void
print(json_t *hosts)
{
	json_t *host;
	size_t i;

	printf("%-12s %-24s %-20s %-8s %s\n", "ID", "HOST", "SEGMENT", "VERSION", "RULES");
	json_array_foreach(hosts, i, host)
	{
		json_int_t rules = json_integer_value(json_object_get(host, "rules"));

		printf("%-12s %-24s %-20s %-8s ", text_of(host, "id"), text_of(host, "host"),
		       text_of(host, "segment"), text_of(host, "version"));
		if (rules > 0)
			printf("%" JSON_INTEGER_FORMAT " ", rules);
		puts(text_of(host, "rules_state"));
	}
}

int
cluster_hosts(const struct context *context)
{
	const char *argv[] = {"HGETALL", SCRIPT_HOSTS};
	json_t *document, *hosts;
	struct client c;
	int status;
	bool is_answered;

	if (!client_open(&c, context, &status))
		return status;
	hosts = need(json_array());
	is_answered = client_ask(&c, SCRIPT_HOSTS, 2, argv, take, hosts);
	client_tell_masters(&c);
	client_close(&c);
	if (is_answered && option_value(context, "json")) {
		document = need(json_object());
		json_put(document, "hosts", hosts);
		output_json(document);
	} else {
		if (is_answered)
			print(hosts);
		json_decref(hosts);
	}
	return is_answered ? EXIT_YES : EXIT_TROUBLE;
}

/* ---- cluster forget ---- */

static void
take_forgotten(void *arg, const struct store_value *v)
{
	*(int64_t *)arg = store_integer(v, 0);
}

static int
forget(const struct context *context, struct client *c, const char *host)
{
	const char *argv[] = {"EVAL", script_forget, "1", SCRIPT_HOSTS, host};
	int64_t forgotten = 0;
	json_t *document;

	if (!client_ask(c, SCRIPT_HOSTS, 5, argv, take_forgotten, &forgotten))
		return EXIT_TROUBLE;
	if (forgotten < 0) {
		complain("cluster forget: '%s' is there; end its rld, and wait 30 s", host);
		return EXIT_TROUBLE;
	}
	if (option_value(context, "json")) {
		document = need(json_object());
		json_put(document, "forgotten", json_boolean(forgotten));
		output_json(document);
	} else if (forgotten) {
		puts("forgotten");
	}
	if (!forgotten)
		complain(
			"cluster forget: no host has the id '%s'; 'rlctl cluster hosts' shows them",
			host);
	return forgotten ? EXIT_YES : EXIT_NO;
}

int
cluster_forget(const struct context *context)
{
	struct client c;
	int status;

	if (!client_open(&c, context, &status))
		return status;
	status = forget(context, &c, context->operands[0]);
	client_close(&c);
	return status;
}
