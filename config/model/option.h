/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_OPTION_H
#define CONFIG_OPTION_H

/* Options of a segment, by their list, as a file and people have them. */

#include <rl_fields.h>

/* The number of an option: 0 where it asks for none. */
uint64_t option_number(const struct rl_field *field, const struct rl_options *options);

struct option_text {
	char text[64];
};

/* As a file has it, but without quotes: "reserve", "0660", "10s", "512". Of a group its number. */
struct option_text option_format(const struct rl_field *field, const struct rl_options *options);

#endif
