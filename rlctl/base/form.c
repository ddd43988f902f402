/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/form.h"

#include <string.h>

#include "base/output.h"
#include "text/suggest.h"

static const char *const names[] = {"wide", "name", "tsv", "json", NULL};
static const enum form forms[] = {FORM_WIDE, FORM_NAME, FORM_TSV, FORM_JSON};

static bool
find(const struct context *context, const char *name, enum form *form)
{
	const char *near;

	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0) {
			*form = forms[i];
			return true;
		}
	near = suggest(name, names);
	complain("%s: unknown form '%s'%s%s%s; there are wide, name, tsv and json",
	         context->command->name, name, near ? "; did you mean '" : "", near ? near : "",
	         near ? "'?" : "");
	return false;
}

bool
form_read(const struct context *context, enum form *form)
{
	const char *name = option_value(context, "output");
	bool is_json = option_value(context, "json") != NULL;

	*form = is_json ? FORM_JSON : FORM_TEXT;
	if (name && !find(context, name, form))
		return false;
	if (is_json && *form != FORM_JSON) {
		complain("%s: --json and --output %s are two forms", context->command->name, name);
		return false;
	}
	if (!option_value(context, "null"))
		return true;
	if (*form != FORM_TEXT && *form != FORM_NAME) {
		complain("%s: --null is a form of names alone", context->command->name);
		return false;
	}
	*form = FORM_NULL;
	return true;
}
