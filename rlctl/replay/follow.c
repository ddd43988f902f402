/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/follow.h"

#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/interrupt.h"
#include "base/output.h"
#include "base/progress.h"
#include "replay/waiting.h"

#define PAUSE_NS (200 * RL_MILLISECOND) /* between looks at files that do not grow */

/* The state of following. */
struct following {
	struct follow *follow;
	struct reading **readings;
	char **files;
	size_t count;
	struct waiting waiting;
	uint64_t decided_ns; /* the latest time that has had its turn */
};

static void
append(struct following *f, struct event event)
{
	if (event.time_ns > f->decided_ns)
		f->decided_ns = event.time_ns;
	events_append(f->follow->events, event);
}

/* Let those go for which nothing is waited for any more. */
static void
release(struct following *f, uint64_t late_ns)
{
	const struct events *events = f->follow->events;

	while (f->waiting.count > 0 && events->last_ns - f->waiting.at[0].event.time_ns >= late_ns)
		append(f, waiting_take(&f->waiting));
}

static bool
add(struct following *f, const struct request *request)
{
	struct events *events = f->follow->events;
	struct event event = {request->time_ns, names_count(&events->names, request->key),
	                      request->spending.estimate};

	if (event.key == UINT32_MAX) {
		complain("too many keys");
		return false;
	}
	events_note(events, event.time_ns);
	if (event.time_ns >= f->decided_ns) {
		waiting_add(&f->waiting, event);
		release(f, f->follow->late_ns);
		return true;
	}
	f->follow->late++;
	append(f, event);
	return true;
}

/* Read all there is; *has_grown if there was anything. */
static bool
read_on(struct following *f, struct reading *reading, bool *has_grown)
{
	struct request request;
	int got;

	while ((got = reading_next(reading, &request)) > 0) {
		*has_grown = true;
		if (!add(f, &request))
			return false;
	}
	return got == 0;
}

/* The last line of a file that grows no more has its end. */
static bool
read_rest(struct following *f, struct reading *reading)
{
	bool ignored;

	reading->lines.is_growing = false;
	return read_on(f, reading, &ignored);
}

/* A log was rotated: what is left of the old one, and then the new one. */
static bool
replace(struct following *f, size_t i)
{
	struct reading *fresh;

	if (!input_is_replaced(f->readings[i]->lines.input))
		return true;
	fresh = reading_open(f->follow->intake, f->files[i], true);
	if (!fresh || !read_rest(f, f->readings[i])) {
		if (fresh)
			reading_close(fresh);
		return false;
	}
	reading_close(f->readings[i]);
	f->readings[i] = fresh;
	return true;
}

static bool
read_all(struct following *f, bool *has_grown, bool *is_ended)
{
	*has_grown = false;
	*is_ended = true;
	for (size_t i = 0; i < f->count; i++) {
		if (!read_on(f, f->readings[i], has_grown) || !replace(f, i))
			return false;
		*is_ended &= input_is_ended(f->readings[i]->lines.input);
	}
	return true;
}

/* Write the lines of what was released. */
static bool
decide(struct following *f)
{
	struct run *run = f->follow->run;

	return !run->wants_verdicts || (run_live(run) && output_flush());
}

static bool
watch(struct following *f)
{
	uint64_t idle_ns = 0;
	bool has_grown, is_ended;

	do {
		if (!read_all(f, &has_grown, &is_ended))
			return false;
		idle_ns = has_grown ? 0 : idle_ns + PAUSE_NS;
		if (idle_ns >= f->follow->late_ns)
			release(f, 0);
		if (!decide(f))
			return false;
		progress_show("following, request", f->follow->events->count + f->waiting.count);
	} while (!is_ended && !interrupt_came() && interrupt_sleep(PAUSE_NS));
	for (size_t i = 0; i < f->count; i++)
		if (!read_rest(f, f->readings[i]))
			return false;
	release(f, 0);
	return decide(f);
}

static bool
open_all(struct following *f)
{
	for (size_t i = 0; i < f->count; i++) {
		f->readings[i] = reading_open(f->follow->intake, f->files[i], true);
		if (!f->readings[i])
			return false;
	}
	return true;
}

bool
follow(struct follow *follow, char **files, size_t count)
{
	struct following f = {
		.follow = follow,
		.readings = need(calloc(count, sizeof(struct reading *))),
		.files = files,
		.count = count,
	};
	bool is_done;

	interrupt_catch();
	is_done = open_all(&f) && watch(&f);
	progress_erase();
	for (size_t i = 0; i < count && f.readings[i]; i++)
		reading_close(f.readings[i]);
	free(f.readings);
	free(f.waiting.at);
	run_end(follow->run);
	return is_done;
}
