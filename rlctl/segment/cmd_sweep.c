/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep: free the slots of expired keys, as rld does all the time. */

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>

#include "base/command.h"
#include "base/interrupt.h"
#include "base/output.h"
#include "base/progress.h"
#include "text/error_text.h"

#define SLICE 65536 /* slots between two looks at signals */

/* 0, or an error; -EINTR never: what an interrupt leaves unswept is in *rest. */
static int
sweep_all(struct rl *rl, struct rl_swept *swept, uint64_t *rest)
{
	struct rl_info info;
	uint64_t first = 0;
	int error = 0;

	rl_info(rl, &info);
	for (; first < info.slots && error == 0 && !interrupt_came(); first += SLICE) {
		uint64_t left = info.slots - first;

		error = rl_sweep_slots_at(rl, first, left < SLICE ? left : SLICE, rl_now(rl),
		                          swept);
		progress_show("sweeping, per cent:", first * 100 / info.slots);
	}
	progress_erase();
	*rest = first < info.slots ? info.slots - first : 0;
	return error;
}

static void
report(const struct context *context, const struct rl_swept *swept)
{
	json_t *root;

	if (!option_value(context, "json")) {
		printf("seen     %" PRIu64 "\n", swept->seen);
		printf("taken    %" PRIu64 "\n", swept->used);
		printf("retired  %" PRIu64 "\n", swept->retired);
		printf("unused   %" PRIu64 "\n", swept->unused);
		return;
	}
	root = need(json_object());
	json_put(root, "seen", json_count(swept->seen));
	json_put(root, "taken", json_count(swept->used));
	json_put(root, "retired", json_count(swept->retired));
	json_put(root, "unused", json_count(swept->unused));
	output_json(root);
}

static int
sweep(const struct context *context, struct rl *rl)
{
	struct rl_swept swept = {0};
	uint64_t rest;
	int error = sweep_all(rl, &swept, &rest);

	if (error < 0) {
		complain("sweep: %s", error_text(error).text);
		return EXIT_TROUBLE;
	}
	report(context, &swept);
	if (rest == 0)
		return EXIT_YES;
	complain("sweep: interrupted, %" PRIu64 " slots were not swept", rest);
	return EXIT_TROUBLE;
}

int
run_sweep(const struct context *context)
{
	struct rl *rl = open_segment_writable(context);

	if (!rl)
		return EXIT_TROUBLE;
	interrupt_catch();
	return sweep(context, rl);
}
