/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/standing.h"

#include <model/pattern_text.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rule.h"
#include "text/duration.h"

struct search {
	struct standings *found;
	int rule;
	const struct key_view *key;
};

static bool
is_wanted(const struct search *search, const struct rl_ban_info *ban)
{
	if (search->rule != RL_ANY_RULE && ban->rule != RL_ANY_RULE && ban->rule != search->rule)
		return false;
	return !search->key ||
	       (ban->pattern.key &&
	        rl_pattern_matches(&ban->pattern, search->key->bytes, search->key->len) == 1);
}

static void *
copy_key(const struct rl_pattern *pattern)
{
	if (!pattern->key)
		return NULL;
	return memcpy(need(malloc(pattern->key_len + 1)), pattern->key, pattern->key_len);
}

static int
add_ban(const struct rl_ban_info *ban, void *arg)
{
	struct search *search = arg;
	struct standings *found = search->found;
	struct pattern_text shown;
	bool is_whole = ban->pattern.key_len == ban->key_len;

	if (!is_wanted(search, ban))
		return 0;
	pattern_canonical(&ban->pattern, &shown);
	found->items = array_grow(found->items, found->count, &found->room, sizeof(*found->items));
	found->items[found->count++] = (struct standing){
		.rule = ban->rule,
		.is_exemption = ban->is_exemption != 0,
		.match = ban->pattern.match,
		.key = {copy_key(&shown.pattern), shown.pattern.key_len,
	                is_whole ? shown.pattern.key_len : ban->key_len, 0},
		.until_ns = ban->until_ns,
	};
	return 0;
}

static int
compare_until(const void *left, const void *right)
{
	const struct standing *a = left, *b = right;

	return (a->until_ns > b->until_ns) - (a->until_ns < b->until_ns);
}

struct standings
standings_collect(struct rl *rl, int rule, const struct key_view *key)
{
	struct standings found = {.now_ns = rl_now(rl)};
	struct search search = {&found, rule, key};

	rl_bans_walk(rl, found.now_ns, add_ban, &search);
	if (found.count > 0)
		qsort(found.items, found.count, sizeof(*found.items), compare_until);
	return found;
}

void
standings_free(struct standings *standings)
{
	for (size_t i = 0; i < standings->count; i++)
		free((void *)standings->items[i].key.bytes);
	free(standings->items);
}

const char *
match_name(enum rl_match match)
{
	switch (match) {
	case RL_MATCH_KEY:
		return "key";
	case RL_MATCH_PREFIX:
		return "prefix";
	case RL_MATCH_NETWORK:
		break;
	}
	return "network";
}

void
pattern_print(FILE *out, enum rl_match match, const struct key_view *key)
{
	output_key(out, key);
	if (match == RL_MATCH_PREFIX)
		putc('*', out);
}

static void
print_until(FILE *out, uint64_t until_ns, uint64_t now_ns)
{
	if (until_ns == RL_NEVER_NS)
		fputs("until lifted", out);
	else
		fprintf(out, "%s left, until %s UTC",
		        duration_format(until_ns > now_ns ? until_ns - now_ns : 0).text,
		        time_format(until_ns, false).text);
}

void
standing_print(FILE *out, struct rl *rl, const struct standing *standing, uint64_t now_ns)
{
	fprintf(out, "%s of %s ", standing->is_exemption ? "exemption" : "ban",
	        match_name(standing->match));
	pattern_print(out, standing->match, &standing->key);
	if (standing->rule == RL_ANY_RULE)
		fputs(", any rule, ", out);
	else
		fprintf(out, ", rule %s, ", rule_label(rl, standing->rule).text);
	print_until(out, standing->until_ns, now_ns);
	putc('\n', out);
}

json_t *
standing_json(struct rl *rl, const struct standing *standing)
{
	json_t *object = need(json_object());

	json_put(object, "effect", json_text(standing->is_exemption ? "exemption" : "ban"));
	json_put(object, "rule", json_rule_name(rl, standing->rule));
	json_put(object, "match", json_text(match_name(standing->match)));
	json_put_key(object, &standing->key);
	json_put(object, "until_ns", json_duration(standing->until_ns));
	return object;
}
