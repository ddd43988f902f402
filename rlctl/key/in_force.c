/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/in_force.h"

#include <stdio.h>

#include "base/form.h"
#include "base/rule.h"
#include "base/width.h"
#include "key/active_bans.h"

static void
write(const struct context *context, struct rl *rl, const struct in_force *of, enum form form)
{
	bool has_head = !option_value(context, "no-headers");

	if (form == FORM_JSON)
		output_json(of->json(rl, of->list));
	else if (form == FORM_TSV)
		of->tsv(rl, of->list, has_head);
	else if (form == FORM_NAME || form == FORM_NULL)
		of->names(of->list, form == FORM_NULL);
	else
		of->text(rl, of->list, form == FORM_WIDE, has_head);
}

int
in_force_show(const struct context *context, const struct in_force *of)
{
	enum form form;
	struct rl *rl = form_read(context, &form) ? open_segment(context) : NULL;
	int rule = rl ? rule_option(rl, context) : RULE_UNKNOWN;

	if (rule != RULE_UNKNOWN) {
		of->collect(context, rl, rule, of->list);
		write(context, rl, of, form);
	}
	rl_close(rl);
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
	if (reason && reason[0]) {
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

void
in_force_name(const void *text, size_t len, bool is_null)
{
	if (is_null)
		fwrite(text, 1, len, stdout);
	else
		output_word(stdout, text, len);
	putchar(is_null ? '\0' : '\n');
}
