/* SPDX-License-Identifier: BSD-2-Clause */
/* top: rules and keys, live. Without a terminal, or with --json, one frame. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/command.h"
#include "base/interrupt.h"
#include "base/now.h"
#include "base/output.h"
#include "base/rule.h"
#include "base/sparkline.h"
#include "key/ban_reason.h"
#include "text/duration.h"
#include "top/screen.h"
#include "top/top_model.h"
#include "top/top_ui.h"

#define INTERVAL_MIN (100 * RL_MILLISECOND)

const struct command_option top_options[] = {
	{"rule", 'r', "RULE", "this rule and its keys alone"},
	{"interval", 'i', "D", "between two samples; default: 1s"},
	{"sort", 'S', "used|denied|rate|remaining|recent|key", "which keys come first"},
	{"match", 'm', "GLOB|CIDR", "keys that match"},
	{0},
};

static void
show(struct top_ui *ui, bool has_utf8)
{
	struct frame frame = {.columns = screen_columns(), .is_utf8 = has_utf8};
	bool has_cursor = top_ui_frame(ui, screen_rows(), &frame);

	screen_show(&frame, has_cursor);
	frame_free(&frame);
}

static void
sample(struct top_ui *ui, uint64_t *next_ns)
{
	top_model_sample(ui->model);
	top_ui_follow(ui);
	*next_ns = now_by(CLOCK_MONOTONIC) + ui->interval_ns;
}

/* After a pause, or in the foreground again, what is shown stays until there is a whole sample: one
 * of the time in between would be no rate of now, and one of a moment would be 0. */
static void
sample_if_due(struct top_ui *ui, uint64_t *next_ns)
{
	uint64_t now_ns = now_by(CLOCK_MONOTONIC);

	if (now_ns < *next_ns)
		return;
	if (*next_ns == 0 || now_ns - *next_ns < 2 * ui->interval_ns) {
		sample(ui, next_ns);
		return;
	}
	top_model_skip(ui->model);
	*next_ns = now_ns + ui->interval_ns;
	ui->wants_look = true;
}

/* A request of the user is looked up at once, even when paused. */
static void
keep_up(struct top_ui *ui, uint64_t *next_ns)
{
	if (!ui->is_paused)
		sample_if_due(ui, next_ns);
	if (!ui->wants_look)
		return;
	ui->wants_look = false;
	top_model_look(ui->model);
	top_ui_follow(ui);
}

static void
run_screen(struct top_ui *ui, bool has_utf8)
{
	uint64_t next_ns = 0;

	while (!ui->is_over && !interrupt_came()) {
		uint64_t now_ns;
		int key;

		keep_up(ui, &next_ns);
		show(ui, has_utf8);
		now_ns = now_by(CLOCK_MONOTONIC);
		key = screen_read(next_ns > now_ns && !ui->is_paused ? next_ns - now_ns
		                                                     : ui->interval_ns);
		if (key == SCREEN_GONE)
			return;
		top_ui_key(ui, key);
	}
}

static json_t *
json_keys(const struct top_model *model)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < model->keys.count; i++) {
		const struct item *item = &model->keys.items[i];
		char *reason = ban_reason(model->rl, item->rule, &item->key, &item->usage);

		json_push(array, item_json(model->rl, item, reason));
		free(reason);
	}
	return array;
}

static json_t *
json_rules(const struct top_model *model)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < model->rule_count; i++) {
		const struct top_rule *rule = &model->rules[i];
		json_t *object = need(json_object());

		json_put(object, "rule", json_text(rule->name));
		json_put(object, "allowed", json_count(rule->allowed));
		json_put(object, "denied", json_count(rule->denied));
		json_push(array, object);
	}
	return array;
}

static void
write_json(const struct top_model *model)
{
	json_t *root = need(json_object());

	json_put(root, "at_ns", json_count(model->now_ns));
	json_put(root, "span_ns", json_count(model->span_ns));
	json_put(root, "rules", json_rules(model));
	json_put(root, "keys", json_keys(model));
	json_put(root, "total", json_count(model->keys.total));
	json_put(root, "reserve", overflow_view_json(model->rl, &model->reserve));
	output_json(root);
}

static void
write_text(const struct top_ui *ui, bool has_utf8)
{
	struct top_look look = {.selected = TOP_NONE, .filter = ui->filter};
	struct frame frame = {.is_utf8 = has_utf8};
	size_t first = 0;

	top_frame(ui->model, &look, &first, &frame);
	frame_print(stdout, &frame);
	frame_free(&frame);
}

/* Rates take two looks at the counters. */
static void
write_once(const struct context *context, struct top_ui *ui, bool has_utf8)
{
	if (!interrupt_sleep(ui->interval_ns))
		return;
	top_model_sample(ui->model);
	if (option_value(context, "json"))
		write_json(ui->model);
	else
		write_text(ui, has_utf8);
}

static bool
read_interval(const struct context *context, struct top_ui *ui)
{
	const char *text = option_value(context, "interval"), *wrong;

	if (!text)
		return true;
	wrong = duration_parse(text, &ui->interval_ns);
	if (!wrong && (ui->interval_ns < INTERVAL_MIN || ui->interval_ns > 3600 * RL_SECOND))
		wrong = "is not from 100ms to 1h";
	if (wrong)
		complain("--interval: '%s' %s", text, wrong);
	return !wrong;
}

static bool
read_match(const struct context *context, struct top_ui *ui)
{
	const char *text = option_value(context, "match");
	const char *wrong = text ? top_ui_filter(ui, text) : NULL;

	if (wrong)
		complain("--match: '%s' %s", text, wrong);
	return !wrong;
}

static int
run(const struct context *context, struct top_ui *ui)
{
	bool has_utf8 = sparkline_has_utf8();

	if (!read_interval(context, ui) || !read_match(context, ui) ||
	    !key_order_option(context, &ui->model->keys.order))
		return EXIT_TROUBLE;
	ui->model->keys.rule = rule_option(ui->model->rl, context);
	if (ui->model->keys.rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	interrupt_catch();
	if (option_value(context, "json") || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) ||
	    !screen_open()) {
		write_once(context, ui, has_utf8);
		return EXIT_YES;
	}
	run_screen(ui, has_utf8);
	screen_close();
	return EXIT_YES;
}

int
run_top(const struct context *context)
{
	struct rl *rl = open_segment(context);
	struct top_model model;
	struct top_ui ui;
	int status;

	if (!rl)
		return EXIT_TROUBLE;
	top_model_open(&model, rl);
	top_ui_open(&ui, context, &model);
	status = run(context, &ui);
	top_ui_free(&ui);
	top_model_free(&model);
	return status;
}
