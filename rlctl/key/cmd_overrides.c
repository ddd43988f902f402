/* SPDX-License-Identifier: BSD-2-Clause */
/* overrides: the limits that keys have for a time. */

#include <inttypes.h>
#include <string.h>

#include "base/command.h"
#include "base/form.h"
#include "base/rule.h"
#include "base/user.h"
#include "base/watch.h"
#include "base/width.h"
#include "key/active_bans.h"
#include "key/timed.h"
#include "text/duration.h"

const struct command_option overrides_options[] = {
	{"rule", 'r', "RULE", "of this rule"},
	FORM_OPTIONS,
	WATCH_OPTIONS(0),
	{0},
};

/* Rule, key and reason, in so many columns; 0: as many as it takes. To be freed. */
static char *
tail_text(struct rl *rl, const struct timed *timed, size_t columns)
{
	char *text = NULL;
	size_t size;
	FILE *out = need(open_memstream(&text, &size));

	fprintf(out, "%s  ", limit_label(rl, timed->rule, timed->limit).text);
	output_key(out, &timed->key);
	if (timed->reason[0]) {
		fputs("  ", out);
		reason_print(out, timed->reason);
	}
	fprintf(out, "%*s", ELLIPSIS_ROOM, "");
	fclose(out);
	text[size - ELLIPSIS_ROOM] = '\0';
	if (columns > 0)
		text_cut(text, columns);
	return text;
}

#define TAIL_COLUMN 53 /* where a rule begins */

static void
print_one(struct rl *rl, const struct timed *timed, uint64_t now_ns, size_t columns)
{
	char *tail = tail_text(rl, timed, columns > TAIL_COLUMN ? columns - TAIL_COLUMN : 0);
	uint64_t age_ns = now_ns > timed->since_ns ? now_ns - timed->since_ns : 0;

	printf("%8s  %11s  %11s  %7s  %-6s  %s\n",
	       duration_format(timed_left_ns(timed->until_ns, now_ns)).text,
	       timed_rate(rl, timed->rule, timed->limit, timed->capacity).text,
	       timed_rate_before(rl, timed->rule, timed->limit).text,
	       timed->has_note ? duration_format(age_ns).text : "-",
	       timed->has_note ? user_format(timed->author).text : "-", tail);
	free(tail);
}

static void
write_text(struct rl *rl, const struct timed_list *found, bool is_wide, bool has_head)
{
	size_t columns = is_wide ? 0 : terminal_columns();

	if (found->count > 0 && has_head)
		printf("%8s  %11s  %11s  %7s  %-6s  rule  key  reason\n", "left", "limit", "else",
		       "set", "by");
	for (size_t i = 0; i < found->count; i++)
		print_one(rl, &found->items[i], found->now_ns, columns);
	if (has_head)
		printf("%zu in force\n", found->count);
}

static void
write_names(const struct timed_list *found, bool is_null)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct key_view *key = &found->items[i].key;

		if (!key->bytes || key->kept < key->len)
			continue;
		if (is_null)
			fwrite(key->bytes, 1, key->len, stdout);
		else
			output_word(stdout, key->bytes, key->len);
		putchar(is_null ? '\0' : '\n');
	}
}

static void
write_tsv(struct rl *rl, const struct timed_list *found, bool has_head)
{
	if (has_head)
		puts("capacity\tuntil_ns\tsince_ns\tauthor\treason\trule\tkey");
	for (size_t i = 0; i < found->count; i++) {
		const struct timed *timed = &found->items[i];

		printf("%" PRIu32 "\t%" PRIu64, timed->capacity, timed->until_ns);
		if (timed->has_note)
			printf("\t%" PRIu64 "\t%" PRIu32 "\t", timed->since_ns, timed->author);
		else
			fputs("\t\t\t", stdout);
		output_bytes(stdout, timed->reason, strlen(timed->reason));
		printf("\t%s\t", limit_label(rl, timed->rule, timed->limit).text);
		output_key(stdout, &timed->key);
		putchar('\n');
	}
}

static void
write_json(struct rl *rl, const struct timed_list *found)
{
	json_t *root = need(json_object()), *array = need(json_array());

	json_put(root, "overrides", array);
	for (size_t i = 0; i < found->count; i++)
		json_push(array, timed_json(rl, &found->items[i]));
	output_json(root);
}

static void
write(const struct context *context, struct rl *rl, const struct timed_list *found, enum form form)
{
	bool has_head = !option_value(context, "no-headers");

	if (form == FORM_JSON)
		write_json(rl, found);
	else if (form == FORM_TSV)
		write_tsv(rl, found, has_head);
	else if (form == FORM_NAME || form == FORM_NULL)
		write_names(found, form == FORM_NULL);
	else
		write_text(rl, found, form == FORM_WIDE, has_head);
}

static int
show(const struct context *context)
{
	struct timed_list found;
	enum form form;
	struct rl *rl = form_read(context, &form) ? open_segment(context) : NULL;
	int rule = rl ? rule_option(rl, context) : RULE_UNKNOWN;

	if (rule == RULE_UNKNOWN) {
		rl_close(rl);
		return EXIT_TROUBLE;
	}
	found = timed_collect(rl, rule, NULL);
	write(context, rl, &found, form);
	timed_free(&found);
	rl_close(rl);
	return EXIT_YES;
}

int
run_overrides(const struct context *context)
{
	return watch_run(context, show);
}
