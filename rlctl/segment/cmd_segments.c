/* SPDX-License-Identifier: BSD-2-Clause */
/* segments: all segments of this host, a line for each. */

#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/escape.h"
#include "base/form.h"
#include "base/output.h"
#include "base/watch.h"
#include "segment/overview.h"

const struct command_option segments_options[] = {
	FORM_OPTIONS,
	WATCH_OPTIONS(0),
	{0},
};

static void
write_names(const struct segments_view *view, char end)
{
	for (size_t i = 0; i < view->count; i++)
		printf("%s%c", view->at[i].name, end);
}

static void
write_tsv(const struct segments_view *view, bool has_head)
{
	if (has_head)
		puts("name\tkeys\tslots\tdenied\tdenied_lately\tspan_ns\theartbeat_age_ns\tcreated_"
		     "ns\thealth");
	for (size_t i = 0; i < view->count; i++) {
		const struct segment_view *segment = &view->at[i];
		uint64_t rate, span_ns, denied = segment_denied(segment, &rate, &span_ns);

		printf("%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%s\n", segment->name,
		       (unsigned long long)segment->fill, (unsigned long long)segment->info.slots,
		       (unsigned long long)denied, (unsigned long long)rate,
		       (unsigned long long)span_ns, (unsigned long long)segment->heartbeat_ns,
		       (unsigned long long)segment->info.created_ns,
		       segment_health_name(segment->health));
	}
}

static int
show(const struct context *context)
{
	bool has_head = !option_value(context, "no-headers");
	struct segments_view view;
	enum form form;

	if (!form_read(context, &form))
		return EXIT_TROUBLE;
	view = segments_view_read();
	if (form == FORM_JSON)
		output_json(segments_view_json(&view));
	else if (form == FORM_TSV)
		write_tsv(&view, has_head);
	else if (form == FORM_NAME || form == FORM_NULL)
		write_names(&view, form == FORM_NAME ? '\n' : '\0');
	else
		overview_print(&view, has_head, form == FORM_WIDE ? SIZE_MAX : 0);
	segments_view_free(&view);
	return EXIT_YES;
}

int
run_segments(const struct context *context)
{
	return watch_run(context, show);
}
