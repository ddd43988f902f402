/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/active_bans.h"

#include <inttypes.h>
#include <model/pattern_text.h>
#include <rl_admin.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rule.h"
#include "base/user.h"
#include "base/width.h"
#include "text/duration.h"

struct search {
	struct active_bans *found;
	int rule;
	const struct key_view *key;
	bool is_any; /* what is of any rule is wanted, whichever is asked for */
};

static bool
is_wanted(const struct search *search, const struct rl_ban_info *ban)
{
	if (search->rule != RL_ANY_RULE && ban->rule != search->rule &&
	    !(search->is_any && ban->rule == RL_ANY_RULE))
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

static char *
copy_reason(const struct rl_ban_info *ban)
{
	if (ban->reason_len == 0)
		return NULL;
	return need(strndup(ban->reason, ban->reason_len));
}

static int
add_ban(const struct rl_ban_info *ban, void *arg)
{
	struct search *search = arg;
	struct active_bans *found = search->found;
	struct pattern_text shown;
	bool is_whole = ban->pattern.key_len == ban->key_len;

	if (!is_wanted(search, ban))
		return 0;
	pattern_canonical(&ban->pattern, &shown);
	found->items = array_grow(found->items, found->count, &found->room, sizeof(*found->items));
	found->items[found->count++] = (struct active_ban){
		.rule = ban->rule,
		.limit = ban->limit,
		.capacity = ban->capacity,
		.is_exemption = ban->is_exemption != 0,
		.is_automatic = ban->is_automatic != 0,
		.match = ban->pattern.match,
		.key = {copy_key(&shown.pattern), shown.pattern.key_len,
	                is_whole ? shown.pattern.key_len : ban->key_len, 0},
		.until_ns = ban->until_ns,
		.has_note = ban->has_note,
		.author = ban->author,
		.since_ns = ban->since_ns,
		.hits = ban->hits,
		.reason = copy_reason(ban),
	};
	return 0;
}

static int
compare_until(const void *left, const void *right)
{
	const struct active_ban *a = left, *b = right;

	return (a->until_ns > b->until_ns) - (a->until_ns < b->until_ns);
}

static struct active_bans
collect(struct rl *rl, bool is_timed, int rule, const struct key_view *key)
{
	struct active_bans found = {.now_ns = rl_now(rl)};
	struct search search = {&found, rule, key, !is_timed};

	(is_timed ? rl_overrides_walk : rl_bans_walk)(rl, found.now_ns, add_ban, &search);
	if (found.count > 0)
		qsort(found.items, found.count, sizeof(*found.items), compare_until);
	return found;
}

struct active_bans
active_bans_collect(struct rl *rl, int rule, const struct key_view *key)
{
	return collect(rl, false, rule, key);
}

struct active_bans
active_overrides_collect(struct rl *rl, int rule, const struct key_view *key)
{
	return collect(rl, true, rule, key);
}

void
active_bans_free(struct active_bans *active_bans)
{
	for (size_t i = 0; i < active_bans->count; i++) {
		free((void *)active_bans->items[i].key.bytes);
		free(active_bans->items[i].reason);
	}
	free(active_bans->items);
}

const char *
effect_name(bool is_exemption)
{
	return is_exemption ? "exemption" : "ban";
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

static void
print_what(FILE *out, struct rl *rl, const struct active_ban *ban)
{
	fprintf(out, "%s of %s ", effect_name(ban->is_exemption), match_name(ban->match));
	pattern_print(out, ban->match, &ban->key);
	if (ban->rule == RL_ANY_RULE)
		fputs(", any rule,", out);
	else
		fprintf(out, ", rule %s,", rule_label(rl, ban->rule).text);
}

void
active_ban_print(FILE *out, struct rl *rl, const struct active_ban *active_ban, uint64_t now_ns)
{
	print_what(out, rl, active_ban);
	putc(' ', out);
	print_until(out, active_ban->until_ns, now_ns);
	putc('\n', out);
}

void
reason_print(FILE *out, const char *reason)
{
	putc('"', out);
	output_bytes(out, reason, strlen(reason));
	putc('"', out);
}

uint64_t
active_ban_age_ns(const struct active_ban *ban, uint64_t now_ns)
{
	return now_ns > ban->since_ns ? now_ns - ban->since_ns : 0;
}

static void
print_note(FILE *out, const struct active_ban *ban, uint64_t now_ns)
{
	fprintf(out, "set %s ago by %s", duration_format(active_ban_age_ns(ban, now_ns)).text,
	        user_format(ban->author).text);
	if (ban->capacity == 0)
		fprintf(out, ", %" PRIu64 " %s", ban->hits, ban->hits == 1 ? "hit" : "hits");
	if (ban->reason) {
		fputs(", for ", out);
		reason_print(out, ban->reason);
	}
}

void
active_ban_print_note(FILE *out, const struct active_ban *ban, uint64_t now_ns)
{
	char *note = NULL;
	size_t size = 0;
	FILE *stream;

	if (!ban->has_note)
		return;
	stream = need(open_memstream(&note, &size));
	print_note(stream, ban, now_ns);
	fclose(stream);
	fputs(STANDS_INDENT, out);
	wrap_text(out, note, strlen(STANDS_INDENT), COLUMNS_USUAL);
	free(note);
}

#define UNTIL_COLUMNS 43 /* "59m 59s left, until 2026-11-22 10:00:00 UTC" */

/* In two lines, where one would be too wide. */
static void
print_standing(FILE *out, struct rl *rl, const struct active_ban *ban, uint64_t now_ns)
{
	char *what = NULL;
	size_t size = 0;
	FILE *stream = need(open_memstream(&what, &size));

	print_what(stream, rl, ban);
	fclose(stream);
	fprintf(out, "stands       %s%s", what,
	        strlen(STANDS_INDENT) + text_columns(what) + 1 + UNTIL_COLUMNS > COLUMNS_USUAL
	                ? "\n" STANDS_INDENT
	                : " ");
	free(what);
	print_until(out, ban->until_ns, now_ns);
	putc('\n', out);
}

void
active_bans_print(FILE *out, struct rl *rl, const struct active_bans *active_bans)
{
	for (size_t i = 0; i < active_bans->count; i++) {
		const struct active_ban *ban = &active_bans->items[i];

		print_standing(out, rl, ban, active_bans->now_ns);
		active_ban_print_note(out, ban, active_bans->now_ns);
	}
}

void
active_ban_put_note(json_t *object, const struct active_ban *ban)
{
	bool is_known = ban->has_note;

	json_put(object, "since_ns", is_known ? json_count(ban->since_ns) : json_null());
	json_put(object, "author", is_known ? json_count(ban->author) : json_null());
	if (ban->capacity == 0)
		json_put(object, "hits", is_known ? json_count(ban->hits) : json_null());
	json_put(object, "reason", ban->reason ? json_text(ban->reason) : json_null());
}

json_t *
active_ban_json(struct rl *rl, const struct active_ban *active_ban)
{
	json_t *object = need(json_object());

	json_put(object, "effect", json_text(active_ban->is_exemption ? "exemption" : "ban"));
	json_put(object, "rule", json_rule_name(rl, active_ban->rule));
	json_put(object, "match", json_text(match_name(active_ban->match)));
	json_put_key(object, &active_ban->key);
	json_put(object, "until_ns", json_duration(active_ban->until_ns));
	json_put(object, "automatic", json_boolean(active_ban->is_automatic));
	active_ban_put_note(object, active_ban);
	return object;
}
