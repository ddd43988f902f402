/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/watch.h"

#include <rl_admin.h>
#include <stdio.h>

#include "base/colour.h"
#include "base/interrupt.h"
#include "base/number.h"
#include "base/output.h"
#include "text/duration.h"

#define INTERVAL_MIN (10 * RL_MILLISECOND)

static bool
read_interval(const char *text, uint64_t *interval_ns)
{
	const char *wrong = duration_parse(text, interval_ns);

	if (!wrong && *interval_ns < INTERVAL_MIN)
		wrong = "is less than 10ms";
	if (wrong)
		complain("--interval: '%s' %s", text, wrong);
	return !wrong;
}

bool
watch_read(const struct context *context, struct watch *watch)
{
	const char *interval = option_value(context, "interval");
	const char *count = option_value(context, "count");

	*watch = (struct watch){.is_on = option_value(context, "watch") != NULL,
	                        .interval_ns = RL_SECOND};
	if ((interval || count) && !watch->is_on) {
		complain("%s: --interval and --count go with --watch", context->command->name);
		return false;
	}
	return (!interval || read_interval(interval, &watch->interval_ns)) &&
	       (!count || number_need("--count", count, 1, UINT32_MAX, &watch->count));
}

static void
begin_frame(uint64_t number)
{
	if (terminal_is_smart())
		fputs("\033[H\033[2J", stdout);
	else if (number > 0)
		putchar('\n');
}

int
watch_run(const struct context *context, int (*show)(const struct context *context))
{
	struct watch watch;
	int status;

	if (!watch_read(context, &watch))
		return EXIT_TROUBLE;
	if (!watch.is_on)
		return show(context);
	interrupt_catch();
	for (uint64_t i = 0;; i++) {
		begin_frame(i);
		status = show(context);
		if (!output_flush() || status == EXIT_TROUBLE || i + 1 == watch.count ||
		    !interrupt_sleep(watch.interval_ns))
			return status;
	}
}
