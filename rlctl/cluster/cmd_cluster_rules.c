/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster push, pull, diff: the rules that the store has for all hosts. */

#include <cluster/rules.h>
#include <cluster/script.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/output.h"
#include "cluster/client.h"
#include "config/config_verb.h"

#define TEXT_MAX (4u << 20)

struct document {
	uint64_t version; /* 0: there is none */
	char sha[RULES_SHA];
	char *text;
	size_t size;
};

static void
take_document(void *arg, const struct store_value *v)
{
	struct document *d = arg;
	const struct store_value *text = store_item(v, 2);

	if (!text || text->type != STORE_TEXT)
		return;
	d->version = (uint64_t)store_integer(store_item(v, 0), 0);
	snprintf(d->sha, sizeof d->sha, "%.64s", store_text(store_item(v, 1)));
	d->text = need(malloc(text->size + 1));
	memcpy(d->text, text->text, text->size + 1);
	d->size = text->size;
}

static bool
fetch(struct client *c, struct document *d)
{
	const char *argv[] = {"HMGET", RULES_KEY, "v", "s", "r"};

	*d = (struct document){0};
	return client_ask(c, RULES_KEY, 5, argv, take_document, d);
}

/* A file that is a good configuration. False after messages: *status is what to exit with. */
static bool
read_file(const char *path, struct document *d, int *status)
{
	struct config *config = config_need(path, status);
	FILE *from = config ? fopen(path, "r") : NULL;

	*d = (struct document){0};
	config_free(config);
	if (!config)
		return false;
	*status = EXIT_TROUBLE;
	if (!from) {
		complain("%s: %s", path, strerror(errno));
		return false;
	}
	d->text = need(malloc(TEXT_MAX + 1));
	d->size = fread(d->text, 1, TEXT_MAX + 1, from);
	fclose(from);
	if (d->size > TEXT_MAX || memchr(d->text, '\0', d->size)) {
		complain("%s: rules for all hosts are a text of at most %u bytes", path, TEXT_MAX);
		free(d->text);
		return false;
	}
	d->text[d->size] = '\0';
	rules_sha(d->text, d->size, d->sha);
	return true;
}

static void
report(const struct context *context, const struct document *d, const char *text, int same)
{
	json_t *document;

	if (!option_value(context, "json")) {
		fputs(text, stdout);
		return;
	}
	document = need(json_object());
	json_put(document, "version", json_count(d->version));
	json_put(document, "sha256", json_text(d->sha));
	if (same >= 0)
		json_put(document, "is_same", json_boolean(same));
	else if (text == d->text)
		json_put(document, "text", json_text(d->text));
	output_json(document);
}

static bool
read_version(const struct context *context, struct client *c, uint64_t *version)
{
	const char *text = option_value(context, "replace");
	struct document there;
	char *end;

	if (text) {
		errno = 0;
		*version = strtoull(text, &end, 10);
		if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0)
			return true;
		complain("cluster push: --replace '%s': expected a number", text);
		return false;
	}
	if (!fetch(c, &there))
		return false;
	*version = there.version;
	free(there.text);
	return true;
}

static void
take_version(void *arg, const struct store_value *v)
{
	*(uint64_t *)arg = (uint64_t)store_integer(v, 0);
}

static bool
push(struct client *c, struct document *d, uint64_t expected)
{
	char number[24];
	const char *argv[] = {"EVAL", script_push, "1", RULES_KEY, number, d->sha, d->text};

	snprintf(number, sizeof number, "%" PRIu64, expected);
	if (client_ask(c, RULES_KEY, 7, argv, take_version, &d->version))
		return true;
	complain("cluster push: version %" PRIu64 " was to be replaced; nothing was changed",
	         expected);
	return false;
}

int
cluster_push(const struct context *context)
{
	struct document d;
	struct client c;
	uint64_t expected;
	char text[64];
	int status;

	if (!read_file(context->operands[0], &d, &status))
		return status;
	if (!client_open(&c, context, &status)) {
		free(d.text);
		return status;
	}
	status = EXIT_TROUBLE;
	if (read_version(context, &c, &expected) && push(&c, &d, expected)) {
		snprintf(text, sizeof text, "version %" PRIu64 "\n", d.version);
		report(context, &d, text, -1);
		status = EXIT_YES;
	}
	client_close(&c);
	free(d.text);
	return status;
}

int
cluster_pull(const struct context *context)
{
	struct document d;
	struct client c;
	int status;

	if (!client_open(&c, context, &status))
		return status;
	if (!fetch(&c, &d)) {
		status = EXIT_TROUBLE;
	} else if (d.version == 0) {
		complain("the store has no rules");
		status = EXIT_NO;
	} else {
		report(context, &d, d.text, -1);
		status = EXIT_YES;
	}
	client_close(&c);
	free(d.text);
	return status;
}

static int
compare(const struct context *context, const struct document *mine, const struct document *there)
{
	bool is_same = there->version > 0 && strcmp(mine->sha, there->sha) == 0;
	char text[160];

	if (there->version == 0)
		snprintf(text, sizeof text, "the store has no rules\n");
	else
		snprintf(text, sizeof text, "%s version %" PRIu64 " of the store\n",
		         is_same ? "the same as" : "differs from", there->version);
	report(context, there, text, is_same);
	return is_same ? EXIT_YES : EXIT_NO;
}

int
cluster_diff(const struct context *context)
{
	struct document mine, there;
	struct client c;
	int status;

	if (!read_file(context->operands[0], &mine, &status))
		return status;
	if (client_open(&c, context, &status)) {
		status = fetch(&c, &there) ? compare(context, &mine, &there) : EXIT_TROUBLE;
		client_close(&c);
		free(there.text);
	}
	free(mine.text);
	return status;
}
