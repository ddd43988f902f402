/* SPDX-License-Identifier: BSD-2-Clause */

#include "top/top_ui.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/output.h"
#include "base/rule.h"
#include "text/duration.h"
#include "top/screen.h"
#include "top/top_act.h"

#define BAN_DEFAULT "10m"
#define PAGE 10

static const char help_text[] =
	"Up, Down, j, k, PgUp, PgDn, Home, End   select a key\n"
	"Enter   explain it: what each limit has counted of it, and what stands\n"
	"r       reset it\n"
	"b e     ban it, or exempt it, under its rule\n"
	"x       lift its ban or exemption\n"
	"/       filter: a network, a glob, or a part of the key; empty for all\n"
	"s       next order: used, denied, rate, remaining, recent, key\n"
	"u d t l n a   those orders: used, denied, rate, least left, newest, key\n"
	"R       the other way round\n"
	"p       pause, and go on\n"
	"q       quit\n"
	"\n"
	"denied has a ~ where it is sampled. Red: denied now.\n";

void
top_ui_open(struct top_ui *ui, const struct context *context, struct top_model *model)
{
	memset(ui, 0, sizeof(*ui));
	ui->context = context;
	ui->model = model;
	ui->interval_ns = RL_SECOND;
	ui->selected = TOP_NONE;
}

void
top_ui_free(struct top_ui *ui)
{
	free((void *)ui->chosen.key.bytes);
	free(ui->text);
}

const char *
top_ui_filter(struct top_ui *ui, const char *text)
{
	bool is_part = !strpbrk(text, "*?/\\");
	struct match match;
	const char *wrong;

	if (strlen(text) >= sizeof(ui->filter))
		return "is too long";
	wrong = is_part ? NULL : match_parse(text, &match);
	if (wrong)
		return wrong;
	strcpy(ui->filter, text);
	snprintf(ui->glob, sizeof(ui->glob), is_part ? "*%s*" : "%s", ui->filter);
	match_parse(ui->glob, &ui->match);
	ui->model->keys.match = text[0] ? &ui->match : NULL;
	return NULL;
}

/* Remember the selected key by what it is, not by where it stands. */
static void
choose(struct top_ui *ui)
{
	const struct item *item = &ui->model->keys.items[ui->selected];

	free((void *)ui->chosen.key.bytes);
	ui->chosen = *item;
	if (item->key.bytes)
		ui->chosen.key.bytes =
			memcpy(need(malloc(item->key.kept + 1)), item->key.bytes, item->key.kept);
}

static bool
is_chosen(const struct top_ui *ui, const struct item *item)
{
	const struct item *chosen = &ui->chosen;

	return item->key.id == chosen->key.id && item->rule == chosen->rule &&
	       item->limit == chosen->limit;
}

static void
select_key(struct top_ui *ui, size_t at)
{
	size_t count = ui->model->keys.count;

	ui->selected = count == 0 ? TOP_NONE : at < count ? at : count - 1;
	if (ui->selected != TOP_NONE)
		choose(ui);
}

void
top_ui_follow(struct top_ui *ui)
{
	const struct ranking *keys = &ui->model->keys;

	if (ui->selected == TOP_NONE)
		return;
	for (size_t i = 0; i < keys->count; i++) {
		if (!is_chosen(ui, &keys->items[i]))
			continue;
		ui->selected = i;
		return;
	}
	select_key(ui, ui->selected);
}

static void
move_selection(struct top_ui *ui, long step)
{
	long at = ui->selected == TOP_NONE ? (step > 0 ? -1 : 0) : (long)ui->selected;

	at += step;
	select_key(ui, at < 0 ? 0 : (size_t)at);
}

static void
set_order(struct top_ui *ui, enum key_order order)
{
	ui->model->keys.order = order;
	ui->wants_look = true;
}

static void
reverse(struct top_ui *ui)
{
	ui->model->keys.is_reversed = !ui->model->keys.is_reversed;
	ui->wants_look = true;
}

/* Actions that need a selected key. */
static void
start(struct top_ui *ui, enum top_mode mode)
{
	if (ui->selected == TOP_NONE) {
		strcpy(ui->message, "select a key first");
		return;
	}
	ui->mode = mode;
	strcpy(ui->input, mode == TOP_FOR ? BAN_DEFAULT : "");
	ui->is_prefilled = true;
	if (mode != TOP_EXPLAIN)
		return;
	ui->scroll = 0;
	free(ui->text);
	ui->text = NULL;
	top_act_explain(ui);
	if (!ui->text)
		ui->mode = TOP_KEYS;
}

static bool
key_orders(struct top_ui *ui, int key)
{
	static const char letters[KEY_ORDERS + 1] = "udtlna";
	const char *at = key > 0 && key < 128 ? strchr(letters, key) : NULL;

	if (at)
		set_order(ui, (enum key_order)(at - letters));
	else if (key == 's')
		set_order(ui, (ui->model->keys.order + 1) % KEY_ORDERS);
	else if (key == 'R')
		reverse(ui);
	return at || key == 's' || key == 'R';
}

static bool
key_moves(struct top_ui *ui, int key)
{
	switch (key) {
	case SCREEN_UP:
	case 'k':
		move_selection(ui, -1);
		return true;
	case SCREEN_DOWN:
	case 'j':
		move_selection(ui, 1);
		return true;
	case SCREEN_PAGE_UP:
		move_selection(ui, -PAGE);
		return true;
	case SCREEN_PAGE_DOWN:
		move_selection(ui, PAGE);
		return true;
	case SCREEN_HOME:
		select_key(ui, 0);
		return true;
	case SCREEN_END:
		select_key(ui, SIZE_MAX);
		return true;
	default:
		return false;
	}
}

static void
key_in_keys(struct top_ui *ui, int key)
{
	if (key_moves(ui, key) || key_orders(ui, key))
		return;
	switch (key) {
	case 'q':
		ui->is_over = true;
		break;
	case SCREEN_ENTER:
		start(ui, TOP_EXPLAIN);
		break;
	case 'r':
		start(ui, TOP_RESET);
		break;
	case 'b':
	case 'e':
		ui->is_exemption = key == 'e';
		start(ui, TOP_FOR);
		break;
	case 'x':
		start(ui, TOP_LIFT);
		break;
	case '/':
		ui->mode = TOP_FILTER;
		ui->is_prefilled = false;
		strcpy(ui->input, ui->filter);
		break;
	case 'p':
		ui->is_paused = !ui->is_paused;
		break;
	case '?':
	case 'h':
		ui->mode = TOP_HELP;
		break;
	}
}

/* Drop the last character, all bytes of it. */
static void
erase_last(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && ((unsigned char)text[--len] & 0xc0) == 0x80)
		continue;
	text[len] = '\0';
}

/* Typed text takes the place of the proposed text. */
static void
append_typed(struct top_ui *ui, char byte)
{
	size_t len = ui->is_prefilled ? 0 : strlen(ui->input);

	if (len + 1 >= sizeof(ui->input))
		return;
	ui->input[len] = byte;
	ui->input[len + 1] = '\0';
}

/* True if the input is done with, by Enter. */
static bool
type(struct top_ui *ui, int key)
{
	if (key == SCREEN_ESCAPE)
		ui->mode = TOP_KEYS;
	else if (key == SCREEN_ERASE)
		erase_last(ui->input);
	else if (key == 'U' - '@')
		ui->input[0] = '\0';
	else if (key >= ' ' && key < 256)
		append_typed(ui, (char)key);
	ui->is_prefilled = false;
	return key == SCREEN_ENTER;
}

static void
key_in_filter(struct top_ui *ui, int key)
{
	const char *wrong;

	if (!type(ui, key))
		return;
	ui->mode = TOP_KEYS;
	wrong = top_ui_filter(ui, ui->input);
	if (wrong)
		snprintf(ui->message, sizeof(ui->message), "'%s' %s", ui->input, wrong);
	ui->wants_look = true;
}

static void
key_in_for(struct top_ui *ui, int key)
{
	const char *wrong;

	if (!type(ui, key))
		return;
	wrong = duration_parse(ui->input, &ui->ban_ns);
	if (!wrong && ui->ban_ns == 0)
		wrong = "is no time at all";
	if (!wrong && ui->ban_ns > INT64_MAX / 2)
		wrong = "is too long";
	ui->mode = wrong ? TOP_KEYS : TOP_BAN;
	if (wrong)
		snprintf(ui->message, sizeof(ui->message), "'%s' %s", ui->input, wrong);
}

static void
key_in_explain(struct top_ui *ui, int key)
{
	if (key == SCREEN_DOWN || key == 'j')
		ui->scroll++;
	else if (key == SCREEN_PAGE_DOWN || key == ' ')
		ui->scroll += PAGE;
	else if (key == SCREEN_UP || key == 'k')
		ui->scroll -= ui->scroll > 0;
	else if (key == SCREEN_PAGE_UP)
		ui->scroll -= ui->scroll < PAGE ? ui->scroll : PAGE;
	else if (key == 'q' || key == SCREEN_ESCAPE || key == SCREEN_ENTER)
		ui->mode = TOP_KEYS;
}

static void
key_in_question(struct top_ui *ui, int key, void (*act)(struct top_ui *ui))
{
	ui->mode = TOP_KEYS;
	if (key == 'y' || key == 'Y')
		act(ui);
	else
		strcpy(ui->message, "nothing was changed");
}

void
top_ui_key(struct top_ui *ui, int key)
{
	if (key < 0 || key == SCREEN_RESIZED)
		return;
	ui->message[0] = '\0';
	switch (ui->mode) {
	case TOP_KEYS:
		key_in_keys(ui, key);
		break;
	case TOP_FILTER:
		key_in_filter(ui, key);
		break;
	case TOP_FOR:
		key_in_for(ui, key);
		break;
	case TOP_EXPLAIN:
		key_in_explain(ui, key);
		break;
	case TOP_HELP:
		ui->mode = TOP_KEYS;
		break;
	case TOP_RESET:
		key_in_question(ui, key, top_act_reset);
		break;
	case TOP_LIFT:
		key_in_question(ui, key, top_act_lift);
		break;
	case TOP_BAN:
		key_in_question(ui, key, top_act_ban);
		break;
	}
}

static void
fill_up(struct frame *frame, size_t rows)
{
	while (frame->count < rows)
		frame_add(frame, STYLE_PLAIN, " ");
}

/* The text from line `scroll` on; it stops where its last line is still seen. */
static void
add_scrolled(struct top_ui *ui, size_t rows, struct frame *frame)
{
	struct frame all = {.columns = frame->columns, .is_utf8 = frame->is_utf8};

	frame_add_text(&all, ui->text);
	if (ui->scroll + rows > all.count)
		ui->scroll = all.count > rows ? all.count - rows : 0;
	for (size_t i = ui->scroll; i < all.count && i < ui->scroll + rows; i++)
		frame_add(frame, STYLE_PLAIN, "%s", all.lines[i].text);
	frame_free(&all);
}

static void
add_keys(struct top_ui *ui, size_t rows, struct frame *frame)
{
	struct top_look look = {
		.rows = rows,
		.selected = ui->selected,
		.filter = ui->filter,
		.is_paused = ui->is_paused,
	};

	top_frame(ui->model, &look, &ui->first, frame);
}

static void
add_question(const struct top_ui *ui, struct frame *frame)
{
	const struct item *chosen = &ui->chosen;
	struct rule_text rule = rule_label(ui->model->rl, chosen->rule);
	char *key = chosen->key.bytes ? escape(chosen->key.bytes, chosen->key.kept) : NULL;
	const char *name = key ? key : "this key";

	if (ui->mode == TOP_FOR)
		frame_add(frame, STYLE_TITLE, "%s %s under rule %s for: %s",
		          ui->is_exemption ? "exempt" : "ban", name, rule.text, ui->input);
	else if (ui->mode == TOP_BAN)
		frame_add(frame, STYLE_TITLE, "%s %s under rule %s for %s? [y/N] ",
		          ui->is_exemption ? "Exempt" : "Ban", name, rule.text,
		          duration_format(ui->ban_ns).text);
	else if (ui->mode == TOP_LIFT)
		frame_add(frame, STYLE_TITLE, "Lift what stands for %s? [y/N] ", name);
	else
		frame_add(frame, STYLE_TITLE, "Reset %s under rule %s? [y/N] ", name, rule.text);
	free(key);
}

static void
add_state(const struct top_ui *ui, struct frame *frame)
{
	const struct ranking *keys = &ui->model->keys;
	char *filter = escape(ui->filter, strlen(ui->filter));

	if (ui->message[0])
		frame_add(frame, STYLE_TITLE, "%s", ui->message);
	else
		frame_add(frame, STYLE_PLAIN, "%llu live %s, by %s%s%s%s",
		          (unsigned long long)keys->total, keys->total == 1 ? "key" : "keys",
		          key_order_names[keys->order], keys->is_reversed ? " reversed" : "",
		          filter[0] ? ", filter " : "", filter);
	free(filter);
}

static bool
add_prompt(const struct top_ui *ui, struct frame *frame)
{
	char *input = escape(ui->input, strlen(ui->input));

	if (ui->mode == TOP_FILTER)
		frame_add(frame, STYLE_TITLE, "/%s", input);
	else if (ui->mode >= TOP_RESET)
		add_question(ui, frame);
	else if (ui->mode == TOP_KEYS)
		frame_add(frame, STYLE_HEAD,
		          "Enter explain  r reset  b ban  x lift  / filter  s sort  p pause  ? "
		          "help  q quit");
	else
		frame_add(frame, STYLE_HEAD, "q back  Up, Down scroll");
	free(input);
	return ui->mode == TOP_FILTER || ui->mode >= TOP_RESET;
}

bool
top_ui_frame(struct top_ui *ui, size_t rows, struct frame *frame)
{
	size_t body = rows > 2 ? rows - 2 : 0;

	if (ui->mode == TOP_EXPLAIN)
		add_scrolled(ui, body, frame);
	else if (ui->mode == TOP_HELP)
		frame_add_text(frame, help_text);
	else
		add_keys(ui, body, frame);
	frame_cut(frame, body);
	fill_up(frame, body);
	add_state(ui, frame);
	return add_prompt(ui, frame);
}
