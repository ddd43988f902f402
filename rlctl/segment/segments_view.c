/* SPDX-License-Identifier: BSD-2-Clause */

#include "segment/segments_view.h"

#include <rl_admin.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/process.h"
#include "base/segment_names.h"
#include "base/truncation.h"

#define SPAN (200 * RL_MILLISECOND) /* between the two looks */
#define HEARTBEAT_LATE (10 * RL_SECOND)
#define FULL_PERCENT 75 /* from here on keys find no slot */

static struct rl *
open_one(const char *name, int *error)
{
	struct rl_options options = {.flags = RL_OPEN_READONLY | RL_OPEN_EXISTING};
	struct rl *rl;

	*error = rl_open(name, &options, &rl);
	return *error < 0 ? NULL : rl;
}

static enum segment_health
judge(const struct segment_view *segment)
{
	if (segment->info.sweeper != 0 &&
	    (segment->heartbeat_ns > HEARTBEAT_LATE || !process_is_running(segment->info.sweeper)))
		return SEGMENT_UNSWEPT;
	return segment->fill * 100 >= segment->info.slots * FULL_PERCENT ? SEGMENT_FULL
	                                                                 : SEGMENT_OK;
}

static void
read_one(struct segment_view *segment, struct rl *rl)
{
	struct rl_info *info = &segment->info;

	rl_info(rl, info);
	segment->now_ns = rl_now(rl);
	segment->fill = rl_fill(rl);
	if (info->sweeper != 0 && segment->now_ns > info->heartbeat_ns)
		segment->heartbeat_ns = segment->now_ns - info->heartbeat_ns;
	segment->counts = counts_read(rl, RL_ANY_RULE);
	segment->health = judge(segment);
}

static void
look_first(void *arg)
{
	struct segment_view *segment = arg;
	struct rl *rl = open_one(segment->name, &segment->error);

	if (!rl)
		return;
	segment->before = counts_read(rl, RL_ANY_RULE);
	rl_close(rl);
}

static void
look_again(void *arg)
{
	struct segment_view *segment = arg;
	struct rl *rl = open_one(segment->name, &segment->error);

	if (!rl) {
		segment->health = SEGMENT_CLOSED;
		return;
	}
	read_one(segment, rl);
	rl_close(rl);
}

/* One that is truncated meanwhile, as its owner may do, hides none of the others. */
static void
look(struct segment_view *segment, void (*at)(void *))
{
	if (truncation_survive(at, segment))
		return;
	*segment = (struct segment_view){.name = segment->name,
	                                 .error = RL_ETRUNCATED,
	                                 .health = SEGMENT_CLOSED,
	                                 .before = segment->before};
}

struct segments_view
segments_view_read(void)
{
	struct segment_names names = segment_names_find();
	struct segments_view view = {.count = names.count};

	view.at = need(calloc(names.count + 1, sizeof(*view.at)));
	for (size_t i = 0; i < view.count; i++) {
		view.at[i].name = need(strdup(names.at[i]));
		look(&view.at[i], look_first);
	}
	if (view.count > 0)
		interrupt_sleep(SPAN);
	for (size_t i = 0; i < view.count; i++)
		look(&view.at[i], look_again);
	segment_names_free(&names);
	return view;
}

void
segments_view_free(struct segments_view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		free(view->at[i].name);
		counts_free(&view->at[i].before);
		counts_free(&view->at[i].counts);
	}
	free(view->at);
}

const char *
segment_health_name(enum segment_health health)
{
	switch (health) {
	case SEGMENT_OK:
		return "ok";
	case SEGMENT_FULL:
		return "full";
	case SEGMENT_UNSWEPT:
		return "rld late";
	case SEGMENT_CLOSED:
		break;
	}
	return "refused";
}

uint64_t
segment_denied(const struct segment_view *segment, uint64_t *rate, uint64_t *span_ns)
{
	uint64_t values[RL_COUNTERS];

	*rate = 0;
	*span_ns = segment->counts.at_ns - segment->before.at_ns;
	for (size_t i = 0; i < segment->counts.count; i++) {
		counts_since(&segment->counts.rules[i], &segment->before, values);
		*rate += values[RL_COUNT_denied];
	}
	counts_total(&segment->counts, values);
	return values[RL_COUNT_denied];
}

static json_t *
json_segment(const struct segment_view *segment)
{
	json_t *object = need(json_object());
	uint64_t rate, span_ns, denied = segment_denied(segment, &rate, &span_ns);
	bool is_open = segment->error == 0;

	json_put(object, "name", json_text(segment->name));
	json_put(object, "health", json_text(segment_health_name(segment->health)));
	json_put(object, "error", is_open ? json_null() : json_text(rl_strerror(segment->error)));
	json_put(object, "keys", json_count(segment->fill));
	json_put(object, "slots", json_count(segment->info.slots));
	json_put(object, "rules", json_count(segment->info.rules_used));
	json_put(object, "denied", json_count(denied));
	json_put(object, "denied_lately", json_count(rate));
	json_put(object, "span_ns", json_count(span_ns));
	json_put(object, "created_ns", json_count(segment->info.created_ns));
	json_put(object, "heartbeat_age_ns",
	         segment->info.sweeper != 0 ? json_count(segment->heartbeat_ns) : json_null());
	return object;
}

json_t *
segments_view_json(const struct segments_view *view)
{
	json_t *root = need(json_object()), *array = need(json_array());

	json_put(root, "segments", array);
	for (size_t i = 0; i < view->count; i++)
		json_push(array, json_segment(&view->at[i]));
	return root;
}
