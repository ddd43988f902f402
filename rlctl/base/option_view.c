/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/option_view.h"

#include <model/option.h>

#include "base/output.h"

json_t *
json_option(const struct rl_field *field, const struct rl_options *options)
{
	return field->words ? json_text(option_format(field, options).text)
	                    : json_count(option_number(field, options));
}
