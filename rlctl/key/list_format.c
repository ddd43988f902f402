/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/list_format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/overflow_view.h"
#include "base/rule.h"
#include "base/width.h"
#include "key/active_bans.h"
#include "key/ban_reason.h"
#include "key/mask.h"
#include "text/duration.h"

#define TSV_HEAD                                                                  \
	"used\tlimit\tremaining\tstate\tretry_after_ns\treset_after_ns\tdenied\t" \
	"denied_per_second\trule\tkey"

static void
print_head(const struct list_format *form)
{
	if (form->table.columns > 0)
		list_table_head(&form->table);
	else
		printf("%10s/%-10s  %10s  %-7s  %8s  %8s  %8s  %6s  %s\n", "used", "limit",
		       "remaining", "state", "retry", "reset", "denied", "/s", "rule  key");
}

/* It may say whose the key is. */
static char *
shown_reason(const struct list_format *form, const struct item *item)
{
	if (form->is_masked || (form->kind != LIST_JSON && form->table.columns > 0))
		return NULL;
	return ban_reason(form->rl, item->rule, &item->key, &item->usage);
}

/* As it may be shown; it points into `mask`, or to what is shown of the key. */
static struct item
shown(const struct list_format *form, const struct item *item, struct mask *mask)
{
	struct item out = *item;

	if (form->is_masked)
		out.key = mask_key(&item->key, mask);
	return out;
}

static void
measure(struct list_format *form, const struct item *item)
{
	struct mask mask;
	struct item out = shown(form, item, &mask);

	list_table_measure(&form->table, &out);
}

void
list_format_begin(struct list_format *form, const struct ranking *ranking)
{
	if (form->kind == LIST_JSON)
		output_json_open(stdout, "keys");
	if (form->kind == LIST_TSV && form->has_head)
		puts(TSV_HEAD);
	if (form->kind != LIST_LINES && form->kind != LIST_WIDE)
		return;
	form->table = list_table_open(form->rl, form->kind == LIST_WIDE ? 0 : terminal_columns());
	for (size_t i = 0; form->table.columns > 0 && !ranking->take && i < ranking->count; i++)
		measure(form, &ranking->items[i]);
	list_table_fit(&form->table);
	if (form->has_head && (ranking->count > 0 || ranking->take))
		print_head(form);
}

static void
print_line(struct rl *rl, const struct item *item, const char *reason)
{
	const struct usage *usage = &item->usage;
	char denied[DENIED_TEXT_MAX], rate[DENIED_TEXT_MAX];

	if (usage->is_counter)
		printf("%10" PRIu64 "/%-10s  %10s", usage->used, "-", "-");
	else
		printf("%10" PRIu64 "/%-10" PRIu32 "  %10" PRIu32, usage->used, usage->limit,
		       usage->remaining);
	printf("  %-7s  %8s  %8s  %8s  %6s  %s  ", usage_state(usage), usage_retry(usage).text,
	       usage_reset(usage).text, usage_denied(usage, denied), usage_denied_rate(usage, rate),
	       limit_label(rl, item->rule, item->limit).text);
	output_key(stdout, &item->key);
	if (reason) {
		fputs("  ", stdout);
		reason_print(stdout, reason);
	}
	putchar('\n');
}

static void
print_ns(uint64_t ns)
{
	if (ns == RL_NEVER_NS)
		fputs("never\t", stdout);
	else
		printf("%" PRIu64 "\t", ns);
}

/* A field without a value is empty. No key has a tab in it, as it is shown. */
static void
print_tsv(struct rl *rl, const struct item *item)
{
	const struct usage *usage = &item->usage;

	if (usage->is_counter)
		printf("%" PRIu64 "\t\t\t", usage->used);
	else
		printf("%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t", usage->used, usage->limit,
		       usage->remaining);
	printf("%s\t", usage_state(usage));
	print_ns(usage->retry_after_ns);
	print_ns(usage->reset_after_ns);
	printf("%" PRIu64 "\t%.1f\t%s\t", usage->denied, usage->denied_rate,
	       limit_label(rl, item->rule, item->limit).text);
	output_key(stdout, &item->key);
	putchar('\n');
}

static void
print_json(struct list_format *form, const struct item *item, const char *reason)
{
	form->lines.rl = form->rl;
	fputs(form->count == 0 ? "\n    " : ",\n    ", stdout);
	item_line_write(stdout, &form->lines, item, reason);
}

/* The counts of several limits stand together if they are in the order of keys. */
static void
print_name(struct list_format *form, const struct key_view *key)
{
	if (!key->bytes || key->kept < key->len) {
		form->unnamed++;
		return;
	}
	if (form->last_len == key->len && memcmp(form->last, key->bytes, key->len) == 0)
		return;
	memcpy(form->last, key->bytes, key->len);
	form->last_len = key->len;
	if (form->kind == LIST_NULS)
		fwrite(key->bytes, 1, key->len, stdout);
	else
		output_word(stdout, key->bytes, key->len);
	putchar(form->kind == LIST_NULS ? '\0' : '\n');
}

void
list_format_item(const struct item *found, void *arg)
{
	struct list_format *form = arg;
	struct mask mask;
	const struct item out = shown(form, found, &mask), *item = &out;

	char *reason = NULL;

	if (form->kind == LIST_JSON || form->kind == LIST_LINES || form->kind == LIST_WIDE)
		reason = shown_reason(form, found);
	if (form->kind == LIST_JSON)
		print_json(form, item, reason);
	else if (form->kind >= LIST_WORDS)
		print_name(form, &item->key);
	else if (form->kind == LIST_TSV)
		print_tsv(form->rl, item);
	else if (form->table.columns > 0)
		list_table_print(&form->table, item);
	else
		print_line(form->rl, item, reason);
	free(reason);
	form->count++;
}

#define LINE_COLUMNS 80

/* They are in no list, for nobody knows which they are. */
static void
report_overflow(const struct list_format *form, const struct ranking *ranking)
{
	struct overflow_view view = overflow_view_read(form->rl, ranking->rule, rl_now(form->rl));
	char *line = overflow_view_line(form->rl, &view, LINE_COLUMNS);

	if (line)
		fprintf(stderr, "%s\n", line);
	free(line);
	overflow_view_free(&view);
}

static json_t *
json_overflow(const struct list_format *form, const struct ranking *ranking)
{
	struct overflow_view view = overflow_view_read(form->rl, ranking->rule, rl_now(form->rl));
	json_t *array = overflow_view_json(form->rl, &view);

	overflow_view_free(&view);
	return array;
}

static void
end_lines(const struct list_format *form, const struct ranking *ranking)
{
	/* The sum comes behind the keys, also where both go to one terminal. */
	if (!form->has_head || !output_flush())
		return;
	if (ranking->count < ranking->total)
		fprintf(stderr, "%zu of ", ranking->count);
	fprintf(stderr, "%" PRIu64 " live %s\n", ranking->total,
	        ranking->total == 1 ? "key" : "keys");
	if (form->is_unordered)
		fputs("as they lie, for there are many: --sort used has an order, -n 20 the "
		      "first\n",
		      stderr);
	if (ranking->cut > 0)
		fprintf(stderr, "of %" PRIu64 " only the first bytes are kept, and matched\n",
		        ranking->cut);
	report_overflow(form, ranking);
}

int
list_format_end(struct list_format *form, const struct ranking *ranking)
{
	if (ranking->unjudged > 0 && output_flush())
		complain("--match: of %" PRIu64 " keys no name is kept, and none was judged",
		         ranking->unjudged);
	if (form->kind == LIST_JSON) {
		output_json_close(stdout, form->count == 0);
		output_json_member(stdout, "total", json_count(ranking->total));
		output_json_member(stdout, "reserve", json_overflow(form, ranking));
		output_json_end(stdout);
	} else if (form->kind <= LIST_TSV) {
		end_lines(form, ranking);
	} else if (form->unnamed > 0) {
		complain("left out: %" PRIu64 " of which not all bytes are kept", form->unnamed);
		return EXIT_TROUBLE;
	}
	return EXIT_YES;
}
