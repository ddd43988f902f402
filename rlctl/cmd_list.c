/* SPDX-License-Identifier: BSD-2-Clause */
/* list: the live keys, in an order of choice. */

#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "duration.h"
#include "number.h"
#include "output.h"
#include "pick.h"
#include "progress.h"
#include "rule.h"

#define PROGRESS_ENTRIES 0x3ffff /* told whenever these bits of the count are 0 */

const struct command_option list_options[] = {
	{"rule", 'r', "RULE", "keys of this rule alone"},
	{"limited", 'l', NULL, "keys that are denied now"},
	{"sort", 'o', "used|denied|remaining|recent|key",
         "most used (the default), most denied, least remaining, newest charge, by name"},
	{"limit", 'n', "N", "the first N alone, in memory for those; default: all"},
	{"match", 'm', "GLOB|CIDR", "keys that match"},
	{0},
};

struct listing {
	struct pick pick;
	uint64_t seen;
};

static int
want_entry(const struct rl_glance *glance, void *arg)
{
	struct listing *listing = arg;

	if ((++listing->seen & PROGRESS_ENTRIES) == 0)
		progress_show("looking at key", listing->seen);
	return pick_wants(&listing->pick, glance);
}

static int
add_entry(const struct rl_entry *entry, void *arg)
{
	struct listing *listing = arg;

	pick_add(&listing->pick, entry);
	return 0;
}

static void
print_item(struct rl *rl, const struct item *item)
{
	const struct usage *usage = &item->usage;

	printf("%10" PRIu32 "/%-10" PRIu32 "  %10" PRIu32 "  %-7s  %8s  %8s  %8" PRIu64 "  %s  ",
	       usage->used, usage->limit, usage->remaining, usage_state(usage),
	       duration_format(usage->retry_after_ns).text,
	       duration_format(usage->reset_after_ns).text, usage->denied,
	       limit_label(rl, item->rule, item->limit).text);
	output_key(stdout, &item->key);
	putchar('\n');
}

static void
write_text(struct rl *rl, const struct pick *pick)
{
	if (pick->count > 0)
		printf("%10s/%-10s  %10s  %-7s  %8s  %8s  %8s  %s\n", "used", "limit", "remaining",
		       "state", "retry", "reset", "denied~", "rule  key");
	for (size_t i = 0; i < pick->count; i++)
		print_item(rl, &pick->items[i]);
	if (pick->count < pick->total)
		printf("%zu of ", pick->count);
	printf("%" PRIu64 " live %s\n", pick->total, pick->total == 1 ? "key" : "keys");
}

static void
write_json(struct rl *rl, const struct pick *pick)
{
	json_t *root = need(json_object());
	json_t *keys = need(json_array());

	json_put(root, "keys", keys);
	for (size_t i = 0; i < pick->count; i++)
		json_push(keys, item_json(rl, &pick->items[i]));
	json_put(root, "total", json_count(pick->total));
	output_json(root);
}

static bool
read_most(const struct context *context, size_t *most)
{
	const char *text = option_value(context, "limit");
	uint64_t number = 0;

	if (text && !number_need("--limit", text, 1, UINT32_MAX, &number))
		return false;
	*most = (size_t)number;
	return true;
}

static int
list(const struct context *context, struct rl *rl, struct listing *listing)
{
	struct pick *pick = &listing->pick;

	pick->rule = rule_option(rl, context);
	if (pick->rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	rl_walk(rl, rl_now(rl), want_entry, add_entry, listing);
	progress_erase();
	pick_sort(pick);
	if (option_value(context, "json"))
		write_json(rl, pick);
	else
		write_text(rl, pick);
	pick_free(pick);
	return EXIT_YES;
}

int
run_list(const struct context *context)
{
	const char *text = option_value(context, "match");
	struct listing listing = {.pick.is_limited_only = option_value(context, "limited")};
	struct match match;
	struct rl *rl;
	int status;

	if (!pick_order_option(context, &listing.pick.order) ||
	    !read_most(context, &listing.pick.most) ||
	    (text && !match_make("--match", text, &match)))
		return EXIT_TROUBLE;
	listing.pick.match = text ? &match : NULL;
	rl = open_segment(context);
	if (!rl)
		return EXIT_TROUBLE;
	status = list(context, rl, &listing);
	rl_close(rl);
	return status;
}
