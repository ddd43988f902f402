/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/in_force.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/form.h"
#include "base/rule.h"
#include "base/width.h"

static void
write_text(struct rl *rl, const struct in_force *of, const struct active_bans *found, bool is_wide,
           bool has_head)
{
	size_t columns = is_wide ? 0 : terminal_columns();

	if (found->count > 0 && has_head)
		of->head(is_wide);
	for (size_t i = 0; i < found->count; i++)
		of->line(rl, &found->items[i], found->now_ns, is_wide, columns);
	if (has_head)
		printf("%zu in force\n", found->count);
}

/* As a word of a shell on a line of its own, or as it is with a NUL. */
static void
write_name(const struct active_ban *one, bool is_null)
{
	char text[RL_KEY_MAX + 1];
	size_t len = one->key.len;

	memcpy(text, one->key.bytes, len);
	if (one->match == RL_MATCH_PREFIX)
		text[len++] = '*';
	if (is_null)
		fwrite(text, 1, len, stdout);
	else
		output_word(stdout, text, len);
	putchar(is_null ? '\0' : '\n');
}

/*
 * What the verb that lifts them takes, so none of the configuration, and none of which not all
 * bytes are kept.
 */
static void
write_names(const struct active_bans *found, bool is_null)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct active_ban *one = &found->items[i];

		if (!one->is_configured && one->key.bytes && one->key.kept >= one->key.len)
			write_name(one, is_null);
	}
}

static void
write_json(struct rl *rl, const struct in_force *of, const struct active_bans *found)
{
	json_t *root = need(json_object()), *array = need(json_array());

	json_put(root, of->name, array);
	for (size_t i = 0; i < found->count; i++)
		json_push(array, of->json(rl, &found->items[i]));
	output_json(root);
}

static void
write(struct rl *rl, const struct in_force *of, const struct active_bans *found, enum form form,
      bool has_head)
{
	if (form == FORM_JSON) {
		write_json(rl, of, found);
	} else if (form == FORM_NAME || form == FORM_NULL) {
		write_names(found, form == FORM_NULL);
	} else if (form == FORM_TSV) {
		if (has_head)
			puts(of->tsv_head);
		for (size_t i = 0; i < found->count; i++)
			of->tsv(rl, &found->items[i]);
	} else {
		write_text(rl, of, found, form == FORM_WIDE, has_head);
	}
}

int
in_force_show(const struct context *context, const struct in_force *of)
{
	enum form form;
	struct rl *rl = form_read(context, &form) ? open_segment(context) : NULL;
	int rule = rl ? rule_option(rl, context) : RULE_UNKNOWN;

	if (rule != RULE_UNKNOWN) {
		struct active_bans found = of->collect(context, rl, rule);

		write(rl, of, &found, form, !option_value(context, "no-headers"));
		active_bans_free(&found);
	}
	return rule == RULE_UNKNOWN ? EXIT_TROUBLE : EXIT_YES;
}

char *
in_force_tail(const char *rule, enum rl_match match, const struct key_view *key, const char *reason,
              size_t columns)
{
	char *text = NULL;
	size_t size;
	FILE *out = need(open_memstream(&text, &size));

	fprintf(out, "%s  ", rule);
	pattern_print(out, match, key);
	if (reason) {
		fputs("  ", out);
		reason_print(out, reason);
	}
	fprintf(out, "%*s", ELLIPSIS_ROOM, "");
	fclose(out);
	text[size - ELLIPSIS_ROOM] = '\0';
	if (columns > 0)
		text_cut(text, columns);
	return text;
}
