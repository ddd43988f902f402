/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/overflow_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/output.h"
#include "base/rule.h"
#include "base/width.h"

struct reading {
	struct overflow_view view;
	int rule;
};

static int
keep(const struct rl_overflow_info *info, void *arg)
{
	struct reading *reading = arg;
	struct overflow_view *view = &reading->view;

	if (info->cells_used == 0 || (reading->rule != RL_ANY_RULE && reading->rule != info->rule))
		return 0;
	view->limits = array_grow(view->limits, view->count, &view->room, sizeof(*view->limits));
	view->limits[view->count++] = *info;
	view->cells += info->cells;
	view->used += info->cells_used;
	view->full += info->cells_full;
	if (info->denied_ppm > view->denied_ppm)
		view->denied_ppm = info->denied_ppm;
	return 0;
}

struct overflow_view
overflow_view_read(struct rl *rl, int rule, uint64_t now_ns)
{
	struct reading reading = {.rule = rule};

	rl_overflow_walk(rl, now_ns, keep, &reading);
	return reading.view;
}

void
overflow_view_free(struct overflow_view *view)
{
	free(view->limits);
	*view = (struct overflow_view){0};
}

struct denied_text
overflow_denied(uint32_t denied_ppm)
{
	uint32_t hundredths = denied_ppm / 100;
	struct denied_text denied;

	snprintf(denied.text, sizeof(denied.text), "%" PRIu32 ".%02" PRIu32 " %%", hundredths / 100,
	         hundredths % 100);
	return denied;
}

static void
print_limit(FILE *to, struct rl *rl, const struct rl_overflow_info *info)
{
	fprintf(to, " %s", limit_label(rl, info->rule, info->limit).text);
	if (info->denied_ppm > 0)
		fprintf(to, " (%s denied)", overflow_denied(info->denied_ppm).text);
}

char *
overflow_view_line(struct rl *rl, const struct overflow_view *view, size_t columns)
{
	char *line = NULL;
	size_t size;
	FILE *to;

	if (view->count == 0)
		return NULL;
	to = need(open_memstream(&line, &size));
	fprintf(to, "keys without a slot: %" PRIu64 " %s, %" PRIu64 " full, of", view->used,
	        view->used == 1 ? "overflow counter" : "overflow counters", view->full);
	for (size_t i = 0; i < view->count; i++) {
		fputs(i > 0 ? "," : "", to);
		print_limit(to, rl, &view->limits[i]);
	}
	fprintf(to, "%*s", ELLIPSIS_ROOM, "");
	fclose(to);
	line[size - ELLIPSIS_ROOM] = '\0';
	text_cut(line, columns);
	return line;
}

static json_t *
json_overflow(struct rl *rl, const struct rl_overflow_info *info)
{
	json_t *object = need(json_object());

	json_put(object, "rule", json_rule_name(rl, info->rule));
	json_put(object, "number", json_count(info->limit + UINT64_C(1)));
	json_put(object, "until_ns", json_count(info->until_ns));
	json_put(object, "cells", json_count(info->cells));
	json_put(object, "cells_used", json_count(info->cells_used));
	json_put(object, "cells_full", json_count(info->cells_full));
	json_put(object, "used_most", json_count(info->used_most));
	json_put(object, "capacity", json_count(info->capacity));
	json_put(object, "denied_ppm", json_count(info->denied_ppm));
	return object;
}

json_t *
overflow_view_json(struct rl *rl, const struct overflow_view *view)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < view->count; i++)
		json_push(array, json_overflow(rl, &view->limits[i]));
	return array;
}
