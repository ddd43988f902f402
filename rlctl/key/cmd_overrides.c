/* SPDX-License-Identifier: BSD-2-Clause */
/* overrides: the limits that keys have for a time. */

#include <inttypes.h>
#include <string.h>

#include "base/command.h"
#include "base/form.h"
#include "base/rule.h"
#include "base/user.h"
#include "base/watch.h"
#include "base/width.h"
#include "key/in_force.h"
#include "key/timed.h"
#include "text/duration.h"

const struct command_option overrides_options[] = {
	{"rule", 'r', "RULE", "of this rule"},
	FORM_OPTIONS,
	WATCH_OPTIONS(0),
	{0},
};

#define TAIL_COLUMN 53 /* where a rule begins */

static void
print_one(struct rl *rl, const struct timed *timed, uint64_t now_ns, size_t columns)
{
	char *tail = in_force_tail(limit_label(rl, timed->rule, timed->limit).text, RL_MATCH_KEY,
	                           &timed->key, timed->reason,
	                           columns > TAIL_COLUMN ? columns - TAIL_COLUMN : 0);
	uint64_t age_ns = now_ns > timed->since_ns ? now_ns - timed->since_ns : 0;

	printf("%8s  %11s  %11s  %7s  %-6s  %s\n",
	       duration_format(timed_left_ns(timed->until_ns, now_ns)).text,
	       timed_rate(rl, timed->rule, timed->limit, timed->capacity).text,
	       timed_rate_before(rl, timed->rule, timed->limit).text,
	       timed->has_note ? duration_format(age_ns).text : "-",
	       timed->has_note ? user_format(timed->author).text : "-", tail);
	free(tail);
}

static void
write_text(struct rl *rl, const void *list, bool is_wide, bool has_head)
{
	const struct timed_list *found = list;
	size_t columns = is_wide ? 0 : terminal_columns();

	if (found->count > 0 && has_head)
		printf("%8s  %11s  %11s  %7s  %-6s  rule  key  reason\n", "left", "limit", "else",
		       "set", "by");
	for (size_t i = 0; i < found->count; i++)
		print_one(rl, &found->items[i], found->now_ns, columns);
	if (has_head)
		printf("%zu in force\n", found->count);
}

static void
write_names(const void *list, bool is_null)
{
	const struct timed_list *found = list;

	for (size_t i = 0; i < found->count; i++) {
		const struct key_view *key = &found->items[i].key;

		if (!key->bytes || key->kept < key->len)
			continue;
		in_force_name(key->bytes, key->len, is_null);
	}
}

static void
write_tsv(struct rl *rl, const void *list, bool has_head)
{
	const struct timed_list *found = list;

	if (has_head)
		puts("capacity\tuntil_ns\tsince_ns\tauthor\treason\trule\tkey");
	for (size_t i = 0; i < found->count; i++) {
		const struct timed *timed = &found->items[i];

		printf("%" PRIu32 "\t%" PRIu64, timed->capacity, timed->until_ns);
		if (timed->has_note)
			printf("\t%" PRIu64 "\t%" PRIu32 "\t", timed->since_ns, timed->author);
		else
			fputs("\t\t\t", stdout);
		output_bytes(stdout, timed->reason, strlen(timed->reason));
		printf("\t%s\t", limit_label(rl, timed->rule, timed->limit).text);
		output_key(stdout, &timed->key);
		putchar('\n');
	}
}

static json_t *
list_json(struct rl *rl, const void *list)
{
	const struct timed_list *found = list;
	json_t *root = need(json_object()), *array = need(json_array());

	json_put(root, "overrides", array);
	for (size_t i = 0; i < found->count; i++)
		json_push(array, timed_json(rl, &found->items[i]));
	return root;
}

static void
collect(const struct context *context, struct rl *rl, int rule, void *list)
{
	(void)context;
	*(struct timed_list *)list = timed_collect(rl, rule, NULL);
}

static int
show(const struct context *context)
{
	struct timed_list found = {0};
	const struct in_force of = {&found, collect, write_text, write_names, write_tsv, list_json};
	int status = in_force_show(context, &of);

	timed_free(&found);
	return status;
}

int
run_overrides(const struct context *context)
{
	return watch_run(context, show);
}
