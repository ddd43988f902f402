/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/pick.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rule.h"

const char *const pick_order_names[PICK_ORDERS] = {
	[PICK_USED] = "used",     [PICK_DENIED] = "denied", [PICK_REMAINING] = "remaining",
	[PICK_RECENT] = "recent", [PICK_KEY] = "key",
};

static bool
pick_order_find(const char *name, enum pick_order *order)
{
	for (int i = 0; i < PICK_ORDERS; i++) {
		if (strcmp(pick_order_names[i], name) != 0)
			continue;
		*order = (enum pick_order)i;
		return true;
	}
	return false;
}

bool
pick_order_option(const struct context *context, enum pick_order *order)
{
	const char *name = option_value(context, "sort");

	if (!name || pick_order_find(name, order))
		return true;
	complain("--sort: unknown order '%s'; use used, denied, remaining, recent or key", name);
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
compare_by(enum pick_order order, const struct usage *a, const struct usage *b)
{
	switch (order) {
	case PICK_USED:
		return compare_most(a->used, b->used);
	case PICK_DENIED:
		return compare_most(a->denied, b->denied);
	case PICK_REMAINING:
		return compare_most(b->remaining, a->remaining);
	case PICK_RECENT:
		return compare_most(a->newest_ns, b->newest_ns);
	case PICK_KEY:
	case PICK_ORDERS:
		break;
	}
	return 0;
}

/* Below 0 if `a` comes first. Equals in the order of keys, then of rules, so that no two runs
 * over the same table differ. */
static int
compare(const void *left, const void *right, void *arg)
{
	const struct pick *pick = arg;
	const struct item *a = left, *b = right;
	int order = compare_by(pick->order, &a->usage, &b->usage);

	if (order == 0)
		order = compare_keys(&a->key, &b->key);
	if (order == 0)
		order = (a->rule > b->rule) - (a->rule < b->rule);
	if (order == 0)
		order = (a->limit > b->limit) - (a->limit < b->limit);
	return pick->is_reversed ? -order : order;
}

static bool
is_after(const struct pick *pick, size_t a, size_t b)
{
	return compare(&pick->items[a], &pick->items[b], (void *)pick) > 0;
}

static void
swap(struct pick *pick, size_t a, size_t b)
{
	struct item item = pick->items[a];

	pick->items[a] = pick->items[b];
	pick->items[b] = item;
}

static void
sift_up(struct pick *pick, size_t at)
{
	for (; at > 0 && is_after(pick, at, (at - 1) / 2); at = (at - 1) / 2)
		swap(pick, at, (at - 1) / 2);
}

static void
sift_down(struct pick *pick)
{
	size_t at = 0;

	for (;;) {
		size_t last = at, left = 2 * at + 1, right = left + 1;

		if (left < pick->count && is_after(pick, left, last))
			last = left;
		if (right < pick->count && is_after(pick, right, last))
			last = right;
		if (last == at)
			return;
		swap(pick, at, last);
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
append(struct pick *pick, const struct item *item)
{
	pick->items = array_grow(pick->items, pick->count, &pick->room, sizeof(*pick->items));
	pick->items[pick->count] = *item;
	keep_key(&pick->items[pick->count++]);
	if (pick->most > 0)
		sift_up(pick, pick->count - 1);
}

static void
replace_last(struct pick *pick, const struct item *item)
{
	free((void *)pick->items[0].key.bytes);
	pick->items[0] = *item;
	keep_key(&pick->items[0]);
	sift_down(pick);
}

/* What the entry has for a key, or what it has none for. */
static struct key_view
prefilter_key(const struct rl_prefilter *prefilter, char bytes[RL_KEY_MAX])
{
	size_t len, kept = rl_prefilter_key(prefilter, bytes, &len);

	return (struct key_view){kept > 0 ? bytes : NULL, kept, len, 0};
}

/* Above 0 if it has less than `last`, and 0 if it has no more. */
static int
compare_bounds(enum pick_order order, const struct rl_prefilter *prefilter,
               const struct usage *last)
{
	switch (order) {
	case PICK_USED:
		return compare_most(prefilter->used_most, last->used);
	case PICK_REMAINING:
		return compare_most(last->remaining, prefilter->remaining_least);
	case PICK_DENIED:
		return compare_most(rl_prefilter_denied_most(prefilter), last->denied);
	case PICK_KEY:
		return 0;
	case PICK_RECENT:
	case PICK_ORDERS:
		break;
	}
	return -1;
}

/* Whatever else there is to know of it, it comes after all that are picked. */
static bool
is_behind(const struct pick *pick, const struct rl_prefilter *prefilter)
{
	const struct item *last = &pick->items[0];
	char bytes[RL_KEY_MAX];
	int order;

	if (pick->most == 0 || pick->count < pick->most)
		return false;
	if (pick->take)
		return true;
	if (pick->is_reversed) /* a prefilter bounds from above only */
		return false;
	order = compare_bounds(pick->order, prefilter, &last->usage);
	if (order == 0 && last->key.bytes) {
		struct key_view key = prefilter_key(prefilter, bytes);
		order = compare_keys(&key, &last->key);
	}
	return order > 0;
}

static bool
may_match(const struct match *match, const struct rl_prefilter *prefilter)
{
	char bytes[RL_KEY_MAX];
	struct key_view key = prefilter_key(prefilter, bytes);

	return match_has(match, &key);
}

/* With --limited and --match, it takes the entry to know whether the key counts. */
int
pick_wants(struct pick *pick, const struct rl_prefilter *prefilter)
{
	if (prefilter->is_stale || (pick->rule != RL_ANY_RULE && pick->rule != prefilter->rule) ||
	    (pick->is_limited_only && prefilter->remaining_least > 0))
		return false;
	if (pick->match)
		return may_match(pick->match, prefilter);
	if (pick->is_limited_only || !is_behind(pick, prefilter))
		return true;
	pick->total++;
	return false;
}

static bool
is_wanted(const struct pick *pick, const struct rl_entry *entry)
{
	struct key_view key = entry_key(entry);

	return !entry->is_stale && (pick->rule == RL_ANY_RULE || pick->rule == entry->rule) &&
	       (!pick->is_limited_only || entry->is_limited) &&
	       (!pick->match || match_has(pick->match, &key));
}

static void
keep(struct pick *pick, const struct item *item)
{
	if (pick->most == 0 || pick->count < pick->most)
		append(pick, item);
	else if (compare(item, &pick->items[0], pick) < 0)
		replace_last(pick, item);
}

static void
give(struct pick *pick, const struct item *item)
{
	if (pick->most > 0 && pick->count == pick->most)
		return;
	pick->count++;
	pick->take(item, pick->take_arg);
}

void
pick_add(struct pick *pick, const struct rl_entry *entry)
{
	struct item item = {
		.rule = entry->rule,
		.limit = entry->limit,
		.usage = usage_of(entry),
		.key = entry_key(entry),
	};

	if (!is_wanted(pick, entry))
		return;
	pick->total++;
	pick->cut += pick->match && item.key.kept < item.key.len;
	if (pick->take)
		give(pick, &item);
	else
		keep(pick, &item);
}

json_t *
item_json(struct rl *rl, const struct item *item)
{
	json_t *object = need(json_object());

	json_put(object, "rule", json_rule_name(rl, item->rule));
	json_put(object, "limit_number", json_count(item->limit + UINT64_C(1)));
	json_put_key(object, &item->key);
	json_put_usage(object, &item->usage);
	return object;
}

void
pick_sort(struct pick *pick)
{
	if (pick->count > 0 && !pick->take)
		qsort_r(pick->items, pick->count, sizeof(*pick->items), compare, pick);
}

void
pick_free(struct pick *pick)
{
	for (size_t i = 0; i < pick->count && pick->items; i++)
		free((void *)pick->items[i].key.bytes);
	free(pick->items);
	pick->items = NULL;
	pick->count = pick->room = 0;
}
