/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"
int
picture_draw(const json_t *report, FILE *out)
{
	(void)report;
	(void)out;
	return 0;
}
