/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/ban_many.h"

#include <inttypes.h>
#include <model/pattern_text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/output.h"
#include "key/active_bans.h"
#include "key/ban_reach.h"
#include "text/error_text.h"

#define REPORTED 10 /* refusals, one by one */
#define BLANKS " \t\r\n"

struct job {
	const struct context *context;
	struct rl *rl;
	const struct ban_order *order;
	uint64_t number; /* of the operand or line */
	uint64_t set, replaced, shortened, refused;
};

bool
ban_is_many(const struct context *context)
{
	return context->operand_count > 1 || strcmp(context->operands[0], "-") == 0;
}

static void
refuse(struct job *job, const char *text, size_t len, const char *wrong)
{
	char *shown;

	if (job->refused++ >= REPORTED)
		return;
	shown = escape(text, len);
	complain("%s: number %" PRIu64 ", '%s', %s", job->context->command->name, job->number,
	         shown, wrong);
	free(shown);
}

static void
see_before(struct job *job, const struct rl_pattern *pattern)
{
	const struct ban_order *order = job->order;
	struct rl_ban_info before;

	if (rl_ban_info(job->rl, order->rule, pattern, rl_now(job->rl), &before) != 1)
		return;
	job->replaced++;
	job->shortened +=
		!before.is_exemption == !order->is_exemption && order->until_ns < before.until_ns;
}

static void
take(struct job *job, const char *text, size_t len)
{
	bool is_exact = option_value(job->context, "exact") != NULL;
	struct pattern_text read;
	const char *wrong;
	int error;

	if (len == 0 || len > RL_KEY_MAX)
		wrong = "has too many bytes, or none";
	else
		wrong = is_exact ? pattern_exact(text, len, &read)
		                 : pattern_parse(text, len, &read);
	if (!wrong)
		wrong = ban_order_reach(job->order, &read.pattern);
	if (!wrong && !is_exact)
		wrong = ban_order_doubt(job->rl, job->order, text, len, &read.pattern);
	if (!wrong && !option_value(job->context, "yes") && ban_is_wide(&read.pattern))
		wrong = "is more than a /8, or a /32 of IPv6; say --yes for that";
	if (wrong) {
		refuse(job, text, len, wrong);
		return;
	}
	see_before(job, &read.pattern);
	error = ban_order_set(job->rl, job->order, &read.pattern);
	if (error < 0)
		refuse(job, text, len, error_text(error).text);
	else
		job->set++;
}

/* Lists that people keep have empty lines and remarks; what is written for machines has neither. */
static void
take_line(struct job *job, const char *text, size_t len, bool is_verbatim)
{
	size_t before = is_verbatim ? 0 : strspn(text, BLANKS);

	if (is_verbatim) {
		take(job, text, len);
		return;
	}
	while (len > before && strchr(BLANKS, text[len - 1]) && text[len - 1])
		len--;
	if (len > before && text[before] != '#')
		take(job, text + before, len - before);
}

static bool
take_input(struct job *job)
{
	bool is_null = option_value(job->context, "null") != NULL;
	int end = is_null ? '\0' : '\n';
	char *text = NULL;
	size_t room = 0;
	ssize_t got;

	while ((got = getdelim(&text, &room, end, stdin)) > 0) {
		size_t len = (size_t)got;

		job->number++;
		if (text[len - 1] == end)
			text[--len] = '\0';
		take_line(job, text, len, is_null);
	}
	free(text);
	if (ferror(stdin))
		complain("%s: standard input cannot be read", job->context->command->name);
	return !ferror(stdin);
}

static void
report(const struct job *job)
{
	const char *name = effect_name(job->order->is_exemption);

	if (option_value(job->context, "json")) {
		json_t *root = need(json_object());

		json_put(root, "set", json_count(job->set));
		json_put(root, "replaced", json_count(job->replaced));
		json_put(root, "shortened", json_count(job->shortened));
		json_put(root, "refused", json_count(job->refused));
		json_put(root, "until_ns", json_duration(job->order->until_ns));
		output_json(root);
		return;
	}
	printf("%" PRIu64 " %s%s", job->set, name, job->set == 1 ? "" : "s");
	if (job->replaced > 0)
		printf(", %" PRIu64 " in place of another", job->replaced);
	if (job->shortened > 0)
		printf(", %" PRIu64 " of these shorter than it", job->shortened);
	putchar('\n');
}

int
ban_many(const struct context *context, struct rl *rl, const struct ban_order *order)
{
	struct job job = {.context = context, .rl = rl, .order = order};
	bool is_read = true;

	for (int i = 0; i < context->operand_count; i++) {
		const char *text = context->operands[i];

		if (context->operand_count == 1) {
			is_read = take_input(&job);
		} else {
			job.number++;
			take(&job, text, strlen(text));
		}
	}
	report(&job);
	if (job.refused > 0)
		complain("%s: %" PRIu64 " refused", context->command->name, job.refused);
	return job.refused > 0 || !is_read ? EXIT_TROUBLE : EXIT_YES;
}
