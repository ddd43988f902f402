/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdlib.h>

#include "base/escape.h"
#include "base/limit_view.h"
#include "base/output.h"
#include "replay/report.h"
#include "replay/tally.h"

static json_t *
json_name(const struct name *name)
{
	const struct key_view view = {.bytes = name->bytes, .kept = name->len, .len = name->len};
	json_t *object = need(json_object());

	json_put_key(object, &view);
	return object;
}

static json_t *
json_examples(const struct names *names)
{
	json_t *array = need(json_array());

	for (uint32_t i = 0; i < names->count && i < EXAMPLES; i++) {
		const struct name *name = names_at(names, i);
		char *text = escape(name->bytes, name->len);

		json_push(array, json_text(text));
		free(text);
	}
	return array;
}

static json_t *
json_warnings(const struct report_of *report)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < report->warning_count; i++)
		json_push(array, json_text(report->warnings[i]));
	return array;
}

void
report_put_intake(const struct report_of *report, json_t *root)
{
	const struct events *events = report->events;
	const struct intake *intake = report->intake;

	json_put(root, "format", json_text(intake->format));
	json_put(root, "key_field", json_text(intake->ask->key_text));
	json_put(root, "examples", json_examples(&events->names));
	json_put(root, "warnings", json_warnings(report));
	json_put(root, "requests", json_count(events->count));
	json_put(root, "keys", json_count(events->names.count));
	json_put(root, "unreadable", json_count(intake->unreadable));
	json_put(root, "other", json_count(intake->other));
	json_put(root, "filtered", json_count(intake->filtered));
	json_put(root, "without_key", json_count(intake->without_key));
	json_put(root, "out_of_order", json_count(events->out_of_order));
	json_put(root, "step_back_ns", json_count(events->step_back_ns));
	json_put(root, "late", json_count(report->late));
	json_put(root, "first_ns", json_count(events->first_ns));
	json_put(root, "last_ns", json_count(events->last_ns));
}

static json_t *
json_top(const struct report_of *report, const struct candidate *candidate)
{
	struct report_of own = *report;
	json_t *array = need(json_array());
	uint32_t *top;
	size_t count;

	own.candidates = (struct candidate *)candidate;
	own.candidate_count = 1;
	top = report_top(&own, &count);
	for (size_t i = 0; i < count; i++) {
		const struct name *name = names_at(&report->events->names, top[i]);
		const struct denied_key *denied = tally_of(candidate, top[i]);
		json_t *object = json_name(name);

		json_put(object, "requests", json_count(name->requests));
		json_put(object, "denied", json_count(denied->denied));
		json_put(object, "denied_ns", json_count(denied->denied_ns));
		json_push(array, object);
	}
	free(top);
	return array;
}

static json_t *
json_limits(const struct candidate *candidate)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < candidate_limits(candidate); i++) {
		json_t *object = need(json_object());

		json_put(object, "shape", json_limit(candidate_limit(candidate, i)));
		json_put(object, "denials", json_count(candidate->denied_by[i]));
		json_push(array, object);
	}
	return array;
}

/* A candidate's results; those of the only one stand at the top of the document. */
static void
put_outcome(const struct report_of *report, const struct candidate *candidate, json_t *object)
{
	json_put(object, "limits", json_limits(candidate));
	json_put(object, "admitted", json_count(candidate->admitted));
	json_put(object, "denied", json_count(candidate->denied));
	json_put(object, "keys_denied", json_count(candidate->keys_denied));
	json_put(object, "undecided", json_count(candidate->undecided));
	json_put(object, "banned", json_count(candidate->banned));
	json_put(object, "exempt", json_count(candidate->exempt));
	json_put(object, "shadow_denied", json_count(candidate->shadow_denied));
	json_put(object, "delayed", json_count(candidate->delayed));
	json_put(object, "delay_ns", json_count(candidate->delay_ns));
	json_put(object, "delay_most_ns", json_count(candidate->delay_most_ns));
	json_put(object, "settle_charged", json_count(candidate->settle_charged));
	json_put(object, "settle_given", json_count(candidate->settle_given));
	json_put(object, "settle_debt", json_count(candidate->settle_debt));
	json_put(object, "settle_late", json_count(candidate->settle_late));
	json_put(object, "table_bytes", json_count(candidate->table_bytes));
	json_put(object, "top", json_top(report, candidate));
	json_put(object, "chart_width_ns", json_count(candidate->chart.width_ns));
	json_put(object, "chart", chart_json(&candidate->chart));
}

static json_t *
json_candidate(const struct report_of *report, const struct candidate *candidate)
{
	json_t *object = need(json_object());

	json_put(object, "candidate", json_text(candidate->label));
	json_put(object, "denied_not_by_first", json_count(candidate->denied_more));
	json_put(object, "denied_only_by_first", json_count(candidate->denied_less));
	put_outcome(report, candidate, object);
	return object;
}

void
report_json(const struct report_of *report)
{
	json_t *root = need(json_object()), *array;

	report_put_intake(report, root);
	if (report->candidate_count == 1) {
		put_outcome(report, &report->candidates[0], root);
	} else {
		array = need(json_array());
		for (size_t i = 0; i < report->candidate_count; i++)
			json_push(array, json_candidate(report, &report->candidates[i]));
		json_put(root, "candidates", array);
	}
	output_json(root);
}
