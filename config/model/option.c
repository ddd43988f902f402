/* SPDX-License-Identifier: BSD-2-Clause */

#include "model/option.h"

#include <inttypes.h>
#include <stdio.h>

#include "text/duration.h"

uint64_t
option_number(const struct rl_field *field, const struct rl_options *options)
{
	uint64_t number = rl_field_get(field, options);

	return field->none > 0 && number == field->none ? 0 : number;
}

struct option_text
option_format(const struct rl_field *field, const struct rl_options *options)
{
	uint64_t number = option_number(field, options);
	struct option_text out;
	size_t size = sizeof(out.text);

	if (field->words)
		snprintf(out.text, size, "%s",
		         number <= field->most ? field->words[number] : "unknown");
	else if (field->kind == RL_FIELD_DURATION)
		snprintf(out.text, size, "%s", duration_exact(number).text);
	else if (field->offset == offsetof(struct rl_options, mode))
		snprintf(out.text, size, "%04o", (unsigned)number & 0777U);
	else
		snprintf(out.text, size, "%" PRIu64, number);
	return out;
}
