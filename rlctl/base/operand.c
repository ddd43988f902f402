/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/operand.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/output.h"

bool
pattern_operand(const struct context *context, struct pattern_text *out)
{
	const char *text = context->operands[0];
	bool is_exact = option_value(context, "exact") != NULL;
	const char *wrong;
	char *shown;

	if (!key_need(strlen(text)))
		return false;
	wrong = is_exact ? pattern_exact(text, strlen(text), out)
	                 : pattern_parse(text, strlen(text), out);
	if (!wrong)
		return true;
	shown = escape(text, strlen(text));
	complain("%s: '%s' %s; with --exact it is the key of this very name",
	         context->command->name, shown, wrong);
	free(shown);
	return false;
}
