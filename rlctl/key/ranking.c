/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/ranking.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rule.h"

const char *const key_order_names[KEY_ORDERS] = {
	[ORDER_USED] = "used",     [ORDER_DENIED] = "denied", [ORDER_REMAINING] = "remaining",
	[ORDER_RECENT] = "recent", [ORDER_RATE] = "rate",     [ORDER_KEY] = "key",
};

static bool
key_order_find(const char *name, enum key_order *order)
{
	for (int i = 0; i < KEY_ORDERS; i++) {
		if (strcmp(key_order_names[i], name) != 0)
			continue;
		*order = (enum key_order)i;
		return true;
	}
	return false;
}

bool
key_order_option(const struct context *context, enum key_order *order)
{
	const char *name = option_value(context, "sort");

	if (!name || key_order_find(name, order))
		return true;
	complain("--sort: unknown order '%s'; use used, denied, rate, remaining, recent or key",
	         name);
	return false;
}

/* Those whose bytes are lost come last, by what stands for them. */
static int
compare_keys(const struct key_view *a, const struct key_view *b)
{
	size_t least = a->kept < b->kept ? a->kept : b->kept;
	int order;

	if (!a->bytes || !b->bytes)
		return a->bytes || b->bytes ? (a->bytes ? -1 : 1)
		                            : (a->id > b->id) - (a->id < b->id);
	order = memcmp(a->bytes, b->bytes, least);
	return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* Below 0 if `a` has more. */
static int
compare_most(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int
compare_by(enum key_order order, const struct usage *a, const struct usage *b)
{
	switch (order) {
	case ORDER_USED:
		return compare_most(a->used, b->used);
	case ORDER_DENIED:
		return compare_most(a->denied, b->denied);
	case ORDER_RATE:
		return (a->denied_rate < b->denied_rate) - (a->denied_rate > b->denied_rate);
	case ORDER_REMAINING:
		return compare_most(b->remaining, a->remaining);
	case ORDER_RECENT:
		return compare_most(a->newest_ns, b->newest_ns);
	case ORDER_KEY:
	case KEY_ORDERS:
		break;
	}
	return 0;
}

/* Below 0 if `a` comes first. Equals in the order of keys, then of rules, so that no two runs
 * over the same table differ. */
static int
compare(const void *left, const void *right, void *arg)
{
	const struct ranking *ranking = arg;
	const struct item *a = left, *b = right;
	int order = compare_by(ranking->order, &a->usage, &b->usage);

	if (order == 0)
		order = compare_keys(&a->key, &b->key);
	if (order == 0)
		order = (a->rule > b->rule) - (a->rule < b->rule);
	if (order == 0)
		order = (a->limit > b->limit) - (a->limit < b->limit);
	return ranking->is_reversed ? -order : order;
}

static bool
is_after(const struct ranking *ranking, size_t a, size_t b)
{
	return compare(&ranking->items[a], &ranking->items[b], (void *)ranking) > 0;
}

static void
swap(struct ranking *ranking, size_t a, size_t b)
{
	struct item item = ranking->items[a];

	ranking->items[a] = ranking->items[b];
	ranking->items[b] = item;
}

static void
sift_up(struct ranking *ranking, size_t at)
{
	for (; at > 0 && is_after(ranking, at, (at - 1) / 2); at = (at - 1) / 2)
		swap(ranking, at, (at - 1) / 2);
}

static void
sift_down(struct ranking *ranking)
{
	size_t at = 0;

	for (;;) {
		size_t last = at, left = 2 * at + 1, right = left + 1;

		if (left < ranking->count && is_after(ranking, left, last))
			last = left;
		if (right < ranking->count && is_after(ranking, right, last))
			last = right;
		if (last == at)
			return;
		swap(ranking, at, last);
		at = last;
	}
}

static void
keep_key(struct item *item)
{
	if (item->key.bytes)
		item->key.bytes =
			memcpy(need(malloc(item->key.kept + 1)), item->key.bytes, item->key.kept);
}

static void
append(struct ranking *ranking, const struct item *item)
{
	ranking->items =
		array_grow(ranking->items, ranking->count, &ranking->room, sizeof(*ranking->items));
	ranking->items[ranking->count] = *item;
	keep_key(&ranking->items[ranking->count++]);
	if (ranking->most > 0)
		sift_up(ranking, ranking->count - 1);
}

static void
replace_last(struct ranking *ranking, const struct item *item)
{
	free((void *)ranking->items[0].key.bytes);
	ranking->items[0] = *item;
	keep_key(&ranking->items[0]);
	sift_down(ranking);
}

/* The entry's key, or a note that it has none. */
static struct key_view
prefilter_key(const struct rl_prefilter *prefilter, char bytes[RL_KEY_MAX])
{
	size_t len, kept = rl_prefilter_key(prefilter, bytes, &len);

	return (struct key_view){kept > 0 ? bytes : NULL, kept, len, 0};
}

/* Above 0 if it has less than `last`, and 0 if it has no more. */
static int
compare_bounds(enum key_order order, const struct rl_prefilter *prefilter, const struct usage *last)
{
	switch (order) {
	case ORDER_USED:
		if (prefilter->used_most == UINT32_MAX) /* a counter by key may have more */
			return -1;
		return compare_most(prefilter->used_most, last->used);
	case ORDER_REMAINING:
		return compare_most(last->remaining, prefilter->remaining_least);
	case ORDER_DENIED:
		return compare_most(rl_prefilter_denied_most(prefilter), last->denied);
	case ORDER_KEY:
		return 0;
	case ORDER_RATE:
		if (rl_prefilter_denied_most(prefilter) == 0 && last->denied_rate > 0)
			return 1;
		break;
	case ORDER_RECENT:
	case KEY_ORDERS:
		break;
	}
	return -1;
}

/* Whatever else there is to know of it, it comes after all that are kept. */
static bool
is_behind(const struct ranking *ranking, const struct rl_prefilter *prefilter)
{
	const struct item *last = ranking->items;
	char bytes[RL_KEY_MAX];
	int order;

	if (ranking->most == 0 || ranking->count < ranking->most)
		return false;
	if (ranking->take)
		return true;
	if (ranking->is_reversed) /* a prefilter bounds from above only */
		return false;
	order = compare_bounds(ranking->order, prefilter, &last->usage);
	if (order == 0 && last->key.bytes) {
		struct key_view key = prefilter_key(prefilter, bytes);
		order = compare_keys(&key, &last->key);
	}
	return order > 0;
}

static bool
may_match(struct ranking *ranking, const struct rl_prefilter *prefilter)
{
	char bytes[RL_KEY_MAX];
	struct key_view key = prefilter_key(prefilter, bytes);

	ranking->unjudged += !key.bytes;
	return match_has(ranking->match, &key);
}

/* With --limited and --match, it takes the entry to know whether the key counts. */
int
ranking_wants(struct ranking *ranking, const struct rl_prefilter *prefilter)
{
	if (prefilter->is_stale ||
	    (ranking->rule != RL_ANY_RULE && ranking->rule != prefilter->rule) ||
	    (ranking->is_limited_only && prefilter->remaining_least > 0))
		return false;
	if (ranking->match)
		return may_match(ranking, prefilter);
	if (ranking->is_limited_only || !is_behind(ranking, prefilter))
		return true;
	ranking->total++;
	return false;
}

static bool
is_wanted(const struct ranking *ranking, const struct rl_entry *entry)
{
	struct key_view key = entry_key(entry);

	return !entry->is_stale && (ranking->rule == RL_ANY_RULE || ranking->rule == entry->rule) &&
	       (!ranking->is_limited_only || entry->is_limited) &&
	       (!ranking->match || match_has(ranking->match, &key));
}

static void
keep(struct ranking *ranking, const struct item *item)
{
	if (ranking->most == 0 || ranking->count < ranking->most)
		append(ranking, item);
	else if (compare(item, &ranking->items[0], ranking) < 0)
		replace_last(ranking, item);
}

static void
give(struct ranking *ranking, const struct item *item)
{
	if (ranking->most > 0 && ranking->count == ranking->most)
		return;
	ranking->count++;
	ranking->take(item, ranking->take_arg);
}

void
ranking_add(struct ranking *ranking, const struct rl_entry *entry)
{
	struct item item = {
		.rule = entry->rule,
		.limit = entry->limit,
		.usage = usage_of(entry),
		.key = entry_key(entry),
	};

	if (!is_wanted(ranking, entry))
		return;
	ranking->total++;
	ranking->cut += ranking->match && item.key.kept < item.key.len;
	if (ranking->take)
		give(ranking, &item);
	else
		keep(ranking, &item);
}

json_t *
item_json(struct rl *rl, const struct item *item, const char *reason)
{
	json_t *object = need(json_object());

	json_put(object, "rule", json_rule_name(rl, item->rule));
	json_put(object, "limit_number", json_count(item->limit + UINT64_C(1)));
	json_put_key(object, &item->key);
	json_put_usage(object, &item->usage);
	json_put(object, "ban_reason", reason ? json_text(reason) : json_null());
	return object;
}

void
ranking_sort(struct ranking *ranking)
{
	if (ranking->count > 0 && !ranking->take)
		qsort_r(ranking->items, ranking->count, sizeof(*ranking->items), compare, ranking);
}

void
ranking_free(struct ranking *ranking)
{
	for (size_t i = 0; i < ranking->count && ranking->items; i++)
		free((void *)ranking->items[i].key.bytes);
	free(ranking->items);
	ranking->items = NULL;
	ranking->count = ranking->room = 0;
}
