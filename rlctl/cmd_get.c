/* SPDX-License-Identifier: BSD-2-Clause */
/* get: what one key has used, and when. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "duration.h"
#include "entry.h"
#include "output.h"

#define BAR_WIDTH 40

/* What was asked for, and how to answer it. */
struct question {
	const char *rule;
	struct key_view key;
	bool is_json;
};

/* A fixed window has one bucket and nothing that leaves it by and by. */
static bool
is_leaving(const struct rl_entry *entry, uint32_t bucket)
{
	return entry->buckets > 1 && bucket == entry->buckets - 1;
}

static uint64_t
bucket_start_ns(const struct rl_entry *entry, uint32_t bucket)
{
	return entry->bucket_end_ns - entry->bucket_ns * (bucket + UINT64_C(1));
}

static uint32_t
largest_bucket(const struct rl_entry *entry)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < entry->buckets; i++)
		if (entry->bucket[i] > most)
			most = entry->bucket[i];
	return most;
}

static void
print_bucket(const struct rl_entry *entry, uint32_t bucket)
{
	bool has_ms = entry->bucket_ns % RL_SECOND != 0;

	printf("%-23s  %10" PRIu32 "  ", time_format(bucket_start_ns(entry, bucket), has_ms).text,
	       entry->bucket[bucket]);
	output_bar(stdout, entry->bucket[bucket], largest_bucket(entry), BAR_WIDTH);
	puts(is_leaving(entry, bucket) ? "  (partly out of the window)" : "");
}

static void
print_usage(const struct usage *usage)
{
	printf("state        %s\n", usage_state(usage));
	printf("used         %" PRIu32 "\n", usage->used);
	printf("limit        %" PRIu32 "\n", usage->limit);
	printf("remaining    %" PRIu32 "\n", usage->remaining);
	printf("retry after  %s\n", duration_format(usage->retry_after_ns).text);
	printf("reset after  %s\n", duration_format(usage->reset_after_ns).text);
}

static void
write_text(const struct question *question, const struct rl_entry *entry)
{
	struct usage usage = usage_of(entry);

	printf("rule         %s\nkey          ", question->rule);
	output_key(stdout, &question->key);
	putchar('\n');
	print_usage(&usage);
	printf("\nsub-buckets of %s, newest first (UTC)\n", duration_format(entry->bucket_ns).text);
	for (uint32_t i = 0; i < entry->buckets; i++)
		print_bucket(entry, i);
}

static json_t *
json_bucket(const struct rl_entry *entry, uint32_t bucket)
{
	json_t *object = need(json_object());

	json_put(object, "start_ns", json_count(bucket_start_ns(entry, bucket)));
	json_put(object, "count", json_count(entry->bucket[bucket]));
	json_put(object, "leaving", json_boolean(is_leaving(entry, bucket)));
	return object;
}

static void
write_json(const struct question *question, const struct rl_entry *entry)
{
	json_t *root = need(json_object());
	json_t *buckets = need(json_array());
	struct usage usage = usage_of(entry);

	json_put(root, "rule", json_text(question->rule));
	json_put_key(root, &question->key);
	json_put_usage(root, &usage);
	json_put(root, "bucket_ns", json_count(entry->bucket_ns));
	json_put(root, "buckets", buckets);
	for (uint32_t i = 0; i < entry->buckets; i++)
		json_push(buckets, json_bucket(entry, i));
	output_json(root);
}

/* A stale entry is free to be retired at any time, so it answers like none. */
static int
answer(const struct rl_entry *entry, void *arg)
{
	const struct question *question = arg;

	if (entry->is_stale)
		return -ENOENT;
	if (question->is_json)
		write_json(question, entry);
	else
		write_text(question, entry);
	return 0;
}

static int
ask(struct rl *rl, struct question *question)
{
	int rule = rl_find(rl, question->rule);
	int error;

	if (rule < 0) {
		complain("unknown rule '%s'", question->rule);
		return EXIT_TROUBLE;
	}
	error = rl_lookup(rl, rule, question->key.bytes, question->key.len, rl_now(rl), answer,
	                  question);
	if (error == 0)
		return EXIT_YES;
	if (error == -ENOENT)
		complain("rule '%s' has no counter for this key", question->rule);
	else
		complain("key: %s", rl_strerror(error));
	return error == -ENOENT ? EXIT_NO : EXIT_TROUBLE;
}

int
run_get(const struct context *context)
{
	const char *key = context->operands[1];
	struct question question = {
		.rule = context->operands[0],
		.key = {key, strlen(key), strlen(key), 0},
		.is_json = option_value(context, "json") != NULL,
	};
	struct rl *rl;
	int status;

	if (!key_need(question.key.len))
		return EXIT_TROUBLE;
	rl = open_segment(context);
	if (!rl)
		return EXIT_TROUBLE;
	status = ask(rl, &question);
	rl_close(rl);
	return status;
}
