/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/list_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/colour.h"
#include "base/rule.h"
#include "base/width.h"
#include "text/duration.h"

#define KEY_ROOM 24 /* what a long key is given before the last columns stay */
#define KEY_LEAST 8
#define RULE_ROOM 16 /* the same of a rule, if there are long keys */

static const struct {
	const char *name;
	const char *before;
	bool is_left;
} heads[LIST_COLUMNS] = {
	[LIST_USED] = {"used", "", false},
	[LIST_LIMIT] = {"limit", "/", true},
	[LIST_REMAINING] = {"remaining", "  ", false},
	[LIST_STATE] = {"state", "  ", true},
	[LIST_RETRY] = {"retry", "  ", false},
	[LIST_RESET] = {"reset", "  ", false},
	[LIST_DENIED] = {"denied", "  ", false},
	[LIST_RATE] = {"/s", "  ", false},
	[LIST_RULE] = {"rule", "  ", true},
};

struct cells {
	char text[LIST_COLUMNS][RL_NAME_MAX + 32];
};

struct list_table
list_table_open(struct rl *rl, size_t columns)
{
	struct list_table table = {.rl = rl, .columns = columns, .key = strlen("key")};

	for (int i = 0; i < LIST_COLUMNS; i++) {
		table.width[i] = strlen(heads[i].name);
		table.is_shown[i] = true;
	}
	return table;
}

static struct cells
cells_of(struct rl *rl, const struct item *item)
{
	const struct usage *usage = &item->usage;
	struct cells out;

	snprintf(out.text[LIST_USED], sizeof(out.text[0]), "%" PRIu64, usage->used);
	snprintf(out.text[LIST_LIMIT], sizeof(out.text[0]), "%" PRIu32, usage->limit);
	snprintf(out.text[LIST_REMAINING], sizeof(out.text[0]), "%" PRIu32, usage->remaining);
	if (usage->is_counter) {
		strcpy(out.text[LIST_LIMIT], "-");
		strcpy(out.text[LIST_REMAINING], "-");
	}
	snprintf(out.text[LIST_STATE], sizeof(out.text[0]), "%s", usage_state(usage));
	strcpy(out.text[LIST_RETRY], usage_retry(usage).text);
	strcpy(out.text[LIST_RESET], usage_reset(usage).text);
	usage_denied(usage, out.text[LIST_DENIED]);
	usage_denied_rate(usage, out.text[LIST_RATE]);
	strcpy(out.text[LIST_RULE], limit_label(rl, item->rule, item->limit).text);
	return out;
}

void
list_table_measure(struct list_table *table, const struct item *item)
{
	struct cells cells = cells_of(table->rl, item);
	char *key = key_text(&item->key);
	size_t columns = text_columns(key);

	free(key);
	if (columns > table->key)
		table->key = columns;
	for (int i = 0; i < LIST_COLUMNS; i++) {
		columns = text_columns(cells.text[i]);
		if (columns > table->width[i])
			table->width[i] = columns;
	}
}

/* The columns before the key. */
static size_t
taken(const struct list_table *table)
{
	size_t columns = 2;

	for (int i = 0; i < LIST_COLUMNS; i++)
		if (table->is_shown[i])
			columns += strlen(heads[i].before) + table->width[i];
	return columns;
}

static void
hide_unless(struct list_table *table, enum list_column column, size_t key)
{
	if (taken(table) + key > table->columns)
		table->is_shown[column] = false;
}

void
list_table_fit(struct list_table *table)
{
	size_t room, least = table->key < KEY_ROOM ? table->key : KEY_ROOM;

	hide_unless(table, LIST_REMAINING, table->key);
	hide_unless(table, LIST_RESET, table->key);
	hide_unless(table, LIST_RATE, table->key);
	if (taken(table) + least > table->columns && table->width[LIST_RULE] > RULE_ROOM)
		table->width[LIST_RULE] = RULE_ROOM;
	hide_unless(table, LIST_DENIED, least);
	hide_unless(table, LIST_RETRY, least);
	room = table->columns > taken(table) ? table->columns - taken(table) : 0;
	table->key = room > KEY_LEAST ? room : KEY_LEAST;
}

static void
print_cell(const struct list_table *table, enum list_column column, const char *text,
           enum colour colour)
{
	size_t columns = text_columns(text), width = table->width[column];
	int blanks = width > columns ? (int)(width - columns) : 0;

	if (!table->is_shown[column])
		return;
	printf("%s%*s%s%s%s%*s", heads[column].before, heads[column].is_left ? 0 : blanks, "",
	       colour_begin(colour), text, colour_end(colour), heads[column].is_left ? blanks : 0,
	       "");
}

void
list_table_head(const struct list_table *table)
{
	for (int i = 0; i < LIST_COLUMNS; i++)
		print_cell(table, (enum list_column)i, heads[i].name, COLOUR_PLAIN);
	puts("  key");
}

void
list_table_print(const struct list_table *table, const struct item *item)
{
	struct cells cells = cells_of(table->rl, item);
	char *key = key_text(&item->key);

	text_cut(cells.text[LIST_RULE], table->width[LIST_RULE]);
	text_cut(key, table->key);
	for (int i = 0; i < LIST_COLUMNS; i++)
		print_cell(table, (enum list_column)i, cells.text[i],
		           i == LIST_STATE ? usage_colour(&item->usage) : COLOUR_PLAIN);
	printf("  %s\n", key);
	free(key);
}
