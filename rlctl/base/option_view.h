/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_OPTION_VIEW_H
#define RLCTL_OPTION_VIEW_H

#include <jansson.h>
#include <rl_fields.h>

/* An option of a segment: its word, or its number; 0: none of it. */
json_t *json_option(const struct rl_field *field, const struct rl_options *options);

#endif
