/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/error_text.h"

#include <rl_admin.h>
#include <stdio.h>

struct error_text
error_text(int error)
{
	const char *remedy = rl_error_remedy(error);
	struct error_text out;

	snprintf(out.text, sizeof out.text, "%s%s%s", rl_strerror(error), remedy[0] ? ": " : "",
	         remedy);
	return out;
}
