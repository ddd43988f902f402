/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/ban_list.h"

#include <inttypes.h>
#include <model/pattern_text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/output.h"
#include "key/active_bans.h"
#include "key/ban_reach.h"
#include "key/list_file.h"

#define REPORTED 10 /* refusals, one by one */

/* A wider network is no list's: it is a mistake, or an attack on the list. */
static const struct ban_width widest = {8, 16, "covers more than a /8",
                                        "covers more than a /16 of IPv6"};

/* One pattern of the list, once. */
struct listed {
	const struct list_entry *entry;
	struct pattern_text read;
	uint64_t until_ns;
	const struct active_ban *before; /* NULL: none stands for it */
};

struct list {
	const struct context *context;
	struct rl *rl;
	const struct ban_order *order;
	bool has_end; /* the command says when they end, whatever the list says */
	struct list_file file;
	struct listed *items;   /* as they come: a pattern may point into its own, so none moves */
	struct listed **sorted; /* by their patterns, each once */
	size_t count;
	struct active_bans standing; /* those of this very rule first, by their patterns */
	size_t of_rule;              /* how many those are */
	uint64_t fresh, renewed, same, gone, refused, failed;
};

static int
compare_patterns(enum rl_match a, const void *a_key, size_t a_len, enum rl_match b,
                 const void *b_key, size_t b_len)
{
	size_t shorter = a_len < b_len ? a_len : b_len;
	int order = a == b ? memcmp(a_key, b_key, shorter) : (a > b) - (a < b);

	return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int
compare_listed(const void *left, const void *right)
{
	const struct rl_pattern *a = &(*(struct listed *const *)left)->read.pattern,
				*b = &(*(struct listed *const *)right)->read.pattern;

	return compare_patterns(a->match, a->key, a->key_len, b->match, b->key, b->key_len);
}

static int
compare_standing(const void *left, const void *right)
{
	const struct active_ban *a = left, *b = right;

	return compare_patterns(a->match, a->key.bytes, a->key.kept, b->match, b->key.bytes,
	                        b->key.kept);
}

/* NULL, or what is wrong with an entry. */
static const char *
read_entry(struct list *list, const struct list_entry *entry, struct listed *listed)
{
	size_t len = strlen(entry->text);
	const char *wrong = len == 0 || len > RL_KEY_MAX
	                            ? "has too many bytes, or none"
	                            : pattern_parse(entry->text, len, &listed->read);

	if (!wrong)
		wrong = ban_too_wide(&listed->read.pattern, &widest);
	if (!wrong)
		wrong = ban_order_reach(list->order, &listed->read.pattern);
	listed->entry = entry;
	listed->until_ns = list->order->until_ns;
	if (entry->lasts_ns > 0 && !list->has_end)
		listed->until_ns = rl_now(list->rl) + entry->lasts_ns;
	return wrong;
}

/* Of two entries for one pattern the one that lasts longer. */
static void
unite(struct list *list)
{
	struct listed **sorted = list->sorted;
	size_t kept = 0;

	qsort(sorted, list->count, sizeof(*sorted), compare_listed);
	for (size_t i = 0; i < list->count; i++)
		if (kept == 0 || compare_listed(&sorted[kept - 1], &sorted[i]) != 0)
			sorted[kept++] = sorted[i];
		else if (sorted[i]->until_ns > sorted[kept - 1]->until_ns)
			sorted[kept - 1] = sorted[i];
	list->count = kept;
}

static void
read_entries(struct list *list)
{
	list->items = need(calloc(list->file.count + 1, sizeof(*list->items)));
	list->sorted = need(calloc(list->file.count + 1, sizeof(struct listed *)));
	for (size_t i = 0; i < list->file.count; i++) {
		const struct list_entry *entry = &list->file.items[i];
		const char *wrong = read_entry(list, entry, &list->items[i]);
		char *shown;

		if (!wrong) {
			list->sorted[list->count++] = &list->items[i];
		} else if (list->refused++ < REPORTED) {
			shown = escape(entry->text, strlen(entry->text));
			complain("%s: number %" PRIu64 ", '%s', %s", list->context->command->name,
			         entry->number, shown, wrong);
			free(shown);
		}
	}
	unite(list);
}

/* Those that a person or a list set under this very rule; a rule's own and the file's are not. */
static void
read_standing(struct list *list)
{
	struct active_bans *standing = &list->standing;
	size_t kept = 0;

	*standing = active_bans_collect(list->rl, list->order->rule, NULL);
	for (size_t i = 0; i < standing->count; i++) {
		struct active_ban *ban = &standing->items[i];

		if (ban->rule == list->order->rule && !ban->is_automatic && ban->key.bytes) {
			struct active_ban swapped = standing->items[kept];

			standing->items[kept++] = *ban;
			*ban = swapped;
		}
	}
	if (kept > 0)
		qsort(standing->items, kept, sizeof(*standing->items), compare_standing);
	list->of_rule = kept;
}

static const struct active_ban *
find_standing(const struct list *list, const struct listed *listed)
{
	const struct rl_pattern *pattern = &listed->read.pattern;
	struct active_ban wanted = {.match = pattern->match,
	                            .key = {pattern->key, pattern->key_len, 0, 0}};

	if (list->of_rule == 0)
		return NULL;
	return bsearch(&wanted, list->standing.items, list->of_rule, sizeof(wanted),
	               compare_standing);
}

static bool
stands_as_listed(const struct list *list, const struct listed *listed)
{
	const struct active_ban *before = listed->before;

	return before && before->is_exemption == list->order->is_exemption &&
	       before->until_ns == listed->until_ns;
}

static const char *
reason_of(const struct list *list, const struct listed *listed)
{
	return list->order->reason ? list->order->reason : listed->entry->reason;
}

static void
tell(const struct list *list, char sign, enum rl_match match, const struct key_view *key)
{
	if (!option_value(list->context, "dry-run") || option_value(list->context, "json"))
		return;
	printf("%c ", sign);
	pattern_print(stdout, match, key);
	putchar('\n');
}

static void
tell_listed(const struct list *list, char sign, const struct listed *listed)
{
	const struct rl_pattern *pattern = &listed->read.pattern;
	struct key_view key = {pattern->key, pattern->key_len, pattern->key_len, 0};

	tell(list, sign, pattern->match, &key);
}

static void
compare_with_standing(struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct listed *listed = list->sorted[i];

		listed->before = find_standing(list, listed);
		if (stands_as_listed(list, listed)) {
			list->same++;
		} else if (listed->before) {
			list->renewed++;
			tell_listed(list, '~', listed);
		} else {
			list->fresh++;
			tell_listed(list, '+', listed);
		}
	}
}

/* Of the same list: set for the same reason. */
static bool
is_gone(const struct list *list, const struct active_ban *ban)
{
	struct listed of_it = {.read.pattern = {ban->match, ban->key.bytes, ban->key.kept}};
	const struct listed *wanted = &of_it;

	return ban->is_exemption == list->order->is_exemption && ban->reason &&
	       strcmp(ban->reason, list->order->reason) == 0 &&
	       !bsearch(&wanted, list->sorted, list->count, sizeof(wanted), compare_listed);
}

static void
lift_gone(struct list *list, bool is_dry)
{
	for (size_t i = 0; i < list->of_rule; i++) {
		const struct active_ban *ban = &list->standing.items[i];
		struct rl_pattern pattern = {ban->match, ban->key.bytes, ban->key.kept};

		if (!is_gone(list, ban))
			continue;
		list->gone++;
		tell(list, '-', ban->match, &ban->key);
		if (!is_dry && rl_unban(list->rl, ban->rule, &pattern) < 0)
			list->failed++;
	}
}

static int
set_listed(struct list *list, const struct listed *listed)
{
	struct ban_order order = *list->order;
	char reason[RL_REASON_MAX + 1] = "";
	const char *why = reason_of(list, listed);

	if (why) {
		memccpy(reason, why, '\0', sizeof(reason) - 1);
		order.reason = reason;
	}
	order.until_ns = listed->until_ns;
	return ban_order_set(list->rl, &order, &listed->read.pattern);
}

static void
set_all(struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		int error;

		if (stands_as_listed(list, list->sorted[i]))
			continue;
		error = set_listed(list, list->sorted[i]);
		if (error < 0 && list->failed++ == 0)
			ban_complain(list->context, list->rl, error);
	}
}

/* Room for all, or for none of them: half a list protects from half of the attackers. */
static bool
has_room(const struct list *list)
{
	struct rl_info info;
	uint64_t wanted = list->fresh + list->standing.count;

	rl_info(list->rl, &info);
	if (wanted <= info.bans)
		return true;
	complain("%s: %" PRIu64 " are new, %zu stand, and the segment is made for %u bans and "
	         "exemptions; make it with 'bans' of %" PRIu64 " or more",
	         list->context->command->name, list->fresh, list->standing.count, info.bans,
	         wanted);
	return false;
}

static void
report(const struct list *list)
{
	bool is_dry = option_value(list->context, "dry-run") != NULL;

	if (option_value(list->context, "json")) {
		json_t *root = need(json_object());

		json_put(root, "dry_run", json_boolean(is_dry));
		json_put(root, "new", json_count(list->fresh));
		json_put(root, "renewed", json_count(list->renewed));
		json_put(root, "unchanged", json_count(list->same));
		json_put(root, "lifted", json_count(list->gone));
		json_put(root, "passed_over", json_count(list->file.passed_over));
		output_json(root);
		return;
	}
	printf("%s%" PRIu64 " new, %" PRIu64 " renewed, %" PRIu64 " as they are",
	       is_dry ? "would be: " : "", list->fresh, list->renewed, list->same);
	if (option_value(list->context, "sync"))
		printf(", %" PRIu64 " lifted", list->gone);
	if (list->file.passed_over > 0)
		printf("; passed over: %" PRIu64 " that are no bans of addresses, or are over",
		       list->file.passed_over);
	putchar('\n');
}

/* False after a message. */
static bool
can_be_set(const struct list *list)
{
	const char *verb = list->context->command->name;

	if (list->refused > 0) {
		complain("%s: %" PRIu64 " of %zu refused, and nothing was changed", verb,
		         list->refused, list->file.count);
		return false;
	}
	if (list->order->is_exemption && list->file.is_of_decisions) {
		complain("%s: the list has CrowdSec's decisions against clients: it is one to ban",
		         verb);
		return false;
	}
	return has_room(list);
}

static int
bring_about(struct list *list)
{
	bool is_dry = option_value(list->context, "dry-run") != NULL;

	if (!is_dry)
		set_all(list);
	if (option_value(list->context, "sync"))
		lift_gone(list, is_dry);
	report(list);
	if (list->failed > 0)
		complain("%s: %" PRIu64 " failed", list->context->command->name, list->failed);
	return list->failed > 0 ? EXIT_TROUBLE : EXIT_YES;
}

/* An empty list that is synchronised lifts all: more often it is a download that failed. */
static bool
is_sound(const struct list *list)
{
	const char *verb = list->context->command->name;

	if (!option_value(list->context, "sync"))
		return true;
	if (!list->order->reason)
		complain("%s: --sync needs --reason: it tells what is of this list", verb);
	else if (list->file.count == 0 && list->file.passed_over == 0)
		complain("%s: the list is empty, and --sync would lift all of it; 'rlctl unban' "
		         "lifts one",
		         verb);
	else
		return true;
	return false;
}

int
ban_list(const struct context *context, struct rl *rl, const struct ban_order *order)
{
	struct list list = {.context = context, .rl = rl, .order = order};
	int status = EXIT_TROUBLE;

	list.has_end = option_value(context, "for") || option_value(context, "until");
	if (list_file_read(context->command->name, option_value(context, "from"), &list.file) &&
	    is_sound(&list)) {
		read_entries(&list);
		read_standing(&list);
		if (list.refused == 0)
			compare_with_standing(&list);
		if (can_be_set(&list))
			status = bring_about(&list);
		active_bans_free(&list.standing);
		free(list.sorted);
		free(list.items);
	}
	list_file_free(&list.file);
	return status;
}
