/* SPDX-License-Identifier: BSD-2-Clause */
/* list: the live keys of every rule. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "command.h"
#include "duration.h"
#include "entry.h"
#include "output.h"
#include "rule.h"

struct item {
	int rule;
	struct usage usage;
	struct key_view key; /* its bytes are a copy */
};

struct listing {
	struct item *items;
	size_t count, room;
};

static const void *
copy_key(const struct rl_entry *entry)
{
	if (!entry->key)
		return NULL;
	return memcpy(need(malloc(entry->key_kept + 1)), entry->key, entry->key_kept);
}

static int
add_entry(const struct rl_entry *entry, void *arg)
{
	struct listing *list = arg;

	if (entry->is_stale)
		return 0;
	list->items = array_grow(list->items, list->count, &list->room, sizeof(*list->items));
	list->items[list->count++] = (struct item){
		.rule = entry->rule,
		.usage = usage_of(entry),
		.key = {copy_key(entry), entry->key_kept, entry->key_len, entry->id},
	};
	return 0;
}

static int
compare_keys(const struct key_view *a, const struct key_view *b)
{
	size_t least = a->kept < b->kept ? a->kept : b->kept;
	int order = a->bytes && b->bytes ? memcmp(a->bytes, b->bytes, least) : 0;

	if (order == 0)
		order = (a->kept > b->kept) - (a->kept < b->kept);
	return order ? order : (a->id > b->id) - (a->id < b->id);
}

/* By rule, most used first; keys of equal use in the order of their bytes. */
static int
compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->rule != b->rule)
		return a->rule < b->rule ? -1 : 1;
	if (a->usage.used != b->usage.used)
		return a->usage.used > b->usage.used ? -1 : 1;
	return compare_keys(&a->key, &b->key);
}

static struct rl_rule_info
rule_of(struct rl *rl, const struct item *item)
{
	struct rl_rule_info info = {0};

	rule_read(rl, item->rule, &info);
	return info;
}

static void
print_item(const struct item *item, const char *rule)
{
	const struct usage *usage = &item->usage;

	printf("%10" PRIu32 "/%-10" PRIu32 "  %10" PRIu32 "  %-7s  %8s  %8s  ", usage->used,
	       usage->limit, usage->remaining, usage_state(usage),
	       duration_format(usage->retry_after_ns).text,
	       duration_format(usage->reset_after_ns).text);
	output_bytes(stdout, rule, strlen(rule));
	fputs("  ", stdout);
	output_key(stdout, &item->key);
	putchar('\n');
}

static void
write_text(struct rl *rl, const struct listing *list)
{
	if (list->count > 0)
		printf("%10s/%-10s  %10s  %-7s  %8s  %8s  %s\n", "used", "limit", "remaining",
		       "state", "retry", "reset", "rule  key");
	for (size_t i = 0; i < list->count; i++)
		print_item(&list->items[i], rule_of(rl, &list->items[i]).name);
	printf("%zu live %s\n", list->count, list->count == 1 ? "key" : "keys");
}

static json_t *
json_item(const struct item *item, const char *rule)
{
	json_t *object = need(json_object());

	json_put(object, "rule", json_text(rule));
	json_put_key(object, &item->key);
	json_put_usage(object, &item->usage);
	return object;
}

static void
write_json(struct rl *rl, const struct listing *list)
{
	json_t *root = need(json_object());
	json_t *keys = need(json_array());

	json_put(root, "keys", keys);
	for (size_t i = 0; i < list->count; i++)
		json_push(keys, json_item(&list->items[i], rule_of(rl, &list->items[i]).name));
	output_json(root);
}

static void
free_listing(struct listing *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((void *)list->items[i].key.bytes);
	free(list->items);
}

int
run_list(const struct context *context)
{
	struct rl *rl = open_segment(context);
	struct listing list = {0};

	if (!rl)
		return EXIT_TROUBLE;
	rl_walk(rl, rl_now(rl), add_entry, &list);
	if (list.count > 0)
		qsort(list.items, list.count, sizeof(*list.items), compare_items);
	if (option_value(context, "json"))
		write_json(rl, &list);
	else
		write_text(rl, &list);
	free_listing(&list);
	rl_close(rl);
	return EXIT_YES;
}
