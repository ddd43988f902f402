/* SPDX-License-Identifier: BSD-2-Clause */
#include "periodic.h"

#include <stdlib.h>

#include "base/clock.h"
#include "loop/notify.h"

/* A removed segment is swept for nobody, and who starts next makes another. */
static void
beat(struct daemon *d, uint64_t now_ns)
{
	(void)now_ns;
	rl_heartbeat_at(d->segment.rl, rl_now(d->segment.rl));
	if (!segment_is_gone(&d->segment))
		return;
	log_line(LOG_ERR, "segment '%s' was removed: ending, to be started again with a new one",
	         d->config->name);
	d->status = EXIT_TROUBLE;
}

/* A daemon that does not answer any more is as good as a hung one. */
static void
feed_watchdog(struct daemon *d, uint64_t now_ns)
{
	if (d->http)
		probe_start(&d->probe, now_ns);
	else
		notify_watchdog();
}

static void
look(struct daemon *d, uint64_t now_ns)
{
	char text[WATCH_TEXT];

	watch_look(&d->watch, sweeper_used(&d->sweeper), now_ns, text);
	notify_status(text);
}

void
periodic_write_textfile(struct daemon *d)
{
	struct report report = {d->segment.rl, &d->sweeper, &d->loads, &d->sharing};
	size_t size;
	char *text;
	int error;

	if (!d->textfile.path)
		return;
	text = report_text(&report, &size);
	error = text ? textfile_write(&d->textfile, text, size) : -ENOMEM;
	free(text);
	if (error < 0 && log_may(&d->textfile_pace, clock_monotonic_ns()))
		log_line(LOG_WARNING, "%s: %s; what is there is old, and is tried again",
		         d->textfile.path, new_file_strerror(error));
}

static void
write_textfile(struct daemon *d, uint64_t now_ns)
{
	(void)now_ns;
	periodic_write_textfile(d);
}

static void
hand_on_events(struct daemon *d, uint64_t now_ns)
{
	events_run(&d->events, now_ns);
}

void
periodic_keep_bans(struct daemon *d, bool in_any_case)
{
	int error = bans_file_keep(&d->bans, d->segment.rl, in_any_case);

	if (error < 0 && (in_any_case || log_may(&d->bans_pace, clock_monotonic_ns())))
		log_line(LOG_WARNING, "--bans-file %s: %s; what is there is old%s", d->bans.path,
		         new_file_strerror(error), in_any_case ? "" : ", and is tried again");
}

static void
keep_bans(struct daemon *d, uint64_t now_ns)
{
	(void)now_ns;
	periodic_keep_bans(d, false);
}

static void
keep_counters(struct daemon *d, uint64_t now_ns)
{
	counters_file_run(&d->counters, d->segment.rl, now_ns);
}

static void
look_for_changes(struct daemon *d, uint64_t now_ns)
{
	(void)now_ns;
	audit_look(&d->audit, d->segment.rl);
}

static struct task {
	uint64_t every_ns;
	void (*run)(struct daemon *d, uint64_t now_ns);
	uint64_t due_ns; /* 0: at once */
} tasks[] = {
	{RL_SECOND, beat, 0},          {RL_SECOND, hand_on_events, 0},
	{5 * RL_SECOND, look, 0},      {15 * RL_SECOND, write_textfile, 0},
	{5 * RL_SECOND, keep_bans, 0}, {RL_SECOND, look_for_changes, 0},
	{RL_SECOND, keep_counters, 0}, {0, feed_watchdog, 0}, /* as the service manager says */
};

static uint64_t
run_one(struct task *task, struct daemon *d, uint64_t now_ns)
{
	uint64_t every_ns = task->every_ns > 0 ? task->every_ns : notify_watchdog_ns();

	if (now_ns < task->due_ns)
		return task->due_ns;
	if (every_ns == UINT64_MAX)
		task->due_ns = UINT64_MAX;
	else
		task->due_ns = now_ns + every_ns;
	if (task->due_ns != UINT64_MAX)
		task->run(d, now_ns);
	return task->due_ns;
}

uint64_t
periodic_run(struct daemon *d, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
		uint64_t due = run_one(&tasks[i], d, now_ns);
		next = due < next ? due : next;
	}
	return next;
}
