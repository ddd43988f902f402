/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/timed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rule.h"
#include "base/user.h"
#include "key/active_bans.h"
#include "text/duration.h"

struct search {
	struct timed_list *found;
	int rule;
	const struct key_view *key;
};

static bool
is_wanted(const struct search *search, const struct rl_ban_info *info)
{
	const struct key_view *key = search->key;

	if (search->rule != RL_ANY_RULE && info->rule != search->rule)
		return false;
	return !key || (info->pattern.key && info->pattern.key_len == key->len &&
	                memcmp(info->pattern.key, key->bytes, key->len) == 0);
}

static int
add(const struct rl_ban_info *info, void *arg)
{
	struct search *search = arg;
	struct timed_list *found = search->found;
	struct timed *timed;
	size_t kept = info->pattern.key_len;

	if (!is_wanted(search, info))
		return 0;
	found->items = array_grow(found->items, found->count, &found->room, sizeof(*found->items));
	timed = &found->items[found->count++];
	*timed = (struct timed){
		.rule = info->rule,
		.limit = info->limit,
		.capacity = info->capacity,
		.until_ns = info->until_ns,
		.has_note = info->has_note,
		.author = info->author,
		.since_ns = info->since_ns,
	};
	if (info->pattern.key)
		timed->key =
			(struct key_view){memcpy(need(malloc(kept + 1)), info->pattern.key, kept),
		                          kept, info->key_len, 0};
	memcpy(timed->reason, info->reason, info->reason_len);
	return 0;
}

static int
compare_until(const void *left, const void *right)
{
	const struct timed *a = left, *b = right;

	return (a->until_ns > b->until_ns) - (a->until_ns < b->until_ns);
}

struct timed_list
timed_collect(struct rl *rl, int rule, const struct key_view *key)
{
	struct timed_list found = {.now_ns = rl_now(rl)};
	struct search search = {&found, rule, key};

	rl_overrides_walk(rl, found.now_ns, add, &search);
	if (found.count > 0)
		qsort(found.items, found.count, sizeof(*found.items), compare_until);
	return found;
}

void
timed_free(struct timed_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((void *)list->items[i].key.bytes);
	free(list->items);
}

static const struct rl_limit *
limit_at(const struct rl_rule_info *rule, unsigned limit)
{
	return limit < rule->limit_count ? &rule->limits[limit] : NULL;
}

static struct timed_rate
rate_of(uint32_t capacity, uint64_t window_ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} usual[] = {{RL_SECOND, "s"},
	             {60 * RL_SECOND, "min"},
	             {3600 * RL_SECOND, "h"},
	             {86400 * RL_SECOND, "d"}};
	const char *name = NULL;
	struct timed_rate out;

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (usual[i].ns == window_ns)
			name = usual[i].name;
	if (window_ns == 0)
		snprintf(out.text, sizeof(out.text), "%" PRIu32, capacity);
	else
		snprintf(out.text, sizeof(out.text), "%" PRIu32 "/%s", capacity,
		         name ? name : duration_exact(window_ns).text);
	return out;
}

struct timed_rate
timed_rate(struct rl *rl, int rule, unsigned limit, uint32_t capacity)
{
	struct rl_rule_info info;
	const struct rl_limit *of =
		rule != RL_ANY_RULE && rule_read(rl, rule, &info) ? limit_at(&info, limit) : NULL;

	return rate_of(capacity, of && of->algorithm != RL_IN_FLIGHT ? of->window_ns : 0);
}

struct timed_rate
timed_rate_before(struct rl *rl, int rule, unsigned limit)
{
	struct rl_rule_info info;
	const struct rl_limit *of =
		rule != RL_ANY_RULE && rule_read(rl, rule, &info) ? limit_at(&info, limit) : NULL;

	return of ? timed_rate(rl, rule, limit, of->capacity) : (struct timed_rate){"-"};
}

uint64_t
timed_left_ns(uint64_t until_ns, uint64_t now_ns)
{
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;

	return left_ns > RL_SECOND ? left_ns - left_ns % RL_SECOND : left_ns;
}

void
timed_print_until(FILE *out, uint64_t until_ns, uint64_t now_ns)
{
	fprintf(out, "%s left, until %s UTC", duration_format(timed_left_ns(until_ns, now_ns)).text,
	        time_format(until_ns, false).text);
}

#define STANDS_INDENT "             "

static void
print_one(FILE *out, struct rl *rl, const struct timed *timed, uint64_t now_ns)
{
	uint64_t age_ns = now_ns > timed->since_ns ? now_ns - timed->since_ns : 0;

	fprintf(out, "stands       %s for a time in place of %s, rule %s,\n" STANDS_INDENT,
	        timed_rate(rl, timed->rule, timed->limit, timed->capacity).text,
	        timed_rate_before(rl, timed->rule, timed->limit).text,
	        limit_label(rl, timed->rule, timed->limit).text);
	timed_print_until(out, timed->until_ns, now_ns);
	putc('\n', out);
	if (!timed->has_note)
		return;
	fprintf(out, STANDS_INDENT "set %s ago by %s", duration_format(age_ns).text,
	        user_format(timed->author).text);
	if (timed->reason[0])
		fputs(", for ", out);
	if (timed->reason[0])
		reason_print(out, timed->reason);
	putc('\n', out);
}

void
timed_print(FILE *out, struct rl *rl, const struct timed_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		print_one(out, rl, &list->items[i], list->now_ns);
}

json_t *
timed_json(struct rl *rl, const struct timed *timed)
{
	json_t *object = need(json_object());
	bool is_known = timed->has_note;

	json_put(object, "rule", json_rule_name(rl, timed->rule));
	json_put(object, "limit_number", json_count(timed->limit + UINT64_C(1)));
	json_put_key(object, &timed->key);
	json_put(object, "capacity", json_count(timed->capacity));
	json_put(object, "until_ns", json_count(timed->until_ns));
	json_put(object, "since_ns", is_known ? json_count(timed->since_ns) : json_null());
	json_put(object, "author", is_known ? json_count(timed->author) : json_null());
	json_put(object, "reason", timed->reason[0] ? json_text(timed->reason) : json_null());
	return object;
}
