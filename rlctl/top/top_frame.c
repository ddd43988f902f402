/* SPDX-License-Identifier: BSD-2-Clause */

#include "top/top_frame.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/history_view.h"
#include "base/output.h"
#include "base/rate.h"
#include "base/rule.h"
#include "text/duration.h"

#define PLAIN_COLUMNS 80
#define NAME_WIDTH 16
#define KEYS_PLAIN 20 /* keys where there is no screen */

static void
add_title(const struct top_model *model, const struct top_look *look, struct frame *frame)
{
	uint64_t permille = model->info.slots ? model->fill * 1000 / model->info.slots : 0;

	frame_add(frame, STYLE_TITLE,
	          "rl %s  %s UTC  %" PRIu64 ".%" PRIu64 " %% full  %" PRIu64 " ban%s%s",
	          model->info.name, time_format(model->now_ns, false).text, permille / 10,
	          permille % 10, model->bans, model->bans == 1 ? "" : "s",
	          look->is_paused ? "  PAUSED" : "");
}

/* The rest of the line, after name, two rates and blanks, is for two sparklines. */
static size_t
spark_width(const struct frame *frame)
{
	size_t columns = frame->columns ? frame->columns : PLAIN_COLUMNS;
	size_t taken = NAME_WIDTH + 2 * (2 + 8 + 1), width;

	width = columns > taken + 2 ? (columns - taken) / 2 : 1;
	return width < RL_HISTORY_MINUTES ? width : RL_HISTORY_MINUTES;
}

static char *
draw(const struct top_rule *rule, enum history_row row, const struct frame *frame)
{
	return history_view_spark(rule->minute, RL_HISTORY_MINUTES, spark_width(frame), row,
	                          frame->is_utf8);
}

static void
add_rule(const struct top_model *model, const struct top_rule *rule, struct frame *frame)
{
	char *allowed = draw(rule, HISTORY_ALLOWED, frame);
	char *denied = draw(rule, HISTORY_DENIED, frame);

	frame_add(frame, rule->denied > 0 ? STYLE_ALARM : STYLE_PLAIN, "%-*.*s  %8s %s  %8s %s",
	          NAME_WIDTH, NAME_WIDTH, rule->name,
	          rate_format(rule->allowed, model->span_ns).text, allowed,
	          rate_format(rule->denied, model->span_ns).text, denied);
	free(allowed);
	free(denied);
}

/* At most a third of the screen. */
static void
add_rules(const struct top_model *model, const struct top_look *look, struct frame *frame)
{
	size_t most = look->rows ? look->rows / 3 : model->rule_count, shown;

	frame_add(frame, STYLE_HEAD, "%-*s  %8s last %-*s%8s last hour", NAME_WIDTH, "rule",
	          "allowed", (int)spark_width(frame) - 3, "hour", "denied");
	shown = model->rule_count <= most ? model->rule_count : most > 0 ? most - 1 : 0;
	for (size_t i = 0; i < shown; i++)
		add_rule(model, &model->rules[i], frame);
	if (shown < model->rule_count)
		frame_add(frame, STYLE_PLAIN, "and %zu more rules", model->rule_count - shown);
}

static void
add_overflow(const struct top_model *model, struct frame *frame)
{
	size_t columns = frame->columns ? frame->columns : PLAIN_COLUMNS;
	char *line = overflow_view_line(model->rl, &model->reserve, columns);

	if (line)
		frame_add(frame, model->reserve.denied_ppm > 0 ? STYLE_ALARM : STYLE_PLAIN, "%s",
		          line);
	free(line);
}

static void
add_key(const struct top_model *model, const struct item *item, bool is_selected,
        struct frame *frame)
{
	const struct usage *usage = &item->usage;
	char *key = key_text(&item->key);
	enum style style = usage->is_limited ? STYLE_ALARM : STYLE_PLAIN;
	char limit[16] = "-", denied[DENIED_TEXT_MAX], rate[DENIED_TEXT_MAX];

	if (!usage->is_counter)
		snprintf(limit, sizeof(limit), "%" PRIu32, usage->limit);
	frame_add(frame, is_selected ? STYLE_SELECTED : style,
	          "%9" PRIu64 "/%-9s %-7s %7s %6s %5s  %s  %s", usage->used, limit,
	          usage_state(usage), usage_retry(usage).text, usage_denied(usage, denied),
	          usage_denied_rate(usage, rate),
	          limit_label(model->rl, item->rule, item->limit).text, key);
	free(key);
}

static size_t
keys_that_fit(const struct top_model *model, const struct top_look *look, const struct frame *frame)
{
	size_t fit = look->rows > frame->count ? look->rows - frame->count : 0;

	if (look->rows == 0)
		fit = KEYS_PLAIN;
	return fit < model->keys.count ? fit : model->keys.count;
}

static void
move_first(const struct top_model *model, const struct top_look *look, size_t shown, size_t *first)
{
	if (look->selected != TOP_NONE && look->selected < *first)
		*first = look->selected;
	if (look->selected != TOP_NONE && shown > 0 && look->selected >= *first + shown)
		*first = look->selected - shown + 1;
	if (*first + shown > model->keys.count)
		*first = model->keys.count - shown;
}

size_t
top_frame(const struct top_model *model, const struct top_look *look, size_t *first,
          struct frame *frame)
{
	size_t shown;

	add_title(model, look, frame);
	add_rules(model, look, frame);
	add_overflow(model, frame);
	frame_add(frame, STYLE_PLAIN, " ");
	frame_add(frame, STYLE_HEAD, "%9s/%-9s %-7s %7s %6s %5s  %s", "used", "limit", "state",
	          "retry", "denied", "/s", "rule  key");
	shown = keys_that_fit(model, look, frame);
	move_first(model, look, shown, first);
	for (size_t i = *first; i < *first + shown; i++)
		add_key(model, &model->keys.items[i], i == look->selected, frame);
	return shown;
}
