/* SPDX-License-Identifier: BSD-2-Clause */
#include "keep/counters_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define NUMBER 21 /* bytes of a blank and the longest number */

/* Where a rule's limits stand among those of the text. */
struct rule_place {
	int rule;
	uint32_t first;
	unsigned count;
	bool ends_with_segment[RL_LIMITS_MAX]; /* what it counts ends with the segment */
};

struct writing {
	FILE *out;
	struct rl *rl;
	uint64_t now_ns, most, size, hash;
	struct rule_place *rules; /* by handle */
	size_t rule_count;
	uint32_t limit_count;
	struct counters_written written;
};

static void
put_bytes(struct writing *w, const char *bytes, size_t len)
{
	w->hash = hash_more(w->hash, bytes, len);
	w->size += len;
	fwrite(bytes, 1, len, w->out);
}

__attribute__((format(printf, 2, 3))) static void
put(struct writing *w, const char *format, ...)
{
	char text[512];
	va_list arguments;
	int len;

	va_start(arguments, format);
	len = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	put_bytes(w, text, (size_t)len);
}

static void
put_number(struct writing *w, uint64_t number)
{
	char text[NUMBER], *at = text + sizeof text;

	do
		*--at = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	*--at = ' ';
	put_bytes(w, at, (size_t)(text + sizeof text - at));
}

static void
put_key(struct writing *w, const void *key, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *at = key;
	char text[1 + 2 * RL_KEY_MAX] = " ";

	for (size_t i = 0; i < len; i++) {
		text[1 + 2 * i] = digits[at[i] >> 4];
		text[2 + 2 * i] = digits[at[i] & 15];
	}
	put_bytes(w, text, 1 + 2 * len);
}

static void
put_limit(struct writing *w, const char *name, unsigned index, const struct rl_limit *l)
{
	put(w, "limit %" PRIu32 " %s %u %d", w->limit_count++, name, index, (int)l->algorithm);
	put(w, " %" PRIu32 " %" PRIu64 " %" PRIu32 " %d %u %u\n", l->capacity, l->window_ns,
	    l->granularity, l->hard != 0, (unsigned)l->prefix_v4, (unsigned)l->prefix_v6);
}

static void
put_rule(struct writing *w, const struct rl_rule_info *rule)
{
	struct rule_place *place = &w->rules[w->rule_count++];

	*place = (struct rule_place){rule->handle, w->limit_count, rule->limit_count, {false}};
	for (unsigned i = 0; i < rule->limit_count; i++) {
		place->ends_with_segment[i] = rule->limits[i].algorithm == RL_IN_FLIGHT ||
		                              rule->limits[i].scope == RL_SCOPE_CLUSTER;
		put_limit(w, rule->name, i, &rule->limits[i]);
	}
}

static int
compare_places(const void *left, const void *right)
{
	const struct rule_place *a = left, *b = right;

	return (a->rule > b->rule) - (a->rule < b->rule);
}

/* False: no memory. */
static bool
put_rules(struct writing *w, const struct rl_info *info)
{
	w->rules = calloc(info->rules + 1, sizeof *w->rules);
	if (!w->rules)
		return false;
	for (uint32_t row = 0; row < info->rules; row++) {
		struct rl_rule_info rule;

		if (rl_rule_info(w->rl, (int)row, &rule) == 1 && rule.name[0])
			put_rule(w, &rule);
	}
	qsort(w->rules, w->rule_count, sizeof *w->rules, compare_places);
	return true;
}

static bool
counts_something(const struct rl_entry *entry)
{
	return !entry->is_stale &&
	       (entry->count ? entry->count->expires_after_ns > 0 : entry->charge_entries > 0);
}

/* A line of it is no longer than that. */
static uint64_t
line_most(const struct rl_entry *entry)
{
	return 2 * entry->key_len + 2 * NUMBER * (entry->charge_entries + 2);
}

static bool
may_be_kept(const struct writing *w, const struct rule_place *place, const struct rl_entry *entry)
{
	return place && entry->limit < place->count && entry->key &&
	       entry->key_kept == entry->key_len && w->size + line_most(entry) <= w->most;
}

static void
put_entry(struct writing *w, uint32_t number, const struct rl_entry *entry)
{
	const struct rl_count *count = entry->count;

	put(w, "%s %" PRIu32, count ? "count" : "key", number);
	put_key(w, entry->key, entry->key_len);
	for (size_t i = 0; i < entry->charge_entries; i++) {
		put_number(w, entry->charge_entry[i].at_ns);
		put_number(w, entry->charge_entry[i].cost);
	}
	if (count) {
		put_number(w, count->value);
		put_number(w, count->expires_after_ns == RL_NEVER_NS
		                      ? RL_NEVER_NS
		                      : w->now_ns + count->expires_after_ns);
	}
	put_bytes(w, "\n", 1);
}

static int
write_entry(const struct rl_entry *entry, void *arg)
{
	struct writing *w = arg;
	const struct rule_place wanted = {.rule = entry->rule}, *place;

	if (!counts_something(entry))
		return 0;
	place = bsearch(&wanted, w->rules, w->rule_count, sizeof wanted, compare_places);
	if (place && entry->limit < place->count && place->ends_with_segment[entry->limit])
		return 0;
	if (!may_be_kept(w, place, entry)) {
		w->written.unkept++;
		return 0;
	}
	put_entry(w, place->first + entry->limit, entry);
	w->written.keys++;
	return ferror(w->out);
}

bool
counters_text_write(FILE *out, struct rl *rl, uint64_t most, struct counters_written *written)
{
	struct writing w = {
		.out = out, .rl = rl, .now_ns = rl_now(rl), .most = most, .hash = HASH_OF_NONE};
	struct rl_info info;

	rl_info(rl, &info);
	put(&w, COUNTERS_TEXT_MAGIC " %d %" PRIu64 "\n", COUNTERS_TEXT_VERSION, info.created_ns);
	if (!put_rules(&w, &info))
		return false;
	rl_walk(rl, w.now_ns, NULL, write_entry, &w);
	free(w.rules);
	put(&w, "end %" PRIu64 " %" PRIu64, w.written.keys, w.written.unkept);
	fprintf(out, " %" PRIu64 "\n", w.hash);
	*written = w.written;
	return !ferror(out);
}
