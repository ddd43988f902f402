/* SPDX-License-Identifier: BSD-2-Clause */
/* list: the live keys, in an order of choice. */

#include <string.h>

#include "base/command.h"
#include "base/form.h"
#include "base/number.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/rule.h"
#include "base/watch.h"
#include "key/list_format.h"

#define ORDERED_MOST 100000      /* keys that are put in order unasked */
#define PROGRESS_ENTRIES 0x3ffff /* told whenever these bits of the count are 0 */

const struct command_option list_options[] = {
	{"rule", 'r', "RULE", "keys of this rule alone"},
	{"limited", 'l', NULL, "keys that are denied now"},
	{"sort", 'S', "used|denied|rate|remaining|recent|key|none",
         "most used (the default), most denied, most denied a second, least remaining, newest "
         "charge, by name; none is "
         "as "
         "they lie, at once"},
	{"limit", 'n', "N", "the first N alone, in memory for those; default: all"},
	{"match", 'm', "GLOB|CIDR", "keys that match"},
	{"keys", 'k', NULL, "each key alone and once, as a shell takes it: --output name"},
	{"mask", 'M', NULL,
         "leave out of each address whose it is: the last octet, or what is below /64"},
	FORM_OPTIONS,
	WATCH_OPTIONS(0),
	{0},
};

struct listing {
	struct ranking ranking;
	struct list_format form;
	uint64_t seen;
};

static int
want_entry(const struct rl_prefilter *prefilter, void *arg)
{
	struct listing *listing = arg;

	if ((++listing->seen & PROGRESS_ENTRIES) == 0 && !listing->ranking.take)
		progress_show("looking at key", listing->seen);
	return ranking_wants(&listing->ranking, prefilter);
}

static int
add_entry(const struct rl_entry *entry, void *arg)
{
	struct listing *listing = arg;

	ranking_add(&listing->ranking, entry);
	return 0;
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

static void
take_at_once(struct listing *listing)
{
	listing->ranking.take = list_format_item;
	listing->ranking.take_arg = &listing->form;
}

/* Nobody reads so many in an order that nobody has asked for. */
static bool
is_too_much(const struct context *context, const struct rl *rl, const struct listing *listing)
{
	return listing->form.kind < LIST_WORDS && !option_value(context, "sort") &&
	       listing->ranking.most == 0 && !listing->ranking.is_limited_only &&
	       !listing->ranking.match && rl_fill(rl) > ORDERED_MOST;
}

/* Keys alone come by name, unless asked for in another order. */
static bool
read_order(const struct context *context, struct listing *listing)
{
	const char *name = option_value(context, "sort");

	if (listing->form.kind >= LIST_WORDS)
		listing->ranking.order = ORDER_KEY;
	if (!name || strcmp(name, "none") != 0)
		return key_order_option(context, &listing->ranking.order);
	take_at_once(listing);
	return true;
}

static bool
read_format(const struct context *context, struct list_format *form)
{
	static const enum list_kind kinds[] = {
		[FORM_TEXT] = LIST_LINES, [FORM_WIDE] = LIST_WIDE, [FORM_NAME] = LIST_WORDS,
		[FORM_NULL] = LIST_NULS,  [FORM_TSV] = LIST_TSV,   [FORM_JSON] = LIST_JSON,
	};
	bool is_keys = option_value(context, "keys") != NULL;
	enum form asked;

	if (!form_read(context, &asked))
		return false;
	if (is_keys && asked != FORM_TEXT && asked != FORM_NULL && asked != FORM_NAME) {
		complain("list: --keys is a form of its own; it goes with no other");
		return false;
	}
	form->kind = is_keys && asked == FORM_TEXT ? LIST_WORDS : kinds[asked];
	form->has_head = !option_value(context, "no-headers");
	form->is_masked = option_value(context, "mask") != NULL;
	if (form->is_masked && form->kind >= LIST_WORDS) {
		complain("list: what --keys and --null write are keys; they do not go with --mask");
		return false;
	}
	return true;
}

/* Without an order, what is found is written while looking. */
static int
list(const struct context *context, struct rl *rl, struct listing *listing)
{
	struct ranking *ranking = &listing->ranking;
	int status;

	ranking->rule = rule_option(rl, context);
	if (ranking->rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	if (is_too_much(context, rl, listing))
		listing->form.is_unordered = true;
	if (listing->form.is_unordered)
		take_at_once(listing);
	listing->form.rl = rl;
	if (ranking->take)
		list_format_begin(&listing->form, ranking);
	rl_walk(rl, rl_now(rl), want_entry, add_entry, listing);
	progress_erase();
	if (!ranking->take) {
		ranking_sort(ranking);
		list_format_begin(&listing->form, ranking);
		for (size_t i = 0; i < ranking->count; i++)
			list_format_item(&ranking->items[i], &listing->form);
	}
	status = list_format_end(&listing->form, ranking);
	ranking_free(ranking);
	return status;
}

static int
show(const struct context *context)
{
	const char *text = option_value(context, "match");
	struct listing listing = {.ranking.is_limited_only = option_value(context, "limited")};
	struct match match;
	struct rl *rl;

	if (!read_format(context, &listing.form) || !read_order(context, &listing) ||
	    !read_most(context, &listing.ranking.most) ||
	    (text && !match_make("--match", text, &match)))
		return EXIT_TROUBLE;
	listing.ranking.match = text ? &match : NULL;
	rl = open_segment(context);
	return rl ? list(context, rl, &listing) : EXIT_TROUBLE;
}

int
run_list(const struct context *context)
{
	return watch_run(context, show);
}
